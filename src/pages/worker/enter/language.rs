//! /worker/language: keeps the language that somebody has chosen.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Redirect, Response};

use crate::pages::kit::form::Form;
use crate::pages::kit::session::workers_path;
use crate::pages::worker::texts::{COOKIE, named};

const YEAR_SECONDS: u32 = 365 * 24 * 60 * 60;

pub async fn choose(form: Form) -> Response {
    let next = workers_path(form.get("next")).unwrap_or("/worker");
    let mut response = Redirect::to(next).into_response();
    if let Some(texts) = named(form.get("lang")) {
        let cookie = format!(
            "{COOKIE}={}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={YEAR_SECONDS}",
            texts.lang
        );
        if let Ok(value) = HeaderValue::try_from(cookie) {
            response.headers_mut().append(header::SET_COOKIE, value);
        }
    }
    response
}
