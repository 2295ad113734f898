//! /v1/admin/accounts: developers' accounts.

pub mod keys;

use axum::extract::State;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::admin::query::AccountsQuery;
use crate::api::admin::{AdminPost, ItemNote};
use crate::api::error::ApiError;
use crate::api::middleware::authentication::AdminCaller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups, parameters};
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::path::IdPath;
use crate::api::response::json::JsonResponse;
use crate::api::response::page::{CursorList, CursorMeta};
use crate::domain::{
    Account, AccountId, AccountStatus, Actor, Environment, NewAccount, Owner, Secret, Status, Tier,
    Timestamp, accounts,
};
use crate::store::{StoreError, Tx};
use crate::usecases::{self, OpenedAccount, UseCaseError};
use crate::views::{Id, examples, to_json};

type AdminAccountPage = CursorList<AdminAccount>;

/// An account, as admins see it.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(AdminAccount::example()))]
pub struct AdminAccount {
    #[schema(value_type = Id)]
    id: String,
    email: String,
    /// Whether the address is known to be the holder's. If not, other accounts may name the same.
    email_confirmed: bool,
    name: String,
    #[schema(required)]
    company: Option<String>,
    tier: Tier,
    status: AccountStatus,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl AdminAccount {
    fn example() -> Self {
        examples::account().into()
    }
}

impl From<Account> for AdminAccount {
    fn from(account: Account) -> Self {
        Self {
            id: account.id.to_string(),
            email: account.email,
            email_confirmed: account.email_confirmed,
            name: account.name,
            company: account.company,
            tier: account.tier,
            status: account.status,
            created_at: account.created_at,
            updated_at: account.updated_at,
        }
    }
}

/// The totals of an account in one environment.
#[derive(Serialize, ToSchema)]
struct AccountTotals {
    tasks: i64,
    tasks_this_month: i64,
    /// Number of tasks by status.
    #[schema(value_type = std::collections::BTreeMap<String, i64>)]
    tasks_by_status: serde_json::Value,
    /// Fees that the platform has earned.
    fees_cents: i64,
    /// Owed back to the developer, not yet refunded.
    refunds_owed_cents: i64,
}

impl AccountTotals {
    fn read(tx: &mut Tx<'_>, owner: Owner, now: Timestamp) -> Result<Self, UseCaseError> {
        let counts = tx.task_counts(owner)?;
        let balances = tx.developer_balances(owner)?;
        Ok(Self {
            tasks: counts.total(),
            tasks_this_month: counts.this_month(now),
            tasks_by_status: by_status(|status| counts.in_status(status)),
            fees_cents: balances.map_or(0, |kept| kept.fees_cents),
            refunds_owed_cents: balances.map_or(0, |kept| kept.refunds_cents),
        })
    }

    fn example() -> Self {
        let task = examples::completed().task;
        Self {
            tasks: 1,
            tasks_this_month: 1,
            tasks_by_status: by_status(|status| i64::from(status == task.status)),
            fees_cents: task.split().fee_cents,
            refunds_owed_cents: 0,
        }
    }
}

fn by_status(count: impl Fn(Status) -> i64) -> serde_json::Value {
    let counts = Status::ALL.iter();
    counts
        .map(|status| (status.to_string(), count(*status).into()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!(AccountWithTotals::example()))]
pub struct AccountWithTotals {
    account: AdminAccount,
    /// Number of active keys.
    api_keys_count: i64,
    live: AccountTotals,
    test: AccountTotals,
}

impl AccountWithTotals {
    fn example() -> Self {
        Self {
            account: AdminAccount::example(),
            api_keys_count: 2,
            live: AccountTotals::example(),
            test: AccountTotals::example(),
        }
    }
}

/// List accounts
///
/// Newest first.
#[utoipa::path(
    get, path = "/v1/admin/accounts", tag = "Admin", operation_id = "listAccounts",
    params(("status" = inline(Option<AccountStatus>), Query, description = "Only in this status"),
        ("email" = inline(Option<parameters::Email>), Query, description = "Only the one with this e-mail address"),
        parameters::PageSize,
        ("cursor" = inline(Option<parameters::IdCursor>), Query, description = "`next_cursor` of the previous page")),
    responses((status = 200, description = "A page of accounts", body = AdminAccountPage),
        groups::Admin, groups::Query)
)]
pub async fn list(
    State(app): State<App>,
    _: AdminCaller,
    query: AccountsQuery,
) -> Result<JsonResponse, ApiError> {
    let AccountsQuery {
        filter,
        cursor,
        limit,
    } = query;
    let read = app
        .store
        .snapshot(move |tx| tx.accounts_before(&filter, cursor, limit + 1));
    let mut accounts = read.await?;
    let meta = CursorMeta::cut(&mut accounts, limit, |account| account.id.to_string());
    JsonResponse::ok(&meta.list(accounts.into_iter().map(AdminAccount::from).collect()))
}

