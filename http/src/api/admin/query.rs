//! Query parameters of the admin lists.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::AdminCaller;
use crate::api::request::query::Parameters;
use crate::domain::admin::ClaimedBy;
use crate::domain::admin::audit::{AUDIT_ACTION, SUBJECT_ID};
use crate::domain::admin::report::{Month, ReportFormat};
use crate::domain::{
    AccountId, AccountStatus, Environment, JobKind, JobName, NotificationId, QueueItemId,
    QueueKind, QueueStatus, Status, TaskId, WorkerId, WorkerStatus, accounts,
};
use crate::store::{AccountFilter, AuditFilter, Claimed, QueueFilter, TaskFilter, WorkerFilter};

/// A page of a list: filter, start and length.
pub struct Paged<F, C> {
    pub filter: F,
    pub cursor: Option<C>,
    pub limit: i64,
}

impl<F, C> Paged<F, C> {
    /// Reads the cursor and refuses unknown parameters.
    fn finish(
        mut parameters: Parameters,
        filter: F,
        parse: fn(&str) -> Option<C>,
    ) -> Result<Self, ApiError> {
        let (cursor, limit) = parameters.cursor(parse);
        parameters.finish().map_err(ApiError::Validation)?;
        Ok(Self {
            filter,
            cursor,
            limit,
        })
    }
}

fn parameters(parts: &Parts) -> Parameters {
    Parameters::of(parts.uri.query().unwrap_or_default())
}

/// Lists that depend on the query alone.
macro_rules! queries {
    ($($query:ty = $read:expr;)+) => { $(
        impl FromRequestParts<App> for $query {
            type Rejection = ApiError;

            async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
                $read(parameters(parts))
            }
        }
    )+ };
}

pub type NotificationsQuery = Paged<(), NotificationId>;
pub type AccountsQuery = Paged<AccountFilter, AccountId>;
pub type WorkersQuery = Paged<WorkerFilter, WorkerId>;
pub type TasksQuery = Paged<TaskFilter, TaskId>;
pub type AuditQuery = Paged<AuditFilter, i64>;
pub type QueueQuery = Paged<QueueFilter, QueueItemId>;

/// Whether only dead jobs are wanted.
pub struct OnlyDead(pub bool);
pub type JobsQuery = Paged<OnlyDead, JobName>;

queries! {
    NotificationsQuery = |parameters| Self::finish(parameters, (), NotificationId::parse);
    AccountsQuery = |mut parameters: Parameters| {
        let filter = AccountFilter {
            status: parameters.optional("status", AccountStatus::rule),
            email: parameters.optional("email", |text| accounts::EMAIL.check(text)),
        };
        Self::finish(parameters, filter, AccountId::parse)
    };
    WorkersQuery = |mut parameters: Parameters| {
        let filter = WorkerFilter {
            status: parameters.optional("status", WorkerStatus::rule),
            email: parameters.optional("email", |text| accounts::EMAIL.check(text)),
        };
        Self::finish(parameters, filter, WorkerId::parse)
    };
    TasksQuery = |mut parameters: Parameters| {
        let account = |text: &str| {
            AccountId::parse(text).ok_or_else(|| "must be the id of an account".to_owned())
        };
        let filter = TaskFilter {
            account: parameters.optional("account_id", account),
            environment: parameters.optional("environment", Environment::rule),
            status: parameters.optional("status", Status::rule),
        };
        Self::finish(parameters, filter, TaskId::parse)
    };
    JobsQuery = |mut parameters: Parameters| {
        let dead = parameters.optional("dead", |text| match text {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err("must be true or false".to_owned()),
        });
        Self::finish(parameters, OnlyDead(dead.unwrap_or(false)), job_name)
    };
    AuditQuery = |mut parameters: Parameters| {
        let filter = AuditFilter {
            subject_id: parameters.optional("subject_id", |text| SUBJECT_ID.check(text)),
            action: parameters.optional("action", |text| AUDIT_ACTION.check(text)),
        };
        Self::finish(parameters, filter, |text| text.parse().ok())
    };
    ReportQuery = Self::read;
}

fn job_name(text: &str) -> Option<JobName> {
    let (kind, subject) = text.split_once(':')?;
    Some(JobName::new(JobKind::parse(kind)?, subject))
}

/// `claimed=me` depends on who asks.
impl FromRequestParts<App> for QueueQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let AdminCaller(admin) = AdminCaller::from_request_parts(parts, app).await?;
        let mut parameters = parameters(parts);
        let status = parameters.optional("status", QueueStatus::rule);
        let claimed = parameters.optional("claimed", ClaimedBy::rule);
        let filter = QueueFilter {
            status: status.unwrap_or(QueueStatus::Open),
            kind: parameters.optional("kind", QueueKind::rule),
            environment: parameters.optional("environment", Environment::rule),
            claimed: claimed.map(|claimed| match claimed {
                ClaimedBy::Me => Claimed::By(admin),
                ClaimedBy::Nobody => Claimed::ByNobody,
            }),
        };
        Self::finish(parameters, filter, QueueItemId::parse)
    }
}

/// Which report.
pub struct ReportQuery {
    pub month: Month,
    pub environment: Environment,
    pub format: ReportFormat,
}

impl ReportQuery {
    fn read(mut parameters: Parameters) -> Result<Self, ApiError> {
        let month = parameters.required("month", Month::rule);
        let environment = parameters.optional("environment", Environment::rule);
        let format = parameters.optional("format", ReportFormat::rule);
        parameters.finish().map_err(ApiError::Validation)?;
        let month = month.ok_or_else(|| ApiError::invalid("month", "is required"))?;
        Ok(Self {
            month,
            environment: environment.unwrap_or(Environment::Live),
            format: format.unwrap_or(ReportFormat::Json),
        })
    }
}
