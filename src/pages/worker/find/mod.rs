//! Tasks that can be accepted.

mod list;
mod radar;
mod show;

use axum::routing::{get, post};

use crate::pages::kit::route::{PageRoute, form, view};
use crate::pages::kit::session::Needs;

pub fn routes() -> Vec<PageRoute> {
    let worker = Needs::Worker;
    vec![
        view("/worker/find", worker, get(list::show)),
        view("/worker/find/{id}", worker, get(show::show)),
        form("/worker/find/{id}/accept", worker, post(show::accept)),
    ]
}
