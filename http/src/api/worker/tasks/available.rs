//! GET /v1/worker/available_tasks

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::openapi::{errors, groups, parameters};
use crate::api::request::path::TaskPath;
use crate::api::request::query::{AvailableQuery, PointQuery};
use crate::api::response::json::JsonResponse;
use crate::api::response::page::{CursorList, CursorMeta};
use crate::api::worker::tasks::record::DeveloperRecordBody;
use crate::domain::geo::{Point, to_decimeter};
use crate::domain::tasks::{Category, Priority, ProofType, Skill, TaskType};
use crate::domain::{
    DeveloperRecord, Ineligible, NotEligible, SearchOrder, Timestamp, Windows, Worker,
};
use crate::usecases::{self, AcceptTerms, Found, Search};
use crate::views::{Id, examples};

type AvailableTaskPage = CursorList<AvailableTask>;

/// A task that can be accepted. Its exact place and its instructions are shown once it is accepted.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(AvailableTask::example()))]
pub struct AvailableTask {
    #[schema(value_type = Id)]
    id: String,
    title: String,
    description: String,
    category: Category,
    task_type: TaskType,
    required_skills: Vec<Skill>,
    location_city: String,
    location_state: String,
    /// Rounded to about a kilometre.
    location_latitude: f64,
    location_longitude: f64,
    /// From the rounded place.
    distance_meters: f64,
    worker_payout_cents: i64,
    priority: Priority,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    deadline: Option<Timestamp>,
    /// When the task expires unless it is done.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    due_at: Option<Timestamp>,
    proof_types: Vec<ProofType>,
    /// Attempts that others used are used.
    attempts_left: i64,
    /// How the developer has dealt with work so far; null while there is too little to tell.
    #[schema(required)]
    developer: Option<DeveloperRecordBody>,
    #[schema(value_type = String, format = DateTime)]
    posted_at: Timestamp,
}

impl AvailableTask {
    fn example() -> Self {
        let task = examples::posted().task;
        let distance_meters = examples::HOME.distance_meters(task.place().roughly());
        let record = DeveloperRecord {
            completed: 38,
            judged: 40,
            approved: 36,
            reviews: [4, 20, 10, 6, 0, 0, 0, 0],
        };
        let found = Found {
            task,
            record,
            distance_meters,
        };
        Self::of(found, &Windows::default())
    }

    fn of(found: Found, windows: &Windows) -> Self {
        let Found {
            task,
            record,
            distance_meters,
        } = found;
        let Point {
            latitude,
            longitude,
        } = task.place().roughly();
        Self {
            id: task.id.to_string(),
            worker_payout_cents: task.split().payout_cents,
            due_at: task.due(windows).map(|due| due.at),
            attempts_left: task.attempts_left(),
            title: task.title,
            description: task.description,
            category: task.category,
            task_type: task.task_type,
            required_skills: task.required_skills,
            location_city: task.location.city,
            location_state: task.location.state,
            location_latitude: latitude,
            location_longitude: longitude,
            distance_meters: to_decimeter(distance_meters),
            priority: task.priority,
            deadline: task.deadline,
            developer: DeveloperRecordBody::of(&record, windows),
            proof_types: task.proof_types,
            posted_at: task.status_since,
        }
    }
}

