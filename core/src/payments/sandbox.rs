//! The sandbox processor: behaves like a real one, but moves no money and needs no setup.
//!
//! Its records are in our database, in tables of their own. As with a real processor, what it does
//! and what we record of it are separate transactions, and a process may die between the two. Card
//! numbers are never stored.

mod cards;
mod movements;
mod payments;

use std::time::Duration;

use async_trait::async_trait;
use subtle::ConstantTimeEq;

use super::{
    Attempt, Cancellation, Charge, Look, Movement, NewPayment, Outgoing, Processor, ProcessorError,
    ProcessorEvent, ProcessorEventError, ProcessorEventKind, RequestError,
};
use crate::ambient::{self, Clock};
use crate::domain::accounts::api_key::hex;
use crate::domain::{
    AccountId, ChargedMethod, JobKind, JobName, OutgoingKind, PaymentFailure, PaymentIntent,
    PaymentStatus, ProcessorName, Step, Timestamp, WorkerId,
};
use crate::store::{
    SandboxEvent, SandboxMovement, SandboxPayment, SandboxPayoutAccount, Store, StoreError, Tx,
};

pub use cards::Card;
use payments::{
    charge_payment, id_in, intent_of, payment_id, payment_of, payment_to_change, refused,
    with_secret,
};

const DOWN: &str = "down";
const SLOW: &str = "slow";
const AT_ONCE: i64 = 1_000;

#[derive(Clone)]
pub struct Sandbox {
    store: Store,
    clock: Clock,
    public_url: String,
}

/// How the sandbox behaves, for testing failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    Up,
    /// Does what it is asked, but responds late.
    Slow(Duration),
    /// Refuses every request.
    Down,
}

/// The result of a payment on the sandbox's page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Paid {
    Yes {
        event: String,
    },
    Already,
    Declined {
        event: String,
        failure: PaymentFailure,
    },
    Cancelled,
}

impl Sandbox {
    pub fn new(store: Store, clock: Clock, public_url: String) -> Self {
        Self {
            store,
            clock,
            public_url,
        }
    }

    pub async fn set_condition(store: &Store, condition: Condition) -> Result<(), StoreError> {
        store
            .write(move |tx| {
                tx.clear_sandbox_switches()?;
                match condition {
                    Condition::Up => Ok(()),
                    Condition::Slow(by) => tx.set_sandbox_switch(SLOW, by.as_millis() as i64),
                    Condition::Down => tx.set_sandbox_switch(DOWN, 0),
                }
            })
            .await
    }

