//! Stripe: incoming payments by PaymentIntents, outgoing money by refunds and by transfers to
//! Connect accounts.
//!
//! Stripe remembers an Idempotency-Key for about a day. Within that time, a repeated request takes
//! effect once, and gets the first answer again, also if that was a failure. So outgoing money is looked up
//! before it is requested. An intent needs no look before it is paid: it is paid at most once, however often
//! it is confirmed. But whether there is one is looked up if it may be older than its key.

mod client;
mod error;
mod event;
mod responses;

use std::time::Duration;

use async_trait::async_trait;

use super::{
    Attempt, Cancellation, Charge, Look, Made, Movement, NewPayment, Outgoing, Processor,
    ProcessorError, ProcessorEvent, ProcessorEventError, ProcessorEventKind, RequestError,
};
use crate::ambient;
use crate::domain::accounts::api_key::hex;
use crate::domain::{
    AccountId, ChargedMethod, OutgoingKind, PaymentFailure, PaymentIntent, ProcessorName, Secret,
    Step, Timestamp, WorkerId,
};
use crate::payments::stripe::client::{Client, ClientError, FORBIDDEN};
use crate::payments::stripe::responses::{
    Account, AccountLink, Customer, Intent, Method, Refund, Transfer, metadata_task,
};

const CURRENCY: &str = "usd";
/// By how much Stripe's clock may be behind ours.
const CLOCKS_DIFFER: Duration = Duration::from_secs(10 * 60);

#[derive(Clone, Debug)]
pub struct StripeSettings {
    pub key: Secret,
    /// The signing secrets of Stripe's events, comma-separated. Stripe has one secret for each
    /// endpoint, and payments and Connect accounts use two endpoints.
    pub webhook_secret: Secret,
    pub base_url: String,
    /// Our public URL, to which people return.
    pub return_url: String,
}

pub struct Stripe {
    client: Client,
    webhook_secrets: Vec<Secret>,
    return_url: String,
}

impl std::fmt::Debug for Stripe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stripe(..)")
    }
}

impl Stripe {
    /// The error names the problem in the settings, and repeats no secret.
    pub fn new(settings: StripeSettings) -> Result<Self, String> {
        let secrets = settings.webhook_secret.expose().split(',').map(str::trim);
        let webhook_secrets: Vec<Secret> = secrets
            .filter(|secret| !secret.is_empty())
            .map(Secret::presented)
            .collect();
        if webhook_secrets.is_empty() {
            // Anyone could sign with an empty secret.
            return Err("the webhook secret is missing".to_owned());
        }
        Ok(Self {
            client: Client::new(&settings.key, &settings.base_url)?,
            webhook_secrets,
            return_url: settings.return_url.trim_end_matches('/').to_owned(),
        })
    }

    /// Whether Stripe answers and takes the key.
    pub async fn check(&self) -> Result<(), ProcessorError> {
        let listed = self.client.get(&["payment_intents"], &[("limit", "1")]);
        let _: serde::de::IgnoredAny = listed.await?;
        Ok(())
    }

    async fn intent(&self, id: &str) -> Result<Intent, ProcessorError> {
        self.client.get(&["payment_intents", id], &[]).await
    }

    async fn customer(&self, account: AccountId) -> Result<String, ClientError> {
        let account = account.to_string();
        let form = [("metadata[account]", account.as_str())];
        let key = format!("{account}-customer");
        let customer: Customer = self.client.post(&["customers"], &key, &form).await?;
        Ok(customer.id)
    }

    /// Looks for the refund of this step. A refund that somebody made by hand names no step and is not
    /// it.
    async fn look_for_refund(&self, refund: &Outgoing) -> Result<Look, ProcessorError> {
        let of_payment = [("payment_intent", refund.payment.as_str())];
        let made: Vec<Refund> = self.client.all(&["refunds"], &of_payment).await?;
        let found: Vec<_> = made
            .iter()
            .filter(|made| made.is_of(refund.attempt.task))
            .map(|made| Made {
                id: made.id.clone(),
                // One that failed never left, and is made again.
                cents: made.moved_cents(),
                returned_cents: 0,
            })
            .collect();
        refund.look(&found)
    }

