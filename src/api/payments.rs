//! /v1/tasks/{id}/payment and /v1/tasks/{id}/ledger: a task's money, as its developer sees it.

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::App;
use super::answer::Answer;
use super::authentication::Caller;
use super::error::ApiError;
use super::openapi::{Example, PageLimit, PageOffset, errors};
use super::path::TaskPath;
use super::query::{Meta, PageQuery};
use crate::domain::{
    Book, Entry, PaymentFailure, PaymentStatus, ProcessorName, Status, Step, Story, Task, Timestamp,
};
use crate::payments::Processor;
use crate::usecases::Refusal;

/// How a task is paid for.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(Example::Payment.value()))]
pub struct PaymentBody {
    task_id: String,
    /// `not_required` for a test task.
    status: PaymentState,
    amount_cents: i64,
    /// What is held for the task now.
    escrow_cents: i64,
    /// What has gone back to the developer.
    refunded_cents: i64,
    /// What will go back as soon as the processor has done its part.
    refund_pending_cents: i64,
    /// With it, somebody pays; present while payment is required.
    #[schema(required)]
    payment_client_secret: Option<String>,
    /// Where somebody pays, when the processor has a page of its own for it.
    #[schema(required)]
    payment_url: Option<String>,
    /// Why the last attempt to pay failed.
    #[schema(required)]
    failure: Option<FailureBody>,
    #[schema(required)]
    processor: Option<ProcessorName>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

#[derive(Serialize, ToSchema)]
struct FailureBody {
    /// In the processor's words.
    code: String,
    message: String,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum PaymentState {
    NotRequired,
    Processing,
    RequiresPayment,
    Succeeded,
    Cancelled,
}

impl From<PaymentStatus> for PaymentState {
    fn from(status: PaymentStatus) -> Self {
        match status {
            PaymentStatus::Processing => Self::Processing,
            PaymentStatus::RequiresPayment => Self::RequiresPayment,
            PaymentStatus::Succeeded => Self::Succeeded,
            PaymentStatus::Cancelled => Self::Cancelled,
        }
    }
}

impl PaymentBody {
    pub fn of(
        task: &Task,
        payment: Option<crate::domain::Payment>,
        story: &Story,
        processor: &dyn Processor,
    ) -> Self {
        let mut body = Self {
            task_id: task.id.to_string(),
            status: PaymentState::NotRequired,
            amount_cents: task.budget_cents,
            escrow_cents: task.escrow_cents,
            refunded_cents: story.refunded_cents(),
            refund_pending_cents: story.owed_refund_cents(),
            payment_client_secret: None,
            payment_url: None,
            failure: None,
            processor: None,
            created_at: task.created_at,
            updated_at: task.updated_at,
        };
        if let Some(payment) = payment {
            let payable = payment.status == PaymentStatus::RequiresPayment
                && task.status == Status::Pending
                && payment.processor == processor.name();
            let intent = payment.intent.filter(|_| payable);
            body.payment_url = intent
                .as_ref()
                .and_then(|intent| processor.payment_url(&intent.client_secret));
            body.payment_client_secret = intent.map(|intent| intent.client_secret);
            body.status = payment.status.into();
            body.failure = payment
                .failure
                .map(|PaymentFailure { code, message }| FailureBody { code, message });
            body.processor = Some(payment.processor);
            body.created_at = payment.created_at;
            body.updated_at = payment.updated_at;
        }
        body
    }

    /// For those who may look at a payment, but not make it.
    pub fn withhold_secret(&mut self) {
        self.payment_client_secret = None;
        self.payment_url = None;
    }
}

/// Get the payment of a task
#[utoipa::path(
    get, path = "/v1/tasks/{id}/payment", tag = "Payments", operation_id = "getPayment",
    params(("id" = String, Path, description = "Task id")),
    responses((status = 200, description = "The payment", body = PaymentBody),
        errors::Common, errors::TaskNotFound)
)]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    path: TaskPath,
) -> Result<Answer, ApiError> {
    let (owner, id) = (caller.owner(), path.id()?);
    let (task, payment, story) = app
        .store
        .read(move |tx| {
            let task = tx.task_of(owner, id)?.ok_or(Refusal::TaskNotFound)?;
            Ok::<_, Refusal>((task, tx.payment(id)?, tx.story(id)?))
        })
        .await?;
    let processor = app.payments.processor.as_ref();
    Answer::ok(&PaymentBody::of(&task, payment, &story, processor))
}

/// One line of the journal: what it adds to each book. The postings add up to zero.
#[derive(Serialize, ToSchema)]
pub struct EntryBody {
    task_id: String,
    #[serde(rename = "type")]
    step: Step,
    postings: Vec<PostingBody>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

#[derive(Serialize, ToSchema)]
struct PostingBody {
    account: Book,
    amount_cents: i64,
}

impl From<&Entry> for EntryBody {
    fn from(entry: &Entry) -> Self {
        let postings = entry.postings.by_book().into_iter();
        Self {
            task_id: entry.task.to_string(),
            step: entry.step,
            postings: postings
                .filter(|(_, cents)| *cents != 0)
                .map(|(account, amount_cents)| PostingBody {
                    account,
                    amount_cents,
                })
                .collect(),
            created_at: entry.recorded_at,
        }
    }
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!(Example::Ledger.value()))]
pub struct LedgerBody {
    data: Vec<EntryBody>,
    meta: Meta,
}

/// Get the ledger of a task
///
/// Every movement of the task's money, oldest first. What leaves one account enters another: the
/// postings of an entry add up to zero.
#[utoipa::path(
    get, path = "/v1/tasks/{id}/ledger", tag = "Payments", operation_id = "getLedger",
    params(("id" = String, Path, description = "Task id"),
        ("limit" = inline(Option<PageLimit>), Query,
            description = "Page size, 20 when left out; more than 100 is served as 100"),
        ("offset" = inline(Option<PageOffset>), Query, description = "How many to skip")),
    responses((status = 200, description = "The entries", body = LedgerBody),
        errors::Common, errors::Query, errors::TaskNotFound)
)]
pub async fn ledger(
    State(app): State<App>,
    caller: Caller,
    path: TaskPath,
    PageQuery(page): PageQuery,
) -> Result<Answer, ApiError> {
    let (owner, id) = (caller.owner(), path.id()?);
    let story = app
        .store
        .read(move |tx| {
            tx.task_of(owner, id)?.ok_or(Refusal::TaskNotFound)?;
            Ok::<_, Refusal>(tx.story(id)?)
        })
        .await?;
    let entries = story.entries();
    let offset = usize::try_from(page.offset).unwrap_or(usize::MAX);
    Answer::ok(&LedgerBody {
        data: entries
            .iter()
            .skip(offset)
            .take(page.limit as usize)
            .map(Into::into)
            .collect(),
        meta: page.meta(entries.len() as i64),
    })
}
