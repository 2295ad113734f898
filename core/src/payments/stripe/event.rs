//! Stripe's events: checks their signature and reads them.

use std::time::Duration;

use ring::hmac;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use subtle::{Choice, ConstantTimeEq};

use super::error::StripeError;
use super::responses::{Listed, Refund, Transfer, metadata_task};
use crate::domain::accounts::api_key::hex;
use crate::domain::{ChargeDisputeStatus, OutgoingKind, PaymentFailure, Secret, Timestamp};
use crate::payments::{ProcessorEvent, ProcessorEventError, ProcessorEventKind, Returned};

/// How far the time of a signature may differ from ours. This prevents replays of old events.
const TOLERANCE: Duration = Duration::from_secs(5 * 60);

/// `t=1763200000,v1=5257a8...,v1=...`: the time, and a signature for each valid secret.
struct Signature<'a> {
    moment: &'a str,
    signatures: Vec<&'a str>,
}

impl<'a> Signature<'a> {
    fn read(header: &'a str) -> Option<Self> {
        let mut moment = None;
        let mut signatures = Vec::new();
        for part in header.split(',') {
            match part.trim().split_once('=') {
                Some(("t", text)) => moment = Some(text),
                Some(("v1", text)) => signatures.push(text),
                _ => {}
            }
        }
        Some(Self {
            moment: moment?,
            signatures,
        })
    }

    /// Compares all with all, so that the time it takes reveals nothing.
    fn is_by(&self, secrets: &[Secret], body: &[u8]) -> bool {
        let mut right = Choice::from(0);
        for secret in secrets {
            let expected = sign(secret, self.moment, body);
            for signature in &self.signatures {
                right |= signature.as_bytes().ct_eq(expected.as_bytes());
            }
        }
        right.into()
    }

    fn is_of(&self, now: Timestamp) -> bool {
        let seconds: Option<i64> = self.moment.parse().ok();
        let Some(millis) = seconds.and_then(|seconds| seconds.checked_mul(1_000)) else {
            return false;
        };
        let apart = u128::from(now.as_millis().abs_diff(millis));
        apart <= TOLERANCE.as_millis()
    }
}

fn sign(secret: &Secret, moment: &str, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes());
    let mut mac = hmac::Context::with_key(&key);
    mac.update(moment.as_bytes());
    mac.update(b".");
    mac.update(body);
    hex(mac.sign().as_ref())
}

/// Checks that an event is from Stripe and recent.
pub fn check(
    header: Option<&str>,
    body: &[u8],
    secrets: &[Secret],
    now: Timestamp,
) -> Result<(), ProcessorEventError> {
    let signature = header.and_then(Signature::read);
    let signature = signature.ok_or(ProcessorEventError::BadSignature)?;
    if !signature.is_by(secrets, body) {
        return Err(ProcessorEventError::BadSignature);
    }
    if !signature.is_of(now) {
        return Err(ProcessorEventError::TooOld);
    }
    Ok(())
}

#[derive(Deserialize)]
struct Event {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    created: i64,
    /// The connected account that the event is about, if any.
    account: Option<String>,
    data: EventData,
}

#[derive(Deserialize)]
struct EventData {
    object: Value,
}

#[derive(Deserialize)]
struct Payment {
    id: String,
    last_payment_error: Option<StripeError>,
}

#[derive(Deserialize)]
struct PayoutAccount {
    id: String,
    #[serde(default)]
    payouts_enabled: bool,
    capabilities: Option<Capabilities>,
}

#[derive(Deserialize)]
struct Capabilities {
    transfers: Option<String>,
}

impl PayoutAccount {
    /// Stripe accepts a transfer when the capability is active. But if payouts are off, the worker
    /// could not withdraw the money, so it stays with us.
    fn is_ready(&self) -> bool {
        let capabilities = self.capabilities.as_ref();
        let takes_transfers = capabilities
            .is_none_or(|capabilities| capabilities.transfers.as_deref() == Some("active"));
        self.payouts_enabled && takes_transfers
    }
}

/// A dispute. The payment may be expanded.
#[derive(Deserialize)]
pub struct Dispute {
    id: String,
    #[serde(default)]
    amount: i64,
    #[serde(default)]
    status: String,
    #[serde(default)]
    reason: String,
    payment_intent: Option<Value>,
}

impl Listed for Dispute {
    fn id(&self) -> &str {
        &self.id
    }
}

