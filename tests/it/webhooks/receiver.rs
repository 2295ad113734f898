use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

const TOLERANCE: u64 = 5 * 60; // seconds

/// Takes the two headers, the raw body and the time in Unix seconds.
pub fn is_from_legwork(
    secret: &str,
    timestamp: &str,
    signature: &str,
    body: &[u8],
    now: u64,
) -> bool {
    match timestamp.parse::<u64>() {
        Ok(sent) if now.abs_diff(sent) <= TOLERANCE => {}
        _ => return false,
    }
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else {
        return false;
    };
    mac.update(timestamp.as_bytes());
    mac.update(b".");
    mac.update(body);
    let mac = mac.finalize().into_bytes();
    let hex: String = mac.iter().map(|byte| format!("{byte:02x}")).collect();
    let expected = format!("v1={hex}");
    let is_right = |part: &str| part.trim().as_bytes().ct_eq(expected.as_bytes()).into();
    signature.split(',').any(is_right)
}
