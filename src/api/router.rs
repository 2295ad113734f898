//! Every route, on one page.

use axum::Router;
use axum::extract::State;
use axum::http::{Method, header};
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, get, post};
use bytes::Bytes;
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use utoipa_swagger_ui::{Config, SwaggerUi};

use crate::api::developer::{self, tasks, test_helpers, webhook};
use crate::api::error::ApiError;
use crate::api::middleware::authentication::{
    require_admin, require_key, require_key_of_task, require_worker,
};
use crate::api::middleware::edge::edge;
use crate::api::middleware::limits::anonymous::{self, limit_anonymous, limit_unsigned};
use crate::api::middleware::people::{ErrorPage, tell_people};
use crate::api::middleware::required_factor::{require_admins_factor, require_workers_factor};
use crate::api::openapi::{Description, Security, finish as finish_description, say_needs, secure};
use crate::api::public::{files, health, keys, stripe_webhook};
use crate::api::{App, JSON, admin, worker};
use crate::domain::accounts::mandate::{Needs, Permission};
use crate::domain::{AdminRole, RequiredFactor};
use crate::limits::ClientAddress;

/// Routes that need an API key: one list for each thing that a key with a mandate can lack.
fn with_key() -> [(Needs, OpenApiRouter<App>); 8] {
    [
        (Needs::Permission(Permission::Read), for_reading()),
        (Needs::Permission(Permission::Create), for_creating()),
        (Needs::Permission(Permission::Review), for_reviewing()),
        (Needs::Permission(Permission::Cancel), for_cancelling()),
        (Needs::Permission(Permission::Test), for_testing()),
        (Needs::Unlimited, for_unlimited_keys()),
        (Needs::WholeAccount, of_the_account()),
        (Needs::Nothing, for_every_key()),
    ]
}

fn for_reading() -> OpenApiRouter<App> {
    use developer::{disputes, events, payments, proofs};

    OpenApiRouter::new()
        .routes(routes!(tasks::read::list))
        .routes(routes!(tasks::approval::get))
        .routes(routes!(tasks::approval::list))
        .routes(routes!(tasks::history::get))
        .routes(routes!(tasks::search::search))
        .routes(routes!(tasks::bundle::get))
        .routes(routes!(developer::quotes::get))
        .routes(routes!(proofs::list::list))
        .routes(routes!(proofs::evidence::get))
        .routes(routes!(payments::get))
        .routes(routes!(payments::ledger))
        .routes(routes!(disputes::get))
        .routes(routes!(events::list::list))
        .routes(routes!(events::stream::stream))
}

fn for_creating() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(developer::quotes::make))
        .routes(routes!(tasks::create::create))
        .routes(routes!(tasks::batch::create))
        .routes(routes!(tasks::update::update))
}

fn for_reviewing() -> OpenApiRouter<App> {
    use developer::{disputes, proofs};

    OpenApiRouter::new()
        .routes(routes!(proofs::review::approve))
        .routes(routes!(proofs::review::reject))
        .routes(routes!(disputes::state))
}

fn for_cancelling() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(tasks::cancel::cancel))
}

fn for_testing() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(
            test_helpers::clock::get,
            test_helpers::clock::advance,
            test_helpers::clock::reset
        ))
        .routes(routes!(test_helpers::advance::advance))
        .routes(routes!(test_helpers::proofs::submit))
}

/// What no permission opens, and belongs to one environment or names one.
fn for_unlimited_keys() -> OpenApiRouter<App> {
    use developer::{account, keys, payment_method};

    OpenApiRouter::new()
        .routes(routes!(account::get))
        .routes(routes!(account::usage))
        .routes(routes!(tasks::approval::approve))
        .routes(routes!(tasks::approval::refuse))
        .routes(routes!(keys::create, keys::list))
        .routes(routes!(keys::revoke))
        .routes(routes!(
            keys::mandate::get,
            keys::mandate::put,
            keys::mandate::delete
        ))
        .routes(routes!(
            payment_method::get,
            payment_method::put,
            payment_method::delete
        ))
        .routes(routes!(webhook::deliveries::list))
        .routes(routes!(webhook::deliveries::get))
        .routes(routes!(webhook::deliveries::recover))
        .routes(routes!(webhook::deliveries::redeliver))
}

