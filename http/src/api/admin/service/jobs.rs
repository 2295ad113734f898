//! /v1/admin/jobs: background jobs.

use axum::extract::State;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::admin::AdminPost;
use crate::api::admin::query::{JobsQuery, OnlyDead};
use crate::api::error::ApiError;
use crate::api::middleware::authentication::AdminCaller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups, parameters};
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::response::json::JsonResponse;
use crate::api::response::page::{CursorList, CursorMeta};
use crate::domain::admin;
use crate::domain::rules::TextRule;
use crate::domain::{JobKind, JobName, Timestamp};
use crate::store::{ListedJob, Tx};
use crate::usecases;
use crate::views::{examples, to_json};

type JobPage = CursorList<JobBody>;

/// A background job.
#[derive(Serialize, ToSchema)]
#[schema(as = Job, example = json!(JobBody::example()))]
pub struct JobBody {
    kind: JobKind,
    /// What the job is about, usually a task ID.
    subject: String,
    /// Whether it has failed permanently.
    dead: bool,
    /// When it runs next; null for a dead job.
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

impl JobBody {
    fn example() -> Self {
        Self::from(ListedJob {
            name: JobName::new(JobKind::Transfer, examples::task_id()),
            run_at: None,
            attempts: 1,
            waits_for: None,
            last_error: Some("the payment processor refused: account closed".to_owned()),
            created_at: examples::REVIEWED,
        })
    }
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
/// Sorted by kind and subject.
#[utoipa::path(
    get, path = "/v1/admin/jobs", tag = "Admin", operation_id = "listJobs",
    params(("dead" = Option<bool>, Query, description = "`true` lists only dead jobs"),
        parameters::PageSize,
        ("cursor" = inline(Option<parameters::JobCursor>), Query, description = "`next_cursor` of the previous page")),
    responses((status = 200, description = "A page of jobs", body = JobPage),
        groups::Admin, groups::Query)
)]
pub async fn list(
    State(app): State<App>,
    _: AdminCaller,
    query: JobsQuery,
) -> Result<JsonResponse, ApiError> {
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
    JsonResponse::ok(&meta.list(jobs.into_iter().map(JobBody::from).collect()))
}

pub struct RetryJob {
    name: JobName,
    note: Option<String>,
}

const SUBJECT: TextRule = TextRule::plain(1, 255);

impl RequestBody for RetryJob {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let kind: Option<JobKind> = fields.choice("kind");
        let subject = fields.text("subject", &SUBJECT);
        let note = fields.optional_text("note", &admin::NOTE);
        Some(Self {
            name: JobName::new(kind?, subject?),
            note,
        })
    }
}

request_bodies! {
    RetryJob = json!({"kind": "refund", "subject": "019a8574c1f07c2e9d1b3a5f60718293"});
}

/// Retry a dead job
///
/// Only a job that has failed permanently.
#[utoipa::path(
    post, path = "/v1/admin/jobs/retry", tag = "Admin", operation_id = "retryJob",
    params(IdempotencyKeyHeader),
    request_body = RetryJob,
    responses((status = 200, description = "The job, which is due now", body = JobBody),
        groups::Admin, groups::Body, groups::Idempotency, errors::JobNotFound, errors::ItemClaimed, errors::ItemClosed)
)]
pub async fn retry(State(app): State<App>, post: AdminPost) -> Result<JsonResponse, ApiError> {
    let (RetryJob { name, note }, by) = (post.read()?, post.by());
    let work =
        move |tx: &mut Tx<'_>, now| usecases::retry_job(tx, &name, note.as_deref(), &by, now);
    let render = |job: &ListedJob| to_json(&JobBody::from(job.clone()));
    post.once(&app).run(work, render).await
}
