//! The developers' dashboard: one of each page for live, and one for test.

mod desk;
mod home;

use axum::routing::get;

use crate::pages::kit::route::{PageRoute, view};
use crate::pages::kit::session::Needs;

pub fn routes() -> Vec<PageRoute> {
    let developer = Needs::Developer;
    vec![
        view("/dashboard", developer, get(home::choose)),
        view("/dashboard/{environment}", developer, get(home::show)),
    ]
}
