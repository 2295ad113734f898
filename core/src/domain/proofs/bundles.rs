//! The keys that sign proof bundles.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};

use crate::domain::Timestamp;
use crate::domain::accounts::api_key::hex;
use crate::domain::sha256::Sha256;

/// The only algorithm.
pub const ALGORITHM: &str = "Ed25519";
/// What precedes the 32 bytes of a public key in the form that openssl reads (RFC 8410).
const SPKI_PREFIX: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];
/// The clocks of servers and of the machine on which a key is retired may differ by this much.
const CLOCKS_DIFFER: Duration = Duration::from_secs(5 * 60);

/// A public key, and when it signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleKey {
    pub id: String,
    /// The 32 bytes in base64.
    pub public_key: String,
    pub created_at: Timestamp,
    pub retired_at: Option<Timestamp>,
}

impl BundleKey {
    /// The key in the form that openssl reads.
    pub fn pem(&self) -> String {
        let key = STANDARD.decode(&self.public_key).unwrap_or_default();
        let text = STANDARD.encode([SPKI_PREFIX.as_slice(), &key].concat());
        format!("-----BEGIN PUBLIC KEY-----\n{text}\n-----END PUBLIC KEY-----\n")
    }

    pub fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        let Ok(key) = STANDARD.decode(&self.public_key) else {
            return false;
        };
        UnparsedPublicKey::new(&ED25519, key)
            .verify(message, signature)
            .is_ok()
    }

    /// Whether the key signed at that time.
    pub fn signed_at(&self, moment: Timestamp) -> bool {
        let begun = self.created_at.minus(CLOCKS_DIFFER) <= moment;
        let ended = |at: Timestamp| at.plus(CLOCKS_DIFFER) < moment;
        begun && !self.retired_at.is_some_and(ended)
    }
}

/// A key that can sign. Its seed is secret.
pub struct BundleSigner {
    pub key: BundleKey,
    pair: Ed25519KeyPair,
}

impl BundleSigner {
    /// None if the seed does not fit; every 32 bytes do.
    pub fn from_seed(seed: &[u8], created_at: Timestamp) -> Option<Self> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).ok()?;
        let public = pair.public_key().as_ref();
        let key = BundleKey {
            id: hex(&Sha256::digest(public)[..8]),
            public_key: STANDARD.encode(public),
            created_at,
            retired_at: None,
        };
        Some(Self { key, pair })
    }

    /// 64 bytes.
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.pair.sign(message).as_ref().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_794_744_000_000);

    #[test]
    fn a_signature_is_of_one_message_by_one_key() {
        let signer = BundleSigner::from_seed(&[7; 32], NOW).unwrap();
        let other = BundleSigner::from_seed(&[8; 32], NOW).unwrap();
        assert_ne!(signer.key.id, other.key.id);
        let signature = signer.sign(b"message");
        assert!(signer.key.has_signed(b"message", &signature));
        assert!(!signer.key.has_signed(b"massage", &signature));
        assert!(!other.key.has_signed(b"message", &signature));
        assert!(!signer.key.has_signed(b"message", &signature[1..]));
        assert!(BundleSigner::from_seed(&[7; 31], NOW).is_none());
    }

    #[test]
    fn the_key_of_the_standard_is_read_as_the_standard_says() {
        // RFC 8032, section 7.1, test 1.
        let seed = [
            0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec,
            0x2c, 0xc4, 0x44, 0x49, 0xc5, 0x69, 0x7b, 0x32, 0x69, 0x19, 0x70, 0x3b, 0xac, 0x03,
            0x1c, 0xae, 0x7f, 0x60,
        ];
        let signer = BundleSigner::from_seed(&seed, NOW).unwrap();
        let public = STANDARD.decode(&signer.key.public_key).unwrap();
        assert_eq!(hex(&public[..4]), "d75a9801");
        assert_eq!(hex(&signer.sign(b"")[..4]), "e5564300");
    }

    #[test]
    fn a_key_signs_until_it_is_retired() {
        let mut key = BundleSigner::from_seed(&[7; 32], NOW).unwrap().key;
        let hour = Duration::from_secs(60 * 60);
        assert!(key.signed_at(NOW) && key.signed_at(NOW.plus(hour)));
        assert!(!key.signed_at(NOW.minus(hour)));
        key.retired_at = Some(NOW.plus(hour));
        assert!(key.signed_at(NOW.plus(hour)));
        assert!(!key.signed_at(NOW.plus(hour * 2)));
    }
}
