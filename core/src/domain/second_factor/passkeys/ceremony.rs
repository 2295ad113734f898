//! Checks what a browser sends: a new passkey, or the answer of one.

use serde::Deserialize;
use subtle::ConstantTimeEq;

use super::authenticator::{AuthenticatorData, PublicKey, attested};
use super::{Challenge, MAX_CREDENTIAL_ID, RelyingParty, decoded, encoded};
use crate::domain::Person;
use crate::domain::second_factor::name_of;
use crate::domain::sha256::Sha256;

/// Bytes that are looked at. Real ones are a fraction of it.
const MAX_CLIENT_DATA: usize = 4_096;
const MAX_ATTESTATION: usize = 16_384;
const MAX_AUTHENTICATOR_DATA: usize = 4_096;
const MAX_SIGNATURE: usize = 256;
const MAX_USER_HANDLE: usize = 64;

/// Why something does not count. People read one sentence for all of them; the log has the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAccepted {
    #[error("it is malformed, too long, or of an algorithm that is not taken")]
    Malformed,
    #[error("it was made for something else")]
    Type,
    #[error("the challenge is another one")]
    Challenge,
    #[error("it was made on another site")]
    Origin,
    #[error("it was made for another site")]
    Site,
    #[error("nobody touched the authenticator")]
    NotPresent,
    #[error("the authenticator did not check who used it")]
    NotVerified,
    #[error("the signature is wrong")]
    Signature,
    #[error("it belongs to somebody else")]
    Holder,
}

/// What a browser says of a new passkey.
#[derive(Clone, Debug)]
pub struct GivenRegistration {
    client_data: Vec<u8>,
    attestation: Vec<u8>,
}

/// What is kept of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCredential {
    /// In base64url.
    pub id: String,
    pub key: PublicKey,
    pub counter: i64,
}

impl GivenRegistration {
    /// From base64url.
    pub fn read(client_data: &str, attestation: &str) -> Option<Self> {
        Some(Self {
            client_data: decoded(client_data, MAX_CLIENT_DATA)?,
            attestation: decoded(attestation, MAX_ATTESTATION)?,
        })
    }

    pub fn check(
        &self,
        site: &RelyingParty,
        challenge: &Challenge,
    ) -> Result<NewCredential, NotAccepted> {
        check_client(&self.client_data, "webauthn.create", site, challenge)?;
        let data = attested(&self.attestation).ok_or(NotAccepted::Malformed)?;
        let data = check_data(data, site)?;
        let (id, key) = data.credential.ok_or(NotAccepted::Malformed)?;
        Ok(NewCredential {
            id: encoded(id),
            key,
            counter: data.counter.into(),
        })
    }
}

/// The answer of a passkey to a challenge.
#[derive(Clone, Debug)]
pub struct GivenAssertion {
    /// In base64url.
    pub credential_id: String,
    client_data: Vec<u8>,
    authenticator_data: Vec<u8>,
    signature: Vec<u8>,
    /// Who it is for, as the passkey remembers.
    user_handle: Option<Vec<u8>>,
}

impl GivenAssertion {
    /// From base64url: the id, what the browser and the authenticator say, the signature. `user_handle` may be
    /// empty.
    pub fn read(
        credential_id: &str,
        [client_data, authenticator_data, signature]: [&str; 3],
        user_handle: &str,
    ) -> Option<Self> {
        let user_handle = match user_handle {
            "" => None,
            text => Some(decoded(text, MAX_USER_HANDLE)?),
        };
        Some(Self {
            // There is one way to write it, so that it is found.
            credential_id: encoded(&decoded(credential_id, MAX_CREDENTIAL_ID)?),
            client_data: decoded(client_data, MAX_CLIENT_DATA)?,
            authenticator_data: decoded(authenticator_data, MAX_AUTHENTICATOR_DATA)?,
            signature: decoded(signature, MAX_SIGNATURE)?,
            user_handle,
        })
    }

    /// Checks all but the counter, which is returned.
    pub fn check(
        &self,
        site: &RelyingParty,
        challenge: &Challenge,
        (key, holder): (&PublicKey, Person),
    ) -> Result<u32, NotAccepted> {
        check_client(&self.client_data, "webauthn.get", site, challenge)?;
        let data = check_data(&self.authenticator_data, site)?;
        let client_hash = Sha256::digest(&self.client_data);
        let signed = [self.authenticator_data.as_slice(), &client_hash].concat();
        if !key.has_signed(&signed, &self.signature) {
            return Err(NotAccepted::Signature);
        }
        self.is_for(holder, challenge)?;
        Ok(data.counter)
    }

    /// Where nobody was known before, the passkey itself must say whose it is.
    fn is_for(&self, holder: Person, challenge: &Challenge) -> Result<(), NotAccepted> {
        let says = match &self.user_handle {
            Some(handle) => *handle == user_handle(holder),
            None => challenge.holder.is_some(),
        };
        let expected = challenge.holder.is_none_or(|expected| expected == holder);
        match says && expected {
            true => Ok(()),
            false => Err(NotAccepted::Holder),
        }
    }
}

/// What a passkey remembers of its owner: no name and no address.
pub fn user_handle(holder: Person) -> Vec<u8> {
    name_of(holder).into_bytes()
}

/// What the browser saw. It may say more, which changes.
#[derive(Deserialize)]
struct ClientData {
    #[serde(rename = "type")]
    kind: String,
    challenge: String,
    origin: String,
    /// Whether it was in a frame of another site.
    #[serde(rename = "crossOrigin", default)]
    cross_origin: bool,
}

fn check_client(
    bytes: &[u8],
    kind: &str,
    site: &RelyingParty,
    challenge: &Challenge,
) -> Result<(), NotAccepted> {
    let data: ClientData = serde_json::from_slice(bytes).map_err(|_| NotAccepted::Malformed)?;
    if data.kind != kind {
        return Err(NotAccepted::Type);
    }
    if !challenge.is(&data.challenge) {
        return Err(NotAccepted::Challenge);
    }
    match data.origin == site.origin && !data.cross_origin {
        true => Ok(()),
        false => Err(NotAccepted::Origin),
    }
}

fn check_data<'a>(
    bytes: &'a [u8],
    site: &RelyingParty,
) -> Result<AuthenticatorData<'a>, NotAccepted> {
    let data = AuthenticatorData::read(bytes).ok_or(NotAccepted::Malformed)?;
    let own = Sha256::digest(&site.id);
    if !bool::from(data.rp_id_hash.as_slice().ct_eq(own.as_slice())) {
        return Err(NotAccepted::Site);
    }
    if !data.is_present() {
        return Err(NotAccepted::NotPresent);
    }
    match data.is_verified() {
        true => Ok(data),
        false => Err(NotAccepted::NotVerified),
    }
}