    /// Runs one request to the processor in a transaction. Fails if the sandbox is down, and waits
    /// if it is slow.
    async fn operate<T, F>(&self, mut operation: F) -> Result<T, ProcessorError>
    where
        T: Send + 'static,
        F: FnMut(&mut Tx<'_>, Timestamp) -> Result<T, ProcessorError> + Send + 'static,
    {
        let clock = self.clock.clone();
        let (done, late_by) = self
            .store
            .write(move |tx| {
                let switches = tx.sandbox_switches()?;
                if switches.iter().any(|(name, _)| name == DOWN) {
                    let reason = "the sandbox is set to down";
                    return Err(ProcessorError::Unavailable(reason.to_owned()));
                }
                let slow = switches.iter().find(|(name, _)| name == SLOW);
                let late_by = slow.map(|(_, milliseconds)| milliseconds.unsigned_abs());
                Ok((operation(tx, clock.now())?, late_by))
            })
            .await?;
        if let Some(milliseconds) = late_by {
            tokio::time::sleep(Duration::from_millis(milliseconds)).await;
        }
        Ok(done)
    }

    /// The payment with this client secret.
    pub async fn payment(
        &self,
        client_secret: &str,
    ) -> Result<Option<SandboxPayment>, ProcessorError> {
        let Some(id) = id_in(client_secret) else {
            return Ok(None);
        };
        let payment = self.operate(move |tx, _| Ok(tx.sandbox_payment(&id)?));
        let opens =
            |payment: &SandboxPayment| constant_time_eq(&payment.client_secret, client_secret);
        Ok(payment.await?.filter(opens))
    }

    /// A person pays on the page.
    pub async fn pay(&self, payment: &SandboxPayment, card: Card) -> Result<Paid, ProcessorError> {
        let id = payment.id.clone();
        self.operate(move |tx, now| {
            let payment = payment_to_change(tx, &id)?;
            let outcome = match payment.status {
                PaymentStatus::Succeeded => return Ok(Paid::Already),
                PaymentStatus::Cancelled => return Ok(Paid::Cancelled),
                _ => card.outcome(),
            };
            match outcome {
                Ok(()) => {
                    tx.set_sandbox_payment_status(&payment, PaymentStatus::Succeeded, now)?;
                    let event = add_event(tx, PAYMENT_SUCCEEDED, &id, None, now)?;
                    Ok(Paid::Yes { event })
                }
                Err(failure) => {
                    let event = add_event(tx, PAYMENT_FAILED, &id, Some(&failure), now)?;
                    Ok(Paid::Declined { event, failure })
                }
            }
        })
        .await
    }

    /// The payout account with this link secret.
    pub async fn payout_account(
        &self,
        link_secret: &str,
    ) -> Result<Option<SandboxPayoutAccount>, ProcessorError> {
        let Some(id) = id_in(link_secret) else {
            return Ok(None);
        };
        let account = self.operate(move |tx, _| Ok(tx.sandbox_payout_account(&id)?));
        let opens =
            |account: &SandboxPayoutAccount| constant_time_eq(&account.link_secret, link_secret);
        Ok(account.await?.filter(opens))
    }

    /// A worker completes a payout account. Returns the event about it, unless it stays as it was.
    pub async fn complete_payout_account(
        &self,
        account: &SandboxPayoutAccount,
        outcome: OnboardingOutcome,
    ) -> Result<Option<String>, ProcessorError> {
        let refuses_payouts = match outcome {
            OnboardingOutcome::Pending => return Ok(None),
            OnboardingOutcome::Ready => false,
            OnboardingOutcome::PayoutsRefused => true,
        };
        let id = account.id.clone();
        let completed = self.operate(move |tx, now| {
            tx.set_sandbox_payout_account_ready(&id, refuses_payouts)?;
            add_event(tx, PAYOUT_ACCOUNT_READY, &id, None, now)
        });
        completed.await.map(Some)
    }
}

/// What onboarding leads to: magic values of the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnboardingOutcome {
    Ready,
    /// The processor is still checking, for ever.
    Pending,
    /// The account looks ready, but transfers to it fail.
    PayoutsRefused,
}

impl OnboardingOutcome {
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "ready" => Some(Self::Ready),
            "pending" => Some(Self::Pending),
            "payouts_refused" => Some(Self::PayoutsRefused),
            _ => None,
        }
    }
}

const PAYMENT_SUCCEEDED: &str = "payment_succeeded";
const PAYMENT_FAILED: &str = "payment_failed";
const PAYOUT_ACCOUNT_READY: &str = "payout_account_ready";

/// Writes an event, and the job that delivers it, in the transaction of what it reports.
fn add_event(
    tx: &mut Tx<'_>,
    kind: &str,
    subject: &str,
    failure: Option<&PaymentFailure>,
    now: Timestamp,
) -> Result<String, ProcessorError> {
    let event = SandboxEvent {
        id: format!("evt_{}", hex(&ambient::random::<16>())),
        kind: kind.to_owned(),
        subject: subject.to_owned(),
        failure: failure.cloned(),
    };
    tx.add_sandbox_event(&event, now)?;
    tx.add_job(&JobName::new(JobKind::SandboxEvent, &event.id), now)?;
    Ok(event.id)
}

/// Converts a sandbox event. No bank is behind the sandbox, so nobody disputes a charge, and nothing
/// that went out comes back.
pub fn to_processor_event(event: &SandboxEvent) -> ProcessorEvent {
    let payment = event.subject.clone();
    let kind = match event.kind.as_str() {
        PAYMENT_SUCCEEDED => ProcessorEventKind::PaymentSucceeded { payment },
        PAYMENT_FAILED => ProcessorEventKind::PaymentFailed {
            payment,
            failure: event.failure.clone().unwrap_or_else(unexplained),
        },
        PAYOUT_ACCOUNT_READY => ProcessorEventKind::PayoutAccountChanged {
            payout_account: event.subject.clone(),
            ready: true,
            // Its accounts stay ready, so the order of its events does not matter.
            at: Timestamp::from_millis(0),
        },
        _ => ProcessorEventKind::Other,
    };
    ProcessorEvent {
        id: event.id.clone(),
        kind,
    }
}

