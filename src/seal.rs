//! Encrypts a text so that only the holder of a secret, which we store only as a hash, can decrypt
//! it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use sha2::{Digest, Sha256};

use crate::ambient;
use crate::domain::Secret;

#[derive(Debug, PartialEq, Eq)]
pub struct Unsealable;

pub fn seal(secret: &Secret, text: &str) -> Result<String, Unsealable> {
    let nonce: [u8; NONCE_LEN] = ambient::random();
    let mut sealed = text.as_bytes().to_vec();
    cipher(secret)?
        .seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::empty(),
            &mut sealed,
        )
        .map_err(|_| Unsealable)?;
    Ok(STANDARD.encode([&nonce, sealed.as_slice()].concat()))
}

pub fn open(secret: &Secret, sealed: &str) -> Result<String, Unsealable> {
    let bytes = STANDARD.decode(sealed).map_err(|_| Unsealable)?;
    let (nonce, ciphertext) = bytes.split_first_chunk().ok_or(Unsealable)?;
    let mut ciphertext = ciphertext.to_vec();
    let nonce = Nonce::assume_unique_for_key(*nonce);
    let text = cipher(secret)?
        .open_in_place(nonce, Aad::empty(), &mut ciphertext)
        .map_err(|_| Unsealable)?;
    String::from_utf8(text.to_vec()).map_err(|_| Unsealable)
}

/// The key is not the stored hash of the secret, so a reader of the database cannot derive it.
fn cipher(secret: &Secret) -> Result<LessSafeKey, Unsealable> {
    let key = Sha256::new_with_prefix(b"legwork seal v1\0")
        .chain_update(secret.expose())
        .finalize();
    let key = UnboundKey::new(&CHACHA20_POLY1305, &key).map_err(|_| Unsealable)?;
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
}