/// What no permission opens, and both environments share.
fn of_the_account() -> OpenApiRouter<App> {
    use developer::{account, exports, links, security};

    OpenApiRouter::new()
        .routes(routes!(account::delete))
        .routes(routes!(security::get, security::put))
        .routes(routes!(exports::request, exports::list))
        .routes(routes!(links::send_again))
        .routes(routes!(
            webhook::settings::get,
            webhook::settings::put,
            webhook::settings::delete
        ))
        .routes(routes!(webhook::settings::test))
        .routes(routes!(webhook::settings::rotate_secret))
}

/// What a key may ask of itself, however limited it is.
fn for_every_key() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(developer::keys::mandate::own))
}

/// Routes that need an API key and show the task that their path names.
fn of_task() -> (Needs, OpenApiRouter<App>) {
    let router = OpenApiRouter::new().routes(routes!(tasks::read::get));
    (Needs::Permission(Permission::Read), router)
}

/// A route of developers, and what it needs of a key.
#[derive(Clone, Debug)]
pub struct DeveloperRoute {
    pub method: Method,
    pub path: String,
    pub needs: Needs,
}

/// Every route that needs an API key.
pub fn developer_routes() -> Vec<DeveloperRoute> {
    let lists = with_key().into_iter().chain([of_task()]);
    let routes = lists.flat_map(|(needs, router)| {
        let routes = operations(router).into_iter();
        routes.map(move |(method, path)| DeveloperRoute {
            method,
            path,
            needs,
        })
    });
    routes.collect()
}

/// The methods and paths of a list of routes.
fn operations(router: OpenApiRouter<App>) -> Vec<(Method, String)> {
    let mut routes = Vec::new();
    for (path, item) in router.into_openapi().paths.paths {
        let operations = [
            (Method::GET, item.get),
            (Method::PUT, item.put),
            (Method::POST, item.post),
            (Method::PATCH, item.patch),
            (Method::DELETE, item.delete),
        ];
        for (method, _) in operations.into_iter().filter(|(_, found)| found.is_some()) {
            routes.push((method, path.clone()));
        }
    }
    routes
}

/// Routes that need a worker's token.
fn with_worker_token() -> OpenApiRouter<App> {
    use worker::{
        account, deletion, disputes, exports, notifications, payouts, profile, proofs, push,
        sessions, tasks, verification,
    };

    OpenApiRouter::new()
        .routes(routes!(profile::get, profile::update, deletion::delete))
        .routes(routes!(exports::request, exports::list))
        .routes(routes!(account::send_confirmation))
        .routes(routes!(account::change_password))
        .routes(routes!(account::change_email))
        .routes(routes!(sessions::list))
        .routes(routes!(sessions::revoke))
        .routes(routes!(payouts::open_payout_account))
        .routes(routes!(payouts::earnings))
        .routes(routes!(notifications::list))
        .routes(routes!(notifications::read))
        .routes(routes!(notifications::read_all))
        .routes(routes!(push::subscribe, push::unsubscribe))
        .routes(routes!(push::key))
        .routes(routes!(tasks::available::available))
        .routes(routes!(tasks::own::list))
        .routes(routes!(tasks::own::get))
        .routes(routes!(tasks::actions::accept))
        .routes(routes!(tasks::actions::start))
        .routes(routes!(tasks::actions::release))
        .routes(routes!(tasks::actions::contest))
        .routes(routes!(disputes::get))
        .routes(routes!(proofs::list, proofs::submit))
        .routes(routes!(verification::verification))
}

/// Routes that a worker's token opens even where the worker lacks a second factor that is required.
fn with_worker_token_alone() -> OpenApiRouter<App> {
    use worker::{second_factor, session};

    OpenApiRouter::new()
        .routes(routes!(session::sign_out))
        .routes(routes!(
            second_factor::get,
            second_factor::begin,
            second_factor::turn_off
        ))
        .routes(routes!(second_factor::confirm))
        .routes(routes!(second_factor::new_codes))
}

/// The same for an admin key, whatever its role.
fn with_admin_key_alone() -> OpenApiRouter<App> {
    use admin::{second_factor, sessions};

    OpenApiRouter::new()
        .routes(routes!(
            second_factor::get,
            second_factor::begin,
            second_factor::turn_off
        ))
        .routes(routes!(second_factor::confirm))
        .routes(routes!(second_factor::new_codes))
        .routes(routes!(sessions::open))
        .routes(routes!(sessions::end))
}

