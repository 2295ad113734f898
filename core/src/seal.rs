//! Encrypts texts before they are stored: under a secret that we keep only as a hash, or under the
//! master key, which is not in the database.

mod audit_start;
mod key_file;
mod keyring;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use crate::ambient;
use crate::domain::Secret;
use crate::domain::accounts::api_key::hex;
use crate::domain::sha256::Sha256;

pub use audit_start::AUDIT_START_FILE;
pub use key_file::{KEY_FILE, KeyError, KeyLock, KeySource};
pub use keyring::{Keyring, SEALED, SealError, is_sealed};

#[derive(Debug, PartialEq, Eq)]
pub struct Unsealable;

/// Seals a text so that only the holder of `secret` can open it.
pub fn seal(secret: &Secret, text: &str) -> Result<String, Unsealable> {
    encrypt(&cipher(&key_of(secret))?, "", text)
}

pub fn open(secret: &Secret, sealed: &str) -> Result<String, Unsealable> {
    decrypt(&cipher(&key_of(secret))?, "", sealed)
}

/// The key is not the stored hash of the secret, so a reader of the database cannot derive it.
fn key_of(secret: &Secret) -> [u8; 32] {
    let hash = Sha256::new().with(b"legwork seal v1\0");
    hash.with(secret.expose()).finish()
}

/// The key that seals secrets in the database. It comes from a setting or a file, so a copy of the
/// database alone opens nothing.
#[derive(Clone)]
pub struct MasterKey([u8; 32]);

impl MasterKey {
    pub fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    pub fn generate() -> Self {
        Self(ambient::random())
    }

    /// Reads 32 bytes in base64.
    pub fn from_base64(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text.trim()).ok()?;
        Some(Self(bytes.try_into().ok()?))
    }

    pub fn to_base64(&self) -> String {
        STANDARD.encode(self.0)
    }

    /// A name for the key that tells nothing about it.
    pub fn id(&self) -> String {
        let hash = Sha256::new().with(b"legwork key id v1\0");
        hex(&hash.with(self.0).finish()[..8])
    }

    /// `context` names the place of the value, such as `webhook_secret:acc_1`. A sealed value that
    /// is copied to another place does not open there.
    pub fn seal(&self, context: &str, text: &str) -> Result<String, Unsealable> {
        encrypt(&cipher(&self.0)?, context, text)
    }

    pub fn open(&self, context: &str, sealed: &str) -> Result<String, Unsealable> {
        decrypt(&cipher(&self.0)?, context, sealed)
    }
}

impl std::fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MasterKey(..)")
    }
}

fn encrypt(cipher: &LessSafeKey, context: &str, text: &str) -> Result<String, Unsealable> {
    let nonce: [u8; NONCE_LEN] = ambient::random();
    let mut sealed = text.as_bytes().to_vec();
    cipher
        .seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(context.as_bytes()),
            &mut sealed,
        )
        .map_err(|_| Unsealable)?;
    Ok(STANDARD.encode([&nonce, sealed.as_slice()].concat()))
}

fn decrypt(cipher: &LessSafeKey, context: &str, sealed: &str) -> Result<String, Unsealable> {
    let bytes = STANDARD.decode(sealed).map_err(|_| Unsealable)?;
    let (nonce, ciphertext) = bytes.split_first_chunk().ok_or(Unsealable)?;
    let mut ciphertext = ciphertext.to_vec();
    let nonce = Nonce::assume_unique_for_key(*nonce);
    let text = cipher
        .open_in_place(nonce, Aad::from(context.as_bytes()), &mut ciphertext)
        .map_err(|_| Unsealable)?;
    String::from_utf8(text.to_vec()).map_err(|_| Unsealable)
}

fn cipher(key: &[u8; 32]) -> Result<LessSafeKey, Unsealable> {
    let key = UnboundKey::new(&CHACHA20_POLY1305, key).map_err(|_| Unsealable)?;
    Ok(LessSafeKey::new(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_secret_opens_it() {
        let secret = Secret::presented("svc_test_1");
        let sealed = seal(&secret, "{\"key\":\"svc_live_2\"}").unwrap();
        assert!(!sealed.contains("svc_live_2"));
        assert_eq!(
            open(&secret, &sealed).as_deref(),
            Ok("{\"key\":\"svc_live_2\"}")
        );
        assert_eq!(
            open(&Secret::presented("svc_test_2"), &sealed),
            Err(Unsealable)
        );
        assert_eq!(open(&secret, "AAAA"), Err(Unsealable));
    }

    #[test]
    fn the_master_key_opens_a_value_only_in_its_place() {
        let key = MasterKey::new([7; 32]);
        let sealed = key.seal("webhook_secret:acc_1", "whsec_1").unwrap();
        assert!(!sealed.contains("whsec_1"));
        let opened = key.open("webhook_secret:acc_1", &sealed);
        assert_eq!(opened.as_deref(), Ok("whsec_1"));
        assert_eq!(key.open("webhook_secret:acc_2", &sealed), Err(Unsealable));
        let other = MasterKey::new([8; 32]);
        assert_eq!(other.open("webhook_secret:acc_1", &sealed), Err(Unsealable));
    }
}
