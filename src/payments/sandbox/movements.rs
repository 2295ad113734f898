//! What the sandbox has moved out of payments.

use super::{Sandbox, payment_to_change};
use crate::domain::{OutgoingKind, PaymentStatus, Step};
use crate::payments::{Look, Outgoing, ProcessorError, key, sandbox::refused};
use crate::store::SandboxMovement;

impl Sandbox {
    /// Takes money out of a payment, once for each key, which it never forgets. Nothing that it has
    /// moved comes back.
    pub(super) async fn take(&self, movement: SandboxMovement) -> Result<String, ProcessorError> {
        let id = movement.idempotency_key.clone();
        self.operate(move |tx, now| {
            let payment = payment_to_change(tx, &movement.payment)?;
            if let Some(done) = tx.sandbox_movement(&movement.idempotency_key)? {
                return if done.amount_cents == movement.amount_cents {
                    Ok(())
                } else {
                    Err(refused(
                        "idempotency_error",
                        "The amount differs from the first request.",
                    ))
                };
            }
            if payment.status != PaymentStatus::Succeeded {
                return Err(refused("payment_unpaid", "The payment has not been paid."));
            }
            if !tx.take_from_sandbox_payment(&movement)? {
                return Err(refused(
                    "amount_too_large",
                    "The amount exceeds what is left of the payment.",
                ));
            }
            let created_at = now;
            tx.add_sandbox_movement(&SandboxMovement {
                created_at,
                ..movement.clone()
            })?;
            Ok(())
        })
        .await?;
        Ok(id)
    }

    pub(super) fn movement(&self, step: Step, outgoing: &Outgoing) -> SandboxMovement {
        SandboxMovement {
            idempotency_key: key(outgoing.task, step.as_str()),
            step,
            task: outgoing.task,
            payment: outgoing.payment.clone(),
            payout_account: None,
            amount_cents: outgoing.cents,
            created_at: self.clock.now(),
            untold: 0,
        }
    }
    /// Looks for the refund or the transfer of a task.
    pub(super) async fn find(
        &self,
        kind: OutgoingKind,
        outgoing: &Outgoing,
    ) -> Result<Option<String>, ProcessorError> {
        let step = match kind {
            OutgoingKind::Refund => Step::Refund,
            OutgoingKind::Transfer => Step::Transfer,
        };
        let key = key(outgoing.task, step.as_str());
        let found = self
            .operate(move |tx, _| Ok(tx.sandbox_movement(&key)?))
            .await?;
        let found: Vec<_> = found
            .into_iter()
            .map(|made| (made.idempotency_key, made.amount_cents))
            .collect();
        outgoing.look(&found).map(Look::made)
    }
}
