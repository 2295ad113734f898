//! POST /v1/tasks/batch

use std::num::NonZeroU32;
use std::sync::OnceLock;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::api::App;
use crate::api::developer::tasks::create::CreatedTask;
use crate::api::developer::tasks::create::body::CreateTask;
use crate::api::developer::tasks::creation::{Creation, has_secrets};
use crate::api::developer::tasks::funding::{self, Terms};
use crate::api::error::codes::ErrorCode;
use crate::api::error::{ApiError, ErrorContent};
use crate::api::middleware::authentication::Caller;
use crate::api::middleware::authentication::refusals;
use crate::api::middleware::limits::rate::Counted;
use crate::api::middleware::notes::Notes;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups};
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::idempotency::Post;
use crate::api::request::idempotency::batch::{Batch, Part};
use crate::api::response::json::JsonResponse;
use crate::domain::tasks::MAX_BATCH;
use crate::store::{StoreError, Tx};
use crate::usecases::Funded;

/// Payments that are created at the processor at the same time, for one request.
const PAYMENTS_AT_ONCE: usize = 8;

/// What became of each body, in the same order.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(CreatedTasks::example()))]
pub struct CreatedTasks<'a> {
    data: Vec<CreatedItem<'a>>,
}

/// A new task, or why there is none.
#[derive(Serialize, ToSchema)]
pub struct CreatedItem<'a> {
    /// What POST /v1/tasks would have answered.
    #[schema(minimum = 201, maximum = 599)]
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<CreatedTask<'a>>)]
    task: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<ErrorContent>,
}

impl CreatedTasks<'_> {
    fn example() -> Value {
        let invalid = ApiError::invalid("title", "is required");
        let error = invalid.content("019a8574c1f07c2e9d1b3a5f60718293");
        json!({"data": [
            {"status": 201, "task": CreatedTask::example()},
            {"status": 400, "error": error},
        ]})
    }
}

/// Create up to 100 tasks
///
/// Each is created or refused by itself, as `POST /v1/tasks` would. The response tells what became of
/// each, in the same order. It counts as that many requests. With one Idempotency-Key for all, a repeat
/// creates what is still missing and nothing twice.
#[utoipa::path(
    post, path = "/v1/tasks/batch", tag = "Tasks", operation_id = "createTasks",
    params(IdempotencyKeyHeader), request_body = CreateTasks,
    responses((status = 200, description = "What became of each task", body = CreatedTasks),
        groups::Developer, groups::Body, groups::Idempotency, errors::EmailNotConfirmed,
        errors::PaymentUnavailable)
)]
pub async fn create(
    State(app): State<App>,
    caller: Caller,
    Extension(notes): Extension<Notes>,
    post: Post,
) -> Result<Response, ApiError> {
    let CreateTasks(bodies) = post.read()?;
    let counted = count_others(&app, &caller, bodies.len()).await;
    let (status, passes) = match counted {
        Some((status, passes)) => (Some(status), passes),
        None => (None, Ok(())),
    };
    let mut response = match passes {
        Ok(()) => create_all(&app, &caller, &notes, bodies, post)
            .await
            .into_response(),
        Err(refused) => refused.into_response(),
    };
    if let Some(status) = status {
        response.extensions_mut().insert(status);
    }
    Ok(response)
}

/// The first is the request itself, which was counted before its body was read.
async fn count_others(app: &App, caller: &Caller, tasks: usize) -> Option<Counted> {
    let others = u32::try_from(tasks.saturating_sub(1)).ok();
    let others = others.and_then(NonZeroU32::new)?;
    let limits = app.rate_limits.as_ref()?;
    Some(limits.count_key(&caller.holder, others).await)
}

async fn create_all(
    app: &App,
    caller: &Caller,
    notes: &Notes,
    bodies: Vec<Result<CreateTask, ApiError>>,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    let sealed = has_secrets(caller.owner());
    let batch = Batch::begin(app, caller.requester(), post, sealed);
    let done = batch.done_before(bodies.len()).await?;
    let steps = bodies.into_iter().zip(done).map(|(body, done)| match done {
        Some(part) => Step::Done(part),
        None => match body {
            Ok(CreateTask(new)) => Step::New(Box::new(Creation::new(app, caller.holder, new))),
            Err(error) => Step::Refused(error),
        },
    });
    let funded = fund(app, caller, steps.collect()).await;
    // All are queued before the first is answered, in this order.
    let created = join_all(
        funded
            .into_iter()
            .enumerate()
            .map(async |(place, step)| match step? {
                Ready::Done(part) => Ok(part),
                Ready::New(creation, funded) => {
                    let create = move |tx: &mut Tx<'_>, now| {
                        Ok(CreatedTask::json(&creation.run(tx, now, &funded)?)?)
                    };
                    batch.run(place, create).await
                }
            }),
    )
    .await;
    for error in created.iter().filter_map(|created| created.as_ref().err()) {
        refusals::note(app, &caller.holder, error);
    }
    answer(&created, notes)
}

/// What there is to do for one body.
enum Step {
    Done(Part),
    Refused(ApiError),
    New(Box<Creation>),
}

/// The same, once it is known how the task is paid for.
enum Ready {
    Done(Part),
    New(Box<Creation>, Funded),
}

