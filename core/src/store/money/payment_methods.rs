//! The default payment method of each account and environment.

use crate::domain::{ChargedMethod, Owner, PaymentMethod};
use crate::store::{StoreError, Tx, columns, owned_by};

columns! {
    macro method;
    table payment_methods;
    fn method_values<'a>(owner: Owner, method: &'a PaymentMethod);
    columns {
        processor: method.processor,
        method_id: &method.method.id,
        method_customer: &method.method.customer,
        updated_at: method.updated_at,
    }
    inserted { account_id: owner.account, environment: owner.environment }
    row PaymentMethod = PaymentMethod {
        processor,
        method: ChargedMethod { id: method_id, customer: method_customer },
        updated_at,
    };
}

crate::store::statements! {
    GET = concat!("SELECT ", method!(columns), " FROM payment_methods
        WHERE account_id = ?1 AND environment = ?2");
    PUT = concat!(method!(insert), "
        ON CONFLICT (account_id, environment) DO UPDATE
        SET processor = excluded.processor, method_id = excluded.method_id,
            method_customer = excluded.method_customer, updated_at = excluded.updated_at");
    DELETE = "DELETE FROM payment_methods WHERE account_id = ?1 AND environment = ?2";
}

impl Tx<'_> {
    pub fn payment_method(&mut self, owner: Owner) -> Result<Option<PaymentMethod>, StoreError> {
        self.optional(GET, &owned_by(owner))
    }

    pub fn put_payment_method(
        &mut self,
        owner: Owner,
        method: &PaymentMethod,
    ) -> Result<(), StoreError> {
        self.defer(PUT, &method_values(owner, method))
    }

    /// False when there was none.
    pub fn delete_payment_method(&mut self, owner: Owner) -> Result<bool, StoreError> {
        Ok(self.execute(DELETE, &owned_by(owner))? == 1)
    }
}
