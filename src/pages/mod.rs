//! Pages for people, rendered on the server: the front door, the developers' dashboard, the admins' console, the workers'
//! app.
//! What a page shows and does, it asks the API for, in this process.

mod account;
mod console;
mod dashboard;
mod kit;
mod people;
mod public;
mod routes;
mod state;
mod worker;

use axum::Router;

use crate::api::{self, App, PageRoutes};

pub use kit::route::PageRoute;
pub use kit::session::{ADMIN_COOKIE, DEVELOPER_COOKIE, Needs, WORKER_COOKIE};
pub use routes::page_routes;

/// Everything that the main address serves: the pages and the API. Metrics only in local mode.
pub fn router(app: &App, with_metrics: bool) -> Router {
    let pages = PageRoutes {
        routes: routes::router(app),
        error_page: kit::html::error_page,
    };
    api::router(app, pages, with_metrics)
}
