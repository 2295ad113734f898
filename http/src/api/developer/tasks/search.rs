//! GET /v1/tasks/search

use axum::extract::State;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::developer::tasks::read::TaskListItem;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{groups, parameters};
use crate::api::request::search::SearchQuery;
use crate::api::response::json::JsonResponse;
use crate::api::response::page::{CursorList, CursorMeta};
use crate::domain::tasks::Category;
use crate::domain::{Environment, Status, Timestamp};
use crate::store::{SearchedTask, StoreError};
use crate::usecases::{self, SearchedPage};
use crate::views::examples;

type FoundTaskPage = CursorList<FoundTask>;

/// A task that was found.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(FoundTask::example()))]
pub struct FoundTask {
    #[serde(flatten)]
    task: TaskListItem,
    #[schema(value_type = Object)]
    metadata: Box<RawValue>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    deadline: Option<Timestamp>,
    environment: Environment,
}

impl FoundTask {
    fn of((task, more): SearchedTask) -> Result<Self, StoreError> {
        let metadata = RawValue::from_string(more.metadata)
            .map_err(|e| StoreError::Failed(format!("metadata of {}: {e}", task.id)))?;
        Ok(Self {
            task: task.into(),
            metadata,
            deadline: more.deadline,
            environment: more.environment,
        })
    }

    fn example() -> Value {
        let task = examples::funded().task;
        examples::json(
            RawValue::from_string(task.metadata.clone()).map(|metadata| Self {
                metadata,
                deadline: task.deadline,
                environment: task.owner.environment,
                task: TaskListItem::example(),
            }),
        )
    }
}

/// Search tasks
///
/// The account's tasks in the key's environment, newest first. All filters must hold.
/// `metadata[<key>]=<value>`, or `metadata.<key>=<value>`, finds texts, numbers and booleans on the top level of the metadata. A page
/// may have fewer tasks than `limit`, even none: read on while there is a `next_cursor`.
#[utoipa::path(
    get, path = "/v1/tasks/search", tag = "Tasks", operation_id = "searchTasks",
    params(
        ("q" = inline(Option<parameters::SearchWords>), Query,
            description = "Words, all of which must occur in the title or the place"),
        ("category" = inline(Option<Category>), Query, description = "Only of this category"),
        ("status" = inline(Option<Vec<Status>>), Query,
            description = "Only in one of these statuses: repeated, or separated by commas"),
        ("created_from" = inline(Option<parameters::DateTime>), Query, description = "Created at that time or later"),
        ("created_to" = inline(Option<parameters::DateTime>), Query, description = "Created at that time or before"),
        ("metadata" = inline(Option<parameters::MetadataFilter>), Query, style = DeepObject, explode,
            description = "Only with these values on the top level of the metadata: `metadata[order]=4711`, or `metadata.order=4711`. Up to 10 keys"),
        parameters::PageSize,
        ("cursor" = inline(Option<parameters::NumberCursor>), Query, description = "`next_cursor` of the page before"),
    ),
    responses((status = 200, description = "A page of tasks", body = FoundTaskPage),
        groups::Developer, groups::Query)
)]
pub async fn search(
    State(app): State<App>,
    caller: Caller,
    query: SearchQuery,
) -> Result<JsonResponse, ApiError> {
    let limit = query.limit;
    let page = find(&app, &caller, query).await?;
    let data = page.tasks.into_iter().map(FoundTask::of);
    let data = data.collect::<Result<_, _>>()?;
    let next = page.next.map(|number| number.to_string());
    JsonResponse::ok(&CursorMeta::new(limit, next).list(data))
}

/// What a search finds, before it is written down: as JSON here, as HTML by a page.
pub async fn find(
    app: &App,
    caller: &Caller,
    query: SearchQuery,
) -> Result<SearchedPage, ApiError> {
    let (owner, search) = (caller.owner(), query.search);
    let found = app
        .store
        .snapshot(move |tx| usecases::search_tasks(tx, owner, &search));
    Ok(found.await?)
}
