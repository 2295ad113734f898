//! Every route, on one page.

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, get, post};
use bytes::Bytes;
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_swagger_ui::{Config, SwaggerUi};

use crate::api::error::ApiError;
use crate::api::middleware::authentication::required_factor::{
    require_admins_factor, require_workers_factor,
};
use crate::api::middleware::authentication::{
    require_admin, require_key, require_key_of_task, require_worker,
};
use crate::api::middleware::edge::edge;
use crate::api::middleware::limits::anonymous::{self, limit_anonymous, limit_unsigned};
use crate::api::middleware::people::{ErrorPage, tell_people};
use crate::api::openapi::{Description, Security, finish as finish_description, say_needs, secure};
use crate::api::public::{files, health, stripe_webhook};
use crate::api::routes::{
    about_uploads, of_task, with_admin_key, with_admin_key_alone, with_key, with_worker_token,
    with_worker_token_alone, without_token,
};
use crate::api::{App, JSON, mcp};
use crate::domain::{AdminRole, RequiredFactor};
use crate::limits::ClientAddress;

/// The pages, which are built on the API and served beside it.
pub struct PageRoutes {
    pub routes: Router<App>,
    /// How people are told of an error.
    pub error_page: ErrorPage,
}

/// Everything that the main address serves. Metrics only in local mode.
pub fn router(app: &App, pages: PageRoutes, with_metrics: bool) -> Router {
    let (described, openapi) = described(Some(app));
    let anonymous = from_fn_with_state(app.clone(), limit_anonymous);
    let mut router = described
        .merge(pages.routes)
        .merge(documentation(&openapi).route_layer(anonymous.clone()))
        .merge(about_uploads().route_layer(anonymous))
        .merge(signed().route_layer(from_fn_with_state(app.clone(), limit_unsigned)))
        .merge(health());
    if with_metrics {
        router = router.route("/metrics", get(health::metrics));
    }
    let people = from_fn_with_state(pages.error_page, tell_people);
    mcp::mount(finish(router, app, |router| router.layer(people)), app)
}

/// The routes of the API, for callers in this process.
pub fn described_routes(app: &App) -> Router<App> {
    described(Some(app)).0
}

/// Routes that nothing limits: a load balancer asks them all the time.
fn health() -> Router<App> {
    Router::new()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
}

/// Routes that check a signature.
fn signed() -> Router<App> {
    Router::new()
        .route("/hooks/stripe", post(stripe_webhook::stripe))
        .route("/files/{*key}", get(files::get))
}

/// The description of the API, and pages that show it.
fn documentation(openapi: &OpenApi) -> Router<App> {
    let pages = SwaggerUi::new("/docs").config(Config::from("/openapi.json"));
    Router::from(pages).route("/openapi.json", description(openapi))
}

/// All responses share the same bytes, however many are being sent.
fn description(openapi: &OpenApi) -> MethodRouter<App> {
    let text = Bytes::from(openapi.to_json().unwrap_or_default());
    get(move || {
        let text = text.clone();
        async move { ([(header::CONTENT_TYPE, JSON)], text) }
    })
}

/// What the metrics address serves.
pub fn metrics_router(app: &App) -> Router {
    let metrics = Router::new().route("/metrics", get(health::metrics));
    finish(metrics, app, |router| router)
}

/// `within` adds what runs inside of the outermost layer, also where no route was found.
fn finish(
    router: Router<App>,
    app: &App,
    within: impl FnOnce(Router<App>) -> Router<App>,
) -> Router {
    let router = router
        .fallback(nothing_here)
        .method_not_allowed_fallback(wrong_method);
    within(router)
        .layer(from_fn_with_state(app.clone(), edge))
        .with_state(app.clone())
}

async fn nothing_here(State(app): State<App>, client: ClientAddress) -> ApiError {
    anonymous::count(&app, client)
        .err()
        .unwrap_or(ApiError::NotFound)
}

async fn wrong_method(State(app): State<App>, client: ClientAddress) -> ApiError {
    anonymous::count(&app, client)
        .err()
        .unwrap_or(ApiError::MethodNotAllowed)
}

/// The description of the routes, as committed in `openapi.json`.
pub fn openapi_document() -> String {
    let (_, openapi) = described(None);
    let mut text = openapi.to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

/// The routes that are described, each behind the key or token that it needs.
fn described(app: Option<&App>) -> (Router<App>, OpenApi) {
    let (developers, mut openapi) = described_for_developers(app);
    let (mut workers, mut of_workers) = with_worker_token().split_for_parts();
    let (enrolling, of_enrolling) = with_worker_token_alone().split_for_parts();
    of_workers.merge(of_enrolling);
    let (mut open, mut of_open) = without_token().split_for_parts();
    secure(&mut of_workers, Some(Security::WorkerToken));
    secure(&mut of_open, None);
    if let Some(app) = app {
        if app.required_factor != RequiredFactor::Nobody {
            let factor = from_fn_with_state(app.clone(), require_workers_factor);
            workers = workers.route_layer(factor);
        }
        workers = workers.merge(enrolling);
        workers = workers.route_layer(from_fn_with_state(app.clone(), require_worker));
        open = open.route_layer(from_fn_with_state(app.clone(), limit_anonymous));
    }
    openapi.merge(of_workers);
    openapi.merge(of_open);
    let routes = developers.merge(workers).merge(open);
    let (admins, of_admins) = described_for_admins(app);
    openapi.merge(of_admins);
    finish_description(&mut openapi);
    (routes.merge(admins), openapi)
}

/// The routes of developers, each behind what it needs of a key.
fn described_for_developers(app: Option<&App>) -> (Router<App>, OpenApi) {
    let (mut routes, mut openapi) =
        OpenApiRouter::with_openapi(Description::openapi()).split_for_parts();
    for (needs, keys) in with_key() {
        let (mut keys, mut of_keys) = keys.split_for_parts();
        if let Some(app) = app {
            let needs = (app.clone(), needs);
            keys = keys.route_layer(from_fn_with_state(needs, require_key));
        }
        say_needs(&mut of_keys, needs);
        openapi.merge(of_keys);
        routes = routes.merge(keys);
    }
    let (needs, tasks) = of_task();
    let (mut tasks, mut of_tasks) = tasks.split_for_parts();
    if let Some(app) = app {
        let needs = (app.clone(), needs);
        tasks = tasks.route_layer(from_fn_with_state(needs, require_key_of_task));
    }
    say_needs(&mut of_tasks, needs);
    openapi.merge(of_tasks);
    secure(&mut openapi, Some(Security::DeveloperKey));
    (routes.merge(tasks), openapi)
}

/// The routes of admins, each behind the role that it needs.
fn described_for_admins(app: Option<&App>) -> (Router<App>, OpenApi) {
    let (mut routes, mut openapi) = with_admin_key_alone().split_for_parts();
    if let Some(app) = app {
        let needs = (app.clone(), AdminRole::Viewer);
        routes = routes.route_layer(from_fn_with_state(needs, require_admin));
    }
    for (role, admins) in with_admin_key() {
        let (mut admins, of_admins) = admins.split_for_parts();
        if let Some(app) = app {
            let needs = (app.clone(), role);
            if app.required_factor != RequiredFactor::Nobody {
                let factor = from_fn_with_state(app.clone(), require_admins_factor);
                admins = admins.route_layer(factor);
            }
            admins = admins.route_layer(from_fn_with_state(needs, require_admin));
        }
        openapi.merge(of_admins);
        routes = routes.merge(admins);
    }
    secure(&mut openapi, Some(Security::AdminKey));
    (routes, openapi)
}