    async fn look_for_transfer(&self, transfer: &Outgoing) -> Result<Look, ProcessorError> {
        let task = transfer.attempt.task.to_string();
        let of_task = [("transfer_group", task.as_str())];
        let made: Vec<Transfer> = self.client.all(&["transfers"], &of_task).await?;
        let found: Vec<_> = made
            .iter()
            .filter(|made| metadata_task(&made.metadata) == Some(transfer.attempt.task))
            .map(|made| Made {
                id: made.id.clone(),
                cents: made.amount,
                returned_cents: made.amount_reversed,
            })
            .collect();
        transfer.look(&found)
    }

    async fn payments(&self) -> Result<Vec<Movement>, ProcessorError> {
        // Only the charge knows when the money arrived. The intent knows when it was created.
        let with_charge = [("expand[]", "data.latest_charge")];
        let intents: Vec<Intent> = self.client.all(&["payment_intents"], &with_charge).await?;
        let paid = intents.iter().filter(|intent| intent.status == "succeeded");
        let movement = |intent: &Intent| {
            let cents = intent.amount_received.unwrap_or(intent.amount);
            movement(&intent.metadata, Step::Payment, cents, intent.paid_at())
        };
        Ok(paid.filter_map(movement).collect())
    }

    async fn refunds(&self) -> Result<Vec<Movement>, ProcessorError> {
        let refunds: Vec<Refund> = self.client.all(&["refunds"], &[]).await?;
        let made = refunds.iter().filter(|refund| !refund.is_void());
        let movement =
            |made: &Refund| movement(&made.metadata, Step::Refund, made.amount, made.created);
        Ok(made.filter_map(movement).collect())
    }

    async fn transfers(&self) -> Result<Vec<Movement>, ProcessorError> {
        let transfers: Vec<Transfer> = self.client.all(&["transfers"], &[]).await?;
        let movement = |made: &Transfer| {
            movement(
                &made.metadata,
                Step::Transfer,
                made.moved_cents(),
                made.created,
            )
        };
        Ok(transfers.iter().filter_map(movement).collect())
    }
}

/// A movement of ours. The Stripe account may serve other systems too, whose movements name no
/// task.
fn movement(
    metadata: &responses::Metadata,
    step: Step,
    cents: i64,
    created: i64,
) -> Option<Movement> {
    Some(Movement {
        task: metadata_task(metadata)?,
        step,
        cents,
        at: Timestamp::from_millis(created.saturating_mul(1_000)),
        event_pending: false,
    })
}

/// The outcome of a confirmed intent.
fn outcome(intent: &Intent) -> Result<Charge, ProcessorError> {
    match intent.status.as_str() {
        "succeeded" => Ok(Charge::Succeeded),
        "processing" => Ok(Charge::Processing),
        "requires_action" | "requires_payment_method" => {
            let declined = intent.last_payment_error.as_ref();
            Ok(Charge::Declined(declined.map_or_else(
                authentication_required,
                error::StripeError::failure,
            )))
        }
        status => Err(refused(
            "payment_intent_unexpected_state",
            &format!("The payment is {status}."),
        )),
    }
}

fn authentication_required() -> PaymentFailure {
    PaymentFailure {
        code: "authentication_required".to_owned(),
        message: "The payment method requires authentication by its holder.".to_owned(),
    }
}

fn refused(code: &str, message: &str) -> ProcessorError {
    ProcessorError::Refused {
        code: code.to_owned(),
        message: message.to_owned(),
    }
}

/// For a request whose repetition is a new request.
fn fresh_key() -> String {
    hex(&ambient::random::<16>())
}

#[async_trait]
impl Processor for Stripe {
    fn name(&self) -> ProcessorName {
        ProcessorName::Stripe
    }

    async fn create_payment(&self, new: &NewPayment) -> Result<PaymentIntent, RequestError> {
        let (task, amount) = (new.attempt.task.to_string(), new.amount_cents.to_string());
        let description = format!("Legwork task {task}");
        let mut form = vec![
            ("amount", amount.as_str()),
            ("currency", CURRENCY),
            ("description", &description),
            ("transfer_group", &task),
            ("metadata[task]", &task),
            ("automatic_payment_methods[enabled]", "true"),
        ];
        if let Some(customer) = &new.customer {
            form.push(("customer", customer));
        }
        let key = new.attempt.key("payment");
        let intent: Intent = self.client.post(&["payment_intents"], &key, &form).await?;
        Ok(intent.into_payment()?)
    }

