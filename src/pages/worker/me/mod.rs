//! /worker/me: profile, address, password, sessions, second factor, a copy of the data, deletion.

mod data;
mod factor;
mod notices;
mod overview;
mod passkeys;
mod security;
mod settings;

use axum::routing::{get, post};

use crate::pages::kit::route::{PageRoute, form, view};
use crate::pages::kit::session::Needs;

pub fn routes() -> Vec<PageRoute> {
    let worker = Needs::Worker;
    vec![
        form(
            "/worker/me",
            worker,
            get(overview::show).post(overview::save),
        ),
        form(
            "/worker/me/password",
            worker,
            post(security::change_password),
        ),
        form("/worker/me/email", worker, post(security::change_email)),
        form("/worker/me/sessions/{id}", worker, post(security::end)),
        form(
            "/worker/me/factor",
            worker,
            get(factor::show).post(factor::begin),
        ),
        form("/worker/me/factor/confirm", worker, post(factor::confirm)),
        form("/worker/me/factor/codes", worker, post(factor::new_codes)),
        form("/worker/me/factor/off", worker, post(factor::turn_off)),
        form(
            "/worker/me/passkeys",
            worker,
            get(passkeys::show).post(passkeys::add),
        ),
        form(
            "/worker/me/passkeys/options",
            worker,
            post(passkeys::options),
        ),
        form(
            "/worker/me/passkeys/codes",
            worker,
            post(passkeys::new_codes),
        ),
        form(
            "/worker/me/passkeys/{id}/remove",
            worker,
            post(passkeys::remove),
        ),
        form("/worker/me/notices", worker, post(notices::save)),
        form("/worker/me/clock", worker, post(notices::follow_clock)),
        view("/worker/me/data", worker, get(data::show)),
        form("/worker/me/data/export", worker, post(data::export)),
        form("/worker/me/data/delete", worker, post(data::delete)),
    ]
}
