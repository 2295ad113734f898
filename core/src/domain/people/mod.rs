//! People: who they are, their passwords, the links that are mailed to them, and their sessions.

pub mod mail_link;
pub mod password;
pub mod session;

use crate::domain::string_enum::string_enum;
use crate::domain::{AccountId, AdminKeyId, WorkerId};

/// The name of the service's secret that protects what is stored of a sign-up with an Idempotency-Key.
pub const SIGN_UP_SECRET: &str = "sign_up";

string_enum!(PersonKind {
    Account = "account",
    Worker = "worker",
    Admin = "admin",
});

/// A developer by the account, a worker, or an admin by the admin key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Person {
    Account(AccountId),
    Worker(WorkerId),
    Admin(AdminKeyId),
}

impl Person {
    pub fn kind(self) -> PersonKind {
        match self {
            Self::Account(_) => PersonKind::Account,
            Self::Worker(_) => PersonKind::Worker,
            Self::Admin(_) => PersonKind::Admin,
        }
    }

    /// The id, without the kind.
    pub fn id(self) -> String {
        match self {
            Self::Account(id) => id.to_string(),
            Self::Worker(id) => id.to_string(),
            Self::Admin(id) => id.to_string(),
        }
    }

    pub fn parse(kind: PersonKind, id: &str) -> Option<Self> {
        match kind {
            PersonKind::Account => AccountId::parse(id).map(Self::Account),
            PersonKind::Worker => WorkerId::parse(id).map(Self::Worker),
            PersonKind::Admin => AdminKeyId::parse(id).map(Self::Admin),
        }
    }
}
