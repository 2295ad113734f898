//! /v1/worker/sessions: where a worker is signed in.

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::openapi::{errors, groups, parameters};
use crate::api::request::path::SessionPath;
use crate::api::response::json::JsonResponse;
use crate::domain::Timestamp;
use crate::domain::accounts::api_key;
use crate::store::{StoreError, WorkerSession};
use crate::usecases::UseCaseError;
use crate::views::{Id, examples};

/// The latest 100 sessions, newest first.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(WorkerSessions::example()))]
pub struct WorkerSessions {
    data: Vec<WorkerSessionBody>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = WorkerSession)]
struct WorkerSessionBody {
    #[schema(value_type = Id)]
    id: String,
    /// When you signed in.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// To about five minutes; null before the first use.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    last_used_at: Option<Timestamp>,
    /// What the program or browser said of itself.
    user_agent: String,
    /// Whether a code of the second factor was given.
    second_factor: bool,
    /// Whether it is the session of this request.
    current: bool,
}

impl WorkerSessionBody {
    fn of(session: WorkerSession, current: &str) -> Self {
        Self {
            current: session.id == current,
            id: session.id,
            created_at: session.signed_in_at,
            last_used_at: session.last_used_at,
            user_agent: session.user_agent,
            second_factor: session.second_factor,
        }
    }
}

impl WorkerSessions {
    fn example() -> Self {
        let session = WorkerSession {
            id: api_key::hex(&examples::secret_bytes()[..16]),
            signed_in_at: examples::SIGNED_UP,
            last_used_at: Some(examples::CREATED),
            user_agent: "Legwork/1.0 (Android)".to_owned(),
            second_factor: false,
        };
        let id = session.id.clone();
        Self {
            data: vec![WorkerSessionBody::of(session, &id)],
        }
    }
}

/// List your sessions
#[utoipa::path(
    get, path = "/v1/worker/sessions", tag = "Workers", operation_id = "listWorkerSessions",
    responses((status = 200, description = "The sessions", body = WorkerSessions), groups::Worker)
)]
pub async fn list(State(app): State<App>, caller: WorkerCaller) -> Result<JsonResponse, ApiError> {
    // So that the list is up to date. If it cannot be written now, it is later.
    if let Err(error) = app.key_use.flush(&app.store).await {
        tracing::warn!(%error, "cannot record when tokens were last used");
    }
    let (worker, now) = (caller.worker.id, app.clock.now());
    let sessions = app
        .store
        .snapshot(move |tx| tx.worker_sessions(worker, now));
    let sessions: Result<Vec<_>, StoreError> = sessions.await;
    let body = |session| WorkerSessionBody::of(session, &caller.session.id);
    JsonResponse::ok(&WorkerSessions {
        data: sessions?.into_iter().map(body).collect(),
    })
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!({"id": "019a85a1d2c37b44a1b2c3d4e5f60718", "revoked": true}))]
pub struct WorkerSessionRevoked {
    #[schema(value_type = Id)]
    id: String,
    revoked: bool,
}

/// Revoke a session
///
/// Its token stops working at once.
#[utoipa::path(
    delete, path = "/v1/worker/sessions/{id}", tag = "Workers",
    operation_id = "revokeWorkerSession",
    params(("id" = inline(parameters::SessionId), Path, description = "Session ID")),
    responses((status = 200, description = "The session is revoked", body = WorkerSessionRevoked),
        groups::Worker, errors::SessionNotFound)
)]
pub async fn revoke(
    State(app): State<App>,
    caller: WorkerCaller,
    path: SessionPath,
) -> Result<JsonResponse, ApiError> {
    let (worker, id) = (caller.worker.id, path.id()?);
    let session = id.clone();
    let revoked = app
        .store
        .write(move |tx| tx.revoke_worker_session(worker, &session));
    match revoked.await? {
        true => JsonResponse::ok(&WorkerSessionRevoked { id, revoked: true }),
        false => Err(UseCaseError::SessionNotFound.into()),
    }
}
