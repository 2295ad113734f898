//! The payments of the sandbox.

use super::cards::Card;
use crate::ambient;
use crate::domain::accounts::api_key::hex;
use crate::domain::{PaymentIntent, PaymentStatus, TaskId, Timestamp};
use crate::payments::{Charge, NewPayment, ProcessorError};
use crate::store::{SandboxPayment, Tx};

pub(super) fn with_secret(id: &str) -> String {
    format!("{id}_secret_{}", hex(&ambient::random::<24>()))
}

pub(super) fn refused(code: &str, message: &str) -> ProcessorError {
    ProcessorError::Refused {
        code: code.to_owned(),
        message: message.to_owned(),
    }
}

/// Which id a secret is of, if it can be one of ours. It comes from the path of a page, so it may be any text.
pub(super) fn id_in(secret: &str) -> Option<String> {
    let (id, _) = secret.split_once("_secret_")?;
    let is_ours = id.bytes().all(|byte| byte.is_ascii_graphic());
    is_ours.then(|| id.to_owned())
}

pub(super) fn payment_id(task: TaskId) -> String {
    format!("pay_{task}")
}

pub(super) fn payment_of(new: &NewPayment, status: PaymentStatus) -> SandboxPayment {
    let task = new.attempt.task;
    let id = payment_id(task);
    SandboxPayment {
        client_secret: with_secret(&id),
        id,
        task,
        amount_cents: new.amount_cents,
        refunded_cents: 0,
        transferred_cents: 0,
        status,
    }
}

pub(super) fn intent_of(payment: &SandboxPayment) -> PaymentIntent {
    PaymentIntent {
        id: payment.id.clone(),
        client_secret: payment.client_secret.clone(),
    }
}

/// Charges a payment that this transaction has locked, unless it has been charged before.
pub(super) fn charge_payment(
    tx: &mut Tx<'_>,
    payment: &SandboxPayment,
    card: Card,
    now: Timestamp,
) -> Result<Charge, ProcessorError> {
    match payment.status {
        PaymentStatus::Succeeded => return Ok(Charge::Succeeded),
        PaymentStatus::Cancelled => {
            return Err(refused("payment_cancelled", "The payment is cancelled."));
        }
        _ => {}
    }
    match card.outcome() {
        Ok(()) => {
            tx.set_sandbox_payment_status(payment, PaymentStatus::Succeeded, now)?;
            Ok(Charge::Succeeded)
        }
        Err(failure) => Ok(Charge::Declined(failure)),
    }
}

pub(super) fn payment_to_change(
    tx: &mut Tx<'_>,
    id: &str,
) -> Result<SandboxPayment, ProcessorError> {
    tx.sandbox_payment_to_change(id)?
        .ok_or_else(|| refused("resource_missing", "No such payment."))
}
