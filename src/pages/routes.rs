//! Every page, on one page, with the cookie that it needs.

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::get;

use crate::api::App;
use crate::pages::kit::assets;
use crate::pages::kit::guard::guard;
use crate::pages::kit::route::{PageRoute, form, view};
use crate::pages::kit::session::Needs;
use crate::pages::public::{front, links, local, onboarding, pay, reference, styleguide};
use crate::pages::state::Pages;
use crate::pages::{account, console, dashboard, people, worker};

/// All of them.
pub fn page_routes() -> Vec<PageRoute> {
    let mut routes = public_routes();
    routes.extend(people::routes());
    routes.extend(account::routes());
    routes.extend(dashboard::routes());
    routes.extend(console::routes());
    routes.extend(worker::routes());
    routes
}

fn public_routes() -> Vec<PageRoute> {
    let (nothing, secret) = (Needs::Nothing, Needs::SecretInPath);
    vec![
        view("/", nothing, get(front::front)),
        view("/favicon.ico", nothing, get(front::favicon)),
        view("/robots.txt", nothing, get(front::robots)),
        view("/assets/{name}", nothing, get(assets::get)),
        view("/styleguide", nothing, get(styleguide::show)),
        view("/docs", nothing, get(reference::to_contents)),
        view("/docs/", nothing, get(reference::contents)),
        view("/docs/{group}", nothing, get(reference::group)),
        form(
            "/pay/{client_secret}",
            secret,
            get(pay::show).post(pay::pay),
        ),
        form(
            "/onboarding/{link_secret}",
            secret,
            get(onboarding::show).post(onboarding::complete),
        ),
        view("/onboarding/done", nothing, get(onboarding::done)),
        view("/onboarding/expired", nothing, get(onboarding::expired)),
        form(
            "/local/{token}",
            secret,
            get(local::show).post(local::sign_in),
        ),
        form(
            "/confirm/{token}",
            secret,
            get(links::show_confirm).post(links::confirm),
        ),
        form(
            "/reset/{token}",
            secret,
            get(links::show_password).post(links::set_password),
        ),
        form(
            "/invite/{token}",
            secret,
            get(links::show_password).post(links::set_password),
        ),
    ]
}

pub fn router(app: &App) -> Router<App> {
    let pages = Pages::new(app);
    let mut router = Router::new();
    for route in page_routes() {
        let guarded = from_fn_with_state((pages.clone(), route.needs), guard);
        router = router.route(route.path, route.handlers.route_layer(guarded));
    }
    router.with_state(pages)
}
