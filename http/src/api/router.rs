//! Every route, on one page.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::extract::State;
use axum::http::{Method, header};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use bytes::Bytes;
use utoipa::OpenApi as _;
use utoipa::openapi::path::ParameterIn;
use utoipa::openapi::{OpenApi, RefOr};
use utoipa_axum::router::OpenApiRouter;

use crate::api::error::ApiError;
use crate::api::middleware::around::around;
use crate::api::middleware::authentication::required_factor::{
    require_admins_factor, require_workers_factor,
};
use crate::api::middleware::authentication::{
    require_admin, require_key, require_key_of_task, require_worker,
};
use crate::api::middleware::checks::parameters::{Operation, RefuseStrayParameters};
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
use crate::domain::accounts::mandate::Needs;
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
    let anonymous = around(app.clone(), limit_anonymous);
    let mut router = described_routes(app)
        .merge(pages.routes)
        .merge(documentation().route_layer(anonymous.clone()))
        .merge(about_uploads().route_layer(anonymous))
        .merge(signed().route_layer(around(app.clone(), limit_unsigned)))
        .merge(health());
    if with_metrics {
        router = router.route("/metrics", get(health::metrics));
    }
    let people = around(pages.error_page, tell_people);
    mcp::mount(finish(router, app, |router| router.layer(people)), app)
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

fn documentation() -> Router<App> {
    Router::new().route("/openapi.json", get(description))
}

/// All responses share the same bytes, however many are being sent.
async fn description() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, JSON)], DESCRIBED.text.clone())
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
        .layer(around(app.clone(), edge))
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
    let mut text = DESCRIBED.openapi.to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

/// Routes, by what they need.
type Lists<N> = Vec<(N, Router<App>)>;

/// The routes that are described, in lists of those that need the same, and their description. To describe
/// them takes longer than all else of a start, and they are the same for every server of a process.
struct Described {
    /// What needs an API key.
    keys: Lists<Needs>,
    /// What needs an API key and shows a task.
    tasks: (Needs, Router<App>),
    /// What needs a worker's token.
    workers: Router<App>,
    /// The same, for those without the second factor that is asked of them.
    workers_alone: Router<App>,
    /// What needs an admin key.
    admins: Lists<AdminRole>,
    /// The same, for those without the second factor that is asked of them.
    admins_alone: Router<App>,
    /// What needs nothing.
    open: Router<App>,
    openapi: OpenApi,
    text: Bytes,
}

static DESCRIBED: LazyLock<Described> = LazyLock::new(Described::new);

impl Described {
    fn new() -> Self {
        let mut openapi = Description::openapi();
        let (keys, tasks) = described_for_developers(&mut openapi);
        let (workers, mut of_workers) = with_worker_token().split_for_parts();
        let (workers_alone, of_enrolling) = with_worker_token_alone().split_for_parts();
        of_workers.merge(of_enrolling);
        secure(&mut of_workers, Some(Security::WorkerToken));
        openapi.merge(of_workers);
        let (open, mut of_open) = without_token().split_for_parts();
        secure(&mut of_open, None);
        openapi.merge(of_open);
        let (admins, admins_alone) = described_for_admins(&mut openapi);
        let strict = Strict::by(&openapi);
        finish_description(&mut openapi);
        let text = Bytes::from(openapi.to_json().unwrap_or_default());
        Self {
            keys: strict.all(keys),
            tasks: (tasks.0, strict.layer(tasks.1)),
            workers: strict.layer(workers),
            workers_alone: strict.layer(workers_alone),
            admins: strict.all(admins),
            admins_alone: strict.layer(admins_alone),
            open: strict.layer(open),
            openapi,
            text,
        }
    }
}

/// Handlers that take parameters refuse those that they do not know. A layer does it for the others.
struct Strict(Arc<HashSet<Operation>>);

impl Strict {
    /// By the description, before its parts are shared.
    fn by(openapi: &OpenApi) -> Self {
        let mut takes_none = HashSet::new();
        for (path, item) in &openapi.paths.paths {
            for (method, operation) in [
                (Method::GET, &item.get),
                (Method::POST, &item.post),
                (Method::PUT, &item.put),
                (Method::PATCH, &item.patch),
                (Method::DELETE, &item.delete),
            ] {
                if operation
                    .as_ref()
                    .is_some_and(|operation| !has_query(operation))
                {
                    takes_none.insert((method, path.clone()));
                }
            }
        }
        Self(Arc::new(takes_none))
    }

