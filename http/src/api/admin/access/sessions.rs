//! Sessions of admin keys, for where a second factor is required.

use axum::extract::{Request, State};
use serde::Serialize;
use utoipa::ToSchema;

use crate::ambient;
use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::AdminHolder;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups};
use crate::api::request::body;
use crate::api::request::fields::NoFields;
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::response::json::JsonResponse;
use crate::api::second_factor::{self, Code};
use crate::domain::second_factor::ADMIN_SESSION_LIFE;
use crate::domain::{Person, Secret, Timestamp};
use crate::store::Tx;
use crate::usecases;
use crate::views::{examples, to_json};

#[derive(Serialize, ToSchema)]
#[schema(example = json!(AdminSession::example()))]
pub struct AdminSession {
    /// Send it in place of the key; shown this once.
    token: String,
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
}

impl AdminSession {
    fn of(token: &Secret, expires_at: Timestamp) -> Self {
        Self {
            token: token.expose().to_owned(),
            expires_at,
        }
    }

    fn example() -> Self {
        let token = Secret::admin_session(&examples::secret_bytes());
        Self::of(&token, examples::SIGNED_UP.plus(ADMIN_SESSION_LIFE))
    }
}

/// Open a session
///
/// Takes your key and a code of its second factor. The token is good for 12 hours and does what the
/// key may do, also where a second factor is required. It ends with the key.
#[utoipa::path(
    post, path = "/v1/admin/sessions", tag = "Admin", operation_id = "openAdminSession",
    params(IdempotencyKeyHeader), request_body = Code,
    responses((status = 201, description = "The token", body = AdminSession),
        groups::Admin, groups::Body, groups::Idempotency, errors::InvalidCode,
        errors::SecondFactorOff)
)]
pub async fn open(
    State(app): State<App>,
    caller: AdminHolder,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    let Code(code) = post.read()?;
    let (key, token) = (caller.key.id, Secret::admin_session(&ambient::random()));
    let effect = move |tx: &mut Tx<'_>, now| {
        let expires_at = usecases::open_admin_session(tx, key, &token, now)?;
        Ok((token.clone(), expires_at))
    };
    let render =
        |(token, expires_at): &(Secret, Timestamp)| to_json(&AdminSession::of(token, *expires_at));
    // Also before a repeat is answered, which holds the token.
    second_factor::check(&app, Person::Admin(key), code).await?;
    let request = Idempotent::new(&app, caller.requester(), post.whatever_the_code());
    request.created().sealed().run(effect, render).await
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!({"ended": true}))]
pub struct AdminSessionEnded {
    /// False if the request came with the key and not with the token of a session.
    ended: bool,
}

/// End your session
#[utoipa::path(
    delete, path = "/v1/admin/session", tag = "Admin", operation_id = "endAdminSession",
    responses((status = 200, description = "The token is revoked", body = AdminSessionEnded),
        groups::Admin, groups::Body)
)]
pub async fn end(
    State(app): State<App>,
    caller: AdminHolder,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let NoFields = body::json(request, &app).await?;
    let hash = caller.token.hash();
    let ended = app.store.write(move |tx| tx.end_admin_session(&hash));
    JsonResponse::ok(&AdminSessionEnded {
        ended: ended.await?,
    })
}
