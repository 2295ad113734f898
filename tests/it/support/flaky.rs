//! A payment processor that fails in the way a test wants, in front of one that works.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use legwork::domain::{
    AccountId, ChargedMethod, OutgoingKind, PaymentIntent, ProcessorName, Timestamp, WorkerId,
};
use legwork::payments::{
    Attempt, Cancellation, Charge, Look, Movement, NewPayment, Outgoing, Payments, Processor,
    ProcessorError, ProcessorEvent, ProcessorEventError, ProcessorEventKind, RequestError,
};
use tokio::sync::Notify;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    None,
    /// The request never arrives.
    Down,
    /// It happens, but nobody hears of it.
    AnswerLost,
    /// It happens, and then the process that asked is no more.
    Killed,
    /// It is refused, for good.
    Refuses,
    /// It is refused, for good, once the test releases it.
    RefusesLate,
    /// It happens once the test releases it.
    ArrivesLate,
}

#[derive(Clone)]
pub struct Flaky {
    inner: Arc<dyn Processor>,
    fault: Arc<Mutex<InjectedFault>>,
    killed: Arc<Notify>,
    arrived: Arc<Notify>,
    released: Arc<Notify>,
    dispute: Arc<Mutex<Option<ProcessorEventKind>>>,
}

impl Flaky {
    pub fn around(payments: Payments) -> (Self, Payments) {
        let flaky = Self {
            inner: payments.processor,
            fault: Arc::new(Mutex::new(InjectedFault::None)),
            killed: Arc::default(),
            arrived: Arc::default(),
            released: Arc::default(),
            dispute: Arc::default(),
        };
        let payments = Payments {
            processor: Arc::new(flaky.clone()),
            sandbox: payments.sandbox,
        };
        (flaky, payments)
    }

    pub fn set(&self, fault: InjectedFault) {
        *self.fault.lock().unwrap() = fault;
    }

    /// What it says of any dispute when it is asked.
    pub fn set_dispute(&self, said: ProcessorEventKind) {
        *self.dispute.lock().unwrap() = Some(said);
    }

    /// Runs until it is done or until a request has killed it.
    pub async fn until_killed<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = work => Some(done),
            () = self.killed.notified() => None,
        }
    }

    /// Waits for a request that is refused late, does something, and lets it be refused.
    pub async fn before_late_refusal<T>(&self, meanwhile: impl Future<Output = T>) -> T {
        self.arrived.notified().await;
        let done = meanwhile.await;
        self.released.notify_one();
        done
    }

    /// Waits for a request that arrives late, does something, and lets it arrive.
    pub async fn before_late_arrival<T>(&self, meanwhile: impl Future<Output = T>) -> T {
        self.before_late_refusal(meanwhile).await
    }

    async fn ask<T, E: From<ProcessorError>>(
        &self,
        request: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let fault = *self.fault.lock().unwrap();
        let unavailable = |why: &str| Err(ProcessorError::Unavailable(why.to_owned()).into());
        match fault {
            InjectedFault::None => request.await,
            InjectedFault::Down => unavailable("down"),
            InjectedFault::Refuses => refused(),
            InjectedFault::RefusesLate => {
                self.arrived.notify_one();
                self.released.notified().await;
                refused()
            }
            InjectedFault::ArrivesLate => {
                self.arrived.notify_one();
                self.released.notified().await;
                request.await
            }
            InjectedFault::AnswerLost => {
                let _ = request.await;
                unavailable("the answer was lost")
            }
            InjectedFault::Killed => {
                let _ = request.await;
                self.killed.notify_one();
                std::future::pending().await
            }
        }
    }
}

fn refused<T, E: From<ProcessorError>>() -> Result<T, E> {
    let refused = ProcessorError::Refused {
        code: "no".to_owned(),
        message: "No.".to_owned(),
    };
    Err(refused.into())
}

#[async_trait]
impl Processor for Flaky {
    fn name(&self) -> ProcessorName {
        self.inner.name()
    }

    fn never_repeats(&self) -> bool {
        self.inner.never_repeats()
    }

    async fn create_payment(&self, new: &NewPayment) -> Result<PaymentIntent, RequestError> {
        self.ask(self.inner.create_payment(new)).await
    }

    async fn charge(
        &self,
        attempt: Attempt,
        payment: &str,
        method: &ChargedMethod,
    ) -> Result<Charge, RequestError> {
        self.ask(self.inner.charge(attempt, payment, method)).await
    }

    async fn create_and_charge(
        &self,
        new: &NewPayment,
        method: &ChargedMethod,
    ) -> Result<Option<(PaymentIntent, Charge)>, ProcessorError> {
        self.ask(self.inner.create_and_charge(new, method)).await
    }

    async fn find_payment(
        &self,
        wanted: &NewPayment,
    ) -> Result<Option<PaymentIntent>, ProcessorError> {
        self.ask(self.inner.find_payment(wanted)).await
    }

    async fn cancel_payment(
        &self,
        attempt: Attempt,
        payment: &str,
    ) -> Result<Cancellation, RequestError> {
        self.ask(self.inner.cancel_payment(attempt, payment)).await
    }

    async fn refund(&self, refund: &Outgoing) -> Result<String, RequestError> {
        self.ask(self.inner.refund(refund)).await
    }

    async fn transfer(
        &self,
        transfer: &Outgoing,
        payout_account: &str,
    ) -> Result<String, RequestError> {
        self.ask(self.inner.transfer(transfer, payout_account))
            .await
    }

    async fn look(&self, kind: OutgoingKind, outgoing: &Outgoing) -> Result<Look, ProcessorError> {
        self.ask(self.inner.look(kind, outgoing)).await
    }

    async fn find_disputes(
        &self,
        payment: &str,
    ) -> Result<Vec<ProcessorEventKind>, ProcessorError> {
        let known = self.dispute.lock().unwrap().clone();
        match known {
            Some(known) => self.ask(async { Ok(vec![known]) }).await,
            None => self.ask(self.inner.find_disputes(payment)).await,
        }
    }

    async fn attach_method(
        &self,
        account: AccountId,
        method: &str,
        customer: Option<&str>,
    ) -> Result<ChargedMethod, ProcessorError> {
        self.ask(self.inner.attach_method(account, method, customer))
            .await
    }

    async fn open_payout_account(&self, worker: WorkerId) -> Result<String, ProcessorError> {
        self.ask(self.inner.open_payout_account(worker)).await
    }

    async fn onboarding_url(&self, payout_account: &str) -> Result<String, ProcessorError> {
        self.ask(self.inner.onboarding_url(payout_account)).await
    }

    fn read_event(
        &self,
        signature: Option<&str>,
        body: &[u8],
        now: Timestamp,
    ) -> Result<ProcessorEvent, ProcessorEventError> {
        self.inner.read_event(signature, body, now)
    }

    fn payment_url(&self, client_secret: &str) -> Option<String> {
        self.inner.payment_url(client_secret)
    }

    async fn movements(&self) -> Result<Vec<Movement>, ProcessorError> {
        self.inner.movements().await
    }
}
