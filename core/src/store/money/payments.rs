//! The payments of live tasks.

use crate::domain::{
    ChargedMethod, Payment, PaymentFailure, PaymentIntent, PaymentStatus, ProcessorName, Status,
    StoredIntent, TaskId, Timestamp,
};
use crate::store::secrets::SecretPlace;
use crate::store::{FromRow, Row, StoreError, Tx, columns};

columns! {
    macro payment;
    table payments;
    fn payment_values<'a>(payment: &'a Payment);
    columns {
        task_id: payment.task,
        account_id: payment.account,
        processor: payment.processor,
        payment_id: payment.intent.as_ref().map(|intent| &intent.id),
        client_secret: payment.intent.as_ref().map(|intent| &intent.stored_secret),
        amount_cents: payment.amount_cents,
        status: payment.status,
        method_id: payment.method.as_ref().map(|method| &method.id),
        method_customer: payment.method.as_ref().and_then(|method| method.customer.as_ref()),
        failure_code: payment.failure.as_ref().map(|failure| &failure.code),
        failure_message: payment.failure.as_ref().map(|failure| &failure.message),
        created_at: payment.created_at,
        updated_at: payment.updated_at,
    }
    row Payment = Payment {
        task: task_id,
        account: account_id,
        processor,
        intent: intent(payment_id, client_secret),
        amount_cents,
        status,
        method: Option::map(method_id, |id| ChargedMethod { id, customer: method_customer }),
        failure: failure(failure_code, failure_message),
        created_at,
        updated_at,
    };
}

columns! {
    macro created;
    table payments;
    fn created_values<'a>(
        task: TaskId,
        processor: ProcessorName,
        intent: &'a StoredIntent,
        now: Timestamp,
    );
    columns {
        processor: processor,
        payment_id: &intent.id,
        client_secret: &intent.stored_secret,
        updated_at: now,
    }
    parameters { task: task }
}

columns! {
    macro outcome;
    table payments;
    fn outcome_values<'a>(
        payment: &'a Payment,
        status: PaymentStatus,
        failure: Option<&'a PaymentFailure>,
        now: Timestamp,
    );
    columns {
        processor: payment.processor,
        payment_id: payment.intent.as_ref().map(|intent| &intent.id),
        client_secret: payment.intent.as_ref().map(|intent| &intent.stored_secret),
        status: status,
        failure_code: failure.map(|failure| &failure.code),
        failure_message: failure.map(|failure| &failure.message),
        updated_at: now,
    }
    parameters { task: payment.task, from: payment.status }
}

crate::store::statements! {
    INSERT = payment!(insert);
    OF_TASK = concat!("SELECT ", payment!(columns), " FROM payments WHERE task_id = ?1");
    WITH_TASK = concat!("SELECT t.task_status, t.task_deadline, ", payment!(columns), "
        FROM payments JOIN (SELECT id AS of_id, status AS task_status, deadline AS task_deadline
            FROM tasks) t ON t.of_id = task_id
        WHERE task_id = ?1");
    BY_PROCESSOR = "SELECT task_id FROM payments WHERE processor = ?1 AND payment_id = ?2";
    PAGE = concat!("SELECT ", payment!(columns), " FROM payments
        WHERE task_id > ?1 ORDER BY task_id LIMIT ?2");
    SET_INTENT = concat!("UPDATE payments SET ", created!(set),
        " WHERE task_id = ", created!(task), " AND payment_id IS NULL");
    SET_METHOD = "UPDATE payments SET processor = ?2, method_id = ?3, method_customer = ?4,
            status = 'processing', updated_at = ?5
        WHERE task_id = ?1 AND payment_id IS NULL AND status = 'requires_payment'";
    SET_STATUS = concat!("UPDATE payments SET ", outcome!(set),
        " WHERE task_id = ", outcome!(task), " AND status = ", outcome!(from));
}

/// A payment, and the status and the deadline of its task.
#[derive(Clone, Debug)]
pub struct PaymentAndTask {
    pub status: Status,
    pub deadline: Option<Timestamp>,
    pub payment: Payment,
}

impl FromRow for PaymentAndTask {
    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            status: row.next()?,
            deadline: row.next()?,
            payment: row.next()?,
        })
    }
}

