//! A copy of the data, and the end of the account.

use askama::Template;
use axum::extract::RawQuery;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde_json::{Value, json};

use crate::api::inside::{Ask, Refused};
use crate::pages::dashboard::List;
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::session::{WORKER_COOKIE, drop_cookie};
use crate::pages::worker::frame::{Frame, Place};
use crate::pages::worker::models::Export;
use crate::pages::worker::visit::Visit;

const HERE: &str = "/worker/me/data";

#[derive(Template)]
#[template(path = "worker/data.html")]
struct Data {
    frame: Frame,
    form: Form,
    exports: Vec<Export>,
    own_url: String,
    /// Copies are listed only after a recent sign-in: identity documents are in them.
    locked: bool,
    deleted: bool,
}

pub async fn show(visit: Visit, RawQuery(query): RawQuery) -> Result<Response, Refused> {
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    let notice = (query.get("done") == "export").then_some(visit.t.me.export_asked);
    shown(&visit, StatusCode::OK, Form::new(), notice).await
}

async fn shown(
    visit: &Visit,
    status: StatusCode,
    form: Form,
    notice: Option<&'static str>,
) -> Result<Response, Refused> {
    let (exports, locked) = match visit
        .ask::<List<Export>>(Ask::get("/v1/worker/export"))
        .await
    {
        Ok(list) => (list.data, false),
        Err(refused) if refused.is("SIGN_IN_AGAIN") => (Vec::new(), true),
        Err(refused) => return Err(refused),
    };
    let data = Data {
        frame: visit.frame(visit.t.me.data, Place::Me).notice(notice),
        form,
        exports,
        own_url: visit.pages.app.own_url().to_owned(),
        locked,
        deleted: false,
    };
    Ok(page(status, &data))
}

pub async fn export(visit: Visit, form: Form) -> Result<Response, Refused> {
    let ask = Ask::post("/v1/worker/export", json!({})).once(form.key());
    match visit.ask::<Value>(ask).await {
        Ok(_) => Ok(Redirect::to("/worker/me/data?done=export").into_response()),
        Err(refused) if refused.is("SIGN_IN_AGAIN") => Ok(visit.sign_in_again(HERE)),
        Err(refused) if refused.status.is_client_error() => {
            let form = visit.refused(form, &refused, &[]);
            shown(&visit, refused.status, form, None).await
        }
        Err(refused) => Err(refused),
    }
}

pub async fn delete(visit: Visit, form: Form) -> Result<Response, Refused> {
    let body = json!({"password": form.get("password")});
    let ask = Ask::delete("/v1/worker").with(body);
    match visit.ask::<Value>(ask).await {
        Ok(_) => Ok(gone(&visit)),
        Err(refused) if refused.status.is_client_error() => {
            let mut form = visit.refused(Form::new(), &refused, &["password"]);
            if refused.is("INVALID_CREDENTIALS") {
                form.problem = None;
                form.add_fault("password", visit.t.me.wrong_password);
            }
            shown(&visit, refused.status, form, None).await
        }
        Err(refused) => Err(refused),
    }
}

fn gone(visit: &Visit) -> Response {
    let frame = visit.frame(visit.t.me.deleted_title, Place::Me);
    let data = Data {
        frame: Frame {
            signed_in: false,
            ..frame
        },
        form: Form::new(),
        exports: Vec::new(),
        own_url: String::new(),
        locked: false,
        deleted: true,
    };
    let mut response = page(StatusCode::OK, &data);
    drop_cookie(&mut response, WORKER_COOKIE);
    response
}
