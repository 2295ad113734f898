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
    /// What goes back to you. Null until it is known, and if nothing does.
    #[schema(required)]
    refund: Option<RefundBody>,
    /// What goes to the worker. Null until it is known, and if nothing does.
    #[schema(required)]
    payout: Option<PayoutBody>,
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

/// Money that goes back to the developer.
#[derive(Serialize, ToSchema)]
#[schema(as = Refund)]
pub struct RefundBody {
    amount_cents: i64,
    /// How much of it has left the processor.
    paid_cents: i64,
}

impl RefundBody {
    /// What a move has promised; nothing of it has left yet.
    pub const fn promised(amount_cents: i64) -> Self {
        Self {
            amount_cents,
            paid_cents: 0,
        }
    }

    pub fn of(ledger: &TaskLedger) -> Self {
        Self {
            amount_cents: ledger.promised_refund_cents(),
            paid_cents: ledger.refunded_cents(),
        }
    }
}

/// Money that goes to the worker.
#[derive(Serialize, ToSchema)]
#[schema(as = TaskPayout)]
pub struct PayoutBody {
    amount_cents: i64,
    /// How much of it has left the processor.
    paid_cents: i64,
    /// What the platform keeps.
    platform_fee_cents: i64,
}

impl PayoutBody {
    /// What a move has promised; nothing of it has left yet.
    pub const fn promised(amount_cents: i64, platform_fee_cents: i64) -> Self {
        Self {
            amount_cents,
            paid_cents: 0,
            platform_fee_cents,
        }
    }

    fn of(ledger: &TaskLedger) -> Self {
        let settlement = ledger.entry(Step::Settlement);
        Self {
            amount_cents: ledger.earned_cents(),
            paid_cents: ledger.transferred_cents(),
            platform_fee_cents: settlement.map_or(0, |entry| entry.postings.fees_cents),
        }
    }
}

#[derive(Serialize, ToSchema)]
#[schema(as = PaymentFailure)]
pub struct FailureBody {
    /// The processor's error code.
    code: String,
    message: String,
}

impl From<PaymentFailure> for FailureBody {
    fn from(failure: PaymentFailure) -> Self {
        let PaymentFailure { code, message } = failure;
        Self { code, message }
    }
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

/// The payment of a task that is over is open until the processor has cancelled it or says that it
/// was made.
fn state(task: &Task, payment: &Payment) -> PaymentState {
    match payment.status {
        PaymentStatus::RequiresPayment if task.status.is_final() => PaymentState::Processing,
        status => status.into(),
    }
}

/// Money that moves changes the payment too.
fn updated_at(task: &Task, payment: Option<&Payment>, ledger: &TaskLedger) -> Timestamp {
    let own = payment.map_or(task.updated_at, |payment| payment.updated_at);
    let moved = ledger.entries().iter().map(|entry| entry.recorded_at);
    let over = task.status.is_final().then_some(task.status_since);
    moved.chain(over).fold(own, Timestamp::max)
}

impl PaymentBody {
    /// Without the client secret, because its holder can pay.
    pub fn of(task: &Task, payment: Option<&Payment>, ledger: &TaskLedger) -> Self {
        let failure = payment.and_then(|payment| payment.failure.clone());
        let refund = RefundBody::of(ledger);
        let payout = PayoutBody::of(ledger);
        Self {
            task_id: task.id.to_string(),
            status: payment.map_or(PaymentState::NotRequired, |payment| state(task, payment)),
            amount_cents: task.budget_cents,
            escrow_cents: task.escrow_cents,
            refunded_cents: ledger.refunded_cents(),
            refund_pending_cents: ledger.owed_refund_cents(),
            refund: Some(refund).filter(|refund| refund.amount_cents > 0),
            payout: Some(payout).filter(|payout| payout.amount_cents > 0),
            payment_client_secret: None,
            payment_url: None,
            failure: failure.map(FailureBody::from),
            processor: payment.map(|payment| payment.processor),
            created_at: payment.map_or(task.created_at, |payment| payment.created_at),
            updated_at: updated_at(task, payment, ledger),
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
