//! What the embedded processor remembers. Only `payments::sandbox` uses this, as if it were a
//! database of its own; notices are the one thing it hands over.

use crate::domain::{PaymentFailure, PaymentStatus, Step, TaskId, Timestamp};
use crate::store::{Row, StoreError, Tx};

crate::store::statements! {
    ADD_PAYMENT = "INSERT INTO sandbox_payments (payment_id, client_secret, task_id, amount_cents,
            refunded_cents, transferred_cents, status, paid_at, created_at)
        VALUES (?1, ?2, ?3, ?4, 0, 0, ?5, NULL, ?6)
        ON CONFLICT (payment_id) DO NOTHING";
    PAYMENT = "SELECT payment_id, client_secret, task_id, amount_cents, refunded_cents,
            transferred_cents, status
        FROM sandbox_payments WHERE payment_id = ?1";
    SET_STATUS = "UPDATE sandbox_payments SET status = ?2, paid_at = ?3
        WHERE payment_id = ?1 AND status = ?4";
    TAKE = "UPDATE sandbox_payments SET refunded_cents = refunded_cents + ?2,
            transferred_cents = transferred_cents + ?3
        WHERE payment_id = ?1 AND refunded_cents + transferred_cents + ?2 + ?3 <= amount_cents";
    ADD_MOVEMENT = "INSERT INTO sandbox_movements (idempotency_key, kind, task_id, payment_id,
            payout_account_id, amount_cents, created_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
        ON CONFLICT (idempotency_key) DO NOTHING";
    MOVEMENT = "SELECT idempotency_key, kind, task_id, payment_id, payout_account_id, amount_cents,
            created_at, CAST(0 AS BIGINT)
        FROM sandbox_movements WHERE idempotency_key = ?1";
    MOVEMENTS = "SELECT idempotency_key, kind, task_id, payment_id, payout_account_id,
            amount_cents, created_at, CAST(0 AS BIGINT)
        FROM sandbox_movements WHERE idempotency_key > ?1 ORDER BY idempotency_key LIMIT ?2";
    PAID = "SELECT payment_id, 'payment', task_id, payment_id, NULL, amount_cents, paid_at,
            (SELECT COUNT(*) FROM sandbox_notices n WHERE n.subject = p.payment_id)
        FROM sandbox_payments p WHERE payment_id > ?1 AND paid_at IS NOT NULL
        ORDER BY payment_id LIMIT ?2";
    ADD_PAYOUT_ACCOUNT = "INSERT INTO sandbox_payout_accounts (payout_account_id, link_secret,
            ready, created_at)
        VALUES (?1, ?2, 0, ?3)
        ON CONFLICT (payout_account_id) DO NOTHING";
    PAYOUT_ACCOUNT = "SELECT payout_account_id, link_secret, ready FROM sandbox_payout_accounts
        WHERE payout_account_id = ?1";
    SET_READY = "UPDATE sandbox_payout_accounts SET ready = 1 WHERE payout_account_id = ?1";
    ADD_NOTICE = "INSERT INTO sandbox_notices (notice_id, kind, subject, failure_code,
            failure_message, created_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT (notice_id) DO NOTHING";
    NOTICE = "SELECT notice_id, kind, subject, failure_code, failure_message FROM sandbox_notices
        WHERE notice_id = ?1";
    DROP_NOTICE = "DELETE FROM sandbox_notices WHERE notice_id = ?1";
    SWITCHES = "SELECT name, milliseconds FROM sandbox_switches";
    SET_SWITCH = "INSERT INTO sandbox_switches (name, milliseconds) VALUES (?1, ?2)
        ON CONFLICT (name) DO UPDATE SET milliseconds = excluded.milliseconds";
    CLEAR_SWITCHES = "DELETE FROM sandbox_switches";
}

#[derive(Clone, Debug)]
pub struct SandboxPayment {
    pub id: String,
    pub client_secret: String,
    pub task: TaskId,
    pub amount_cents: i64,
    pub refunded_cents: i64,
    pub transferred_cents: i64,
    pub status: PaymentStatus,
}

/// Money that moved: a payment, a refund or a transfer.
#[derive(Clone, Debug)]
pub struct SandboxMovement {
    pub idempotency_key: String,
    pub step: Step,
    pub task: TaskId,
    pub payment: String,
    pub payout_account: Option<String>,
    pub amount_cents: i64,
    pub created_at: Timestamp,
    /// Notices of it that have not been taken yet.
    pub untold: i64,
}

#[derive(Clone, Debug)]
pub struct SandboxPayoutAccount {
    pub id: String,
    pub link_secret: String,
    pub ready: bool,
}

#[derive(Clone, Debug)]
pub struct SandboxEvent {
    pub id: String,
    /// A word of the sandbox's own.
    pub kind: String,
    /// The payment or the payout account.
    pub subject: String,
    pub failure: Option<PaymentFailure>,
}

