//! A developer's account, and what its tier allows.

pub mod api_key;
pub mod mandate;
pub mod rate_limit;
pub mod request_log;
pub mod same_person;

use std::time::Duration;

use crate::domain::rules::TextRule;
use crate::domain::string_enum::string_enum;
use crate::domain::{AccountId, Timestamp};

string_enum!(Tier {
    Free = "free",
    Growth = "growth",
    Pro = "pro",
    Enterprise = "enterprise",
});

string_enum!(
    /// What test keys without a mandate may manage.
    TestKeysManage {
        /// Live keys, the webhook and the account too.
        All = "all",
        /// Test keys alone.
        Test = "test",
    }
);

impl Tier {
    /// Tasks that may be created in a calendar month, per environment.
    pub const fn tasks_per_month(self) -> i64 {
        match self {
            Self::Free => 100,
            Self::Growth => 1_000,
            Self::Pro => 10_000,
            Self::Enterprise => 1_000_000,
        }
    }

    /// Requests per minute. All of them may come in one burst.
    pub const fn requests_per_minute(self) -> u32 {
        match self {
            Self::Free => 600,
            Self::Growth => 3_000,
            Self::Pro => 12_000,
            Self::Enterprise => 60_000,
        }
    }

    /// What all limited keys together may use of them.
    pub const fn requests_of_limited_keys(self) -> u32 {
        self.requests_per_minute() / 4 * 3
    }
}

/// Bytes of stored proofs for an account and environment, in the order of the tiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorageQuota(pub [u64; Tier::ALL.len()]);

impl StorageQuota {
    pub fn of(self, tier: Tier) -> u64 {
        let place = Tier::ALL.iter().position(|known| *known == tier);
        place.map_or(0, |place| self.0[place])
    }
}

/// How long after deletion the remaining data of an account is erased.
pub const ERASED_AFTER: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Replaces personal data.
pub const ERASED: &str = "deleted";

/// Stands in the place of an e-mail address that is not confirmed.
pub fn unconfirmed_email(id: AccountId) -> String {
    format!("unconfirmed-{id}@invalid")
}

/// Replaces the e-mail address of a deleted account or worker, so that the address can be used again.
pub fn freed_email(id: impl std::fmt::Display) -> String {
    format!("deleted-{id}@invalid")
}

string_enum!(AccountStatus {
    Active = "active",
    Suspended = "suspended",
    Deleted = "deleted",
});

#[derive(Clone, Debug)]
pub struct Account {
    pub id: AccountId,
    pub email: String,
    /// Whether somebody who reads the mail of this address has said so, or an operator. Otherwise other
    /// accounts may name the same address.
    pub email_confirmed: bool,
    pub name: String,
    pub company: Option<String>,
    pub tier: Tier,
    pub status: AccountStatus,
    pub webhook_url: Option<String>,
    pub webhook_events: Vec<crate::domain::EventType>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// What opening an account needs.
#[derive(Clone, Debug)]
pub struct NewAccount {
    pub email: String,
    pub name: String,
    pub company: Option<String>,
    pub tier: Tier,
}

impl NewAccount {
    pub fn open(&self, id: AccountId, now: Timestamp) -> Account {
        Account {
            id,
            email: self.email.clone(),
            email_confirmed: true,
            name: self.name.clone(),
            company: self.company.clone(),
            tier: self.tier,
            status: AccountStatus::Active,
            webhook_url: None,
            webhook_events: Vec::new(),
            created_at: now,
            updated_at: now,
        }
    }
}

/// An e-mail address, in the one spelling that is compared: lower case.
pub const EMAIL: TextRule = TextRule {
    min: 3,
    max: 254,
    pattern: Some(r"^[^@\s\u0000-\u001f\u007f-\u009f]+@[^@\s\u0000-\u001f\u007f-\u009f]+$"),
    // The pattern is exact; the format would refuse some addresses that exist.
    format: None,
    check: |rule, text| {
        let email = rule.text(text)?.to_lowercase();
        let well_formed = email.split_once('@').is_some_and(|(local, domain)| {
            !local.is_empty() && !domain.is_empty() && !domain.contains('@')
        });
        if !well_formed || email.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err("must be an e-mail address".to_owned());
        }
        Ok(email)
    },
};

pub const NAME: TextRule = TextRule::plain(1, 200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_email_is_compared_in_lower_case() {
        assert_eq!(
            EMAIL.check("Ada@Example.COM"),
            Ok("ada@example.com".to_owned())
        );
        assert_eq!(
            EMAIL.check("developer@localhost"),
            Ok("developer@localhost".to_owned())
        );
    }

    #[test]
    fn what_is_no_email_is_refused() {
        for text in ["", "ada", "@x.org", "ada@", "a@b@c", "a b@c.org", "a@b\n"] {
            assert!(EMAIL.check(text).is_err(), "{text:?}");
        }
    }
}
