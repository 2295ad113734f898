//! /v1/account and /v1/account/usage

use axum::extract::{Request, State};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{errors, groups};
use crate::api::request::body;
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::response::json::JsonResponse;
use crate::domain::{Account, AccountStatus, Actor, EventType, Tier, Timestamp, accounts};
use crate::store::StoreError;
use crate::usecases::{self, UseCaseError};
use crate::views::{Id, examples};

/// The developer's account.
#[derive(Serialize, ToSchema)]
#[schema(as = Account, example = json!(AccountBody::example()))]
pub struct AccountBody {
    #[schema(value_type = Id)]
    id: String,
    email: String,
    name: String,
    #[schema(required)]
    company: Option<String>,
    tier: Tier,
    status: AccountStatus,
    #[schema(required)]
    webhook_url: Option<String>,
    webhook_events: Vec<EventType>,
    /// Tasks created in this calendar month (UTC) in the environment of the key.
    tasks_this_month: i64,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!(Usage::example()))]
pub struct Usage {
    tier: Tier,
    tasks_this_month: i64,
    /// Tasks that the tier allows in a month.
    tasks_limit: i64,
    /// Keys that are not revoked.
    api_keys_count: i64,
}

impl Usage {
    fn of(tier: Tier, tasks_this_month: i64, api_keys_count: i64) -> Self {
        Self {
            tier,
            tasks_this_month,
            tasks_limit: tier.tasks_per_month(),
            api_keys_count,
        }
    }

    fn example() -> Self {
        Self::of(examples::account().tier, 1, 2)
    }
}

impl AccountBody {
    pub fn of(account: Account, tasks_this_month: i64) -> Self {
        Self {
            id: account.id.to_string(),
            email: account.email,
            name: account.name,
            company: account.company,
            tier: account.tier,
            status: account.status,
            webhook_url: account.webhook_url,
            webhook_events: account.webhook_events,
            tasks_this_month,
            created_at: account.created_at,
            updated_at: account.updated_at,
        }
    }

    fn example() -> Self {
        Self::of(examples::account(), 1)
    }
}

/// Confirms that the account is to be deleted.
pub struct DeleteAccount {
    confirm: String,
}

impl RequestBody for DeleteAccount {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let confirm = fields
            .doc("The e-mail address of the account.")
            .text("confirm", &accounts::EMAIL);
        Some(Self { confirm: confirm? })
    }
}

request_bodies! {
    /// Confirms that the account is to be deleted.
    DeleteAccount = json!({"confirm": "ada@example.com"});
}

/// Get the account
#[utoipa::path(
    get, path = "/v1/account", tag = "Account", operation_id = "getAccount",
    responses((status = 200, description = "The account", body = AccountBody), groups::Developer)
)]
pub async fn get(State(app): State<App>, caller: Caller) -> Result<JsonResponse, ApiError> {
    let owner = caller.owner();
    let (account, counts) = app
        .store
        .read(move |tx| {
            let account = tx
                .account(owner.account)?
                .ok_or_else(|| StoreError::Failed("a key has no account".into()))?;
            Ok::<_, UseCaseError>((account, tx.task_counts(owner)?))
        })
        .await?;
    let tasks_this_month = counts.this_month(app.clock.now());
    JsonResponse::ok(&AccountBody::of(account, tasks_this_month))
}

/// Delete the account
///
/// Deletes the account and all of its keys, live and test, permanently. Refused while a task is
/// open or money is still moving. The e-mail address is free at once; remaining data is erased
/// after 30 days.
#[utoipa::path(
    delete, path = "/v1/account", tag = "Account", operation_id = "deleteAccount",
    request_body = DeleteAccount,
    responses((status = 200, description = "The account is deleted", body = AccountBody),
        groups::Developer, groups::Body, errors::TasksOpen)
)]
pub async fn delete(
    State(app): State<App>,
    caller: Caller,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let DeleteAccount { confirm } = body::json(request, &app).await?;
    let (holder, clock) = (caller.holder, app.clock.clone());
    let id = holder.owner.account;
    let known = app.store.read(move |tx| tx.account(id)).await?;
    if known.is_none_or(|account| account.email != confirm) {
        let message = "must be the e-mail address of the account";
        return Err(ApiError::invalid("confirm", message));
    }
    let deleted = app
        .store
        .write(move |tx| {
            usecases::delete_account(tx, id, &Actor::developer(holder.key), clock.now())
        })
        .await?;
    JsonResponse::ok(&AccountBody::of(deleted, 0))
}

/// Get usage
///
/// What the account has used of its tier, in the key's environment.
#[utoipa::path(
    get, path = "/v1/account/usage", tag = "Account", operation_id = "getUsage",
    responses((status = 200, description = "The usage", body = Usage), groups::Developer)
)]
pub async fn usage(State(app): State<App>, caller: Caller) -> Result<JsonResponse, ApiError> {
    let owner = caller.owner();
    let (counts, keys) = app
        .store
        .read(move |tx| {
            let counts = tx.task_counts(owner)?;
            Ok::<_, UseCaseError>((counts, tx.count_active_api_keys(owner.account)?))
        })
        .await?;
    let tier = caller.holder.tier;
    let tasks_this_month = counts.this_month(app.clock.now());
    JsonResponse::ok(&Usage::of(tier, tasks_this_month, keys))
}