impl Tx<'_> {
    /// Stores a payment that nobody has paid yet; one of that id that is there already stays.
    pub fn add_sandbox_payment(
        &mut self,
        payment: &SandboxPayment,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [
            (&payment.id).into(),
            (&payment.client_secret).into(),
            payment.task.to_string().into(),
            payment.amount_cents.into(),
            payment.status.as_str().into(),
            now.into(),
        ];
        self.defer(ADD_PAYMENT, &values)
    }

    pub fn sandbox_payment(&mut self, id: &str) -> Result<Option<SandboxPayment>, StoreError> {
        self.optional(PAYMENT, &[id.into()], read_payment)
    }

    pub fn sandbox_payment_to_change(
        &mut self,
        id: &str,
    ) -> Result<Option<SandboxPayment>, StoreError> {
        self.optional_locked(PAYMENT, &[id.into()], read_payment)
    }

    pub fn set_sandbox_payment_status(
        &mut self,
        payment: &SandboxPayment,
        status: PaymentStatus,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let paid_at = (status == PaymentStatus::Succeeded).then_some(now);
        self.execute_one(
            SET_STATUS,
            &[
                (&payment.id).into(),
                status.as_str().into(),
                paid_at.into(),
                payment.status.as_str().into(),
            ],
        )
    }

    /// Takes a refund or a transfer out of its payment; false when less than that is left.
    pub fn take_from_sandbox_payment(
        &mut self,
        movement: &SandboxMovement,
    ) -> Result<bool, StoreError> {
        let part = |step| (movement.step == step).then_some(movement.amount_cents);
        let values = [
            (&movement.payment).into(),
            part(Step::Refund).unwrap_or(0).into(),
            part(Step::Transfer).unwrap_or(0).into(),
        ];
        Ok(self.execute(TAKE, &values)? == 1)
    }

    pub fn add_sandbox_movement(&mut self, movement: &SandboxMovement) -> Result<(), StoreError> {
        self.defer(
            ADD_MOVEMENT,
            &[
                (&movement.idempotency_key).into(),
                movement.step.as_str().into(),
                movement.task.to_string().into(),
                (&movement.payment).into(),
                movement.payout_account.as_ref().into(),
                movement.amount_cents.into(),
                movement.created_at.into(),
            ],
        )
    }

    pub fn sandbox_movement(
        &mut self,
        idempotency_key: &str,
    ) -> Result<Option<SandboxMovement>, StoreError> {
        self.optional(MOVEMENT, &[idempotency_key.into()], read_movement)
    }

    /// Up to `limit` refunds and transfers, after the one with that key.
    pub fn sandbox_movements_after(
        &mut self,
        after: &str,
        limit: i64,
    ) -> Result<Vec<SandboxMovement>, StoreError> {
        self.all(MOVEMENTS, &[after.into(), limit.into()], read_movement)
    }

    /// Up to `limit` payments that were made, as movements, after the one with that id.
    pub fn sandbox_paid_after(
        &mut self,
        after: &str,
        limit: i64,
    ) -> Result<Vec<SandboxMovement>, StoreError> {
        self.all(PAID, &[after.into(), limit.into()], read_movement)
    }

    pub fn add_sandbox_payout_account(
        &mut self,
        account: &SandboxPayoutAccount,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [
            (&account.id).into(),
            (&account.link_secret).into(),
            now.into(),
        ];
        self.defer(ADD_PAYOUT_ACCOUNT, &values)
    }

    pub fn sandbox_payout_account(
        &mut self,
        id: &str,
    ) -> Result<Option<SandboxPayoutAccount>, StoreError> {
        self.optional(PAYOUT_ACCOUNT, &[id.into()], |row| {
            Ok(SandboxPayoutAccount {
                id: row.get(0)?,
                link_secret: row.get(1)?,
                ready: row.get::<i64>(2)? != 0,
            })
        })
    }

    pub fn set_sandbox_payout_account_ready(&mut self, id: &str) -> Result<(), StoreError> {
        self.defer(SET_READY, &[id.into()])
    }

    pub fn add_sandbox_event(
        &mut self,
        notice: &SandboxEvent,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let failure = notice.failure.as_ref();
        self.defer(
            ADD_NOTICE,
            &[
                (&notice.id).into(),
                (&notice.kind).into(),
                (&notice.subject).into(),
                failure.map(|failure| &failure.code).into(),
                failure.map(|failure| &failure.message).into(),
                now.into(),
            ],
        )
    }

    pub fn sandbox_event(&mut self, id: &str) -> Result<Option<SandboxEvent>, StoreError> {
        self.optional(NOTICE, &[id.into()], |row| {
            let failure: (Option<String>, Option<String>) = (row.get(3)?, row.get(4)?);
            Ok(SandboxEvent {
                id: row.get(0)?,
                kind: row.get(1)?,
                subject: row.get(2)?,
                failure: match failure {
                    (Some(code), Some(message)) => Some(PaymentFailure { code, message }),
                    _ => None,
                },
            })
        })
    }

    pub fn drop_sandbox_event(&mut self, id: &str) -> Result<(), StoreError> {
        self.defer(DROP_NOTICE, &[id.into()])
    }

    /// The names of the switches that are set, with their milliseconds.
    pub fn sandbox_switches(&mut self) -> Result<Vec<(String, i64)>, StoreError> {
        self.all(SWITCHES, &[], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    pub fn set_sandbox_switch(&mut self, name: &str, milliseconds: i64) -> Result<(), StoreError> {
        self.defer(SET_SWITCH, &[name.into(), milliseconds.into()])
    }

    pub fn clear_sandbox_switches(&mut self) -> Result<(), StoreError> {
        self.defer(CLEAR_SWITCHES, &[])
    }
}

fn read_payment(row: &Row<'_>) -> Result<SandboxPayment, StoreError> {
    Ok(SandboxPayment {
        id: row.get(0)?,
        client_secret: row.get(1)?,
        task: row.parse(2, TaskId::parse)?,
        amount_cents: row.get(3)?,
        refunded_cents: row.get(4)?,
        transferred_cents: row.get(5)?,
        status: row.parse(6, PaymentStatus::parse)?,
    })
}

fn read_movement(row: &Row<'_>) -> Result<SandboxMovement, StoreError> {
    Ok(SandboxMovement {
        idempotency_key: row.get(0)?,
        step: row.parse(1, Step::parse)?,
        task: row.parse(2, TaskId::parse)?,
        payment: row.get(3)?,
        payout_account: row.get(4)?,
        amount_cents: row.get(5)?,
        created_at: row.get(6)?,
        untold: row.get(7)?,
    })
}
