//! /worker/payout: the processor's page for the payout account.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use serde_json::json;

use crate::api::inside::{Ask, Refused};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::worker::frame::{Frame, Place};
use crate::pages::worker::models::{self, Earnings, Profile};
use crate::pages::worker::visit::Visit;

#[derive(Template)]
#[template(path = "worker/payout.html")]
struct Payout {
    frame: Frame,
    form: Form,
    status: String,
    /// Money that should have gone there could not be sent.
    has_failed: bool,
    /// The page of a processor elsewhere. A form of ours may not lead there, a link may.
    leave_to: Option<String>,
}

#[derive(Deserialize)]
struct Onboarding {
    url: String,
}

pub async fn show(visit: Visit) -> Result<Response, Refused> {
    shown(&visit, StatusCode::OK, Form::new(), None).await
}

async fn shown(
    visit: &Visit,
    status: StatusCode,
    form: Form,
    leave_to: Option<String>,
) -> Result<Response, Refused> {
    let profile: Profile = visit.ask(Ask::get("/v1/worker")).await?;
    let earnings: Earnings = visit.ask(Ask::get("/v1/worker/earnings")).await?;
    let payout = Payout {
        has_failed: earnings.payouts.iter().any(models::Payout::has_failed),
        frame: visit.frame(visit.t.start.payout_title, Place::Me),
        form,
        status: profile.payout_account.status,
        leave_to,
    };
    Ok(page(status, &payout))
}

pub async fn open(visit: Visit, form: Form) -> Result<Response, Refused> {
    let ask = Ask::post("/v1/worker/payout_account", json!({}));
    match visit.ask::<Onboarding>(ask).await {
        Ok(onboarding) => {
            let own = onboarding.url.strip_prefix(visit.pages.app.own_url());
            match own {
                Some(path) => Ok(Redirect::to(path).into_response()),
                None => shown(&visit, StatusCode::OK, form, Some(onboarding.url)).await,
            }
        }
        Err(refused) if refused.is("SIGN_IN_AGAIN") => Ok(visit.sign_in_again("/worker/payout")),
        Err(refused) => {
            let form = visit.refused(form, &refused, &[]);
            shown(&visit, refused.status, form, None).await
        }
    }
}
