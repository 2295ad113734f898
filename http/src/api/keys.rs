//! API keys of an account, as its developer and admins see them.

use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::response::json::JsonResponse;
use crate::api::response::keys;
use crate::domain::accounts::api_key;
use crate::domain::{AccountId, Actor, ApiKey, Environment, Timestamp};
use crate::usecases::{self, Revocation, UseCaseError};
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

/// Confirms that the key may be the last one of its environment.
pub struct RevokeKey {
    pub confirm: bool,
}

impl RequestBody for RevokeKey {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let confirm = fields
            .doc("`true` revokes the key even if it is the last live key, the last test key or the last key without a mandate.")
            .optional_boolean("confirm");
        Some(Self {
            confirm: confirm.unwrap_or(false),
        })
    }
}

request_bodies! {
    RevokeKey = json!({"confirm": true});
}

/// All keys of an account. The last use is up to date.
pub async fn list(app: &App, account: AccountId) -> Result<JsonResponse, ApiError> {
    if let Err(error) = app.key_use.flush(&app.store).await {
        // Without it, the list is a second old; better than no list on a full disk.
        tracing::warn!(%error, "cannot record when keys were last used");
    }
    let keys = app
        .store
        .snapshot(move |tx| Ok::<_, UseCaseError>(tx.api_keys(account, api_key::REVOKED_SHOWN)?))
        .await?;
    JsonResponse::ok(&KeyList::of(keys))
}

pub async fn revoke(
    app: &App,
    revocation: Revocation,
    by: Actor,
) -> Result<JsonResponse, ApiError> {
    let clock = app.clock.clone();
    let key = app
        .store
        .write(move |tx| usecases::revoke_api_key(tx, revocation, &by, clock.now()))
        .await?;
    JsonResponse::ok(&RevokedKey::of(key))
}
