//! What the phone does by itself: takes proof, keeps it, sends it, and works without a network.

mod capture;
mod outbox;
mod shell;
mod uploads;

use crate::pages::kit::route::PageRoute;

pub fn routes() -> Vec<PageRoute> {
    let mut routes = capture::routes();
    routes.extend(outbox::routes());
    routes.extend(uploads::routes());
    routes.extend(shell::routes());
    routes
}
