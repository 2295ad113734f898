//! /v1/admin/jobs: work that the service does on its own.

use axum::extract::{Request, State};
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::admin::query::{JobsQuery, OnlyDead};
use crate::api::error::ApiError;
use crate::api::middleware::authentication::AdminCaller;
use crate::api::openapi::{PageLimit, errors};
use crate::api::request::fields::Fields;
use crate::api::request::{body, json};
use crate::api::response::json::Answer;
use crate::api::response::page::{CursorList, CursorMeta};
use crate::domain::{JobKind, JobName, Timestamp, rules};
use crate::store::ListedJob;
use crate::usecases;
use crate::views::examples::AdminExample;

type JobPage = CursorList<JobBody>;

/// Work to be done, or given up.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(AdminExample::Job.value()))]
pub struct JobBody {
    kind: JobKind,
    /// What it is about: mostly a task.
    subject: String,
    /// Whether it was given up.
    dead: bool,
    /// When it is tried next; null when it was given up.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    run_at: Option<Timestamp>,
    attempts: i64,
    #[schema(required)]
    waits_for: Option<String>,
    /// How the last attempt failed.
    #[schema(required)]
    last_error: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl From<ListedJob> for JobBody {
    fn from(job: ListedJob) -> Self {
        Self {
            kind: job.name.kind,
            subject: job.name.subject,
            dead: job.run_at.is_none(),
            run_at: job.run_at,
            attempts: job.attempts,
            waits_for: job.waits_for,
            last_error: job.last_error,
            created_at: job.created_at,
        }
    }
}

/// List jobs
///
/// Actor kind and subject.
#[utoipa::path(
    get, path = "/v1/admin/jobs", tag = "Admin", operation_id = "listJobs",
    params(("dead" = Option<bool>, Query, description = "`true`: only what was given up"),
        ("limit" = inline(Option<PageLimit>), Query, description = "Page size, 20 when left out"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before")),
    responses((status = 200, description = "A page of jobs", body = JobPage),
        errors::Admin, errors::Query)
)]
pub async fn list(
    State(app): State<App>,
    _: AdminCaller,
    query: JobsQuery,
) -> Result<Answer, ApiError> {
    let JobsQuery {
        filter: OnlyDead(only_dead),
        cursor,
        limit,
    } = query;
    let read = app
        .store
        .snapshot(move |tx| tx.jobs_after(only_dead, cursor.as_ref(), limit + 1));
    let mut jobs = read.await?;
    let meta = CursorMeta::cut(&mut jobs, limit, |job| job.name.to_string());
    Answer::ok(&meta.list(jobs.into_iter().map(JobBody::from).collect()))
}

#[derive(ToSchema)]
#[schema(example = json!({"kind": "refund", "subject": "019a8574c1f07c2e9d1b3a5f60718293"}))]
#[allow(dead_code, reason = "documents the body that `retry` reads")]
pub struct RetryJob {
    kind: JobKind,
    #[schema(
        min_length = 1,
        max_length = 255,
        pattern = r"^[^\u0000]*[^\s\u0000][^\u0000]*$"
    )]
    subject: String,
}

/// Try a job once more
///
/// That was given up.
#[utoipa::path(
    post, path = "/v1/admin/jobs/retry", tag = "Admin", operation_id = "retryJob",
    request_body = RetryJob,
    responses((status = 200, description = "The job is due", body = JobBody),
        errors::Admin, errors::Body, errors::JobNotFound, errors::ItemClaimed)
)]
pub async fn retry(
    State(app): State<App>,
    admin: AdminCaller,
    request: Request,
) -> Result<Answer, ApiError> {
    let object = body::object(request, app.timeouts).await?;
    let mut fields = Fields::of(&object);
    let kind = fields.text("kind", JobKind::rule);
    let subject = fields.text("subject", |text| rules::text(text, 1, 255));
    fields.finish()?;
    let (Some(kind), Some(subject)) = (kind, subject) else {
        return Err(ApiError::invalid(json::BODY, "is incomplete"));
    };
    let (name, by, clock) = (JobName::new(kind, subject), admin.by(), app.clock.clone());
    let retried = app
        .store
        .write(move |tx| usecases::retry_job(tx, &name, &by, clock.now()));
    Answer::ok(&JobBody::from(retried.await?))
}