fn unexplained() -> PaymentFailure {
    PaymentFailure {
        code: "card_declined".to_owned(),
        message: "The card was declined.".to_owned(),
    }
}

/// Compares secrets in constant time.
fn constant_time_eq(left: &str, right: &str) -> bool {
    left.as_bytes().ct_eq(right.as_bytes()).into()
}

/// The sandbox is as available as its database.
impl From<StoreError> for ProcessorError {
    fn from(error: StoreError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

#[async_trait]
impl Processor for Sandbox {
    fn name(&self) -> ProcessorName {
        ProcessorName::Sandbox
    }

    fn jobs_at_once(&self) -> usize {
        64
    }

    /// What it has done is in its tables, under the task.
    fn never_repeats(&self) -> bool {
        true
    }

    async fn create_payment(&self, new: &NewPayment) -> Result<PaymentIntent, RequestError> {
        let payment = payment_of(new, PaymentStatus::RequiresPayment);
        let created = self.operate(move |tx, now| {
            tx.add_sandbox_payment(&payment, now)?;
            Ok(intent_of(&payment_to_change(tx, &payment.id)?))
        });
        Ok(created.await?)
    }

    async fn charge(
        &self,
        _: Attempt,
        payment: &str,
        method: &ChargedMethod,
    ) -> Result<Charge, RequestError> {
        let (id, method) = (payment.to_owned(), method.id.clone());
        let charged = self.operate(move |tx, now| {
            let payment = payment_to_change(tx, &id)?;
            charge_payment(tx, &payment, method_card(&method)?, now)
        });
        Ok(charged.await?)
    }

    /// The id of a payment is made from its task, so there is never a second one.
    async fn create_and_charge(
        &self,
        new: &NewPayment,
        method: &ChargedMethod,
    ) -> Result<Option<(PaymentIntent, Charge)>, ProcessorError> {
        let card = method_card(&method.id)?;
        let paid = payment_of(new, PaymentStatus::Succeeded);
        let paid = card.outcome().is_ok().then_some(paid);
        let unpaid = payment_of(new, PaymentStatus::RequiresPayment);
        let clock = self.clock.clone();
        let at_once = self.store.write_for(new.account, move |tx| match &paid {
            Some(paid) if tx.add_paid_sandbox_payment(paid, clock.now())? => {
                Ok::<_, StoreError>(Some((intent_of(paid), Charge::Succeeded)))
            }
            _ => Ok(None),
        });
        if let Some(done) = at_once.await? {
            return Ok(Some(done));
        }
        let charged = self.operate(move |tx, now| {
            tx.add_sandbox_payment(&unpaid, now)?;
            let payment = payment_to_change(tx, &unpaid.id)?;
            let charge = charge_payment(tx, &payment, card, now)?;
            Ok((intent_of(&payment), charge))
        });
        charged.await.map(Some)
    }

    async fn find_payment(
        &self,
        wanted: &NewPayment,
    ) -> Result<Option<PaymentIntent>, ProcessorError> {
        let id = payment_id(wanted.attempt.task);
        let payment = self.operate(move |tx, _| Ok(tx.sandbox_payment(&id)?));
        Ok(payment.await?.as_ref().map(intent_of))
    }

    async fn cancel_payment(
        &self,
        _: Attempt,
        payment: &str,
    ) -> Result<Cancellation, RequestError> {
        let id = payment.to_owned();
        let cancelled = self.operate(move |tx, now| {
            let payment = payment_to_change(tx, &id)?;
            match payment.status {
                PaymentStatus::Succeeded => return Ok(Cancellation::AlreadyPaid),
                PaymentStatus::Cancelled => {}
                _ => tx.set_sandbox_payment_status(&payment, PaymentStatus::Cancelled, now)?,
            }
            Ok(Cancellation::Cancelled)
        });
        Ok(cancelled.await?)
    }

    async fn refund(&self, refund: &Outgoing) -> Result<String, RequestError> {
        let movement = self.movement(Step::Refund, refund);
        Ok(self.take(refund.account, movement).await?)
    }

    async fn look(&self, kind: OutgoingKind, outgoing: &Outgoing) -> Result<Look, ProcessorError> {
        self.look_for(kind, outgoing).await
    }

    async fn transfer(
        &self,
        transfer: &Outgoing,
        payout_account: &str,
    ) -> Result<String, RequestError> {
        let mut movement = self.movement(Step::Transfer, transfer);
        movement.payout_account = Some(payout_account.to_owned());
        Ok(self.take(transfer.account, movement).await?)
    }

    /// Nobody disputes what nobody has paid.
    async fn find_disputes(&self, _: &str) -> Result<Vec<ProcessorEventKind>, ProcessorError> {
        Ok(Vec::new())
    }

    async fn attach_method(
        &self,
        _: AccountId,
        method: &str,
        _: Option<&str>,
    ) -> Result<ChargedMethod, ProcessorError> {
        method_card(method)?;
        self.operate(|_, _| Ok(())).await?;
        Ok(ChargedMethod {
            id: method.to_owned(),
            customer: None,
        })
    }

    async fn open_payout_account(&self, worker: WorkerId) -> Result<String, ProcessorError> {
        let id = format!("acct_{worker}");
        let account = SandboxPayoutAccount {
            link_secret: with_secret(&id),
            id: id.clone(),
            ready: false,
            refuses_payouts: false,
        };
        self.operate(move |tx, now| Ok(tx.add_sandbox_payout_account(&account, now)?))
            .await?;
        Ok(id)
    }

    async fn onboarding_url(&self, payout_account: &str) -> Result<String, ProcessorError> {
        let id = payout_account.to_owned();
        let account = self.operate(move |tx, _| Ok(tx.sandbox_payout_account(&id)?));
        let Some(account) = account.await? else {
            return Err(refused("resource_missing", "No such payout account."));
        };
        Ok(format!(
            "{}/onboarding/{}",
            self.public_url, account.link_secret
        ))
    }

    fn read_event(
        &self,
        _: Option<&str>,
        _: &[u8],
        _: Timestamp,
    ) -> Result<ProcessorEvent, ProcessorEventError> {
        Err(ProcessorEventError::NoneExpected)
    }

    fn payment_url(&self, client_secret: &str) -> Option<String> {
        Some(format!("{}/pay/{client_secret}", self.public_url))
    }

    async fn movements(&self) -> Result<Vec<Movement>, ProcessorError> {
        let stored = self.store.snapshot(|tx| {
            let mut stored: Vec<SandboxMovement> = Vec::new();
            type Page = fn(&mut Tx<'_>, &str, i64) -> Result<Vec<SandboxMovement>, StoreError>;
            let pages: [Page; 2] = [
                |tx, after, limit| tx.sandbox_paid_after(after, limit),
                |tx, after, limit| tx.sandbox_movements_after(after, limit),
            ];
            for page in pages {
                let mut after = String::new();
                loop {
                    let found = page(tx, &after, AT_ONCE)?;
                    let Some(last) = found.last() else { break };
                    after.clone_from(&last.idempotency_key);
                    stored.extend(found);
                }
            }
            Ok::<_, StoreError>(stored)
        });
        let movement = |stored: SandboxMovement| Movement {
            task: stored.task,
            step: stored.step,
            cents: stored.amount_cents,
            at: stored.created_at,
            event_pending: stored.untold > 0,
        };
        Ok(stored.await?.into_iter().map(movement).collect())
    }
}

fn method_card(method: &str) -> Result<Card, ProcessorError> {
    Card::by_method(method).ok_or_else(|| {
        let known = Card::METHODS.map(|(name, _)| name).join(", ");
        let message = format!("The sandbox supports these payment methods: {known}.");
        refused("resource_missing", &message)
    })
}
