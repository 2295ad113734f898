//! /account: profile, password, second factor, passkeys, sessions, a copy of the data, deletion.

mod again;
mod email;
mod factor;
mod overview;
mod passkeys;
mod password;
mod removal;
mod sessions;

use axum::routing::{get, post};

use crate::pages::kit::route::{PageRoute, form, view};
use crate::pages::kit::session::Needs;

pub fn routes() -> Vec<PageRoute> {
    let developer = Needs::Developer;
    vec![
        view("/account", developer, get(overview::show)),
        form(
            "/account/again",
            developer,
            get(again::show).post(again::check),
        ),
        form("/account/again/passkey", developer, post(again::passkey)),
        form(
            "/account/again/passkey/options",
            developer,
            post(again::options),
        ),
        form("/account/password", developer, post(password::change)),
        form(
            "/account/confirmation",
            developer,
            post(overview::send_confirmation),
        ),
        form(
            "/account/factor",
            developer,
            get(factor::show).post(factor::begin),
        ),
        form("/account/factor/confirm", developer, post(factor::confirm)),
        form("/account/factor/off", developer, post(factor::turn_off)),
        form("/account/factor/codes", developer, post(factor::new_codes)),
        form(
            "/account/passkeys",
            developer,
            get(passkeys::show).post(passkeys::add),
        ),
        form(
            "/account/passkeys/options",
            developer,
            post(passkeys::options),
        ),
        form(
            "/account/passkeys/codes",
            developer,
            post(passkeys::new_codes),
        ),
        form(
            "/account/passkeys/{id}/remove",
            developer,
            post(passkeys::remove),
        ),
        form(
            "/account/sessions/others",
            developer,
            post(sessions::end_others),
        ),
        form("/account/sessions/{id}", developer, post(sessions::end)),
        form("/account/export", developer, post(removal::export)),
        form("/account/email", developer, post(email::change)),
        form("/account/delete", developer, post(removal::delete)),
    ]
}
