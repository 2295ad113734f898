//! GET /v1/logs

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{groups, parameters};
use crate::api::request::query::LogsQuery;
use crate::api::response::json::JsonResponse;
use crate::api::response::page::{CursorList, CursorMeta};
use crate::domain::accounts::request_log::LoggedRequest;
use crate::domain::{Environment, LogId, Owner, Timestamp};
use crate::views::{Id, examples};

type LoggedRequestPage = CursorList<LoggedRequestBody>;

/// List what the account asked
///
/// Requests of all keys of this environment in the last 7 days, newest first. There are no bodies, queries and secrets in it.
#[utoipa::path(
    get, path = "/v1/logs", tag = "Account", operation_id = "listLogs",
    params(
        ("failed" = inline(Option<parameters::Flag>), Query, description = "`true`: only those that were refused or failed"),
        ("key_id" = inline(Option<parameters::KeyId>), Query,
            description = "Only of this key; not together with `failed`"),
        parameters::PageSize,
        ("cursor" = inline(Option<parameters::IdCursor>), Query, description = "`next_cursor` of the previous page"),
    ),
    responses((status = 200, description = "A page of requests", body = LoggedRequestPage),
        groups::Developer, groups::Query)
)]
pub async fn list(
    State(app): State<App>,
    caller: Caller,
    query: LogsQuery,
) -> Result<JsonResponse, ApiError> {
    let LogsQuery {
        filter,
        cursor,
        limit,
    } = query;
    if let Err(error) = app.request_log.flush(&app.store).await {
        // Without it, the newest are a second old.
        tracing::warn!(%error, "cannot record what accounts asked");
    }
    let owner = caller.owner();
    let read = app
        .store
        .snapshot(move |tx| tx.logged_requests(owner, filter, cursor, limit + 1));
    let mut found: Vec<LoggedRequest> = read.await?;
    let meta = CursorMeta::cut(&mut found, limit, |logged| logged.id.to_string());
    let data = found.into_iter().map(LoggedRequestBody::of);
    JsonResponse::ok(&meta.list(data.collect()))
}

/// A request and its answer, without bodies, queries and secrets.
#[derive(Serialize, ToSchema)]
#[schema(as = LoggedRequest, example = json!(LoggedRequestBody::example()))]
pub struct LoggedRequestBody {
    #[schema(value_type = Id)]
    id: String,
    method: String,
    /// Without the query.
    path: String,
    status: i64,
    /// Of an error.
    #[schema(required)]
    code: Option<String>,
    /// Microseconds until the answer began.
    duration_us: i64,
    /// The key that asked.
    #[schema(value_type = Id)]
    key_id: String,
    /// As in `X-Request-Id`.
    request_id: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl LoggedRequestBody {
    fn of(logged: LoggedRequest) -> Self {
        Self {
            id: logged.id.to_string(),
            method: logged.method,
            path: logged.path,
            status: logged.status,
            code: logged.code,
            duration_us: logged.duration_us,
            key_id: logged.key.to_string(),
            request_id: logged.request_id,
            created_at: logged.created_at,
        }
    }

    fn example() -> Self {
        let at = examples::REVIEWED;
        Self::of(LoggedRequest {
            id: LogId::new(at, &[7; 10]),
            owner: Owner {
                account: examples::account_id(),
                environment: Environment::Test,
            },
            key: examples::key_id(),
            method: "POST".to_owned(),
            path: "/v1/tasks".to_owned(),
            status: 400,
            code: Some("VALIDATION_ERROR".to_owned()),
            duration_us: 1_200,
            request_id: "01a1df2b4c0e7c2e9d1b3a5f60718293".to_owned(),
            created_at: at,
        })
    }
}
