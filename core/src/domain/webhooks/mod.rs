//! Webhook secrets and signatures.

pub mod delivery;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ring::hmac;

use crate::domain::Timestamp;
use crate::domain::accounts::api_key::hex;

const PREFIX: &str = "whsec_";

/// `whsec_` and 32 random bytes in base64. Signing needs the secret itself, so it is stored as text
/// and not as a hash. It has no `Display`, and its `Debug` prints nothing.
#[derive(Clone)]
pub struct WebhookSecret {
    text: String,
    bytes: [u8; 32],
}

impl WebhookSecret {
    pub fn new(random: &[u8; 32]) -> Self {
        Self {
            text: format!("{PREFIX}{}", BASE64_STANDARD.encode(random)),
            bytes: *random,
        }
    }

    /// Reads exactly the form that `new` writes.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = BASE64_STANDARD.decode(text.strip_prefix(PREFIX)?).ok()?;
        Some(Self::new(&bytes.try_into().ok()?))
    }

    pub fn expose(&self) -> &str {
        &self.text
    }

    /// The HMAC key is the text of the secret.
    fn service(&self, message: &[u8]) -> String {
        format!("v1={}", hex(mac(self.text.as_bytes(), message).as_ref()))
    }

    /// The HMAC key is the decoded bytes.
    fn standard(&self, message: &[u8]) -> String {
        format!("v1,{}", BASE64_STANDARD.encode(mac(&self.bytes, message)))
    }
}

impl std::fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WebhookSecret(..)")
    }
}

/// The signature headers of a delivery, in both formats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// Unix seconds: `X-Service-Timestamp` and `webhook-timestamp`.
    pub timestamp: String,
    /// `X-Service-Signature`: `v1=<hex>` for each secret, comma-separated.
    pub service: String,
    /// `webhook-signature`: `v1,<base64>` for each secret, separated by spaces.
    pub standard: String,
}

/// Signs a delivery with every valid secret, the newest first. `message_id` is the `webhook-id`.
/// Only the standard signature covers it.
pub fn sign(secrets: &[WebhookSecret], message_id: &str, at: Timestamp, body: &[u8]) -> Signed {
    let timestamp = at.as_millis().div_euclid(1000).to_string();
    let dated = [timestamp.as_bytes(), body].join(&b'.');
    let named = [message_id.as_bytes(), &dated].join(&b'.');
    let service: Vec<_> = secrets.iter().map(|by| by.service(&dated)).collect();
    let standard: Vec<_> = secrets.iter().map(|by| by.standard(&named)).collect();
    Signed {
        timestamp,
        service: service.join(","),
        standard: standard.join(" "),
    }
}

fn mac(key: &[u8], message: &[u8]) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

    fn counting() -> WebhookSecret {
        WebhookSecret::new(&std::array::from_fn(|place| place as u8))
    }

    #[test]
    fn a_secret_is_32_bytes_in_base64_and_reads_back() {
        assert_eq!(counting().expose(), TEXT);
        let read = WebhookSecret::parse(TEXT).unwrap();
        assert_eq!(read.expose(), TEXT);
        assert_eq!(read.bytes, counting().bytes);
        assert_eq!(format!("{read:?}"), "WebhookSecret(..)");
    }

    #[test]
    fn anything_else_is_no_secret() {
        for text in [
            "",
            "whsec_",
            "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
            "WHSEC_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
            // No padding; bits beyond the last byte; 31 and 33 bytes; the URL-safe alphabet.
            "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
            "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9=",
            "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg==",
            "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g",
            "whsec_-_ECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
            "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8= ",
            "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n",
        ] {
            assert!(WebhookSecret::parse(text).is_none(), "{text:?}");
        }
    }

    /// docs/webhook-vectors.json has more, checked in tests/it/webhooks/.
    #[test]
    fn both_signatures_are_those_of_openssl() {
        let at = Timestamp::from_millis(1_794_736_961_999);
        let signed = sign(&[counting()], "msg", at, b"{}");
        // printf 1794736961.{} | openssl dgst -sha256 -hmac whsec_AAEC...
        // printf msg.1794736961.{} | openssl dgst -sha256 -mac HMAC -macopt hexkey:000102...
        let expected = Signed {
            timestamp: "1794736961".to_owned(),
            service: "v1=d9f1b51fabb9c72def4bff1169a77e540082996f7c322d45dabdfdb80b6ea69c"
                .to_owned(),
            standard: "v1,CuriNn2iLB85c3WOiXbwiDDFuUE+9VmJFFOTCBGgKAQ=".to_owned(),
        };
        assert_eq!(signed, expected);
    }

    #[test]
    fn every_secret_signs_in_the_order_given() {
        let (new, old) = (WebhookSecret::new(&[1; 32]), counting());
        let at = Timestamp::from_millis(1_794_736_961_000);
        let by = |secrets: &[WebhookSecret]| sign(secrets, "msg", at, b"{}");
        let (both, first, second) = (by(&[new.clone(), old.clone()]), by(&[new]), by(&[old]));
        assert_eq!(
            both.service,
            format!("{},{}", first.service, second.service)
        );
        assert_eq!(
            both.standard,
            format!("{} {}", first.standard, second.standard)
        );
        assert_ne!(first.service, second.service);
        assert_ne!(first.standard, second.standard);
    }

    proptest::proptest! {
        #![proptest_config(crate::domain::testing::cases(256))]

        #[test]
        fn any_text_is_a_secret_or_not(
            text in "(whsec_[A-Za-z0-9+/]{41,44}={0,2}|(whsec_)?.{0,60})", random: [u8; 32],
        ) {
            if let Some(secret) = WebhookSecret::parse(&text) {
                proptest::prop_assert_eq!(secret.expose(), text);
            }
            let secret = WebhookSecret::new(&random);
            let read = WebhookSecret::parse(secret.expose()).map(|read| read.bytes);
            proptest::prop_assert_eq!(read, Some(random));
        }

        /// One signature for each secret, and another for each message.
        #[test]
        fn any_message_is_signed(
            secrets in proptest::collection::vec(proptest::prelude::any::<[u8; 32]>(), 1..4),
            millis in 0_i64..1 << 47,
            body in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200),
        ) {
            let secrets: Vec<_> = secrets.iter().map(WebhookSecret::new).collect();
            let at = Timestamp::from_millis(millis);
            let signed = sign(&secrets, "id", at, &body);
            proptest::prop_assert_eq!(signed.service.split(',').count(), secrets.len());
            proptest::prop_assert_eq!(signed.standard.split(' ').count(), secrets.len());
            let other = sign(&secrets, "id", at, &[&body[..], b"x"].concat());
            proptest::prop_assert_ne!(signed.service, other.service);
        }
    }
}