/// Routes that need an admin key: one list for each role.
fn with_admin_key() -> [(AdminRole, OpenApiRouter<App>); 3] {
    [
        (AdminRole::Viewer, for_viewers()),
        (AdminRole::Operator, for_operators()),
        (AdminRole::Owner, for_owners()),
    ]
}

/// Read-only routes.
fn for_viewers() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(admin::review_queue::list))
        .routes(routes!(admin::review_queue::item))
        .routes(routes!(admin::accounts::list))
        .routes(routes!(admin::accounts::get))
        .routes(routes!(admin::account_keys::list))
        .routes(routes!(admin::workers::list))
        .routes(routes!(admin::workers::get))
        .routes(routes!(admin::tasks::list))
        .routes(routes!(admin::tasks::get))
        .routes(routes!(admin::tasks::proofs::list))
        .routes(routes!(admin::tasks::proofs::evidence))
        .routes(routes!(admin::jobs::list))
        .routes(routes!(admin::notifications::list))
        .routes(routes!(admin::audit::list))
        .routes(routes!(admin::report::get))
}

/// Daily decisions.
fn for_operators() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(admin::review_queue::claim))
        .routes(routes!(admin::review_queue::release))
        .routes(routes!(admin::review_queue::note))
        .routes(routes!(admin::review_queue::clear))
        .routes(routes!(admin::workers::verify))
        .routes(routes!(admin::workers::refuse))
        .routes(routes!(admin::workers::suspend))
        .routes(routes!(admin::workers::restore))
        .routes(routes!(admin::workers::confirm_skills))
        .routes(routes!(admin::tasks::proofs::original))
        .routes(routes!(admin::disputes::decide))
        .routes(routes!(admin::proposals::of_dispute))
        .routes(routes!(admin::payouts::retry))
        .routes(routes!(admin::jobs::retry))
        .routes(routes!(admin::accounts::suspend))
        .routes(routes!(admin::accounts::restore))
}

/// Changes of terms, and write-offs.
fn for_owners() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(admin::account_keys::create))
        .routes(routes!(admin::account_keys::revoke))
        .routes(routes!(admin::workers::reset_link))
        .routes(routes!(admin::accounts::create))
        .routes(routes!(admin::accounts::tier))
        .routes(routes!(admin::keys::create, admin::keys::list))
        .routes(routes!(admin::keys::revoke))
        .routes(routes!(admin::payouts::write_off))
        .routes(routes!(admin::proposals::of_write_off))
}

/// A route of admins, and the role that it needs.
#[derive(Clone, Debug)]
pub struct AdminRoute {
    pub method: Method,
    pub path: String,
    pub role: AdminRole,
}

/// Every route that needs an admin key.
pub fn admin_routes() -> Vec<AdminRoute> {
    let mut routes = Vec::new();
    let alone = (AdminRole::Viewer, with_admin_key_alone());
    for (role, router) in with_admin_key().into_iter().chain([alone]) {
        let found = operations(router).into_iter();
        routes.extend(found.map(|(method, path)| AdminRoute { method, path, role }));
    }
    routes
}

/// Routes by which developers and workers sign up and in, and what others check our signatures with.
fn without_token() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(keys::get))
        .routes(routes!(developer::sign_up::sign_up))
        .routes(routes!(developer::links::confirm))
        .routes(routes!(developer::links::ask_for_reset))
        .routes(routes!(developer::links::reset))
        .routes(routes!(worker::session::sign_up))
        .routes(routes!(worker::session::sign_in))
        .routes(routes!(worker::account::confirm))
        .routes(routes!(worker::account::ask_for_reset))
        .routes(routes!(worker::account::reset))
}

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
        .merge(documentation(&openapi).route_layer(anonymous))
        .merge(signed().route_layer(from_fn_with_state(app.clone(), limit_unsigned)))
        .merge(health());
    if with_metrics {
        router = router.route("/metrics", get(health::metrics));
    }
    let people = from_fn_with_state(pages.error_page, tell_people);
    finish(router, app, |router| router.layer(people))
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
