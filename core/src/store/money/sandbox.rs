//! The tables of the sandbox processor. Only `payments::sandbox` uses them, as if they were a database
//! of its own. The rest of the program learns from it only through its events.

use crate::domain::{PaymentFailure, PaymentStatus, Step, TaskId, Timestamp};
use crate::store::money::payments::failure;
use crate::store::secrets::SecretPlace;
use crate::store::{StoreError, Tx, Value, columns};

columns! {
    macro payment;
    table sandbox_payments;
    fn payment_values<'a>(payment: &'a SandboxPayment, now: Timestamp);
    columns {
        payment_id: &payment.id,
        client_secret: &payment.client_secret,
        task_id: payment.task,
        amount_cents: payment.amount_cents,
        refunded_cents: payment.refunded_cents,
        transferred_cents: payment.transferred_cents,
        status: payment.status,
    }
    inserted { created_at: now }
    row SandboxPayment = SandboxPayment {
        id: payment_id,
        client_secret,
        task: task_id,
        amount_cents,
        refunded_cents,
        transferred_cents,
        status,
    };
}

columns! {
    macro movement;
    table sandbox_movements;
    fn movement_values<'a>(movement: &'a SandboxMovement);
    columns {
        idempotency_key: &movement.idempotency_key,
        step = "kind": movement.step,
        task_id: movement.task,
        payment_id: &movement.payment,
        payout_account_id: &movement.payout_account,
        amount_cents: movement.amount_cents,
        created_at: movement.created_at,
    }
    row SandboxMovement = SandboxMovement {
        idempotency_key,
        step,
        task: task_id,
        payment: payment_id,
        payout_account: payout_account_id,
        amount_cents,
        created_at,
        untold: 0,
    };
}

columns! {
    macro paid;
    columns {
        id = "p.payment_id",
        task = "p.task_id",
        amount_cents = "p.amount_cents",
        paid_at = "p.paid_at",
        untold = "(SELECT COUNT(*) FROM sandbox_notices n WHERE n.subject = p.payment_id)",
    }
    row PaidPayment = PaidPayment(SandboxMovement {
        idempotency_key: String::clone(&id),
        step: Step::Payment,
        task,
        payment: id,
        payout_account: None,
        amount_cents,
        created_at: paid_at,
        untold,
    });
}

columns! {
    macro payout_account;
    table sandbox_payout_accounts;
    fn payout_account_values<'a>(account: &'a SandboxPayoutAccount, now: Timestamp);
    columns {
        payout_account_id: &account.id,
        link_secret: &account.link_secret,
        ready: account.ready,
        refuses_payouts: account.refuses_payouts,
    }
    inserted { created_at: now }
    row SandboxPayoutAccount = SandboxPayoutAccount {
        id: payout_account_id,
        link_secret,
        ready,
        refuses_payouts,
    };
}

columns! {
    macro event;
    table sandbox_notices;
    fn event_values<'a>(event: &'a SandboxEvent, now: Timestamp);
    columns {
        notice_id: &event.id,
        kind: &event.kind,
        subject: &event.subject,
        failure_code: event.failure.as_ref().map(|failure| &failure.code),
        failure_message: event.failure.as_ref().map(|failure| &failure.message),
    }
    inserted { created_at: now }
    row SandboxEvent = SandboxEvent {
        id: notice_id,
        kind,
        subject,
        failure: failure(failure_code, failure_message),
    };
}

