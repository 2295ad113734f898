//! Codes of an authenticator app: TOTP (RFC 6238) with HMAC-SHA1, six digits and steps of 30 seconds,
//! which every app knows.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use ring::hmac;
use subtle::ConstantTimeEq;

use crate::domain::Timestamp;
use crate::domain::second_factor::base32;

pub const DIGITS: usize = 6;
const STEP_MILLIS: i64 = 30_000;
/// A clock may be this many steps ahead or behind.
const DRIFT: i64 = 1;
const SECRET_BYTES: usize = 20;

const ISSUER: &str = "Legwork";
/// Longer names do not help anybody to find the entry in the app, and make the QR code too fine.
const LABEL_CHARACTERS: usize = 64;

/// What the app and the service share. Its `Debug` prints nothing.
#[derive(Clone)]
pub struct TotpSecret([u8; SECRET_BYTES]);

impl TotpSecret {
    pub fn new(random: &[u8; SECRET_BYTES]) -> Self {
        Self(*random)
    }

    pub fn from_base32(text: &str) -> Option<Self> {
        Some(Self(base32::decode(text)?.try_into().ok()?))
    }

    pub fn to_base32(&self) -> String {
        base32::encode(&self.0)
    }

    /// The code that an app shows at this time.
    pub fn code_at(&self, now: Timestamp) -> String {
        code_of(&self.0, step_of(now))
    }

    /// The step that a code is for: the present one or one beside it, after the last one used.
    pub fn matching_step(&self, code: &str, now: Timestamp, last_step: i64) -> Option<i64> {
        let now = step_of(now);
        let mut found = None;
        // All are compared, whichever matches: the time tells nothing.
        for step in now - DRIFT..=now + DRIFT {
            let same = code_of(&self.0, step).as_bytes().ct_eq(code.as_bytes());
            if bool::from(same) && step > last_step {
                found = Some(step);
            }
        }
        found
    }

    /// The URL that an app reads from a QR code. `label` tells one entry of the app from another.
    pub fn url(&self, label: &str) -> String {
        let label: String = label.chars().take(LABEL_CHARACTERS).collect();
        let label = utf8_percent_encode(&label, NON_ALPHANUMERIC);
        format!(
            "otpauth://totp/{ISSUER}:{label}?secret={}&issuer={ISSUER}&algorithm=SHA1&digits={DIGITS}&period={}",
            self.to_base32(),
            STEP_MILLIS / 1_000,
        )
    }
}

impl std::fmt::Debug for TotpSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TotpSecret(..)")
    }
}

fn step_of(now: Timestamp) -> i64 {
    now.as_millis().div_euclid(STEP_MILLIS)
}

fn code_of(key: &[u8], step: i64) -> String {
    let number = truncated(key, step) % 10_u32.pow(DIGITS as u32);
    format!("{number:0DIGITS$}")
}

/// The 31 bits that RFC 4226 takes from the HMAC of the step.
fn truncated(key: &[u8], step: i64) -> u32 {
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, key);
    let tag = hmac::sign(&key, &step.to_be_bytes());
    let tag = tag.as_ref();
    let offset = usize::from(tag[tag.len() - 1] & 15);
    let bytes: [u8; 4] = std::array::from_fn(|place| tag[offset + place]);
    u32::from_be_bytes(bytes) & 0x7fff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &[u8; 20] = b"12345678901234567890";

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    /// Appendix B of RFC 6238 for SHA1, which has eight digits. Ours are the last six.
    #[test]
    fn the_vectors_of_the_rfc() {
        for (seconds, expected) in [
            (59, "94287082"),
            (1_111_111_109, "07081804"),
            (1_111_111_111, "14050471"),
            (1_234_567_890, "89005924"),
            (2_000_000_000, "69279037"),
            (20_000_000_000, "65353130"),
        ] {
            let eight = truncated(KEY, step_of(at(seconds))) % 100_000_000;
            assert_eq!(format!("{eight:08}"), expected);
            assert_eq!(TotpSecret::new(KEY).code_at(at(seconds)), expected[2..]);
        }
    }

    #[test]
    fn a_code_counts_one_step_early_and_late_and_once() {
        let secret = TotpSecret::new(KEY);
        let code = secret.code_at(at(3_000));
        let step = step_of(at(3_000));
        for (seconds, expected) in [
            (2_969, None),
            (2_970, Some(step)),
            (3_000, Some(step)),
            (3_059, Some(step)),
            (3_060, None),
        ] {
            assert_eq!(secret.matching_step(&code, at(seconds), 0), expected);
        }
        assert_eq!(secret.matching_step(&code, at(3_000), step), None);
        assert_eq!(secret.matching_step(&code, at(3_000), step - 1), Some(step));
        assert_eq!(secret.matching_step("", at(3_000), 0), None);
    }

    #[test]
    fn the_url_names_everything_an_app_needs() {
        let secret = TotpSecret::new(KEY);
        assert_eq!(
            secret.url("grace@example.com"),
            "otpauth://totp/Legwork:grace%40example%2Ecom?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Legwork&algorithm=SHA1&digits=6&period=30"
        );
        let again = TotpSecret::from_base32(&secret.to_base32()).unwrap();
        assert_eq!(again.0, secret.0);
        assert!(TotpSecret::from_base32("GEZDGNBV").is_none());
        assert_eq!(format!("{secret:?}"), "TotpSecret(..)");
        // The longest label still fits into a QR code.
        let long = secret.url(&"😀".repeat(200));
        assert!(crate::domain::second_factor::qr::svg(&long).is_some());
    }
}
