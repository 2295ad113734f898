//! The body of a message: one aes128gcm record (RFC 8188) under a key agreed with the browser (RFC
//! 8291).

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::error::Unspecified;
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::rand::SystemRandom;

/// Push services need not accept more than this (RFC 8030, section 7.2).
const RECORD_BYTES: usize = 4_096;
const SALT_BYTES: usize = 16;
/// An uncompressed point: a format byte, x and y.
const POINT_BYTES: usize = 65;
/// Salt, record size, point length and point.
const HEADER_BYTES: usize = SALT_BYTES + 4 + 1 + POINT_BYTES;
const TAG_BYTES: usize = 16;
/// The delimiter of the last record.
const LAST_RECORD: u8 = 2;
pub const MAX_PAYLOAD_BYTES: usize = RECORD_BYTES - HEADER_BYTES - 1 - TAG_BYTES;

const NO_PUBLIC_KEY: &str = "must be a 65-byte public key in base64url";
const NOT_ON_THE_CURVE: &str = "must be a point on the curve P-256";
const NO_AUTH: &str = "must be 16 bytes in base64url";

/// Browsers write base64url without padding. Client libraries use any variant.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The keys of a browser's subscription.
pub struct BrowserKeys {
    public: [u8; POINT_BYTES],
    auth: [u8; 16],
}

impl BrowserKeys {
    pub fn read(p256dh: &str, auth: &str) -> Result<Self, String> {
        let public = decoded(p256dh).ok_or_else(|| format!("p256dh {NO_PUBLIC_KEY}"))?;
        let auth = decoded(auth).ok_or_else(|| format!("auth {NO_AUTH}"))?;
        Ok(Self { public, auth })
    }

    /// Whether the public key is one: a point on the curve. Tried with a key that is then dropped.
    pub fn check_public(p256dh: &str) -> Result<(), String> {
        let public: [u8; POINT_BYTES] = decoded(p256dh).ok_or(NO_PUBLIC_KEY)?;
        let theirs = UnparsedPublicKey::new(&ECDH_P256, &public);
        let agreed = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new())
            .and_then(|ours| agree_ephemeral(ours, &theirs, |_| ()));
        agreed.map_err(|Unspecified| NOT_ON_THE_CURVE.to_owned())
    }

    pub fn check_auth(auth: &str) -> Result<(), String> {
        decoded::<16>(auth).ok_or(NO_AUTH)?;
        Ok(())
    }

    /// Fails if the browser's public key is not a point on the curve.
    ///
    /// `ring` generates our ephemeral key itself and accepts no external randomness, so the key is
    /// not a parameter. Each key is used for one message.
    pub fn encrypt(&self, payload: &[u8], salt: &[u8; SALT_BYTES]) -> Result<Vec<u8>, String> {
        let theirs = UnparsedPublicKey::new(&ECDH_P256, &self.public);
        let encrypted = || {
            let ours = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new())?;
            let our_public = ours.compute_public_key()?;
            agree_ephemeral(ours, &theirs, |shared| {
                self.seal(our_public.as_ref(), shared, salt, payload)
            })?
        };
        encrypted().map_err(|Unspecified| format!("p256dh {NOT_ON_THE_CURVE}"))
    }

    /// Builds the message from the shared secret, following RFC 8291, section 3.4.
    fn seal(
        &self,
        our_public: &[u8],
        shared: &[u8],
        salt: &[u8; SALT_BYTES],
        payload: &[u8],
    ) -> Result<Vec<u8>, Unspecified> {
        let info = [b"WebPush: info\0", self.public.as_slice(), our_public];
        let input: [u8; 32] = derived(&self.auth, shared, &info)?;
        let key: [u8; 16] = derived(salt, &input, &[b"Content-Encoding: aes128gcm\0"])?;
        let nonce: [u8; 12] = derived(salt, &input, &[b"Content-Encoding: nonce\0"])?;

        let mut record = [payload, &[LAST_RECORD]].concat();
        LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key)?).seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::empty(),
            &mut record,
        )?;
        let size = (RECORD_BYTES as u32).to_be_bytes();
        Ok([
            salt,
            size.as_slice(),
            &[POINT_BYTES as u8],
            our_public,
            &record,
        ]
        .concat())
    }
}

fn decoded<const N: usize>(text: &str) -> Option<[u8; N]> {
    let url_safe = text.replace('+', "-").replace('/', "_");
    BASE64.decode(url_safe).ok()?.try_into().ok()
}

/// HKDF-SHA256, both steps.
fn derived<const N: usize>(
    salt: &[u8],
    secret: &[u8],
    info: &[&[u8]],
) -> Result<[u8; N], Unspecified> {
    struct Length(usize);
    impl KeyType for Length {
        fn len(&self) -> usize {
            self.0
        }
    }
    let mut bytes = [0; N];
    let secret = Salt::new(HKDF_SHA256, salt).extract(secret);
    secret.expand(info, Length(N))?.fill(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;

    /// RFC 8291, appendix A, without the key agreement: `ring` does not accept existing private
    /// keys.
    #[test]
    fn the_example_of_the_rfc_comes_out_byte_for_byte() {
        let p256dh = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcx\
                      aOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
        let our_public: [u8; POINT_BYTES] = decoded(
            "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8",
        )
        .unwrap();
        let shared: [u8; 32] = decoded("kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs").unwrap();
        let salt = decoded("DGv6ra1nlYgDCS1FRnbzlw").unwrap();
        let keys = BrowserKeys::read(p256dh, "BTBZMqHH6r4Tts7J_aSIgg").unwrap();
        let payload = b"When I grow up, I want to be a watermelon";

        let body = keys.seal(&our_public, &shared, &salt, payload).unwrap();

        let expected = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27ml\
                        mlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPT\
                        pK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN";
        assert_eq!(URL_SAFE_NO_PAD.encode(body), expected);
    }
}
