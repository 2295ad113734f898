//! The money of a task: its payment and its ledger entries.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::{
    Entry, LedgerAccount, Payment, PaymentFailure, PaymentStatus, ProcessorName, Step, Task,
    TaskLedger, Timestamp,
};
use crate::views::{Id, examples};

/// How a task is paid for.
#[derive(Serialize, ToSchema)]
#[schema(as = Payment, example = json!(PaymentBody::example()))]
pub struct PaymentBody {
    #[schema(value_type = Id)]
    task_id: String,
    /// `not_required` for a test task.
    status: PaymentState,
    amount_cents: i64,
    /// The amount currently in escrow.
    escrow_cents: i64,
    /// What was refunded to the developer.
    refunded_cents: i64,
    /// What will be refunded when the processor has done its part.
    refund_pending_cents: i64,
    /// Pay with this secret. Present while payment is required.
    #[schema(required)]
    payment_client_secret: Option<String>,
    /// The payment page, if the processor has one.
    #[schema(required)]
    payment_url: Option<String>,
    /// Why the last payment attempt failed.
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
#[schema(as = PaymentFailure)]
struct FailureBody {
    /// The processor's error code.
    code: String,
    message: String,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = PaymentStatus)]
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
    /// Without the client secret, because its holder can pay.
    pub fn of(task: &Task, payment: Option<&Payment>, ledger: &TaskLedger) -> Self {
        let failure = payment.and_then(|payment| payment.failure.clone());
        Self {
            task_id: task.id.to_string(),
            status: payment.map_or(PaymentState::NotRequired, |payment| payment.status.into()),
            amount_cents: task.budget_cents,
            escrow_cents: task.escrow_cents,
            refunded_cents: ledger.refunded_cents(),
            refund_pending_cents: ledger.owed_refund_cents(),
            payment_client_secret: None,
            payment_url: None,
            failure: failure.map(|PaymentFailure { code, message }| FailureBody { code, message }),
            processor: payment.map(|payment| payment.processor),
            created_at: payment.map_or(task.created_at, |payment| payment.created_at),
            updated_at: payment.map_or(task.updated_at, |payment| payment.updated_at),
        }
    }

    /// For the developer, who passes the secret on to the payer.
    pub fn with_secret(mut self, client_secret: String, payment_url: Option<String>) -> Self {
        self.payment_client_secret = Some(client_secret);
        self.payment_url = payment_url;
        self
    }

    fn example() -> Self {
        let (story, payment) = (examples::pending(), examples::declined_payment());
        let secret = examples::payment_intent().client_secret;
        let url = format!("http://127.0.0.1:8080/pay/{secret}");
        Self::of(&story.task, Some(&payment), &story.ledger()).with_secret(secret, Some(url))
    }
}

/// A ledger entry: what it adds to each account. The postings add up to zero.
#[derive(Serialize, ToSchema)]
#[schema(as = LedgerEntry, example = json!(EntryBody::example()))]
pub struct EntryBody {
    #[schema(value_type = Id)]
    task_id: String,
    #[serde(rename = "type")]
    step: Step,
    postings: Vec<PostingBody>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Posting)]
struct PostingBody {
    account: LedgerAccount,
    amount_cents: i64,
}

impl EntryBody {
    fn example() -> Option<Self> {
        let ledger = examples::completed().ledger();
        ledger.entry(Step::Settlement).map(Self::from)
    }
}

impl From<&Entry> for EntryBody {
    fn from(entry: &Entry) -> Self {
        let postings = entry.postings.by_account().into_iter();
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