/// Find tasks nearby
///
/// Live tasks around a point that can be accepted and whose required skills you have. Bounties come
/// first. Without a point, around your home. A search that has to skip many tasks answers with fewer
/// than `limit`, or none, and with a `next_cursor`.
#[utoipa::path(
    get, path = "/v1/worker/available_tasks", tag = "Workers", operation_id = "findTasks",
    params(
        ("latitude" = inline(Option<parameters::Latitude>), Query, description = "With `longitude`. The home of the worker when left out"),
        ("longitude" = inline(Option<parameters::Longitude>), Query, description = "With `latitude`"),
        ("radius_km" = inline(Option<parameters::RadiusKm>), Query, description = "The worker's own radius when left out"),
        ("category" = inline(Option<Category>), Query, description = "Only this category"),
        ("sort" = inline(Option<SearchOrder>), Query, description = "`distance` when left out"),
        parameters::PageSize,
        ("cursor" = inline(Option<parameters::SearchCursor>), Query, description = "`next_cursor` of the previous page"),
    ),
    responses((status = 200, description = "A page of tasks", body = AvailableTaskPage),
        groups::Worker, groups::Query)
)]
pub async fn available(
    State(app): State<App>,
    caller: WorkerCaller,
    query: AvailableQuery,
) -> Result<JsonResponse, ApiError> {
    let worker = caller.worker;
    let center = center(query.center, &worker)?;
    let limit = query.limit;
    let search = Search {
        center,
        radius_meters: query.radius_km.unwrap_or(worker.radius_km) * 1_000.0,
        category: query.category,
        skills: worker.counting_skills(&app.checked_skills),
        order: query.order,
        after: query.after,
        limit: limit as usize,
    };
    let page = app
        .store
        .snapshot(move |tx| usecases::find_tasks(tx, &search))
        .await?;
    let next_cursor = page.next.as_ref().map(AvailableQuery::cursor_text);
    let windows = app.scheduler.windows();
    let data = page.found.into_iter();
    let data = data
        .map(|found| AvailableTask::of(found, windows))
        .collect();
    JsonResponse::ok(&CursorMeta::new(limit, next_cursor).list(data))
}

/// Where a worker searches from.
fn center(given: Option<Point>, worker: &Worker) -> Result<Point, ApiError> {
    let message = "is required: the worker has no home yet";
    let center = given.or(worker.home);
    center.ok_or_else(|| ApiError::invalid("latitude", message))
}

/// A task that can be accepted, and whether you may.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(OfferedTask::example()))]
pub struct OfferedTask {
    #[serde(flatten)]
    task: AvailableTask,
    /// Whether you may accept it now.
    eligible: bool,
    /// Why not.
    #[schema(required)]
    ineligible_reason: Option<Ineligible>,
}

impl OfferedTask {
    fn example() -> Self {
        Self {
            task: AvailableTask::example(),
            eligible: false,
            ineligible_reason: Some(Ineligible::NoPayoutAccount),
        }
    }
}

/// Get a task that you can accept
///
/// Also one whose skills you lack. A task that somebody has accepted is not found.
#[utoipa::path(
    get, path = "/v1/worker/available_tasks/{id}", tag = "Workers", operation_id = "getAvailableTask",
    params(
        ("id" = inline(parameters::TaskId), Path, description = "Task ID"),
        ("latitude" = inline(Option<parameters::Latitude>), Query, description = "With `longitude`. The home of the worker when left out"),
        ("longitude" = inline(Option<parameters::Longitude>), Query, description = "With `latitude`"),
    ),
    responses((status = 200, description = "The task, and whether you may accept it", body = OfferedTask),
        groups::Worker, groups::Query, errors::TaskNotFound)
)]
pub async fn offered(
    State(app): State<App>,
    caller: WorkerCaller,
    path: TaskPath,
    query: PointQuery,
) -> Result<JsonResponse, ApiError> {
    let worker = caller.worker;
    let center = center(query.0, &worker)?;
    let terms = AcceptTerms {
        processor: app.payments.processor.name(),
        checked_skills: app.checked_skills.clone(),
    };
    let id = path.id()?;
    let read = app
        .store
        .read(move |tx| usecases::offered_task(tx, &worker, id, &terms));
    let (task, record, not_eligible) = read.await?;
    let found = Found {
        distance_meters: center.distance_meters(task.place().roughly()),
        task,
        record,
    };
    JsonResponse::ok(&OfferedTask {
        task: AvailableTask::of(found, app.scheduler.windows()),
        eligible: not_eligible.is_none(),
        ineligible_reason: not_eligible.map(NotEligible::word),
    })
}
