//! /v1/admin/accounts/{id}/keys: the API keys of an account, for developers who have lost theirs.

use axum::extract::{Request, State};
use serde_json::json;

use crate::ambient;
use crate::api::App;
use crate::api::admin::AdminPost;
use crate::api::error::ApiError;
use crate::api::keys::{self, KeyList, RevokeKey, RevokedKey};
use crate::api::middleware::authentication::AdminCaller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups, parameters};
use crate::api::request::body;
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::path::{AccountKeyPath, IdPath};
use crate::api::response::json::JsonResponse;
use crate::api::response::keys::CreatedKey;
use crate::domain::accounts::api_key;
use crate::domain::{AccountId, ApiKeyId, NewApiKey};
use crate::usecases::{self, IssuedKey, Revocation, UseCaseError};

pub struct CreateAccountKey(NewApiKey);

impl RequestBody for CreateAccountKey {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let name = fields.text("name", &api_key::NAME);
        let environment = fields.choice("environment");
        Some(Self(NewApiKey {
            name: name?,
            environment: environment?,
        }))
    }
}

request_bodies! {
    CreateAccountKey = json!({"name": "Replacement", "environment": "live"});
}

/// Create a key for an account
///
/// For a developer who has lost all keys. No other response ever has the key itself.
#[utoipa::path(
    post, path = "/v1/admin/accounts/{id}/keys", tag = "Admin", operation_id = "createAccountKey",
    params(("id" = inline(parameters::AccountId), Path, description = "Account ID"), IdempotencyKeyHeader),
    request_body = CreateAccountKey,
    responses((status = 201, description = "The new key", body = CreatedKey),
        groups::Admin, groups::Body, groups::Idempotency, errors::AccountNotFound, errors::TooManyKeys)
)]
pub async fn create(
    State(app): State<App>,
    IdPath(account): IdPath<AccountId>,
    post: AdminPost,
) -> Result<JsonResponse, ApiError> {
    let CreateAccountKey(new) = post.read()?;
    let account = account.ok_or(UseCaseError::AccountNotFound)?;
    let (id, random, by) = (ambient::random_for_id(), ambient::random(), post.by());
    post.once(&app)
        .created()
        .sealed()
        .run(
            move |tx, now| {
                let key = IssuedKey::new(account, &new, ApiKeyId::new(now, &id), &random, now);
                usecases::create_api_key(tx, &key, &by).map_err(no_account)?;
                Ok(key)
            },
            CreatedKey::json,
        )
        .await
}

/// To a developer, an account that is gone means that the key is; to an admin, that it is not found.
fn no_account(error: UseCaseError) -> UseCaseError {
    match error {
        UseCaseError::Unauthorized => UseCaseError::AccountNotFound,
        error => error,
    }
}

/// List the keys of an account
///
/// All active keys, live and test, and the last 100 revoked ones, with their last use. Newest first.
#[utoipa::path(
    get, path = "/v1/admin/accounts/{id}/keys", tag = "Admin", operation_id = "listAccountKeys",
    params(("id" = inline(parameters::AccountId), Path, description = "Account ID")),
    responses((status = 200, description = "The keys", body = KeyList),
        groups::Admin, errors::AccountNotFound)
)]
pub async fn list(
    State(app): State<App>,
    _: AdminCaller,
    IdPath(account): IdPath<AccountId>,
) -> Result<JsonResponse, ApiError> {
    let account = existing(&app, account).await?;
    keys::list(&app, account).await
}

/// Revoke a key of an account
///
/// Takes effect at once and cannot be undone. The last live key, the last test key and the last key without a mandate
/// need `{"confirm": true}`.
#[utoipa::path(
    delete, path = "/v1/admin/accounts/{id}/keys/{key_id}", tag = "Admin",
    operation_id = "revokeAccountKey",
    params(("id" = inline(parameters::AccountId), Path, description = "Account ID"),
        ("key_id" = inline(parameters::KeyId), Path, description = "ID of the key record, not the key")),
    request_body = RevokeKey,
    responses((status = 200, description = "The key is revoked", body = RevokedKey),
        groups::Admin, groups::Body, errors::AccountNotFound, errors::KeyNotFound, errors::LastKey)
)]
pub async fn revoke(
    State(app): State<App>,
    admin: AdminCaller,
    path: AccountKeyPath,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let RevokeKey { confirm } = body::json(request, &app).await?;
    let revocation = Revocation {
        account: existing(&app, path.account).await?,
        key: path.key.ok_or(UseCaseError::KeyNotFound)?,
        may_be_last: confirm,
        only_test: false,
    };
    keys::revoke(&app, revocation, admin.by()).await
}

async fn existing(app: &App, account: Option<AccountId>) -> Result<AccountId, ApiError> {
    let id = account.ok_or(UseCaseError::AccountNotFound)?;
    let found = app.store.read(move |tx| tx.account(id)).await?;
    found.ok_or(UseCaseError::AccountNotFound)?;
    Ok(id)
}