impl Dispute {
    fn status(&self) -> ChargeDisputeStatus {
        match self.status.as_str() {
            "won" | "warning_closed" | "charge_refunded" | "prevented" => ChargeDisputeStatus::Won,
            "lost" => ChargeDisputeStatus::Lost,
            status if status.starts_with("warning_") => ChargeDisputeStatus::Inquiry,
            // A status that Stripe invents tomorrow holds the payout, which is safe.
            _ => ChargeDisputeStatus::Open,
        }
    }

    fn payment(&self) -> Option<String> {
        let intent = self.payment_intent.as_ref()?;
        let id = intent.as_str().or_else(|| intent["id"].as_str());
        id.map(str::to_owned)
    }

    pub fn into_event(self) -> ProcessorEventKind {
        match self.payment() {
            Some(payment) => ProcessorEventKind::ChargeDisputed {
                payment,
                cents: self.amount,
                status: self.status(),
                dispute: self.id,
                reason: self.reason,
            },
            None => ProcessorEventKind::Other,
        }
    }
}

/// A payout from a worker's account at Stripe to the worker's bank.
#[derive(Deserialize)]
struct BankPayout {
    #[serde(default)]
    amount: i64,
    failure_code: Option<String>,
}

/// Reads an event.
pub fn read(body: &[u8]) -> Result<ProcessorEvent, ProcessorEventError> {
    let event: Event = serde_json::from_slice(body).map_err(|_| ProcessorEventError::Malformed)?;
    let object = event.data.object;
    let kind = match event.kind.as_str() {
        "payment_intent.succeeded" => ProcessorEventKind::PaymentSucceeded {
            payment: of::<Payment>(object)?.id,
        },
        "payment_intent.payment_failed" => {
            let payment: Payment = of(object)?;
            let error = payment.last_payment_error.as_ref();
            ProcessorEventKind::PaymentFailed {
                failure: error.map_or_else(unexplained, StripeError::failure),
                payment: payment.id,
            }
        }
        "payment_intent.canceled" => ProcessorEventKind::PaymentCancelled {
            payment: of::<Payment>(object)?.id,
        },
        "account.updated" => {
            let account: PayoutAccount = of(object)?;
            ProcessorEventKind::PayoutAccountChanged {
                ready: account.is_ready(),
                payout_account: account.id,
                at: Timestamp::from_millis(event.created.saturating_mul(1_000)),
            }
        }
        "refund.failed" | "refund.updated" | "charge.refund.updated" => refund(of(object)?),
        "transfer.reversed" => transfer(of(object)?),
        "payout.failed" => match event.account {
            Some(payout_account) => payout_failed(payout_account, of(object)?),
            // From our own account to our own bank.
            None => ProcessorEventKind::Other,
        },
        kind if kind.starts_with("charge.dispute.") => of::<Dispute>(object)?.into_event(),
        _ => ProcessorEventKind::Other,
    };
    Ok(ProcessorEvent { id: event.id, kind })
}

/// Only a refund of ours that failed matters: that it was made, its answer has told.
fn refund(refund: Refund) -> ProcessorEventKind {
    let task = metadata_task(&refund.metadata).filter(|task| refund.is_of(*task));
    let Some(task) = task.filter(|_| refund.is_void()) else {
        return ProcessorEventKind::Other;
    };
    let reason = refund.failure_reason.as_deref().unwrap_or("unknown");
    ProcessorEventKind::Returned(Returned {
        kind: OutgoingKind::Refund,
        task,
        cents: refund.amount,
        reason: reason.to_owned(),
        id: refund.id,
    })
}

fn transfer(transfer: Transfer) -> ProcessorEventKind {
    let Some(task) = metadata_task(&transfer.metadata) else {
        return ProcessorEventKind::Other;
    };
    ProcessorEventKind::Returned(Returned {
        kind: OutgoingKind::Transfer,
        task,
        cents: transfer.amount_reversed,
        reason: "reversed".to_owned(),
        id: transfer.id,
    })
}

fn payout_failed(payout_account: String, payout: BankPayout) -> ProcessorEventKind {
    ProcessorEventKind::PayoutFailed {
        payout_account,
        cents: payout.amount,
        reason: payout.failure_code.unwrap_or_else(|| "unknown".to_owned()),
    }
}

fn of<T: DeserializeOwned>(object: Value) -> Result<T, ProcessorEventError> {
    serde_json::from_value(object).map_err(|_| ProcessorEventError::Malformed)
}

fn unexplained() -> PaymentFailure {
    PaymentFailure {
        code: "payment_failed".to_owned(),
        message: "The payment failed.".to_owned(),
    }
}

#[cfg(test)]
mod tests;
