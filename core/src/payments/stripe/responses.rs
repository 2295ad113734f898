//! The parts of Stripe's responses that we read.

use std::collections::HashMap;

use serde::Deserialize;

use super::error::StripeError;
use crate::domain::{PaymentIntent, Step, TaskId};
use crate::payments::ProcessorError;

pub type Metadata = HashMap<String, String>;

/// The task that an object at Stripe belongs to, if it is ours.
pub fn metadata_task(metadata: &Metadata) -> Option<TaskId> {
    metadata.get("task").and_then(|task| TaskId::parse(task))
}

#[derive(Deserialize)]
pub struct Intent {
    pub id: String,
    pub client_secret: Option<String>,
    pub status: String,
    pub amount: i64,
    pub amount_received: Option<i64>,
    pub created: i64,
    #[serde(default)]
    pub metadata: Metadata,
    pub last_payment_error: Option<StripeError>,
    latest_charge: Option<Reference>,
    /// Where the charge was before Stripe added `latest_charge`.
    charges: Option<Page<ChargeObject>>,
}

/// An object at Stripe: its id, or the object itself if it was expanded.
#[derive(Deserialize)]
#[serde(untagged)]
enum Reference {
    Id(String),
    Object(ChargeObject),
}

#[derive(Deserialize)]
struct ChargeObject {
    id: String,
    created: Option<i64>,
}

impl Intent {
    pub fn into_payment(self) -> Result<PaymentIntent, ProcessorError> {
        let missing = || "its response has no client secret".to_owned();
        Ok(PaymentIntent {
            id: self.id,
            client_secret: self
                .client_secret
                .ok_or_else(|| ProcessorError::Unavailable(missing()))?,
        })
    }

    pub fn charge_id(&self) -> Option<&str> {
        match &self.latest_charge {
            Some(Reference::Id(id)) => Some(id),
            _ => self.charge_object().map(|charge| charge.id.as_str()),
        }
    }

    /// When the money arrived, as far as the response says.
    pub fn paid_at(&self) -> i64 {
        self.charge_object()
            .and_then(|charge| charge.created)
            .unwrap_or(self.created)
    }

    fn charge_object(&self) -> Option<&ChargeObject> {
        match &self.latest_charge {
            Some(Reference::Object(charge)) => Some(charge),
            _ => self.charges.as_ref()?.data.first(),
        }
    }
}

#[derive(Deserialize)]
pub struct Refund {
    pub id: String,
    /// `None` for the few payment methods that do not report it.
    status: Option<String>,
    pub failure_reason: Option<String>,
    pub amount: i64,
    pub created: i64,
    #[serde(default)]
    pub metadata: Metadata,
}

impl Refund {
    /// The money was not refunded and will not be.
    pub fn is_void(&self) -> bool {
        matches!(self.status.as_deref(), Some("failed" | "canceled"))
    }

    /// Whether we requested it for this task.
    pub fn is_of(&self, task: TaskId) -> bool {
        let step = self.metadata.get("step").map(String::as_str);
        step == Some(Step::Refund.as_str()) && metadata_task(&self.metadata) == Some(task)
    }

    pub fn moved_cents(&self) -> i64 {
        if self.is_void() { 0 } else { self.amount }
    }
}

#[derive(Deserialize)]
pub struct Transfer {
    pub id: String,
    pub amount: i64,
    #[serde(default)]
    pub amount_reversed: i64,
    pub created: i64,
    #[serde(default)]
    pub metadata: Metadata,
}

impl Transfer {
    pub fn moved_cents(&self) -> i64 {
        self.amount - self.amount_reversed
    }
}

#[derive(Deserialize)]
pub struct Customer {
    pub id: String,
}

#[derive(Deserialize)]
pub struct Method {
    pub id: String,
}

#[derive(Deserialize)]
pub struct Account {
    pub id: String,
}

#[derive(Deserialize)]
pub struct AccountLink {
    pub url: String,
}

#[derive(Deserialize)]
pub struct Page<T> {
    pub data: Vec<T>,
    pub has_more: bool,
}

/// An object in a paginated list. Pages start after an id.
pub trait Listed {
    fn id(&self) -> &str;
}

impl Listed for Intent {
    fn id(&self) -> &str {
        &self.id
    }
}

impl Listed for Refund {
    fn id(&self) -> &str {
        &self.id
    }
}

impl Listed for Transfer {
    fn id(&self) -> &str {
        &self.id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn intent(more: Value) -> Intent {
        let mut intent = json!({
            "id": "pi_1", "object": "payment_intent", "status": "succeeded", "amount": 2500,
            "created": 100, "metadata": {},
        });
        let fields = intent.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        serde_json::from_value(intent).unwrap()
    }

    #[test]
    fn the_charge_of_a_payment_comes_in_three_forms() {
        let charge = json!({"id": "ch_1", "object": "charge", "created": 200});
        let id_only = intent(json!({"latest_charge": "ch_1"}));
        assert_eq!(
            (id_only.charge_id(), id_only.paid_at()),
            (Some("ch_1"), 100)
        );
        for more in [
            json!({"latest_charge": charge}),
            json!({"charges": {"object": "list", "data": [charge], "has_more": false}}),
            json!({"latest_charge": null, "charges": {"data": [charge], "has_more": false}}),
        ] {
            let intent = intent(more);
            assert_eq!((intent.charge_id(), intent.paid_at()), (Some("ch_1"), 200));
        }
    }

    #[test]
    fn a_payment_may_have_no_charge() {
        for more in [
            json!({}),
            json!({"latest_charge": null}),
            json!({"charges": {"data": [], "has_more": false}}),
        ] {
            assert_eq!(intent(more).charge_id(), None);
        }
    }

    #[test]
    fn only_a_task_of_ours_is_a_task() {
        let named = |name: &str| Metadata::from([("task".to_owned(), name.to_owned())]);
        let id = "0199c0de00007abc8def0123456789ab";
        assert_eq!(metadata_task(&named(id)), TaskId::parse(id));
        assert!(metadata_task(&named(id)).is_some());
        assert!(metadata_task(&named("order 66")).is_none());
        assert!(metadata_task(&Metadata::new()).is_none());
    }
}
