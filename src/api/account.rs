//! /v1/account and /v1/account/usage

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::App;
use super::answer::Answer;
use super::authentication::Caller;
use super::error::ApiError;
use super::openapi::{Example, errors};
use crate::domain::{AccountStatus, EventType, Tier, Timestamp};
use crate::store::StoreError;
use crate::usecases::Refusal;

/// The developer's account.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(Example::Account.value()))]
pub struct AccountBody {
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
#[schema(example = json!(Example::Usage.value()))]
pub struct Usage {
    tier: Tier,
    tasks_this_month: i64,
    /// Tasks that the tier allows in a month.
    tasks_limit: i64,
    /// Keys that are not revoked.
    api_keys_count: i64,
}

/// Get the account
#[utoipa::path(
    get, path = "/v1/account", tag = "Account", operation_id = "getAccount",
    responses((status = 200, description = "The account", body = AccountBody), errors::Common)
)]
pub async fn get(State(app): State<App>, caller: Caller) -> Result<Answer, ApiError> {
    let owner = caller.owner();
    let (account, counts) = app
        .store
        .read(move |tx| {
            let account = tx
                .account(owner.account)?
                .ok_or_else(|| StoreError::Failed("a key has no account".into()))?;
            Ok::<_, Refusal>((account, tx.task_counts(owner)?))
        })
        .await?;
    Answer::ok(&AccountBody {
        id: account.id.to_string(),
        email: account.email,
        name: account.name,
        company: account.company,
        tier: account.tier,
        status: account.status,
        webhook_url: account.webhook_url,
        webhook_events: account.webhook_events,
        tasks_this_month: counts.this_month(caller.holder.time(app.clock.now())),
        created_at: account.created_at,
        updated_at: account.updated_at,
    })
}

/// Get usage
///
/// What the account has used of its tier, in the environment of the key.
#[utoipa::path(
    get, path = "/v1/account/usage", tag = "Account", operation_id = "getUsage",
    responses((status = 200, description = "The usage", body = Usage), errors::Common)
)]
pub async fn usage(State(app): State<App>, caller: Caller) -> Result<Answer, ApiError> {
    let owner = caller.owner();
    let (counts, keys) = app
        .store
        .read(move |tx| {
            let counts = tx.task_counts(owner)?;
            Ok::<_, Refusal>((counts, tx.count_active_api_keys(owner.account)?))
        })
        .await?;
    let tier = caller.holder.tier;
    Answer::ok(&Usage {
        tier,
        tasks_this_month: counts.this_month(caller.holder.time(app.clock.now())),
        tasks_limit: tier.tasks_per_month(),
        api_keys_count: keys,
    })
}
