//! /v1/account/security: what test keys may manage.

use axum::extract::{Request, State};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::groups;
use crate::api::request::body;
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::response::json::JsonResponse;
use crate::domain::accounts::TestKeysManage;
use crate::usecases;

/// What keys of the account may do beyond their environment.
#[derive(Serialize, ToSchema)]
#[schema(as = AccountSecurity, example = json!(SecurityBody { test_keys_manage: TestKeysManage::Test }))]
pub struct SecurityBody {
    /// `all`: test keys may also manage live keys, the webhook and the account. `test`: they manage
    /// test keys alone.
    test_keys_manage: TestKeysManage,
}

pub struct PutSecurity(TestKeysManage);

impl RequestBody for PutSecurity {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        fields.choice("test_keys_manage").map(Self)
    }
}

request_bodies! {
    PutSecurity = json!({"test_keys_manage": "test"});
}

/// Get the security settings
#[utoipa::path(
    get, path = "/v1/account/security", tag = "Account", operation_id = "getSecurity",
    responses((status = 200, description = "The settings", body = SecurityBody), groups::Developer)
)]
pub async fn get(State(app): State<App>, caller: Caller) -> Result<JsonResponse, ApiError> {
    let account = caller.owner().account;
    let read = app.store.read(move |tx| tx.test_keys_manage(account));
    let test_keys_manage = read.await?;
    JsonResponse::ok(&SecurityBody { test_keys_manage })
}

/// Change the security settings
///
/// With `test`, a test key cannot change this back.
#[utoipa::path(
    put, path = "/v1/account/security", tag = "Account", operation_id = "putSecurity",
    request_body = PutSecurity,
    responses((status = 200, description = "The settings", body = SecurityBody), groups::Developer,
        groups::Body)
)]
pub async fn put(
    State(app): State<App>,
    caller: Caller,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let PutSecurity(manage) = body::required_json(request, &app).await?;
    let (account, by, clock) = (caller.owner().account, caller.by(), app.clock.clone());
    app.store
        .write(move |tx| usecases::set_test_keys_manage(tx, account, manage, &by, clock.now()))
        .await?;
    let test_keys_manage = manage;
    JsonResponse::ok(&SecurityBody { test_keys_manage })
}