async fn fund(app: &App, caller: &Caller, steps: Vec<Step>) -> Vec<Result<Ready, ApiError>> {
    let has_new = steps.iter().any(|step| matches!(step, Step::New(_)));
    let terms = match has_new {
        true => funding::terms(app, caller).await,
        false => Ok(Terms::default()),
    };
    let terms = terms.as_ref();
    let processor = &Reachable::default();
    let mut others = 0;
    let funding = steps.into_iter().map(|step| {
        let before = others;
        others += i64::from(matches!(step, Step::New(_)));
        async move {
            match step {
                Step::Done(part) => Ok(Ready::Done(part)),
                Step::Refused(error) => Err(error),
                Step::New(creation) => {
                    let terms = terms.map_err(ApiError::clone)?;
                    let funding = funding::fund(app, &creation, terms, before);
                    let funded = processor.ask(funding).await?;
                    Ok(Ready::New(creation, funded))
                }
            }
        }
    });
    stream::iter(funding)
        .buffered(PAYMENTS_AT_ONCE)
        .collect()
        .await
}

/// Once the processor does not answer, it is not asked for the rest of a batch: each would wait in vain.
#[derive(Default)]
struct Reachable(OnceLock<ApiError>);

impl Reachable {
    async fn ask<T>(
        &self,
        asking: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        if let Some(error) = self.0.get() {
            return Err(error.clone());
        }
        let answer = asking.await;
        if let Err(error) = &answer
            && error.code() == ErrorCode::PaymentUnavailable
        {
            let _ = self.0.set(error.clone());
        }
        answer
    }
}

fn answer(created: &[Result<Part, ApiError>], notes: &Notes) -> Result<JsonResponse, ApiError> {
    if let Some(error) = of_all(created) {
        return Err(error);
    }
    let data = created.iter().enumerate();
    let data = data.map(|(place, created)| match created {
        Ok(part) => Ok(CreatedItem {
            status: StatusCode::CREATED.as_u16(),
            task: Some(stored_json(&part.body)?),
            error: None,
        }),
        Err(error) => {
            if let Some(cause) = error.cause() {
                let request_id = notes.request_id();
                tracing::error!(request_id, place, cause, "a task of a batch failed");
            }
            Ok(CreatedItem {
                status: error.status().as_u16(),
                task: None,
                error: Some(error.content(notes.request_id())),
            })
        }
    });
    let data = data.collect::<Result<_, StoreError>>()?;
    let mut response = JsonResponse::ok(&CreatedTasks { data })?;
    let mut tasks = created.iter().flatten().peekable();
    response.replayed = tasks.peek().is_some() && tasks.all(|part| part.replayed);
    Ok(response)
}

/// The error that is not one of a single task: the key belongs to another request, or nothing works.
fn of_all(created: &[Result<Part, ApiError>]) -> Option<ApiError> {
    let mut errors = created.iter().filter_map(|created| created.as_ref().err());
    let mismatch = errors
        .clone()
        .find(|error| matches!(error, ApiError::IdempotencyMismatch));
    let fails = |created: &Result<Part, ApiError>| {
        let error = created.as_ref().err();
        error.is_some_and(|error| error.status().is_server_error())
    };
    let failed = created.iter().all(fails).then(|| errors.next()).flatten();
    mismatch.or(failed).cloned()
}

fn stored_json(text: &str) -> Result<&RawValue, StoreError> {
    serde_json::from_str(text).map_err(|_| StoreError::Failed("a stored task is not JSON".into()))
}

/// Bodies of POST /v1/tasks.
pub struct CreateTasks(Vec<Result<CreateTask, ApiError>>);

impl RequestBody for CreateTasks {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        fields.bodies("tasks", MAX_BATCH).map(Self)
    }
}

request_bodies! {
    /// Bodies of POST /v1/tasks.
    CreateTasks = json!({"tasks": [
        {
            "title": "Photograph a storefront",
            "description": "Front of the shop with the door and the opening hours in view.",
            "category": "photography",
            "location": {"city": "Brooklyn", "state": "NY", "latitude": 40.7163, "longitude": -73.9595},
            "budget_cents": 2500,
        },
        {
            "title": "Count the parking spaces",
            "description": "All spaces behind the shop, free or not.",
            "category": "survey",
            "location": {"city": "Brooklyn", "state": "NY", "latitude": 40.7163, "longitude": -73.9595},
            "budget_cents": 1500,
        },
    ]});
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usecases::UseCaseError;

    #[tokio::test]
    async fn a_processor_that_does_not_answer_is_asked_no_more() {
        let processor = Reachable::default();
        let fine = async || processor.ask(async { Ok(()) }).await.is_ok();
        let not_found = UseCaseError::TaskNotFound;
        let refused = processor.ask(async { Err::<(), _>(not_found.into()) });
        assert_eq!(refused.await.unwrap_err().code(), ErrorCode::TaskNotFound);
        assert!(fine().await, "another error tells nothing about it");
        let silent = UseCaseError::PaymentUnavailable("no answer".to_owned());
        let silent = processor.ask(async { Err::<(), _>(silent.into()) });
        assert!(silent.await.is_err());
        let never = processor.ask(std::future::pending::<Result<(), _>>());
        assert_eq!(
            never.await.unwrap_err().code(),
            ErrorCode::PaymentUnavailable
        );
    }
}