impl Tx<'_> {
    /// Stores a new payment, with its intent if the processor has created it already.
    pub fn insert_payment(
        &mut self,
        payment: &Payment,
        intent: Option<&PaymentIntent>,
    ) -> Result<(), StoreError> {
        let mut payment = payment.clone();
        payment.intent = intent
            .map(|intent| self.seal_intent(payment.task, intent))
            .transpose()?;
        self.defer(INSERT, &payment_values(&payment))
    }

    fn seal_intent(
        &self,
        task: TaskId,
        intent: &PaymentIntent,
    ) -> Result<StoredIntent, StoreError> {
        let context = SecretPlace::Payment.context(task);
        Ok(StoredIntent {
            id: intent.id.clone(),
            stored_secret: self.seal(&context, &intent.client_secret)?,
        })
    }

    /// The client secret of a task's payment, for whoever pays. `None` if it was lost with the master
    /// key: then it was replaced by an empty text.
    pub fn client_secret(
        &self,
        task: TaskId,
        intent: &StoredIntent,
    ) -> Result<Option<String>, StoreError> {
        let secret = self.open(&SecretPlace::Payment.context(task), &intent.stored_secret)?;
        Ok(Some(secret).filter(|secret| !secret.is_empty()))
    }

    /// The payment of a task. The caller checks that it may see the task.
    pub fn payment(&mut self, task: TaskId) -> Result<Option<Payment>, StoreError> {
        self.optional(OF_TASK, &[task.into()])
    }

    /// The payment of a task, with what decides whether it is charged.
    pub fn payment_and_task(&mut self, task: TaskId) -> Result<Option<PaymentAndTask>, StoreError> {
        self.optional(WITH_TASK, &[task.into()])
    }

    /// The payment, locked until this transaction ends. The caller has locked its task before.
    pub fn payment_to_change(&mut self, task: TaskId) -> Result<Option<Payment>, StoreError> {
        let row = ("payments", "task_id");
        self.optional_locked_of(row, OF_TASK, &[task.into()])
    }

    /// The task of a payment, by the processor's id for the payment.
    pub fn task_of_payment(
        &mut self,
        processor: ProcessorName,
        payment_id: &str,
    ) -> Result<Option<TaskId>, StoreError> {
        self.optional(BY_PROCESSOR, &[processor.into(), payment_id.into()])
    }

    /// Up to `limit` payments in the order of their tasks, after the given one.
    pub fn payments_after(
        &mut self,
        after: Option<TaskId>,
        limit: i64,
    ) -> Result<Vec<Payment>, StoreError> {
        let after = after.map(|id| id.to_string()).unwrap_or_default();
        self.all(PAGE, &[after.into(), limit.into()])
    }

    /// Stores the processor's id of a payment, unless there is one already.
    pub fn set_payment_intent(
        &mut self,
        task: TaskId,
        processor: ProcessorName,
        intent: &PaymentIntent,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let sealed = self.seal_intent(task, intent)?;
        let values = created_values(task, processor, &sealed, now);
        self.defer(SET_INTENT, &values)
    }

    /// A payment that does not exist at the processor yet will be charged to this method.
    pub fn set_charged_method(
        &mut self,
        task: TaskId,
        processor: ProcessorName,
        method: &ChargedMethod,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [
            task.into(),
            processor.into(),
            (&method.id).into(),
            method.customer.as_deref().into(),
            now.into(),
        ];
        self.execute_one(SET_METHOD, &values)
    }

    /// Gives a payment the processor's id, unless it has one already. It is stored with the outcome.
    pub fn created_at_processor(
        &self,
        payment: Payment,
        processor: ProcessorName,
        intent: &PaymentIntent,
    ) -> Result<Payment, StoreError> {
        if payment.intent.is_some() {
            return Ok(payment);
        }
        let intent = Some(self.seal_intent(payment.task, intent)?);
        Ok(Payment {
            processor,
            intent,
            ..payment
        })
    }

    /// Stores the outcome of a payment that this transaction has locked.
    pub fn set_payment_status(
        &mut self,
        payment: &Payment,
        status: PaymentStatus,
        failure: Option<&PaymentFailure>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = outcome_values(payment, status, failure, now);
        self.change_locked(SET_STATUS, &values)
    }
}

fn intent(id: Option<String>, stored_secret: Option<String>) -> Option<StoredIntent> {
    let (id, stored_secret) = id.zip(stored_secret)?;
    Some(StoredIntent { id, stored_secret })
}

pub(in crate::store) fn failure(
    code: Option<String>,
    message: Option<String>,
) -> Option<PaymentFailure> {
    let (code, message) = code.zip(message)?;
    Some(PaymentFailure { code, message })
}
