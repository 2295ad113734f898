//! The part of Stripe that localstripe does not have: accounts of others, and transfers to them.

use legwork::ambient;
use serde_json::{Value, json};

use super::exchange::{Answer, Asked};

#[derive(Default)]
pub struct Connect {
    accounts: Vec<Value>,
    pub transfers: Vec<Value>,
    pub disputes: Vec<Value>,
}

fn id(prefix: &str) -> String {
    let random: [u8; 8] = ambient::random();
    format!("{prefix}_{:016x}", u64::from_be_bytes(random))
}

fn now() -> i64 {
    ambient::Clock::system().now().as_millis() / 1_000
}

fn missing(what: &str) -> Answer {
    Answer::error(400, "resource_missing", &format!("No such {what}"))
}

impl Connect {
    pub fn disputes(&self, payment: Option<&str>) -> Vec<Value> {
        let disputes = self.disputes.iter();
        let of_payment = disputes.filter(|dispute| dispute["payment_intent"].as_str() == payment);
        of_payment.cloned().collect()
    }

    pub fn open_account(&mut self, asked: &Asked) -> Answer {
        let requested = asked.field("capabilities[transfers][requested]") == Some("true");
        let account = json!({
            "id": id("acct"),
            "object": "account",
            "type": asked.field("type"),
            "created": now(),
            "charges_enabled": false,
            "payouts_enabled": false,
            "details_submitted": false,
            "capabilities": if requested { json!({"transfers": "inactive"}) } else { json!({}) },
            "metadata": {"worker": asked.field("metadata[worker]")},
        });
        self.accounts.push(account.clone());
        Answer::ok(account)
    }

    pub fn link(&self, asked: &Asked) -> Answer {
        let Some(account) = asked.field("account").filter(|id| self.has(id)) else {
            return missing("account");
        };
        Answer::ok(json!({
            "object": "account_link",
            "created": now(),
            "expires_at": now() + 300,
            "url": format!("https://connect.stripe.com/setup/e/{account}/{}", id("x")),
        }))
    }

    /// The worker has told Stripe everything.
    pub fn complete(&mut self, account: &str) -> Value {
        let known = |known: &&mut Value| known["id"] == account;
        let account = self.accounts.iter_mut().find(known).unwrap();
        account["payouts_enabled"] = json!(true);
        account["details_submitted"] = json!(true);
        account["capabilities"]["transfers"] = json!("active");
        account.clone()
    }

    pub fn transfer(&mut self, asked: &Asked, charge: Option<&str>) -> Answer {
        let Some(destination) = asked.field("destination").filter(|id| self.has(id)) else {
            return missing("destination");
        };
        if charge.is_none() || asked.field("source_transaction") != charge {
            return missing("charge");
        }
        let amount: i64 = asked.field("amount").unwrap().parse().unwrap();
        let transfer = json!({
            "id": id("tr"),
            "object": "transfer",
            "amount": amount,
            "amount_reversed": 0,
            "created": now(),
            "currency": asked.field("currency"),
            "destination": destination,
            "livemode": false,
            "metadata": {"task": asked.field("metadata[task]")},
            "reversals": {"object": "list", "data": [], "has_more": false, "url": "/v1/transfers"},
            "reversed": false,
            "source_transaction": charge,
            "transfer_group": asked.field("transfer_group"),
        });
        self.transfers.push(transfer.clone());
        Answer::ok(transfer)
    }

    pub fn reverse(&mut self, number: usize, cents: i64) -> Value {
        let transfer = &mut self.transfers[number];
        let reversed = transfer["amount_reversed"].as_i64().unwrap() + cents;
        transfer["amount_reversed"] = json!(reversed);
        transfer["reversed"] = json!(transfer["amount"] == reversed);
        transfer.clone()
    }

    pub fn transfers(&self, group: Option<&str>) -> Vec<Value> {
        let wanted =
            |transfer: &&Value| group.is_none_or(|group| transfer["transfer_group"] == group);
        self.transfers.iter().filter(wanted).cloned().collect()
    }

    fn has(&self, account: &str) -> bool {
        self.accounts.iter().any(|known| known["id"] == account)
    }
}
