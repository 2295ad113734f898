//! Passkeys: key pairs that a browser or a phone keeps (WebAuthn). One counts as password and second factor
//! together, because it asks for a fingerprint or a PIN itself.

mod authenticator;
mod cbor;
mod ceremony;
mod relying_party;
#[cfg(test)]
mod tests;

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;

use crate::domain::accounts::api_key::hash;
use crate::domain::rules::TextRule;
use crate::domain::string_enum::string_enum;
use crate::domain::{ChallengeId, PasskeyId, Person, Timestamp};

pub use authenticator::{Algorithm, PublicKey};
pub use ceremony::{GivenAssertion, GivenRegistration, NewCredential, NotAccepted, user_handle};
pub use relying_party::RelyingParty;

/// How many one person has.
pub const MAX_FOR_PERSON: usize = 10;
/// What the owner calls one.
pub const NAME: TextRule = TextRule::plain(1, 60);
/// How long a challenge waits for its answer.
pub const CHALLENGE_LIFE: Duration = Duration::from_secs(5 * 60);
pub const CHALLENGE_BYTES: usize = 32;
/// Authenticators make none that is longer.
pub const MAX_CREDENTIAL_ID: usize = 1_023;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passkey {
    pub id: PasskeyId,
    pub holder: Person,
    /// In base64url, as browsers write it.
    pub credential_id: String,
    pub key: PublicKey,
    /// What the authenticator counted when it last signed; many do not count.
    pub counter: i64,
    pub name: String,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
}

impl Passkey {
    /// The counter to keep. None if it went back: then there may be a copy of the key somewhere.
    pub fn counted(&self, given: u32) -> Option<i64> {
        let given = i64::from(given);
        (given > self.counter || (given == 0 && self.counter == 0)).then_some(given)
    }
}

string_enum!(
    /// What a challenge was made for. The answer to one counts for nothing else.
    ChallengePurpose {
        Register = "register",
        /// Nobody knows yet who answers.
        SignIn = "sign_in",
        /// Whoever answers has given the password, or the key of an admin.
        SecondFactor = "second_factor",
        /// Whoever answers is signed in, and is asked once more before something dangerous.
        Again = "again",
    }
);

/// Random bytes that an authenticator signs. They are answered once; only their hash is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    pub id: ChallengeId,
    pub purpose: ChallengePurpose,
    /// Who must answer, if that is known.
    pub holder: Option<Person>,
    pub hash: String,
    pub expires_at: Timestamp,
}

impl Challenge {
    pub fn new(
        id: ChallengeId,
        (purpose, holder): (ChallengePurpose, Option<Person>),
        random: &[u8; CHALLENGE_BYTES],
        now: Timestamp,
    ) -> Self {
        Self {
            id,
            purpose,
            holder,
            hash: hash(&encoded(random)),
            expires_at: now.plus(CHALLENGE_LIFE),
        }
    }

    /// Whether these are its bytes, as a browser repeats them.
    fn is(&self, text: &str) -> bool {
        hash(text).as_bytes().ct_eq(self.hash.as_bytes()).into()
    }
}

/// Bytes as browsers write them.
pub fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Reads base64url, if it is no more than so many bytes.
fn decoded(text: &str, most: usize) -> Option<Vec<u8>> {
    if text.len() > most.div_ceil(3) * 4 {
        return None;
    }
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    (!bytes.is_empty() && bytes.len() <= most).then_some(bytes)
}
