//! Every route, on one page.

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use utoipa_swagger_ui::SwaggerUi;

use super::authentication::require_key;
use super::edge::edge;
use super::error::ApiError;
use super::openapi::{Description, close_request_bodies};
use super::{App, account, health, hooks, keys, payment_method, payments, tasks};
use crate::pages::{self, Pages};

/// Routes that need an API key.
fn with_key() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(tasks::create, tasks::list))
        .routes(routes!(tasks::get, tasks::update))
        .routes(routes!(tasks::cancel))
        .routes(routes!(payments::get))
        .routes(routes!(payments::ledger))
        .routes(routes!(account::get))
        .routes(routes!(account::usage))
        .routes(routes!(keys::create, keys::list))
        .routes(routes!(keys::revoke))
        .routes(routes!(
            payment_method::get,
            payment_method::put,
            payment_method::delete
        ))
}

/// Everything that the main address serves. Metrics are there in local mode only.
pub fn router(app: &App, with_metrics: bool) -> Router {
    let (with_key, openapi) = described();
    let mut router = with_key
        .route_layer(from_fn_with_state(app.clone(), require_key))
        .merge(open(openapi))
        .merge(pages::router(Pages {
            store: app.store.clone(),
            clock: app.clock.clone(),
            payments: app.payments.clone(),
        }));
    if with_metrics {
        router = router.route("/metrics", get(health::metrics));
    }
    finish(router, app)
}

/// Routes that need no key.
fn open(openapi: OpenApi) -> Router<App> {
    Router::new()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/hooks/stripe", post(hooks::stripe))
        .merge(SwaggerUi::new("/docs").url("/openapi.json", openapi))
}

/// What the metrics address serves.
pub fn metrics_router(app: &App) -> Router {
    finish(Router::new().route("/metrics", get(health::metrics)), app)
}

fn finish(router: Router<App>, app: &App) -> Router {
    router
        .fallback(async || ApiError::NotFound)
        .method_not_allowed_fallback(async || ApiError::MethodNotAllowed)
        .layer(from_fn_with_state(app.clone(), edge))
        .with_state(app.clone())
}

/// The description of the routes, without serving them.
pub fn openapi() -> OpenApi {
    described().1
}

fn described() -> (Router<App>, OpenApi) {
    let (router, mut openapi) = with_key().split_for_parts();
    close_request_bodies(&mut openapi);
    (router, openapi)
}
