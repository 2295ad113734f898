//! The default payment method of each account and environment.

use crate::domain::{ChargedMethod, Owner, PaymentMethod, ProcessorName};
use crate::store::owned_by;
use crate::store::{StoreError, Tx};

crate::store::statements! {
    GET = "SELECT processor, method_id, method_customer, updated_at FROM payment_methods
        WHERE account_id = ?1 AND environment = ?2";
    PUT = "INSERT INTO payment_methods (account_id, environment, processor, method_id,
            method_customer, updated_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT (account_id, environment) DO UPDATE
        SET processor = excluded.processor, method_id = excluded.method_id,
            method_customer = excluded.method_customer, updated_at = excluded.updated_at";
    DELETE = "DELETE FROM payment_methods WHERE account_id = ?1 AND environment = ?2";
}

impl Tx<'_> {
    pub fn payment_method(&mut self, owner: Owner) -> Result<Option<PaymentMethod>, StoreError> {
        self.optional(GET, &owned_by(owner), |row| {
            Ok(PaymentMethod {
                processor: row.parse(0, ProcessorName::parse)?,
                method: ChargedMethod {
                    id: row.get(1)?,
                    customer: row.get(2)?,
                },
                updated_at: row.get(3)?,
            })
        })
    }

    pub fn put_payment_method(
        &mut self,
        owner: Owner,
        method: &PaymentMethod,
    ) -> Result<(), StoreError> {
        let mut values = owned_by(owner);
        values.extend([
            method.processor.as_str().into(),
            method.method.id.clone().into(),
            method.method.customer.clone().into(),
            method.updated_at.into(),
        ]);
        self.defer(PUT, &values)
    }

    /// False when there was none.
    pub fn delete_payment_method(&mut self, owner: Owner) -> Result<bool, StoreError> {
        Ok(self.execute(DELETE, &owned_by(owner))? == 1)
    }
}