/// Get an account
///
/// Includes its totals in both environments.
#[utoipa::path(
    get, path = "/v1/admin/accounts/{id}", tag = "Admin", operation_id = "getAccountAsAdmin",
    params(("id" = inline(parameters::AccountId), Path, description = "Account ID")),
    responses((status = 200, description = "The account", body = AccountWithTotals),
        groups::Admin, errors::AccountNotFound)
)]
pub async fn get(
    State(app): State<App>,
    _: AdminCaller,
    IdPath(id): IdPath<AccountId>,
) -> Result<JsonResponse, ApiError> {
    let (id, now) = (id.ok_or(UseCaseError::AccountNotFound)?, app.clock.now());
    let found = app.store.snapshot(move |tx| {
        let account = tx.account(id)?.ok_or(UseCaseError::AccountNotFound)?;
        let owner = |environment| Owner {
            account: id,
            environment,
        };
        Ok::<_, UseCaseError>(AccountWithTotals {
            account: account.into(),
            api_keys_count: tx.count_active_api_keys(id)?,
            live: AccountTotals::read(tx, owner(Environment::Live), now)?,
            test: AccountTotals::read(tx, owner(Environment::Test), now)?,
        })
    });
    JsonResponse::ok(&found.await?)
}

pub struct OpenAccount(NewAccount);

impl RequestBody for OpenAccount {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let email = fields.text("email", &accounts::EMAIL);
        let name = fields.text("name", &accounts::NAME);
        let company = fields.optional_text("company", &accounts::NAME);
        let tier = fields.doc("`free` when left out.").optional_choice("tier");
        Some(Self(NewAccount {
            email: email?,
            name: name?,
            company,
            tier: tier.unwrap_or(Tier::Free),
        }))
    }
}

/// A new account and its keys. No other response ever has these keys.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(NewAdminAccount::example()))]
pub struct NewAdminAccount {
    account: AdminAccount,
    live_key: String,
    test_key: String,
    /// Where the developer chooses a password for the pages. It works once, for 7 days, and is also mailed if
    /// there is a mail server.
    invitation_url: String,
}

impl NewAdminAccount {
    fn of(opened: &OpenedAccount, invitation_url: String) -> Self {
        Self {
            account: opened.account.clone().into(),
            live_key: opened.live_key.secret.expose().to_owned(),
            test_key: opened.test_key.secret.expose().to_owned(),
            invitation_url,
        }
    }

    fn json((opened, invitation_url): &(OpenedAccount, String)) -> Result<String, StoreError> {
        to_json(&Self::of(opened, invitation_url.clone()))
    }

    fn example() -> Self {
        let key = |environment| {
            Secret::api_key(environment, &examples::secret_bytes())
                .expose()
                .to_owned()
        };
        Self {
            account: AdminAccount::example(),
            live_key: key(Environment::Live),
            test_key: key(Environment::Test),
            invitation_url: examples::link_url("/invite"),
        }
    }
}

/// Create an account
///
/// With a live and a test key, and an invitation to choose a password.
#[utoipa::path(
    post, path = "/v1/admin/accounts", tag = "Admin", operation_id = "createAccount",
    params(IdempotencyKeyHeader), request_body = OpenAccount,
    responses((status = 201, description = "The account and its keys, which are shown only once", body = NewAdminAccount),
        groups::Admin, groups::Body, groups::Idempotency, errors::EmailTaken)
)]
pub async fn create(State(app): State<App>, post: AdminPost) -> Result<JsonResponse, ApiError> {
    let (OpenAccount(new), by) = (post.read()?, post.by());
    let opened = OpenedAccount::new(&new, app.clock.now());
    let url = app.files.public_url().to_owned();
    let work = move |tx: &mut Tx<'_>, _| {
        let invited = usecases::create_invited_account(tx, &opened, &by)?;
        Ok((opened.clone(), format!("{url}{}", invited.path())))
    };
    let request = post.once(&app).created().sealed();
    request.run(work, NewAdminAccount::json).await
}

