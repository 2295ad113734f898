//! /v1/account/keys

pub mod mandate;

use axum::extract::{Request, State};
use serde_json::json;

use crate::ambient;
use crate::api::App;
use crate::api::error::ApiError;
use crate::api::keys::{self, KeyList, RevokeKey, RevokedKey};
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups, parameters};
use crate::api::request::body;
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::request::path::KeyPath;
use crate::api::response::json::JsonResponse;
use crate::api::response::keys::CreatedKey;
use crate::domain::accounts::api_key;
use crate::domain::accounts::mandate::Mandate;
use crate::domain::{ApiKeyId, NewApiKey};
use crate::usecases::{self, IssuedKey, Revocation};

/// Create an API key
///
/// The response is the only one that ever has the key itself. An account can have 100 active keys,
/// live and test together. A key with a `mandate` is limited from the first moment.
#[utoipa::path(
    post, path = "/v1/account/keys", tag = "Account", operation_id = "createKey",
    params(IdempotencyKeyHeader), request_body = CreateKey,
    responses((status = 201, description = "The new key", body = CreatedKey,
            links(("revoke" = (operation_id = "revokeKey", parameters(("id" = "$response.body#/id")))))),
        groups::Developer, groups::Body, groups::Idempotency, errors::TooManyKeys)
)]
pub async fn create(
    State(app): State<App>,
    caller: Caller,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    let CreateKey { new, mandate } = post.read()?;
    usecases::expect_manageable(new.environment, caller.holder.is_confined)?;
    let (account, by) = (caller.owner().account, caller.by());
    let (id, random) = (ambient::random_for_id(), ambient::random());
    Idempotent::new(&app, caller.requester(), post)
        .created()
        .sealed()
        .run(
            move |tx, now| {
                let key = IssuedKey::new(account, &new, ApiKeyId::new(now, &id), &random, now);
                usecases::create_limited_key(tx, &key, mandate.clone(), &by)?;
                Ok(key)
            },
            CreatedKey::json,
        )
        .await
}

pub struct CreateKey {
    new: NewApiKey,
    mandate: Option<Mandate>,
}

impl RequestBody for CreateKey {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let name = fields.text("name", &api_key::NAME);
        let environment = fields.choice("environment");
        let mandate = fields
            .doc("What the key may do and spend. Without one, it may do everything.")
            .optional_object("mandate", mandate::fields);
        let new = NewApiKey {
            name: name?,
            environment: environment?,
        };
        Some(Self { new, mandate })
    }
}

request_bodies! {
    CreateKey = json!({"name": "Nightly audit", "environment": "test"});
}

/// List API keys
///
/// All active keys of the account, live and test, and the last 100 revoked ones. Newest first.
#[utoipa::path(
    get, path = "/v1/account/keys", tag = "Account", operation_id = "listKeys",
    responses((status = 200, description = "The keys", body = KeyList), groups::Developer)
)]
pub async fn list(State(app): State<App>, caller: Caller) -> Result<JsonResponse, ApiError> {
    keys::list(&app, caller.owner().account).await
}

/// Revoke an API key
///
/// Takes effect at once and cannot be undone. The last live key, the last test key and the last key without a mandate
/// need `{"confirm": true}`.
#[utoipa::path(
    delete, path = "/v1/account/keys/{id}", tag = "Account", operation_id = "revokeKey",
    params(("id" = inline(parameters::KeyId), Path, description = "ID of the key record, not the key")),
    request_body = RevokeKey,
    responses((status = 200, description = "The key is revoked", body = RevokedKey),
        groups::Developer, groups::Body, errors::KeyNotFound, errors::LastKey)
)]
pub async fn revoke(
    State(app): State<App>,
    caller: Caller,
    path: KeyPath,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let RevokeKey { confirm } = body::json(request, &app).await?;
    let revocation = Revocation {
        account: caller.owner().account,
        key: path.id()?,
        may_be_last: confirm,
        only_test: caller.holder.is_confined,
    };
    keys::revoke(&app, revocation, caller.by()).await
}
