//! How live tasks are paid for.

use crate::domain::{
    AccountId, ChargedMethod, Payment, PaymentFailure, PaymentIntent, PaymentStatus, ProcessorName,
    TaskId, Timestamp,
};
use crate::store::{Row, StoreError, Tx};

/// The columns of a whole payment, in the order in which `read` takes them.
macro_rules! columns {
    () => {
        "task_id, account_id, processor, payment_id, client_secret, amount_cents, status, \
         method_id, method_customer, failure_code, failure_message, created_at, updated_at"
    };
}

crate::store::statements! {
    INSERT = concat!("INSERT INTO payments (", columns!(), ")
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)");
    OF_TASK = concat!("SELECT ", columns!(), " FROM payments WHERE task_id = ?1");
    BY_PROCESSOR = "SELECT task_id FROM payments WHERE processor = ?1 AND payment_id = ?2";
    PAGE = concat!("SELECT ", columns!(), " FROM payments
        WHERE task_id > ?1 ORDER BY task_id LIMIT ?2");
    SET_INTENT = "UPDATE payments SET processor = ?2, payment_id = ?3, client_secret = ?4,
            status = ?5, updated_at = ?6
        WHERE task_id = ?1 AND payment_id IS NULL";
    SET_STATUS = "UPDATE payments SET status = ?2, failure_code = ?3, failure_message = ?4,
            updated_at = ?5
        WHERE task_id = ?1 AND status = ?6";
}

impl Tx<'_> {
    pub fn insert_payment(&mut self, payment: &Payment) -> Result<(), StoreError> {
        let intent = payment.intent.as_ref();
        let method = payment.method.as_ref();
        let failure = payment.failure.as_ref();
        self.defer(
            INSERT,
            &[
                payment.task.to_string().into(),
                payment.account.to_string().into(),
                payment.processor.as_str().into(),
                intent.map(|intent| &intent.id).into(),
                intent.map(|intent| &intent.client_secret).into(),
                payment.amount_cents.into(),
                payment.status.as_str().into(),
                method.map(|method| &method.id).into(),
                method.and_then(|method| method.customer.as_ref()).into(),
                failure.map(|failure| &failure.code).into(),
                failure.map(|failure| &failure.message).into(),
                payment.created_at.into(),
                payment.updated_at.into(),
            ],
        )
    }

    /// The payment of a task. Whether the caller may see the task is the caller's to check.
    pub fn payment(&mut self, task: TaskId) -> Result<Option<Payment>, StoreError> {
        self.optional(OF_TASK, &[task.to_string().into()], read)
    }

    /// Which task a payment is for, by the processor's name for it.
    pub fn task_of_payment(
        &mut self,
        processor: ProcessorName,
        payment_id: &str,
    ) -> Result<Option<TaskId>, StoreError> {
        let values = [processor.as_str().into(), payment_id.into()];
        self.optional(BY_PROCESSOR, &values, |row| row.parse(0, TaskId::parse))
    }

    /// Up to `limit` payments in the order of their tasks, after the given one.
    pub fn payments_after(
        &mut self,
        after: Option<TaskId>,
        limit: i64,
    ) -> Result<Vec<Payment>, StoreError> {
        let after = after.map(|id| id.to_string()).unwrap_or_default();
        self.all(PAGE, &[after.into(), limit.into()], read)
    }

    /// Notes under which name the processor knows a payment; the first name stays.
    pub fn set_payment_intent(
        &mut self,
        task: TaskId,
        processor: ProcessorName,
        intent: &PaymentIntent,
        status: PaymentStatus,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [
            task.to_string().into(),
            processor.as_str().into(),
            (&intent.id).into(),
            (&intent.client_secret).into(),
            status.as_str().into(),
            now.into(),
        ];
        self.execute(SET_INTENT, &values).map(drop)
    }

    /// Stores what became of a payment that is still in the status it was read in.
    pub fn set_payment_status(
        &mut self,
        payment: &Payment,
        status: PaymentStatus,
        failure: Option<&PaymentFailure>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.execute_one(
            SET_STATUS,
            &[
                payment.task.to_string().into(),
                status.as_str().into(),
                failure.map(|failure| &failure.code).into(),
                failure.map(|failure| &failure.message).into(),
                now.into(),
                payment.status.as_str().into(),
            ],
        )
    }
}

fn read(row: &Row<'_>) -> Result<Payment, StoreError> {
    let intent: (Option<String>, Option<String>) = (row.get(3)?, row.get(4)?);
    let method: Option<String> = row.get(7)?;
    let failure: (Option<String>, Option<String>) = (row.get(9)?, row.get(10)?);
    Ok(Payment {
        task: row.parse(0, TaskId::parse)?,
        account: row.parse(1, AccountId::parse)?,
        processor: row.parse(2, ProcessorName::parse)?,
        intent: match intent {
            (Some(id), Some(client_secret)) => Some(PaymentIntent { id, client_secret }),
            _ => None,
        },
        amount_cents: row.get(5)?,
        status: row.parse(6, PaymentStatus::parse)?,
        method: match method {
            Some(id) => Some(ChargedMethod {
                id,
                customer: row.get(8)?,
            }),
            None => None,
        },
        failure: match failure {
            (Some(code), Some(message)) => Some(PaymentFailure { code, message }),
            _ => None,
        },
        created_at: row.get(11)?,
        updated_at: row.get(12)?,
    })
}
