//! An authenticator in software. It does what it is told, also what no real one does.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use serde_json::json;
use sha2::{Digest, Sha256};

pub const PRESENT: u8 = 1;
pub const VERIFIED: u8 = 4;
const HAS_CREDENTIAL: u8 = 64;

enum Key {
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
}

pub struct Authenticator {
    key: Key,
    pub credential_id: Vec<u8>,
    pub counter: u32,
    pub flags: u8,
    /// The site that it believes to serve.
    pub rp_id: String,
    /// The page on which it is used.
    pub origin: String,
}

/// What a browser sends, in bytes.
#[derive(Clone)]
pub struct Answer {
    pub client_data: Vec<u8>,
    pub authenticator_data: Vec<u8>,
    pub signature: Vec<u8>,
}

impl Authenticator {
    pub fn es256(rp_id: &str, origin: &str) -> Self {
        let (random, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_ASN1_SIGNING);
        let pair = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, pair.as_ref(), &random).unwrap();
        Self::with(Key::Es256(pair), rp_id, origin)
    }

    pub fn eddsa(rp_id: &str, origin: &str) -> Self {
        let pair = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(pair.as_ref()).unwrap();
        Self::with(Key::EdDsa(pair), rp_id, origin)
    }

    fn with(key: Key, rp_id: &str, origin: &str) -> Self {
        let mut credential_id = vec![0; 32];
        ring::rand::SecureRandom::fill(&SystemRandom::new(), &mut credential_id).unwrap();
        Self {
            key,
            credential_id,
            counter: 0,
            flags: PRESENT | VERIFIED,
            rp_id: rp_id.to_owned(),
            origin: origin.to_owned(),
        }
    }

    pub fn id(&self) -> String {
        text(&self.credential_id)
    }

    pub fn client_data(&self, kind: &str, challenge: &str) -> Vec<u8> {
        let data = json!({"type": kind, "challenge": challenge, "origin": self.origin,
            "crossOrigin": false, "other_keys_can_be_added_here": "yes"});
        data.to_string().into_bytes()
    }

    /// The public key as a COSE map.
    pub fn cose_key(&self) -> Vec<u8> {
        match &self.key {
            Key::Es256(pair) => {
                let point = pair.public_key().as_ref();
                let head = [0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32];
                [&head, &point[1..33], &[0x22, 0x58, 32], &point[33..]].concat()
            }
            Key::EdDsa(pair) => {
                let head = [0xa4, 1, 1, 3, 0x27, 0x20, 6, 0x21, 0x58, 32];
                [&head, pair.public_key().as_ref()].concat()
            }
        }
    }

    /// The data of the authenticator for a new passkey.
    pub fn new_data(&self) -> Vec<u8> {
        let length = u16::try_from(self.credential_id.len()).unwrap();
        [
            self.data(HAS_CREDENTIAL).as_slice(),
            &[0; 16],
            &length.to_be_bytes(),
            &self.credential_id,
            &self.cose_key(),
        ]
        .concat()
    }

    fn data(&self, more: u8) -> Vec<u8> {
        let hash = Sha256::digest(&self.rp_id);
        [
            hash.as_slice(),
            &[self.flags | more],
            &self.counter.to_be_bytes(),
        ]
        .concat()
    }

    /// The attestation object with this data: no attestation at all.
    pub fn attestation(data: &[u8]) -> Vec<u8> {
        let length = u16::try_from(data.len()).unwrap();
        let head = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x59";
        [head, length.to_be_bytes().as_slice(), data].concat()
    }

    /// What a page sends of a new passkey: the two fields in base64url.
    pub fn register(&self, challenge: &str) -> [String; 2] {
        let client = self.client_data("webauthn.create", challenge);
        [text(&client), text(&Self::attestation(&self.new_data()))]
    }

    /// Answers a challenge.
    pub fn answer(&self, challenge: &str) -> Answer {
        let client_data = self.client_data("webauthn.get", challenge);
        let authenticator_data = self.data(0);
        let hash = Sha256::digest(&client_data);
        let signature = self.sign(&[authenticator_data.as_slice(), &hash].concat());
        Answer {
            client_data,
            authenticator_data,
            signature,
        }
    }

    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        match &self.key {
            Key::Es256(pair) => {
                let signed = pair.sign(&SystemRandom::new(), message).unwrap();
                signed.as_ref().to_vec()
            }
            Key::EdDsa(pair) => pair.sign(message).as_ref().to_vec(),
        }
    }
}

impl Answer {
    /// The three fields in base64url.
    pub fn texts(&self) -> [String; 3] {
        [&self.client_data, &self.authenticator_data, &self.signature].map(|bytes| text(bytes))
    }
}

pub fn text(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
