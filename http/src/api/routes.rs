//! Every route of the API, in lists by what it needs.

use axum::Router;
use axum::http::Method;
use axum::routing::options;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::developer::{self, tasks, test_helpers, webhook};
use crate::api::public::keys;
use crate::api::{App, admin, worker};
use crate::domain::AdminRole;
use crate::domain::accounts::mandate::{Needs, Permission};

/// Routes that need an API key: one list for each thing that a key with a mandate can lack.
pub fn with_key() -> [(Needs, OpenApiRouter<App>); 9] {
    [
        (Needs::Permission(Permission::Read), for_reading()),
        (Needs::Permission(Permission::Create), for_creating()),
        (Needs::ReadOrCreate, for_reading_or_creating()),
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

fn for_reading_or_creating() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(tasks::approval::get))
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
    use developer::{account, keys, logs, payment_method};

    OpenApiRouter::new()
        .routes(routes!(account::get))
        .routes(routes!(account::usage))
        .routes(routes!(logs::list))
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
pub fn of_task() -> (Needs, OpenApiRouter<App>) {
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
            (Method::HEAD, item.head),
        ];
        for (method, _) in operations.into_iter().filter(|(_, found)| found.is_some()) {
            routes.push((method, path.clone()));
        }
    }
    routes
}

/// Routes that need a worker's token.
pub fn with_worker_token() -> OpenApiRouter<App> {
    use worker::access::{account, sessions};
    use worker::me::{deletion, exports, profile, verification};
    use worker::notifications::{push, push_settings};
    use worker::{notifications, payouts, tasks, uploads};

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
        .routes(routes!(push_settings::get, push_settings::put))
        .routes(routes!(tasks::available::available))
        .routes(routes!(tasks::available::offered))
        .routes(routes!(tasks::own::list))
        .routes(routes!(tasks::own::get))
        .routes(routes!(tasks::actions::accept))
        .routes(routes!(tasks::actions::start))
        .routes(routes!(tasks::actions::release))
        .routes(routes!(tasks::actions::contest))
        .routes(routes!(tasks::disputes::get))
        .routes(routes!(tasks::proofs::list, tasks::proofs::submit))
        .routes(routes!(uploads::create))
        .routes(routes!(uploads::head, uploads::append, uploads::delete))
        .routes(routes!(verification::verification))
}

/// Routes that a worker's token opens even where the worker lacks a second factor that is required.
pub fn with_worker_token_alone() -> OpenApiRouter<App> {
    use worker::access::{second_factor, session};

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
pub fn with_admin_key_alone() -> OpenApiRouter<App> {
    use admin::access::{second_factor, sessions};

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
pub fn with_admin_key() -> [(AdminRole, OpenApiRouter<App>); 3] {
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
        .routes(routes!(admin::accounts::keys::list))
        .routes(routes!(admin::workers::list))
        .routes(routes!(admin::workers::get))
        .routes(routes!(admin::tasks::list))
        .routes(routes!(admin::tasks::get))
        .routes(routes!(admin::tasks::proofs::list))
        .routes(routes!(admin::tasks::proofs::evidence))
        .routes(routes!(admin::service::jobs::list))
        .routes(routes!(admin::service::notifications::list))
        .routes(routes!(admin::service::audit::list))
        .routes(routes!(admin::service::report::get))
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
        .routes(routes!(admin::decisions::disputes::decide))
        .routes(routes!(admin::decisions::proposals::of_dispute))
        .routes(routes!(admin::decisions::payouts::retry))
        .routes(routes!(admin::service::jobs::retry))
        .routes(routes!(admin::accounts::suspend))
        .routes(routes!(admin::accounts::restore))
}

/// Changes of terms, and what closes money that was not sent.
fn for_owners() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(admin::accounts::keys::create))
        .routes(routes!(admin::accounts::keys::revoke))
        .routes(routes!(admin::workers::reset_link))
        .routes(routes!(admin::accounts::create))
        .routes(routes!(admin::accounts::tier))
        .routes(routes!(
            admin::access::keys::create,
            admin::access::keys::list
        ))
        .routes(routes!(admin::access::keys::revoke))
        .routes(routes!(admin::decisions::payouts::write_off))
        .routes(routes!(admin::decisions::proposals::of_write_off))
        .routes(routes!(admin::decisions::refunds::settle))
        .routes(routes!(admin::decisions::proposals::of_settlement))
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
pub fn without_token() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(keys::get))
        .routes(routes!(developer::sign_up::sign_up))
        .routes(routes!(developer::links::confirm))
        .routes(routes!(developer::links::ask_for_reset))
        .routes(routes!(developer::links::reset))
        .routes(routes!(worker::access::session::sign_up))
        .routes(routes!(worker::access::session::sign_in))
        .routes(routes!(worker::access::account::confirm))
        .routes(routes!(worker::access::account::ask_for_reset))
        .routes(routes!(worker::access::account::reset))
}

/// How files are uploaded, for programs that ask. Not described: browsers ask such things of every route.
pub fn about_uploads() -> Router<App> {
    Router::new().route("/v1/worker/uploads", options(worker::uploads::discover))
}