    /// Stripe's search by metadata may be late; its lists are not. Without a customer nobody is charged: a
    /// person pays, and the list would be that of everybody.
    async fn find_payment(
        &self,
        wanted: &NewPayment,
    ) -> Result<Option<PaymentIntent>, ProcessorError> {
        let Some(customer) = &wanted.customer else {
            return Ok(None);
        };
        let since = wanted.wanted_since.minus(CLOCKS_DIFFER).as_millis() / 1_000;
        let since = since.to_string();
        let filter = [("customer", customer.as_str()), ("created[gte]", &since)];
        let mut made: Vec<Intent> = self.client.all(&["payment_intents"], &filter).await?;
        made.retain(|made| {
            metadata_task(&made.metadata) == Some(wanted.attempt.task) && made.status != "canceled"
        });
        // The newest comes first, so the last is the one that was asked for first.
        let paid = made.iter().position(|made| made.status == "succeeded");
        let found = match paid {
            Some(place) => Some(made.swap_remove(place)),
            None => made.pop(),
        };
        found.map(Intent::into_payment).transpose()
    }

    async fn charge(
        &self,
        attempt: Attempt,
        payment: &str,
        method: &ChargedMethod,
    ) -> Result<Charge, RequestError> {
        let form = [
            ("payment_method", method.id.as_str()),
            ("off_session", "true"),
            // No one will return there, but Stripe requires it, because the intent allows payment
            // methods that redirect.
            ("return_url", &self.return_url),
        ];
        let (path, key) = (
            ["payment_intents", payment, "confirm"],
            attempt.key("charge"),
        );
        let error = match self.client.post(&path, &key, &form).await {
            Ok(intent) => return Ok(outcome(&intent)?),
            Err(ClientError::Refused(error)) => error,
            Err(error) => return Err(error.into()),
        };
        if error.is_decline() {
            return Ok(Charge::Declined(error.failure()));
        }
        match self.intent(payment).await?.status.as_str() {
            "succeeded" => Ok(Charge::Succeeded),
            "processing" => Ok(Charge::Processing),
            "canceled" => Err(error.into()),
            // The method no longer exists or cannot be used. Another one may still pay.
            _ if error.is_about("payment_method") => Ok(Charge::Declined(error.failure())),
            _ => Err(error.into()),
        }
    }

    async fn cancel_payment(
        &self,
        attempt: Attempt,
        payment: &str,
    ) -> Result<Cancellation, RequestError> {
        let (path, key) = (
            ["payment_intents", payment, "cancel"],
            attempt.key("cancel"),
        );
        let error = match self.client.post::<Intent>(&path, &key, &[]).await {
            Ok(_) => return Ok(Cancellation::Cancelled),
            Err(ClientError::Refused(error)) => error,
            Err(error) => return Err(error.into()),
        };
        match self.intent(payment).await?.status.as_str() {
            "canceled" => Ok(Cancellation::Cancelled),
            "succeeded" => Ok(Cancellation::AlreadyPaid),
            // A charge in progress will succeed or fail.
            status if status == "processing" || error.is_about_state() => {
                let reason = format!("the payment is {status} and cannot be cancelled yet");
                Err(RequestError {
                    error: ProcessorError::Unavailable(reason),
                    key_spent: true,
                })
            }
            _ => Err(error.into()),
        }
    }

    async fn refund(&self, refund: &Outgoing) -> Result<String, RequestError> {
        let (task, amount) = (refund.attempt.task.to_string(), refund.cents.to_string());
        let form = [
            ("payment_intent", refund.payment.as_str()),
            ("amount", &amount),
            ("metadata[task]", &task),
            ("metadata[step]", Step::Refund.as_str()),
        ];
        let key = refund.attempt.key("refund");
        let made: Refund = self.client.post(&["refunds"], &key, &form).await?;
        if made.is_void() {
            let reason = made.failure_reason.as_deref().unwrap_or("unknown");
            let message = format!("The refund failed: {reason}.");
            // The next look finds it, and counts it.
            return Err(refused("refund_failed", &message).into());
        }
        Ok(made.id)
    }

