//! Which push messages come, and when.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde_json::Value;

use super::overview::{Forms, shown};
use super::settings::body;
use crate::api::inside::{Ask, Refused};
use crate::domain::events::push_settings::UTC_OFFSET_MINUTES;
use crate::pages::kit::form::Form;
use crate::pages::worker::visit::Visit;
use crate::usecases;

const FIELDS: [&str; 3] = ["quiet_from", "quiet_to", "utc_offset_minutes"];

pub async fn save(visit: Visit, form: Form) -> Result<Response, Refused> {
    let ask = Ask::put("/v1/worker/push_settings", Value::Object(body(&form)));
    match visit.ask::<Value>(ask).await {
        Ok(_) => Ok(Redirect::to("/worker/me?done=saved").into_response()),
        Err(refused) if refused.status.is_client_error() => {
            let forms = Forms {
                notices: Some(visit.refused(form, &refused, &FIELDS)),
                ..Forms::default()
            };
            shown(&visit, refused.status, forms, None).await
        }
        Err(refused) => Err(refused),
    }
}

/// The phone tells how far its clock is from UTC, when that has changed.
pub async fn follow_clock(visit: Visit, form: Form) -> Result<Response, Refused> {
    let given = form.get("utc_offset_minutes").parse().ok();
    let Some(offset) = given.filter(|minutes| UTC_OFFSET_MINUTES.check(*minutes).is_ok()) else {
        return Ok(StatusCode::BAD_REQUEST.into_response());
    };
    let worker = visit.worker.id;
    let follow = visit
        .pages
        .app
        .store
        .write(move |tx| usecases::follow_clock(tx, worker, offset));
    follow.await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
