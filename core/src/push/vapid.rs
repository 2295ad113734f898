//! VAPID: a signed token tells push services who sends a message (RFC 8292).

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use http::HeaderValue;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::json;

use super::PushError;
use crate::domain::Timestamp;

/// A token may be valid for at most a day. Half of that tolerates clock differences.
const GOOD_FOR: Duration = Duration::from_hours(12);

/// The service's key pair. Browsers subscribe to the public key and accept only messages signed
/// with it. If the key is lost, all subscriptions stop working.
pub struct Vapid {
    pair: EcdsaKeyPair,
    pkcs8: Vec<u8>,
}

impl Vapid {
    /// Generates a key. `ring` takes randomness from the operating system only.
    pub fn generate() -> Result<Self, String> {
        let random = SystemRandom::new();
        EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random)
            .map_err(|_| "no key could be generated".to_owned())
            .and_then(|pkcs8| Self::from_pkcs8(pkcs8.as_ref().to_vec()))
    }

    /// Reads what `to_secret` wrote.
    pub fn from_secret(text: &str) -> Result<Self, String> {
        let pkcs8 = BASE64.decode(text).map_err(|_| "is not base64url")?;
        Self::from_pkcs8(pkcs8)
    }

    fn from_pkcs8(pkcs8: Vec<u8>) -> Result<Self, String> {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &pkcs8, &random)
            .map_err(|_| "is not a P-256 private key")?;
        Ok(Self { pair, pkcs8 })
    }

    /// The key pair as text, for storage.
    pub fn to_secret(&self) -> String {
        BASE64.encode(&self.pkcs8)
    }

    /// The `applicationServerKey` of browsers: the uncompressed point in base64url.
    pub fn public_key(&self) -> String {
        BASE64.encode(self.pair.public_key())
    }

    /// The Authorization header for the push service at this origin.
    pub(super) fn authorization(
        &self,
        audience: &str,
        contact: &str,
        now: Timestamp,
    ) -> Result<HeaderValue, PushError> {
        let header = json!({"typ": "JWT", "alg": "ES256"});
        let expires = now.plus(GOOD_FOR).as_millis() / 1_000;
        let claims = json!({"aud": audience, "exp": expires, "sub": contact});
        let [header, claims] = [header, claims].map(|part| BASE64.encode(part.to_string()));
        let signed = format!("{header}.{claims}");
        let signature = self.pair.sign(&SystemRandom::new(), signed.as_bytes());
        let signature = signature.map_err(|_| PushError::Signature)?;

        let (token, key) = (BASE64.encode(signature), self.public_key());
        let text = format!("vapid t={signed}.{token}, k={key}");
        let mut value = HeaderValue::try_from(text).map_err(|_| PushError::Signature)?;
        value.set_sensitive(true);
        Ok(value)
    }
}
