//! From signing up to the first task: the steps, the documents, the payout account.

mod payout;
mod steps;
mod verify;

use axum::routing::{get, post};

use crate::pages::kit::route::{PageRoute, form, view};
use crate::pages::kit::session::Needs;

pub fn routes() -> Vec<PageRoute> {
    let worker = Needs::Worker;
    vec![
        view("/worker/start", worker, get(steps::show)),
        form(
            "/worker/start/confirmation",
            worker,
            post(steps::send_confirmation),
        ),
        form(
            "/worker/verify",
            worker,
            get(verify::show).post(verify::send),
        ),
        form(
            "/worker/payout",
            worker,
            get(payout::show).post(payout::open),
        ),
    ]
}