    fn all<N>(&self, lists: Lists<N>) -> Lists<N> {
        let lists = lists.into_iter();
        lists
            .map(|(needs, routes)| (needs, self.layer(routes)))
            .collect()
    }

    fn layer(&self, routes: Router<App>) -> Router<App> {
        routes.route_layer(RefuseStrayParameters(self.0.clone()))
    }
}

fn has_query(operation: &utoipa::openapi::path::Operation) -> bool {
    let mut parameters = operation.parameters.iter().flatten();
    parameters.any(|parameter| match parameter {
        RefOr::T(parameter) => parameter.parameter_in == ParameterIn::Query,
        RefOr::Ref(_) => true,
    })
}

fn described_for_developers(openapi: &mut OpenApi) -> (Lists<Needs>, (Needs, Router<App>)) {
    let mut described = |(needs, routes): (Needs, OpenApiRouter<App>)| {
        let (routes, mut of_routes) = routes.split_for_parts();
        say_needs(&mut of_routes, needs);
        openapi.merge(of_routes);
        (needs, routes)
    };
    let keys = with_key().into_iter().map(&mut described).collect();
    let tasks = described(of_task());
    secure(openapi, Some(Security::DeveloperKey));
    (keys, tasks)
}

fn described_for_admins(openapi: &mut OpenApi) -> (Lists<AdminRole>, Router<App>) {
    let (alone, mut of_admins) = with_admin_key_alone().split_for_parts();
    let described = with_admin_key().into_iter().map(|(role, routes)| {
        let (routes, of_routes) = routes.split_for_parts();
        of_admins.merge(of_routes);
        (role, routes)
    });
    let admins = described.collect();
    secure(&mut of_admins, Some(Security::AdminKey));
    openapi.merge(of_admins);
    (admins, alone)
}

/// The routes that are described, each behind the key or token that it needs. Callers in this process ask
/// them too.
pub fn described_routes(app: &App) -> Router<App> {
    let open = around(app.clone(), limit_anonymous);
    for_developers(app)
        .merge(for_workers(app))
        .merge(DESCRIBED.open.clone().route_layer(open))
        .merge(for_admins(app))
}

/// The routes of developers, each behind what it needs of a key.
fn for_developers(app: &App) -> Router<App> {
    let (needs, tasks) = DESCRIBED.tasks.clone();
    let key = around((app.clone(), needs), require_key_of_task);
    let mut routes = tasks.route_layer(key);
    for (needs, keys) in DESCRIBED.keys.clone() {
        let key = around((app.clone(), needs), require_key);
        routes = routes.merge(keys.route_layer(key));
    }
    routes
}

fn for_workers(app: &App) -> Router<App> {
    let mut workers = DESCRIBED.workers.clone();
    if app.required_factor != RequiredFactor::Nobody {
        let factor = around(app.clone(), require_workers_factor);
        workers = workers.route_layer(factor);
    }
    let token = around(app.clone(), require_worker);
    let alone = DESCRIBED.workers_alone.clone();
    workers.merge(alone).route_layer(token)
}

/// The routes of admins, each behind the role that it needs.
fn for_admins(app: &App) -> Router<App> {
    let key = around((app.clone(), AdminRole::Viewer), require_admin);
    let mut routes = DESCRIBED.admins_alone.clone().route_layer(key);
    for (role, mut admins) in DESCRIBED.admins.clone() {
        if app.required_factor != RequiredFactor::Nobody {
            let factor = around(app.clone(), require_admins_factor);
            admins = admins.route_layer(factor);
        }
        let key = around((app.clone(), role), require_admin);
        routes = routes.merge(admins.route_layer(key));
    }
    routes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_says_that_it_refuses_parameters() {
        for (path, item) in &DESCRIBED.openapi.paths.paths {
            let operations = [&item.get, &item.put, &item.post, &item.patch, &item.delete];
            for operation in operations.into_iter().flatten() {
                let responses = &operation.responses.responses;
                assert!(responses.contains_key("400"), "{path}");
            }
        }
    }
}
