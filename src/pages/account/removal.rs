//! A copy of the data, and the end of the account.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde_json::{Map, Value, json};

use super::overview::shown;
use crate::api::inside::{Ask, Refused};
use crate::pages::dashboard::Desk;
use crate::pages::kit::form::Form;
use crate::pages::kit::html::message_with;
use crate::pages::kit::session::{DEVELOPER_COOKIE, drop_cookie};

pub async fn export(desk: Desk, form: Form) -> Result<Response, Refused> {
    if let Some(again) = desk.password_again(form.clone()).await? {
        return Ok(again);
    }
    let ask = Ask::post("/v1/account/export", Value::Object(Map::new())).once(form.key());
    match desk.ask::<Value>(ask).await {
        Ok(_) => Ok(Redirect::to("/account?done=export").into_response()),
        Err(refused) if refused.status.is_client_error() => {
            let (status, form) = (refused.status, form.refused(&refused, &[]));
            shown(&desk, form, status, None).await
        }
        Err(refused) => Err(refused),
    }
}

pub async fn delete(desk: Desk, form: Form) -> Result<Response, Refused> {
    if let Some(again) = desk.password_again(form.clone()).await? {
        return Ok(again);
    }
    let body = json!({"confirm": form.get("confirm").trim()});
    match desk
        .ask::<Value>(Ask::delete("/v1/account").with(body))
        .await
    {
        Ok(_) => {
            let text = "Your account and its keys are gone. What is left of your data is erased in 30 days.";
            let told = ("Your account is deleted", text);
            let on = &[("/", "Front page")];
            let mut response = message_with(&desk.pages, StatusCode::OK, told, on);
            drop_cookie(&mut response, DEVELOPER_COOKIE);
            Ok(response)
        }
        Err(refused) if refused.status.is_client_error() => {
            let (status, form) = (refused.status, form.refused(&refused, &["confirm"]));
            shown(&desk, form, status, None).await
        }
        Err(refused) => Err(refused),
    }
}
