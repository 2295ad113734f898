//! The way in: what the app is, signing up, in and out, and the language.

mod front;
mod language;
mod reset;
mod sign_in;
mod sign_up;

use axum::routing::{get, post};

use crate::pages::kit::route::{PageRoute, form, view};
use crate::pages::kit::session::Needs;

pub fn routes() -> Vec<PageRoute> {
    let (nothing, worker) = (Needs::Nothing, Needs::Worker);
    vec![
        view("/worker", nothing, get(front::show)),
        form("/worker/language", nothing, post(language::choose)),
        form(
            "/worker/sign-up",
            nothing,
            get(sign_up::show).post(sign_up::sign_up),
        ),
        form(
            "/worker/sign-in",
            nothing,
            get(sign_in::show).post(sign_in::sign_in),
        ),
        form(
            "/worker/sign-in/passkey/options",
            nothing,
            post(sign_in::passkey_options),
        ),
        form("/worker/sign-in/passkey", nothing, post(sign_in::passkey)),
        form("/worker/sign-out", worker, post(sign_in::sign_out)),
        form(
            "/worker/password",
            nothing,
            get(reset::show).post(reset::ask),
        ),
    ]
}