    async fn transfer(
        &self,
        transfer: &Outgoing,
        payout_account: &str,
    ) -> Result<String, RequestError> {
        let intent = self.intent(&transfer.payment).await?;
        let charge = intent
            .charge_id()
            .ok_or_else(|| refused("charge_missing", "The payment has no charge."))?;
        let (task, amount) = (
            transfer.attempt.task.to_string(),
            transfer.cents.to_string(),
        );
        let form = [
            ("amount", amount.as_str()),
            ("currency", CURRENCY),
            ("destination", payout_account),
            // Draws on this charge, even before its funds are available.
            ("source_transaction", charge),
            ("transfer_group", &task),
            ("metadata[task]", &task),
        ];
        let key = transfer.attempt.key("transfer");
        let made: Transfer = self.client.post(&["transfers"], &key, &form).await?;
        Ok(made.id)
    }

    async fn look(&self, kind: OutgoingKind, outgoing: &Outgoing) -> Result<Look, ProcessorError> {
        match kind {
            OutgoingKind::Refund => self.look_for_refund(outgoing).await,
            OutgoingKind::Transfer => self.look_for_transfer(outgoing).await,
        }
    }

    async fn find_disputes(
        &self,
        payment: &str,
    ) -> Result<Vec<ProcessorEventKind>, ProcessorError> {
        let of_payment = [("payment_intent", payment)];
        let disputes: Vec<event::Dispute> = match self.client.all(&["disputes"], &of_payment).await
        {
            Ok(disputes) => disputes,
            // A restricted key may be for money only. What events tell is known all the same.
            Err(ProcessorError::Unavailable(reason)) if reason.contains(FORBIDDEN) => {
                tracing::warn!(reason, "cannot ask about disputes");
                Vec::new()
            }
            Err(error) => return Err(error),
        };
        let told = disputes.into_iter().map(event::Dispute::into_event);
        Ok(told.collect())
    }

    async fn attach_method(
        &self,
        account: AccountId,
        method: &str,
        customer: Option<&str>,
    ) -> Result<ChargedMethod, ProcessorError> {
        let customer = match customer {
            Some(customer) => customer.to_owned(),
            None => self.customer(account).await?,
        };
        let form = [("customer", customer.as_str())];
        let path = ["payment_methods", method, "attach"];
        // Attaching twice has the same effect as once. But a declined card may work an hour later,
        // and with a fixed key Stripe would only repeat its response.
        let kept: Method = self.client.post(&path, &fresh_key(), &form).await?;
        Ok(ChargedMethod {
            id: kept.id,
            customer: Some(customer),
        })
    }

    async fn open_payout_account(&self, worker: WorkerId) -> Result<String, ProcessorError> {
        let worker = worker.to_string();
        let form = [
            ("type", "express"),
            ("capabilities[transfers][requested]", "true"),
            ("metadata[worker]", worker.as_str()),
        ];
        let key = format!("{worker}-payout-account");
        let account: Account = self.client.post(&["accounts"], &key, &form).await?;
        Ok(account.id)
    }

    async fn onboarding_url(&self, payout_account: &str) -> Result<String, ProcessorError> {
        let refresh_url = format!("{}/onboarding/expired", self.return_url);
        let return_url = format!("{}/onboarding/done", self.return_url);
        let form = [
            ("account", payout_account),
            ("refresh_url", &refresh_url),
            ("return_url", &return_url),
            ("type", "account_onboarding"),
        ];
        // A link works once, so a repeated request must get a new link.
        let link: AccountLink = self
            .client
            .post(&["account_links"], &fresh_key(), &form)
            .await?;
        Ok(link.url)
    }

    fn read_event(
        &self,
        signature: Option<&str>,
        body: &[u8],
        now: Timestamp,
    ) -> Result<ProcessorEvent, ProcessorEventError> {
        event::check(signature, body, &self.webhook_secrets, now)?;
        event::read(body)
    }

    fn payment_url(&self, _: &str) -> Option<String> {
        None
    }

    async fn movements(&self) -> Result<Vec<Movement>, ProcessorError> {
        let mut movements = self.payments().await?;
        movements.extend(self.refunds().await?);
        movements.extend(self.transfers().await?);
        Ok(movements)
    }
}

#[cfg(test)]
mod tests;