crate::store::statements! {
    ADD_PAYMENT = concat!(payment!(insert), " ON CONFLICT (payment_id) DO NOTHING");
    /// A payment that is paid from the start, unless there is one with that id. The sandbox must be in
    /// its ordinary condition.
    ADD_PAID_PAYMENT = "INSERT INTO sandbox_payments (payment_id, client_secret, task_id,
            amount_cents, refunded_cents, transferred_cents, status, paid_at, created_at)
        SELECT CAST(?1 AS TEXT), CAST(?2 AS TEXT), CAST(?3 AS TEXT), CAST(?4 AS BIGINT), 0, 0,
            CAST(?5 AS TEXT), CAST(?6 AS BIGINT), CAST(?6 AS BIGINT)
        WHERE NOT EXISTS (SELECT 1 FROM sandbox_switches)
        ON CONFLICT (payment_id) DO NOTHING";
    PAYMENT = concat!("SELECT ", payment!(columns), " FROM sandbox_payments WHERE payment_id = ?1");
    SET_STATUS = "UPDATE sandbox_payments SET status = ?2, paid_at = ?3
        WHERE payment_id = ?1 AND status = ?4";
    TAKE = "UPDATE sandbox_payments SET refunded_cents = refunded_cents + ?2,
            transferred_cents = transferred_cents + ?3
        WHERE payment_id = ?1 AND refunded_cents + transferred_cents + ?2 + ?3 <= amount_cents";
    /// All that a first refund or transfer requires. A payment has one of each, so its own columns tell
    /// whether it is the first: what other tables say may be older than the row by the time that it is
    /// locked.
    TAKE_FIRST = "UPDATE sandbox_payments SET refunded_cents = refunded_cents + ?2,
            transferred_cents = transferred_cents + ?3
        WHERE payment_id = ?1 AND refunded_cents + transferred_cents + ?2 + ?3 <= amount_cents
            AND status = 'succeeded' AND (?2 = 0 OR refunded_cents = 0)
            AND (?3 = 0 OR transferred_cents = 0)
            AND (?4 = '' OR EXISTS (SELECT 1 FROM sandbox_payout_accounts
                WHERE payout_account_id = ?4 AND ready = 1 AND refuses_payouts = 0))
            AND NOT EXISTS (SELECT 1 FROM sandbox_switches)";
    ADD_MOVEMENT = concat!(movement!(insert), " ON CONFLICT (idempotency_key) DO NOTHING");
    MOVEMENT = concat!("SELECT ", movement!(columns), " FROM sandbox_movements
        WHERE idempotency_key = ?1");
    MOVEMENTS = concat!("SELECT ", movement!(columns), " FROM sandbox_movements
        WHERE idempotency_key > ?1 ORDER BY idempotency_key LIMIT ?2");
    PAID = concat!("SELECT ", paid!(columns), " FROM sandbox_payments p
        WHERE p.payment_id > ?1 AND p.paid_at IS NOT NULL ORDER BY p.payment_id LIMIT ?2");
    ADD_PAYOUT_ACCOUNT = concat!(payout_account!(insert), "
        ON CONFLICT (payout_account_id) DO NOTHING");
    PAYOUT_ACCOUNT = concat!("SELECT ", payout_account!(columns), " FROM sandbox_payout_accounts
        WHERE payout_account_id = ?1");
    SET_READY = "UPDATE sandbox_payout_accounts SET ready = 1, refuses_payouts = ?2
        WHERE payout_account_id = ?1";
    ADD_EVENT = concat!(event!(insert), " ON CONFLICT (notice_id) DO NOTHING");
    EVENT = concat!("SELECT ", event!(columns), " FROM sandbox_notices WHERE notice_id = ?1");
    DROP_EVENT = "DELETE FROM sandbox_notices WHERE notice_id = ?1";
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
    /// How many events of it have not been fetched yet.
    pub untold: i64,
}

/// A payment that was made, as a movement.
struct PaidPayment(SandboxMovement);

#[derive(Clone, Debug)]
pub struct SandboxPayoutAccount {
    pub id: String,
    pub link_secret: String,
    pub ready: bool,
    /// It looks ready, but no transfer reaches it.
    pub refuses_payouts: bool,
}

#[derive(Clone, Debug)]
pub struct SandboxEvent {
    pub id: String,
    /// The sandbox's own name of the event type.
    pub kind: String,
    /// The payment or the payout account.
    pub subject: String,
    pub failure: Option<PaymentFailure>,
}

impl Tx<'_> {
    /// Stores a payment that is not paid yet, unless there is one with that id.
    pub fn add_sandbox_payment(
        &mut self,
        payment: &SandboxPayment,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let context = SecretPlace::SandboxPayment.context(&payment.id);
        let sealed = SandboxPayment {
            client_secret: self.seal(&context, &payment.client_secret)?,
            ..payment.clone()
        };
        self.defer(ADD_PAYMENT, &payment_values(&sealed, now))
    }

    /// Stores a payment that is paid at once. False when there is one with that id, or when the sandbox
    /// is slow or down.
    pub fn add_paid_sandbox_payment(
        &mut self,
        payment: &SandboxPayment,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let context = SecretPlace::SandboxPayment.context(&payment.id);
        let sealed = self.seal(&context, &payment.client_secret)?;
        let values = [
            (&payment.id).into(),
            sealed.into(),
            payment.task.into(),
            payment.amount_cents.into(),
            payment.status.into(),
            now.into(),
        ];
        Ok(self.execute(ADD_PAID_PAYMENT, &values)? == 1)
    }

    pub fn sandbox_payment(&mut self, id: &str) -> Result<Option<SandboxPayment>, StoreError> {
        let payment = self.optional(PAYMENT, &[id.into()])?;
        self.with_opened_client_secret(payment)
    }

    fn with_opened_client_secret(
        &self,
        payment: Option<SandboxPayment>,
    ) -> Result<Option<SandboxPayment>, StoreError> {
        let Some(mut payment) = payment else {
            return Ok(None);
        };
        let context = SecretPlace::SandboxPayment.context(&payment.id);
        payment.client_secret = self.open(&context, &payment.client_secret)?;
        Ok(Some(payment))
    }

    pub fn sandbox_payment_to_change(
        &mut self,
        id: &str,
    ) -> Result<Option<SandboxPayment>, StoreError> {
        let payment = self.optional_locked(PAYMENT, &[id.into()])?;
        self.with_opened_client_secret(payment)
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
                status.into(),
                paid_at.into(),
                payment.status.into(),
            ],
        )
    }

    /// Deducts a refund or a transfer from its payment; false when less than that is left.
    pub fn take_from_sandbox_payment(
        &mut self,
        movement: &SandboxMovement,
    ) -> Result<bool, StoreError> {
        Ok(self.execute(TAKE, &taken_values(movement))? == 1)
    }

    /// Deducts the first refund or the first transfer from its payment; false when something speaks
    /// against it, or when the sandbox is slow or down.
    pub fn take_first_from_sandbox_payment(
        &mut self,
        movement: &SandboxMovement,
    ) -> Result<bool, StoreError> {
        let mut values = taken_values(movement).to_vec();
        values.push(movement.payout_account.as_deref().unwrap_or("").into());
        Ok(self.execute(TAKE_FIRST, &values)? == 1)
    }

    pub fn add_sandbox_movement(&mut self, movement: &SandboxMovement) -> Result<(), StoreError> {
        self.defer(ADD_MOVEMENT, &movement_values(movement))
    }

    pub fn sandbox_movement(
        &mut self,
        idempotency_key: &str,
    ) -> Result<Option<SandboxMovement>, StoreError> {
        self.optional(MOVEMENT, &[idempotency_key.into()])
    }

    /// Up to `limit` refunds and transfers, after the one with that key.
    pub fn sandbox_movements_after(
        &mut self,
        after: &str,
        limit: i64,
    ) -> Result<Vec<SandboxMovement>, StoreError> {
        self.all(MOVEMENTS, &[after.into(), limit.into()])
    }

    /// Up to `limit` payments that were made, as movements, after the one with that id.
    pub fn sandbox_paid_after(
        &mut self,
        after: &str,
        limit: i64,
    ) -> Result<Vec<SandboxMovement>, StoreError> {
        let paid = self.all(PAID, &[after.into(), limit.into()])?;
        Ok(paid.into_iter().map(|PaidPayment(it)| it).collect())
    }

    pub fn add_sandbox_payout_account(
        &mut self,
        account: &SandboxPayoutAccount,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let context = SecretPlace::SandboxPayoutAccount.context(&account.id);
        let sealed = SandboxPayoutAccount {
            link_secret: self.seal(&context, &account.link_secret)?,
            ..account.clone()
        };
        self.defer(ADD_PAYOUT_ACCOUNT, &payout_account_values(&sealed, now))
    }

    pub fn sandbox_payout_account(
        &mut self,
        id: &str,
    ) -> Result<Option<SandboxPayoutAccount>, StoreError> {
        let account: Option<SandboxPayoutAccount> = self.optional(PAYOUT_ACCOUNT, &[id.into()])?;
        let Some(mut account) = account else {
            return Ok(None);
        };
        let context = SecretPlace::SandboxPayoutAccount.context(&account.id);
        account.link_secret = self.open(&context, &account.link_secret)?;
        Ok(Some(account))
    }

    pub fn set_sandbox_payout_account_ready(
        &mut self,
        id: &str,
        refuses_payouts: bool,
    ) -> Result<(), StoreError> {
        self.defer(SET_READY, &[id.into(), refuses_payouts.into()])
    }

    pub fn add_sandbox_event(
        &mut self,
        event: &SandboxEvent,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.defer(ADD_EVENT, &event_values(event, now))
    }

    pub fn sandbox_event(&mut self, id: &str) -> Result<Option<SandboxEvent>, StoreError> {
        self.optional(EVENT, &[id.into()])
    }

    pub fn drop_sandbox_event(&mut self, id: &str) -> Result<(), StoreError> {
        self.defer(DROP_EVENT, &[id.into()])
    }

    /// The names of the switches that are set, with their milliseconds.
    pub fn sandbox_switches(&mut self) -> Result<Vec<(String, i64)>, StoreError> {
        self.all(SWITCHES, &[])
    }

    pub fn set_sandbox_switch(&mut self, name: &str, milliseconds: i64) -> Result<(), StoreError> {
        self.defer(SET_SWITCH, &[name.into(), milliseconds.into()])
    }

    pub fn clear_sandbox_switches(&mut self) -> Result<(), StoreError> {
        self.defer(CLEAR_SWITCHES, &[])
    }
}

/// The payment, and what is taken from it as a refund and as a transfer.
fn taken_values(movement: &SandboxMovement) -> [Value<'_>; 3] {
    let part = |step| (movement.step == step).then_some(movement.amount_cents);
    [
        (&movement.payment).into(),
        part(Step::Refund).unwrap_or(0).into(),
        part(Step::Transfer).unwrap_or(0).into(),
    ]
}
