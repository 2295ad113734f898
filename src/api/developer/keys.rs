//! /v1/account/keys

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::ambient;
use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{IdempotencyKeyHeader, errors};
use crate::api::request::fields::Fields;
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::request::path::KeyPath;
use crate::api::response::json::Answer;
use crate::domain::accounts::api_key;
use crate::domain::{ApiKey, ApiKeyId, Environment, NewApiKey, Timestamp};
use crate::store::StoreError;
use crate::usecases::{self, IssuedKey, UseCaseError};
use crate::views::examples::Example;
use crate::views::to_json;

#[derive(ToSchema)]
#[schema(example = json!(Example::CreateKey.value()))]
#[allow(dead_code, reason = "documents the body that `new_key` reads")]
pub struct CreateKey {
    /// What the key is for.
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = r"^[^\u0000]*[^\s\u0000][^\u0000]*$"
    )]
    name: String,
    environment: Environment,
}

/// A new key; this answer is the only one that ever holds the key itself.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(Example::CreatedKey.value()))]
pub struct CreatedKey<'a> {
    id: String,
    name: &'a str,
    key: &'a str,
    key_prefix: &'a str,
    environment: Environment,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl CreatedKey<'_> {
    fn json(key: &IssuedKey) -> Result<String, StoreError> {
        to_json(&CreatedKey {
            id: key.record.id.to_string(),
            name: &key.record.name,
            key: key.secret.expose(),
            key_prefix: &key.record.key_prefix,
            environment: key.record.environment,
            created_at: key.record.created_at,
        })
    }
}

/// A key record, without the key.
#[derive(Serialize, ToSchema)]
pub struct KeyBody {
    id: String,
    name: String,
    /// The first 20 characters of the key.
    key_prefix: String,
    environment: Environment,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    last_used_at: Option<Timestamp>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    revoked_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl From<ApiKey> for KeyBody {
    fn from(key: ApiKey) -> Self {
        Self {
            id: key.id.to_string(),
            name: key.name,
            key_prefix: key.key_prefix,
            environment: key.environment,
            last_used_at: key.last_used_at,
            revoked_at: key.revoked_at,
            created_at: key.created_at,
        }
    }
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!(Example::KeyList.value()))]
pub struct KeyList {
    data: Vec<KeyBody>,
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!(Example::RevokedKey.value()))]
pub struct RevokedKey {
    id: String,
    name: String,
    #[schema(required, value_type = String, format = DateTime)]
    revoked_at: Option<Timestamp>,
}

/// Create an API key
#[utoipa::path(
    post, path = "/v1/account/keys", tag = "Account", operation_id = "createKey",
    params(IdempotencyKeyHeader), request_body = CreateKey,
    responses((status = 201, description = "The new key", body = CreatedKey,
            links(("revoke" = (operation_id = "revokeKey", parameters(("id" = "$response.body#/id")))))),
        errors::Common, errors::Body, errors::Idempotency)
)]
pub async fn create(
    State(app): State<App>,
    caller: Caller,
    post: Post,
) -> Result<Answer, ApiError> {
    let new = new_key(&post)?;
    let (account, by) = (caller.owner().account, caller.by());
    let (id, random) = (ambient::random_for_id(), ambient::random());
    Idempotent::new(&app, caller.requester(), post)
        .created()
        .sealed()
        .run(
            move |tx, now| {
                let key = IssuedKey::new(account, &new, ApiKeyId::new(now, &id), &random, now);
                usecases::create_api_key(tx, &key, &by)?;
                Ok(key)
            },
            CreatedKey::json,
        )
        .await
}

fn new_key(post: &Post) -> Result<NewApiKey, ApiError> {
    let mut fields = Fields::of(&post.body);
    let name = fields.text("name", api_key::name);
    let environment = fields.text("environment", Environment::rule);
    fields.finish()?;
    match (name, environment) {
        (Some(name), Some(environment)) => Ok(NewApiKey { name, environment }),
        _ => Err(ApiError::invalid(
            crate::api::request::json::BODY,
            "is incomplete",
        )),
    }
}

/// List API keys
///
/// All keys of the account, live and test, revoked ones included; newest first.
#[utoipa::path(
    get, path = "/v1/account/keys", tag = "Account", operation_id = "listKeys",
    responses((status = 200, description = "The keys", body = KeyList), errors::Common)
)]
pub async fn list(State(app): State<App>, caller: Caller) -> Result<Answer, ApiError> {
    if let Err(error) = app.key_use.flush(&app.store).await {
        // The list is right but for the last second; better than no list on a full disk.
        tracing::warn!(%error, "cannot write when keys were used");
    }
    let account = caller.owner().account;
    let keys = app
        .store
        .snapshot(move |tx| Ok::<_, UseCaseError>(tx.api_keys(account)?))
        .await?;
    Answer::ok(&KeyList {
        data: keys.into_iter().map(Into::into).collect(),
    })
}

/// Revoke an API key
///
/// At once and for good.
#[utoipa::path(
    delete, path = "/v1/account/keys/{id}", tag = "Account", operation_id = "revokeKey",
    params(("id" = String, Path, description = "Id of the key record, not the key")),
    responses((status = 200, description = "The key is revoked", body = RevokedKey),
        errors::Common, errors::KeyNotFound)
)]
pub async fn revoke(
    State(app): State<App>,
    caller: Caller,
    path: KeyPath,
) -> Result<Answer, ApiError> {
    let (account, id, clock) = (caller.owner().account, path.id()?, app.clock.clone());
    let by = caller.by();
    let key = app
        .store
        .write(move |tx| usecases::revoke_api_key(tx, account, id, &by, clock.now()))
        .await?;
    Answer::ok(&RevokedKey {
        id: key.id.to_string(),
        name: key.name,
        revoked_at: key.revoked_at,
    })
}
