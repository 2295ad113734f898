//! Every route, on one page.

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use utoipa_swagger_ui::SwaggerUi;

use super::authentication::{require_admin, require_key, require_worker};
use super::edge::edge;
use super::error::ApiError;
use super::openapi::{Description, close_request_bodies};
use super::{
    App, account, admin, deliveries, event_stream, events, evidence, files, health, history, hooks,
    keys, payment_method, payments, proofs, push_subscriptions, tasks, test_clock, test_helpers,
    webhook, worker_proofs, worker_tasks, workers,
};
use crate::pages::{self, Pages};

/// Routes that need an API key.
fn with_key() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(tasks::create, tasks::list))
        .routes(routes!(tasks::get, tasks::update))
        .routes(routes!(tasks::cancel))
        .routes(routes!(history::get))
        .routes(routes!(proofs::list))
        .routes(routes!(proofs::approve))
        .routes(routes!(proofs::reject))
        .routes(routes!(evidence::get))
        .routes(routes!(payments::get))
        .routes(routes!(payments::ledger))
        .routes(routes!(account::get, account::delete))
        .routes(routes!(account::usage))
        .routes(routes!(keys::create, keys::list))
        .routes(routes!(keys::revoke))
        .routes(routes!(
            payment_method::get,
            payment_method::put,
            payment_method::delete
        ))
        .routes(routes!(webhook::get, webhook::put, webhook::delete))
        .routes(routes!(webhook::test))
        .routes(routes!(webhook::rotate_secret))
        .routes(routes!(deliveries::list))
        .routes(routes!(deliveries::get))
        .routes(routes!(deliveries::redeliver))
        .routes(routes!(events::list))
        .routes(routes!(event_stream::stream))
        .routes(routes!(
            test_clock::get,
            test_clock::advance,
            test_clock::reset
        ))
        .routes(routes!(test_helpers::advance))
        .routes(routes!(test_helpers::submit))
}

/// Routes that need a worker's token.
fn with_worker_token() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(workers::get, workers::update))
        .routes(routes!(workers::sign_out))
        .routes(routes!(workers::open_payout_account))
        .routes(routes!(workers::earnings))
        .routes(routes!(
            push_subscriptions::subscribe,
            push_subscriptions::unsubscribe
        ))
        .routes(routes!(push_subscriptions::key))
        .routes(routes!(worker_tasks::available))
        .routes(routes!(worker_tasks::list))
        .routes(routes!(worker_tasks::get))
        .routes(routes!(worker_tasks::accept))
        .routes(routes!(worker_tasks::start))
        .routes(routes!(worker_tasks::release))
        .routes(routes!(worker_tasks::dispute))
        .routes(routes!(worker_proofs::submit))
        .routes(routes!(worker_proofs::verification))
}

/// Routes that need an admin key.
fn with_admin_key() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(admin::queue::queue))
        .routes(routes!(admin::queue::item))
        .routes(routes!(admin::queue::note))
        .routes(routes!(admin::queue::clear))
        .routes(routes!(admin::workers::verify))
        .routes(routes!(admin::workers::refuse))
        .routes(routes!(admin::workers::suspend))
        .routes(routes!(admin::notices::list))
}

/// Routes by which workers come in.
fn without_token() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(workers::sign_up))
        .routes(routes!(workers::sign_in))
}

/// Everything that the main address serves. Metrics are there in local mode only.
pub fn router(app: &App, with_metrics: bool) -> Router {
    let (described, openapi) = described(Some(app));
    let mut router = described.merge(open(openapi)).merge(pages::router(Pages {
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
        .route("/files/{*key}", get(files::get))
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
    described(None).1
}

/// The routes that are described, each behind the key or token that it needs.
fn described(app: Option<&App>) -> (Router<App>, OpenApi) {
    let (mut keys, mut openapi) = with_key().split_for_parts();
    let (mut workers, of_workers) = with_worker_token().split_for_parts();
    let (mut admins, of_admins) = with_admin_key().split_for_parts();
    let (open, of_open) = without_token().split_for_parts();
    if let Some(app) = app {
        keys = keys.route_layer(from_fn_with_state(app.clone(), require_key));
        workers = workers.route_layer(from_fn_with_state(app.clone(), require_worker));
        admins = admins.route_layer(from_fn_with_state(app.clone(), require_admin));
    }
    openapi.merge(of_workers);
    openapi.merge(of_admins);
    openapi.merge(of_open);
    close_request_bodies(&mut openapi);
    (keys.merge(workers).merge(admins).merge(open), openapi)
}
