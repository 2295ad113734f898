//! What the sandbox has moved out of payments.

use super::Sandbox;
use super::payments::{payment_to_change, refused};
use crate::domain::{AccountId, OutgoingKind, PaymentStatus, Step, Timestamp};
use crate::payments::{Attempt, Look, Made, Outgoing, ProcessorError};
use crate::store::{SandboxMovement, StoreError, Tx};

impl Sandbox {
    /// Takes money out of a payment, once for each key, which it never forgets. Nothing that it has
    /// moved comes back.
    pub(super) async fn take(
        &self,
        account: AccountId,
        movement: SandboxMovement,
    ) -> Result<String, ProcessorError> {
        let id = movement.idempotency_key.clone();
        let first = movement.clone();
        // Nearly always it is the first request for it, and nothing speaks against it.
        let taken = self.store.write_for(account, move |tx| {
            let taken = tx.take_first_from_sandbox_payment(&first)?;
            if taken {
                tx.add_sandbox_movement(&first)?;
            }
            Ok::<_, StoreError>(taken)
        });
        if !taken.await? {
            self.operate(move |tx, now| take_or_refuse(tx, &movement, now))
                .await?;
        }
        Ok(id)
    }

    pub(super) fn movement(&self, step: Step, outgoing: &Outgoing) -> SandboxMovement {
        SandboxMovement {
            idempotency_key: key(outgoing, step),
            step,
            task: outgoing.attempt.task,
            payment: outgoing.payment.clone(),
            payout_account: None,
            amount_cents: outgoing.cents,
            created_at: self.clock.now(),
            untold: 0,
        }
    }

    /// Looks for the refund or the transfer of a task.
    pub(super) async fn look_for(
        &self,
        kind: OutgoingKind,
        outgoing: &Outgoing,
    ) -> Result<Look, ProcessorError> {
        let step = match kind {
            OutgoingKind::Refund => Step::Refund,
            OutgoingKind::Transfer => Step::Transfer,
        };
        let key = key(outgoing, step);
        let found = self
            .operate(move |tx, _| Ok(tx.sandbox_movement(&key)?))
            .await?;
        let found: Vec<_> = found
            .into_iter()
            .map(|made| Made {
                id: made.idempotency_key,
                cents: made.amount_cents,
                returned_cents: 0,
            })
            .collect();
        outgoing.look(&found)
    }
}

/// It keeps no answers but what it has done, so one key does for every attempt.
fn key(outgoing: &Outgoing, step: Step) -> String {
    Attempt::first(outgoing.attempt.task).key(step.as_str())
}

/// Takes money out of a payment, or says why not.
fn take_or_refuse(
    tx: &mut Tx<'_>,
    movement: &SandboxMovement,
    now: Timestamp,
) -> Result<(), ProcessorError> {
    if let Some(account) = &movement.payout_account {
        let account = tx.sandbox_payout_account(account)?;
        let Some(account) = account.filter(|account| account.ready) else {
            let message = "The payout account cannot receive payouts.";
            return Err(refused("payout_account_not_ready", message));
        };
        if account.refuses_payouts {
            let message = "The bank of the payout account refuses payouts.";
            return Err(refused("payouts_refused", message));
        }
    }
    let payment = payment_to_change(tx, &movement.payment)?;
    if let Some(done) = tx.sandbox_movement(&movement.idempotency_key)? {
        return if done.amount_cents == movement.amount_cents {
            Ok(())
        } else {
            let message = "The amount differs from the first request.";
            Err(refused("idempotency_error", message))
        };
    }
    if payment.status != PaymentStatus::Succeeded {
        return Err(refused("payment_unpaid", "The payment has not been paid."));
    }
    if !tx.take_from_sandbox_payment(movement)? {
        let message = "The amount exceeds what is left of the payment.";
        return Err(refused("amount_too_large", message));
    }
    tx.add_sandbox_movement(&SandboxMovement {
        created_at: now,
        ..movement.clone()
    })?;
    Ok(())
}
