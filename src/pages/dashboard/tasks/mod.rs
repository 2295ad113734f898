//! Tasks: the list, one of them, and what can be done with it.

mod actions;
mod list;
mod maps;
mod new;
mod show;
mod told;

pub use show::how_it_stands;
pub use told::consequence;

use axum::routing::{get, post};

use crate::pages::kit::route::{PageRoute, form, view};
use crate::pages::kit::session::Needs;

pub fn routes() -> Vec<PageRoute> {
    let developer = Needs::Developer;
    vec![
        view("/dashboard/{environment}/tasks", developer, get(list::show)),
        form(
            "/dashboard/{environment}/tasks/new",
            developer,
            get(new::show).post(new::create),
        ),
        view(
            "/dashboard/{environment}/tasks/map",
            developer,
            get(maps::preview),
        ),
        form(
            "/dashboard/{environment}/tasks/first",
            developer,
            post(new::create_first),
        ),
        view(
            "/dashboard/{environment}/tasks/{id}",
            developer,
            get(show::show),
        ),
        form(
            "/dashboard/{environment}/tasks/{id}/advance",
            developer,
            post(actions::advance),
        ),
        form(
            "/dashboard/{environment}/tasks/{id}/cancel",
            developer,
            post(actions::cancel),
        ),
        form(
            "/dashboard/{environment}/tasks/{id}/dispute",
            developer,
            post(actions::state_side),
        ),
    ]
}
