//! Saves which push messages come, and when.

use axum::response::{IntoResponse, Redirect, Response};
use serde_json::Value;

use super::overview::{Forms, shown};
use super::settings::body;
use crate::api::inside::{Ask, Refused};
use crate::pages::kit::form::Form;
use crate::pages::worker::visit::Visit;

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
