//! /v1/admin/keys: the keys of admins.

use axum::extract::{Request, State};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::ambient;
use crate::api::App;
use crate::api::admin::AdminPost;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::AdminCaller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups, parameters};
use crate::api::request::body;
use crate::api::request::fields::{Fields, NoFields, RequestBody, request_bodies};
use crate::api::request::path::IdPath;
use crate::api::response::json::JsonResponse;
use crate::domain::{AdminKey, AdminKeyId, AdminRole, Timestamp, accounts};
use crate::store::{StoreError, Tx};
use crate::usecases::{self, IssuedAdminKey};
use crate::views::{Id, examples, to_json};

/// The key of an admin, without the key itself.
#[derive(Serialize, ToSchema)]
#[schema(as = AdminKey, example = json!(AdminKeyBody::example()))]
pub struct AdminKeyBody {
    #[schema(value_type = Id)]
    id: String,
    name: String,
    role: AdminRole,
    /// The first 20 characters of the key.
    key_prefix: String,
    /// Null if it was never used since this is recorded.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    last_used_at: Option<Timestamp>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    revoked_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// The owner's key that created it. Null if it was created on the command line. Keys that stem from the same
    /// one count as one person where two are needed.
    #[schema(required, value_type = Option<Id>)]
    created_by: Option<String>,
}

impl From<AdminKey> for AdminKeyBody {
    fn from(key: AdminKey) -> Self {
        Self {
            id: key.id.to_string(),
            name: key.name,
            role: key.role,
            key_prefix: key.key_prefix,
            last_used_at: key.last_used_at,
            revoked_at: key.revoked_at,
            created_at: key.created_at,
            created_by: key.created_by.map(|key| key.to_string()),
        }
    }
}

impl AdminKeyBody {
    fn example() -> Self {
        Self::from(AdminKey {
            revoked_at: Some(examples::REVIEWED),
            ..example().record
        })
    }
}

/// The keys of all admins.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(AdminKeyList::example()))]
pub struct AdminKeyList {
    data: Vec<AdminKeyBody>,
}

impl AdminKeyList {
    fn example() -> Self {
        let key = AdminKey {
            last_used_at: Some(examples::REVIEWED),
            ..example().record
        };
        Self {
            data: vec![key.into()],
        }
    }
}

/// A new key. No other response ever has the key itself.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(CreatedAdminKey::example()))]
pub struct CreatedAdminKey<'a> {
    #[schema(value_type = Id)]
    id: String,
    name: &'a str,
    role: AdminRole,
    key: &'a str,
    key_prefix: &'a str,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl<'a> CreatedAdminKey<'a> {
    fn of(key: &'a IssuedAdminKey) -> Self {
        Self {
            id: key.record.id.to_string(),
            name: &key.record.name,
            role: key.record.role,
            key: key.secret.expose(),
            key_prefix: &key.record.key_prefix,
            created_at: key.record.created_at,
        }
    }

    fn json(key: &IssuedAdminKey) -> Result<String, StoreError> {
        to_json(&CreatedAdminKey::of(key))
    }

    fn example() -> Value {
        json!(CreatedAdminKey::of(&example()))
    }
}

fn example() -> IssuedAdminKey {
    let (id, random) = (examples::admin_key_id(), examples::secret_bytes());
    IssuedAdminKey::new("Ada", AdminRole::Operator, id, &random, examples::CREATED)
}

pub struct CreateAdminKey {
    name: String,
    role: AdminRole,
}

impl RequestBody for CreateAdminKey {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let name = fields.doc("Whose key it is.").text("name", &accounts::NAME);
        let role = fields.choice("role");
        Some(Self {
            name: name?,
            role: role?,
        })
    }
}

request_bodies! {
    CreateAdminKey = json!({"name": "Ada", "role": "operator"});
}

/// Create an admin key
#[utoipa::path(
    post, path = "/v1/admin/keys", tag = "Admin", operation_id = "createAdminKey",
    params(IdempotencyKeyHeader), request_body = CreateAdminKey,
    responses((status = 201, description = "The key, which is shown only once", body = CreatedAdminKey),
        groups::Admin, groups::Body, groups::Idempotency)
)]
pub async fn create(State(app): State<App>, post: AdminPost) -> Result<JsonResponse, ApiError> {
    let (CreateAdminKey { name, role }, owner) = (post.read()?, post.admin);
    let random: [u8; 32] = ambient::random();
    let id_random = ambient::random_for_id();
    let work = move |tx: &mut Tx<'_>, now| {
        let id = AdminKeyId::new(now, &id_random);
        let key = IssuedAdminKey::new(&name, role, id, &random, now);
        usecases::create_admin_key_as(tx, owner, &key, now)?;
        Ok(key)
    };
    let request = post.once(&app).created().sealed();
    request.run(work, CreatedAdminKey::json).await
}

/// List admin keys
///
/// Oldest first, including revoked ones.
#[utoipa::path(
    get, path = "/v1/admin/keys", tag = "Admin", operation_id = "listAdminKeys",
    responses((status = 200, description = "The keys", body = AdminKeyList), groups::Admin)
)]
pub async fn list(State(app): State<App>, _: AdminCaller) -> Result<JsonResponse, ApiError> {
    if let Err(error) = app.key_use.flush(&app.store).await {
        tracing::warn!(%error, "cannot record when keys were last used");
    }
    let keys = app.store.snapshot(|tx| tx.admin_keys()).await?;
    let data = keys.into_iter().map(Into::into).collect();
    JsonResponse::ok(&AdminKeyList { data })
}

/// Revoke an admin key
///
/// It stops working at once, for ever. The last key of an owner cannot be revoked.
#[utoipa::path(
    delete, path = "/v1/admin/keys/{id}", tag = "Admin", operation_id = "revokeAdminKey",
    params(("id" = inline(parameters::KeyId), Path, description = "Key ID")),
    responses((status = 200, description = "The key, which is revoked", body = AdminKeyBody),
        groups::Admin, groups::Body, errors::KeyNotFound, errors::LastOwnerKey)
)]
pub async fn revoke(
    State(app): State<App>,
    AdminCaller(owner): AdminCaller,
    IdPath(id): IdPath<AdminKeyId>,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let NoFields = body::json(request, &app).await?;
    let clock = app.clock.clone();
    let revoke = app
        .store
        .write(move |tx| usecases::revoke_admin_key_as(tx, owner, id, clock.now()));
    JsonResponse::ok(&AdminKeyBody::from(revoke.await?))
}
