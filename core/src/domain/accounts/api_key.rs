//! API keys: how they are generated, what is stored of them, and which environment they belong to.

use subtle::ConstantTimeEq;

use crate::domain::rules::TextRule;
use crate::domain::sha256::Sha256;
use crate::domain::string_enum::string_enum;
use crate::domain::{AccountId, ApiKeyId, Timestamp};

string_enum!(Environment {
    Live = "live",
    Test = "test",
});

impl Environment {
    pub const fn key_prefix(self) -> &'static str {
        match self {
            Self::Live => "svc_live_",
            Self::Test => "svc_test_",
        }
    }
}

/// The owner of tasks: one account in one environment. No read crosses owners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    pub account: AccountId,
    pub environment: Environment,
}

const ADMIN_PREFIX: &str = "svc_admin_";

/// Whether a text looks like the key of a developer or an admin. Both are for servers, not for browsers.
pub fn is_api_key(text: &str) -> bool {
    let live_and_test = Environment::ALL.iter().map(|one| one.key_prefix());
    live_and_test
        .chain([ADMIN_PREFIX])
        .any(|prefix| text.starts_with(prefix))
}

/// How many characters of a key may be shown after it was created.
const SHOWN_CHARACTERS: usize = 20;

/// The record of a key. The key itself is not stored.
#[derive(Clone, Debug)]
pub struct ApiKey {
    pub id: ApiKeyId,
    pub account: AccountId,
    pub name: String,
    pub key_prefix: String,
    pub environment: Environment,
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    pub created_at: Timestamp,
}

impl ApiKey {
    pub fn owner(&self) -> Owner {
        Owner {
            account: self.account,
            environment: self.environment,
        }
    }
}

#[derive(Clone, Debug)]
pub struct NewApiKey {
    pub name: String,
    pub environment: Environment,
}

pub const NAME: TextRule = TextRule::plain(1, 200);

/// How many active keys an account can have, live and test together.
pub const MAX_ACTIVE: i64 = 100;
/// How many revoked keys a list shows, so that it stays one page.
pub const REVOKED_SHOWN: i64 = 100;

/// No admin key begins like this: what follows its prefix is hexadecimal.
const ADMIN_SESSION_PREFIX: &str = "svc_admin_session_";

const SESSION_PREFIX: &str = "svc_session_";

/// A secret that is shown once. It has no `Display`, and its `Debug` prints nothing.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    pub fn api_key(environment: Environment, random: &[u8; 32]) -> Self {
        Self(format!("{}{}", environment.key_prefix(), hex(random)))
    }

    pub fn worker_token(random: &[u8; 32]) -> Self {
        Self(format!("svc_worker_{}", hex(random)))
    }

    pub fn admin_key(random: &[u8; 32]) -> Self {
        Self(format!("{ADMIN_PREFIX}{}", hex(random)))
    }

    pub fn session(random: &[u8; 32]) -> Self {
        Self(format!("{SESSION_PREFIX}{}", hex(random)))
    }

    /// Whether it is the token of a session on the pages.
    pub fn is_session(&self) -> bool {
        self.0.starts_with(SESSION_PREFIX)
    }

    pub fn admin_session(random: &[u8; 32]) -> Self {
        Self(format!("{ADMIN_SESSION_PREFIX}{}", hex(random)))
    }

    pub fn is_admin_session(&self) -> bool {
        self.0.starts_with(ADMIN_SESSION_PREFIX)
    }

    /// A secret that a caller sent.
    pub fn presented(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub fn expose(&self) -> &str {
        &self.0
    }

    pub fn shown_prefix(&self) -> &str {
        &self.0[..SHOWN_CHARACTERS]
    }

    pub fn hash(&self) -> String {
        hash(&self.0)
    }

    /// Whether they are the same. How long it takes tells nothing but their lengths.
    pub fn is(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// What is stored of a key or token. 256 random bits need no salt and no slow hash.
pub fn hash(secret: &str) -> String {
    hex(&Sha256::digest(secret))
}

pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_tells_its_environment_and_little_else() {
        let key = Secret::api_key(Environment::Test, &[0xab; 32]);
        assert_eq!(key.expose().len(), 9 + 64);
        assert_eq!(key.shown_prefix(), "svc_test_abababababa");
        assert_eq!(format!("{key:?}"), "Secret(..)");
    }

    #[test]
    fn the_hash_is_sha_256_in_hex() {
        assert_eq!(
            hash("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
