//! /v1/account/keys

pub mod mandate;

use axum::extract::{Request, State};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::ambient;
use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups, parameters};
use crate::api::request::body;
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::request::path::KeyPath;
use crate::api::response::json::JsonResponse;
use crate::api::response::keys::{self, CreatedKey};
use crate::domain::accounts::api_key;
use crate::domain::accounts::mandate::Mandate;
use crate::domain::{ApiKey, ApiKeyId, Environment, NewApiKey, Timestamp};
use crate::usecases::{self, IssuedKey, Revocation, UseCaseError};
use crate::views::{Id, examples};

/// A key record, without the key.
#[derive(Serialize, ToSchema)]
#[schema(as = ApiKey)]
pub struct KeyBody {
    #[schema(value_type = Id)]
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
#[schema(as = ApiKeyList, example = json!(KeyList::example()))]
pub struct KeyList {
    data: Vec<KeyBody>,
}

impl KeyList {
    fn of(keys: Vec<ApiKey>) -> Self {
        Self {
            data: keys.into_iter().map(Into::into).collect(),
        }
    }

    fn example() -> Self {
        Self::of(vec![ApiKey {
            last_used_at: Some(examples::REVIEWED),
            ..keys::example().record
        }])
    }
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!(RevokedKey::example()))]
pub struct RevokedKey {
    #[schema(value_type = Id)]
    id: String,
    name: String,
    #[schema(required, value_type = String, format = DateTime)]
    revoked_at: Option<Timestamp>,
}

impl RevokedKey {
    fn of(key: ApiKey) -> Self {
        Self {
            id: key.id.to_string(),
            name: key.name,
            revoked_at: key.revoked_at,
        }
    }

    fn example() -> Self {
        Self::of(ApiKey {
            revoked_at: Some(examples::REVIEWED),
            ..keys::example().record
        })
    }
}

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

/// Confirms that the key may be the last one of its environment.
pub struct RevokeKey {
    confirm: bool,
}

impl RequestBody for RevokeKey {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let confirm = fields
            .doc("`true` revokes the key even if it is the last live or the last test key.")
            .optional_boolean("confirm");
        Some(Self {
            confirm: confirm.unwrap_or(false),
        })
    }
}

request_bodies! {
    RevokeKey = json!({"confirm": true});
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
    if let Err(error) = app.key_use.flush(&app.store).await {
        // Without it, the list is a second old; better than no list on a full disk.
        tracing::warn!(%error, "cannot record when keys were last used");
    }
    let account = caller.owner().account;
    let keys = app
        .store
        .snapshot(move |tx| Ok::<_, UseCaseError>(tx.api_keys(account, api_key::REVOKED_SHOWN)?))
        .await?;
    JsonResponse::ok(&KeyList::of(keys))
}

/// Revoke an API key
///
/// Takes effect at once and cannot be undone. The last live and the last test key need
/// `{"confirm": true}`.
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
    let RevokeKey { confirm } = body::json(request, app.timeouts).await?;
    let (clock, by) = (app.clock.clone(), caller.by());
    let revocation = Revocation {
        account: caller.owner().account,
        key: path.id()?,
        may_be_last: confirm,
        only_test: caller.holder.is_confined,
    };
    let key = app
        .store
        .write(move |tx| usecases::revoke_api_key(tx, revocation, &by, clock.now()))
        .await?;
    JsonResponse::ok(&RevokedKey::of(key))
}
