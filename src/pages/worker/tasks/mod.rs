//! The tasks that a worker has taken.

mod actions;
mod list;
mod show;

use axum::routing::{get, post};

use crate::pages::kit::route::{PageRoute, form, view};
use crate::pages::kit::session::Needs;

pub fn routes() -> Vec<PageRoute> {
    let worker = Needs::Worker;
    vec![
        view("/worker/tasks", worker, get(list::show)),
        view("/worker/tasks/{id}", worker, get(show::show)),
        form("/worker/tasks/{id}/start", worker, post(actions::start)),
        form("/worker/tasks/{id}/release", worker, post(actions::release)),
        form("/worker/tasks/{id}/dispute", worker, post(actions::dispute)),
    ]
}
