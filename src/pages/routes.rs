//! Every page, on one page, with the cookie that it needs.

use axum::Router;
use axum::extract::State;
use axum::http::{Method, Uri};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;

use crate::api::App;
use crate::api::inside::{Incoming, Refused, count_stranger};
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
    let routes = page_routes();
    let paths: Vec<_> = routes.iter().map(|route| route.path).collect();
    for route in routes {
        let guarded = from_fn_with_state((pages.clone(), route.needs), guard);
        let handlers = route.handlers.route_layer(guarded);
        let parts = parts_of_page(route.path, &paths);
        let handlers = handlers.fallback(move |pages, incoming, method, uri| {
            lead(parts, pages, incoming, method, uri)
        });
        router = router.route(route.path, handlers);
    }
    router
        .route("/worker/{*nothing}", worker::nothing_here())
        .with_state(pages)
}

/// How many parts of a path are those of the page above it: `/account/sessions/{id}` is below `/account`.
fn parts_of_page(path: &str, paths: &[&str]) -> usize {
    let mut page = path;
    while let Some((above, _)) = page.rsplit_once('/') {
        page = above;
        if paths.contains(&page) {
            break;
        }
    }
    page.split('/').count()
}

/// Whoever opens the place where a form is sent, as after choosing another language, is led to the page
/// of the form. No guard has looked at who that is, so it counts as a stranger's request.
async fn lead(
    parts: usize,
    State(pages): State<Pages>,
    incoming: Incoming,
    method: Method,
    uri: Uri,
) -> Result<Response, Refused> {
    count_stranger(&pages.app, &incoming)?;
    if method != Method::GET {
        return Err(Refused::wrong_method());
    }
    let path: Vec<_> = uri.path().split('/').take(parts).collect();
    let to = format!("/{}", path.join("/").trim_start_matches('/'));
    Ok(Redirect::to(&to).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_a_form_is_the_nearest_one_above_it() {
        let paths = ["/", "/a", "/a/{id}", "/a/{id}/x/{y}/send"];
        assert_eq!(parts_of_page("/a/{id}/x/{y}/send", &paths), 3);
        assert_eq!(parts_of_page("/a/{id}", &paths), 2);
        assert_eq!(parts_of_page("/a", &paths), 1);
    }
}
