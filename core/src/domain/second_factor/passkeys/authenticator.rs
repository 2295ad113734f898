//! What an authenticator writes: its data, and the public key of a new passkey (COSE).

use ring::signature::{ECDSA_P256_SHA256_ASN1, ED25519, UnparsedPublicKey, VerificationAlgorithm};

use super::cbor::{Item, Reader};
use super::{MAX_CREDENTIAL_ID, decoded, encoded};
use crate::domain::string_enum::string_enum;

string_enum!(Algorithm {
    Es256 = "es256",
    EdDsa = "eddsa",
});

impl Algorithm {
    /// Its number in COSE, by which browsers are told what we take.
    pub const fn number(self) -> i64 {
        match self {
            Self::Es256 => -7,
            Self::EdDsa => -8,
        }
    }

    fn of_number(number: i64) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|known| known.number() == number)
    }

    const fn key_bytes(self) -> usize {
        match self {
            // An uncompressed point: a format byte, x and y.
            Self::Es256 => 65,
            Self::EdDsa => 32,
        }
    }

    fn verification(self) -> &'static dyn VerificationAlgorithm {
        match self {
            Self::Es256 => &ECDSA_P256_SHA256_ASN1,
            Self::EdDsa => &ED25519,
        }
    }
}

/// The public half of a passkey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    algorithm: Algorithm,
    bytes: Vec<u8>,
}

impl PublicKey {
    /// Reads what `to_text` wrote.
    pub fn parse(algorithm: Algorithm, text: &str) -> Option<Self> {
        let bytes = decoded(text, algorithm.key_bytes())?;
        (bytes.len() == algorithm.key_bytes()).then_some(Self { algorithm, bytes })
    }

    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    pub fn to_text(&self) -> String {
        encoded(&self.bytes)
    }

    pub fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        let key = UnparsedPublicKey::new(self.algorithm.verification(), &self.bytes);
        key.verify(message, signature).is_ok()
    }

    /// Reads a COSE key. None if it is malformed or of an algorithm that we do not take.
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let (mut kind, mut algorithm, mut curve) = (None, None, None);
        let (mut x, mut y) = (None, None);
        for _ in 0..reader.map()? {
            match reader.integer()? {
                1 => once(&mut kind, reader.integer()?)?,
                3 => once(&mut algorithm, Algorithm::of_number(reader.integer()?)?)?,
                -1 => once(&mut curve, reader.integer()?)?,
                -2 => once(&mut x, reader.bytes()?)?,
                -3 => once(&mut y, reader.bytes()?)?,
                _ => reader.skip()?,
            }
        }
        let algorithm = algorithm?;
        let bytes = match (algorithm, kind?, curve?, x?, y) {
            (Algorithm::Es256, 2, 1, x, Some(y)) if x.len() == y.len() => {
                [[4].as_slice(), x, y].concat()
            }
            (Algorithm::EdDsa, 1, 6, x, None) => x.to_vec(),
            _ => return None,
        };
        (bytes.len() == algorithm.key_bytes()).then_some(Self { algorithm, bytes })
    }
}

/// A label that comes twice says nothing.
fn once<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.replace(value).is_none().then_some(())
}

/// Bits of the flags.
const USER_PRESENT: u8 = 1;
const USER_VERIFIED: u8 = 1 << 2;
const BACKUP_ELIGIBLE: u8 = 1 << 3;
const BACKED_UP: u8 = 1 << 4;
const HAS_CREDENTIAL: u8 = 1 << 6;
const HAS_EXTENSIONS: u8 = 1 << 7;

const AAGUID_BYTES: usize = 16;

/// What an authenticator says of itself, and of what it has signed.
#[derive(Clone, Debug)]
pub struct AuthenticatorData<'a> {
    pub rp_id_hash: &'a [u8; 32],
    flags: u8,
    pub counter: u32,
    /// Only where a passkey is made.
    pub credential: Option<(&'a [u8], PublicKey)>,
}

impl<'a> AuthenticatorData<'a> {
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let (rp_id_hash, rest) = bytes.split_first_chunk::<32>()?;
        let (&flags, rest) = rest.split_first()?;
        let (counter, rest) = rest.split_first_chunk::<4>()?;
        let (credential, rest) = match flags & HAS_CREDENTIAL {
            0 => (None, rest),
            _ => {
                let (credential, rest) = credential(rest)?;
                (Some(credential), rest)
            }
        };
        let rest = match flags & HAS_EXTENSIONS {
            0 => rest,
            _ => after_extensions(rest)?,
        };
        // What is backed up can be.
        let sound = flags & BACKED_UP == 0 || flags & BACKUP_ELIGIBLE != 0;
        (rest.is_empty() && sound).then_some(Self {
            rp_id_hash,
            flags,
            counter: u32::from_be_bytes(*counter),
            credential,
        })
    }

    /// Somebody touched it.
    pub fn is_present(&self) -> bool {
        self.flags & USER_PRESENT != 0
    }

    /// It has checked who that was.
    pub fn is_verified(&self) -> bool {
        self.flags & USER_VERIFIED != 0
    }
}

type Credential<'a> = (&'a [u8], PublicKey);

fn credential(bytes: &[u8]) -> Option<(Credential<'_>, &[u8])> {
    let (_, rest) = bytes.split_at_checked(AAGUID_BYTES)?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let length = usize::from(u16::from_be_bytes(*length));
    let (id, rest) = rest.split_at_checked(length)?;
    if id.is_empty() || id.len() > MAX_CREDENTIAL_ID {
        return None;
    }
    let mut reader = Reader::new(rest);
    let key = PublicKey::read(&mut reader)?;
    Some(((id, key), reader.rest()))
}

fn after_extensions(bytes: &[u8]) -> Option<&[u8]> {
    let mut reader = Reader::new(bytes);
    reader.skip()?;
    Some(reader.rest())
}

/// The authenticator's data in an attestation object. What the statement says is not looked at: we ask for none.
pub fn attested(bytes: &[u8]) -> Option<&[u8]> {
    let mut reader = Reader::new(bytes);
    let mut data = None;
    for _ in 0..reader.map()? {
        match reader.item()? {
            Item::Text("authData") => once(&mut data, reader.bytes()?)?,
            Item::Text(_) => reader.skip()?,
            _ => return None,
        }
    }
    data.filter(|_| reader.rest().is_empty())
}