pub struct SetTier {
    tier: Tier,
}

impl RequestBody for SetTier {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let tier = fields.choice("tier");
        Some(Self { tier: tier? })
    }
}

request_bodies! {
    OpenAccount = json!({"email": "ada@example.com", "name": "Ada", "company": "Acme Audits"});
    SetTier = json!({"tier": "pro"});
}

/// Change the tier of an account
///
/// Existing tasks keep the fee they were created with.
#[utoipa::path(
    post, path = "/v1/admin/accounts/{id}/tier", tag = "Admin", operation_id = "setTier",
    params(("id" = inline(parameters::AccountId), Path, description = "Account ID"), IdempotencyKeyHeader), request_body = SetTier,
    responses((status = 200, description = "The account", body = AdminAccount),
        groups::Admin, groups::Body, groups::Idempotency, errors::AccountNotFound)
)]
pub async fn tier(
    State(app): State<App>,
    IdPath(id): IdPath<AccountId>,
    post: AdminPost,
) -> Result<JsonResponse, ApiError> {
    let SetTier { tier } = post.read()?;
    change(&app, post, id, move |tx, id, by, now| {
        usecases::set_tier(tx, id, tier, by, now)?;
        tx.account(id)?.ok_or(UseCaseError::AccountNotFound)
    })
    .await
}

/// Suspend an account
///
/// Its keys stop working until it is restored.
#[utoipa::path(
    post, path = "/v1/admin/accounts/{id}/suspend", tag = "Admin",
    operation_id = "suspendAccount", params(("id" = inline(parameters::AccountId), Path, description = "Account ID"), IdempotencyKeyHeader), request_body = ItemNote,
    responses((status = 200, description = "The account is suspended", body = AdminAccount),
        groups::Admin, groups::Body, groups::Idempotency, errors::AccountNotFound, errors::InvalidAccountState)
)]
pub async fn suspend(
    State(app): State<App>,
    IdPath(id): IdPath<AccountId>,
    post: AdminPost,
) -> Result<JsonResponse, ApiError> {
    let ItemNote { note } = post.read()?;
    change(&app, post, id, move |tx, id, by, now| {
        usecases::suspend_account_with(tx, id, note.as_deref(), by, now)
    })
    .await
}

/// Restore an account
#[utoipa::path(
    post, path = "/v1/admin/accounts/{id}/restore", tag = "Admin",
    operation_id = "restoreAccount", params(("id" = inline(parameters::AccountId), Path, description = "Account ID"), IdempotencyKeyHeader), request_body = ItemNote,
    responses((status = 200, description = "The account is active", body = AdminAccount),
        groups::Admin, groups::Body, groups::Idempotency, errors::AccountNotFound, errors::InvalidAccountState)
)]
pub async fn restore(
    State(app): State<App>,
    IdPath(id): IdPath<AccountId>,
    post: AdminPost,
) -> Result<JsonResponse, ApiError> {
    let ItemNote { note } = post.read()?;
    change(&app, post, id, move |tx, id, by, now| {
        usecases::restore_account_with(tx, id, note.as_deref(), by, now)
    })
    .await
}

/// Changes an account and answers with its new state.
async fn change(
    app: &App,
    post: AdminPost,
    id: Option<AccountId>,
    mut change: impl FnMut(&mut Tx<'_>, AccountId, &Actor, Timestamp) -> Result<Account, UseCaseError>
    + Send
    + 'static,
) -> Result<JsonResponse, ApiError> {
    let (id, by) = (id.ok_or(UseCaseError::AccountNotFound)?, post.by());
    let work = move |tx: &mut Tx<'_>, now| change(tx, id, &by, now);
    let render = |account: &Account| to_json(&AdminAccount::from(account.clone()));
    post.once(app).run(work, render).await
}
