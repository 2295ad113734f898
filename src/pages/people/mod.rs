//! Developers sign up, in and out.

mod reset;
mod sign_in;
mod sign_out;
mod sign_up;

pub use sign_in::SESSION_ENDED;

use axum::routing::{get, post};

use crate::pages::kit::route::{PageRoute, form};
use crate::pages::kit::session::Needs;

pub fn routes() -> Vec<PageRoute> {
    let nothing = Needs::Nothing;
    vec![
        form(
            "/sign-up",
            nothing,
            get(sign_up::show).post(sign_up::sign_up),
        ),
        form(
            "/sign-in",
            nothing,
            get(sign_in::show).post(sign_in::sign_in),
        ),
        form(
            "/sign-in/passkey/options",
            nothing,
            post(sign_in::passkey_options),
        ),
        form("/sign-in/passkey", nothing, post(sign_in::passkey)),
        form("/sign-out", Needs::Developer, post(sign_out::sign_out)),
        form("/reset", nothing, get(reset::show).post(reset::ask)),
    ]
}
