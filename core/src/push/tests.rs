use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE, URL_SAFE_NO_PAD};
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde_json::{Value, json};

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_794_744_000_123);
const CONTACT: &str = "mailto:people@legwork.example";
/// The browser of RFC 8291, appendix A.
const P256DH: &str =
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
const AUTH: &str = "BTBZMqHH6r4Tts7J_aSIgg";

/// A point that is not on the curve. This shows only during key agreement.
fn check_keys(p256dh: &str, auth: &str) -> Result<(), String> {
    let keys = BrowserKeys::read(p256dh, auth)?;
    keys.encrypt(b"", &[0; 16]).map(drop)
}

fn to(endpoint: &str) -> Subscription<'_> {
    Subscription {
        endpoint,
        p256dh: P256DH,
        auth: AUTH,
    }
}

fn say(vapid: &Vapid, endpoint: &str, payload: &[u8]) -> Result<(HeaderMap, Vec<u8>), PushError> {
    let day = Duration::from_hours(24);
    message(vapid, CONTACT, &to(endpoint), payload, day, NOW)
}

/// The claims of a token, after checking its signature against the key that comes with it.
fn claims(authorization: &str) -> (Value, String) {
    let (token, key) = authorization
        .strip_prefix("vapid t=")
        .and_then(|rest| rest.split_once(", k="))
        .unwrap();
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let decoded = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, decoded(key))
        .verify(signed.as_bytes(), &decoded(signature))
        .unwrap();
    let (header, claims) = signed.split_once('.').unwrap();
    let header: Value = serde_json::from_slice(&decoded(header)).unwrap();
    assert_eq!(header, json!({"typ": "JWT", "alg": "ES256"}));
    let claims = serde_json::from_slice(&decoded(claims)).unwrap();
    (claims, key.to_owned())
}

#[test]
fn a_message_says_how_it_is_encrypted_and_how_long_it_is_worth_keeping() {
    let vapid = Vapid::generate().unwrap();
    let (headers, _) = say(&vapid, "https://push.example/4711", b"hello").unwrap();
    assert_eq!(headers.len(), 5);
    assert_eq!(headers["ttl"], "86400");
    assert_eq!(headers["urgency"], "normal");
    assert_eq!(headers["content-encoding"], "aes128gcm");
    assert_eq!(headers["content-type"], "application/octet-stream");
}

#[test]
fn it_is_signed_for_the_push_service_and_nobody_else() {
    let vapid = Vapid::generate().unwrap();
    for (endpoint, audience) in [
        ("https://push.example/send/4711?x=1", "https://push.example"),
        ("https://PUSH.example:443/4711", "https://push.example"),
        (
            "https://push.example:8443/4711",
            "https://push.example:8443",
        ),
        (
            "https://bücher.example/4711",
            "https://xn--bcher-kva.example",
        ),
        ("http://127.0.0.1:9000/4711", "http://127.0.0.1:9000"),
    ] {
        let (headers, _) = say(&vapid, endpoint, b"hello").unwrap();
        let authorization = &headers["authorization"];
        assert!(authorization.is_sensitive());
        let (claims, key) = claims(authorization.to_str().unwrap());
        let expires = 1_794_744_000 + 12 * 60 * 60;
        assert_eq!(
            claims,
            json!({"aud": audience, "exp": expires, "sub": CONTACT})
        );
        assert_eq!(key, vapid.public_key());
    }
}

#[test]
fn a_contact_stays_within_its_claim() {
    let vapid = Vapid::generate().unwrap();
    let contact = "mailto:\"},\"aud\":\"https://elsewhere.example\r\n@legwork.example";
    let endpoint = "https://push.example/4711";
    let made = message(&vapid, contact, &to(endpoint), b"", Duration::ZERO, NOW);
    let (headers, _) = made.unwrap();
    let (claims, _) = claims(headers["authorization"].to_str().unwrap());
    assert_eq!(claims["sub"], contact);
    assert_eq!(claims["aud"], "https://push.example");
}

#[test]
fn an_endpoint_is_a_web_address() {
    let vapid = Vapid::generate().unwrap();
    for endpoint in [
        "",
        "push.example",
        "/4711",
        "https://",
        "mailto:a@b.example",
        "file:///etc/passwd",
    ] {
        let made = say(&vapid, endpoint, b"hello");
        assert_eq!(made.err(), Some(PushError::Endpoint), "{endpoint}");
    }
}

#[test]
fn a_message_is_one_record_that_every_push_service_takes() {
    let vapid = Vapid::generate().unwrap();
    assert_eq!(MAX_PAYLOAD_BYTES, 3_993);
    let endpoint = "https://push.example/4711";
    let (_, body) = say(&vapid, endpoint, &[b'x'; MAX_PAYLOAD_BYTES]).unwrap();
    assert_eq!(body.len(), 4_096);
    assert_eq!(body[16..21], [0, 0, 16, 0, 65]);
    let longer = say(&vapid, endpoint, &[b'x'; MAX_PAYLOAD_BYTES + 1]);
    assert_eq!(longer.err(), Some(PushError::PayloadTooLong(3_994)));
}

#[test]
fn no_two_messages_share_a_key_or_a_salt() {
    let vapid = Vapid::generate().unwrap();
    let say = || {
        say(&vapid, "https://push.example/4711", b"hello")
            .unwrap()
            .1
    };
    let (one, other) = (say(), say());
    assert_ne!(one[..16], other[..16]);
    assert_ne!(one[21..86], other[21..86]);
    assert_ne!(one[86..], other[86..]);
}

#[test]
fn keys_are_taken_in_every_kind_of_base64() {
    let decoded = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
    let (p256dh, auth) = (decoded(P256DH), decoded(AUTH));
    for engine in [URL_SAFE_NO_PAD, URL_SAFE, STANDARD] {
        let kept = check_keys(&engine.encode(&p256dh), &engine.encode(&auth));
        assert_eq!(kept, Ok(()));
    }
}

#[test]
fn keys_that_no_browser_has_are_refused() {
    let mut off_the_curve = URL_SAFE_NO_PAD.decode(P256DH).unwrap();
    off_the_curve[64] ^= 1;
    let mut compressed = off_the_curve[..33].to_vec();
    compressed[0] = 2;
    let nothing = [0_u8; 65];
    for bytes in [
        &off_the_curve[..],
        &compressed,
        &nothing,
        &off_the_curve[..64],
        &[],
    ] {
        let p256dh = URL_SAFE_NO_PAD.encode(bytes);
        let reason = check_keys(&p256dh, AUTH).unwrap_err();
        assert!(reason.starts_with("p256dh must be"), "{reason}");
        let vapid = Vapid::generate().unwrap();
        let subscription = Subscription {
            endpoint: "https://push.example/4711",
            p256dh: &p256dh,
            auth: AUTH,
        };
        let made = message(&vapid, CONTACT, &subscription, b"", Duration::ZERO, NOW);
        assert_eq!(made.err(), Some(PushError::Keys(reason)));
    }
    for auth in [
        "",
        "BTBZMqHH6r4Tts7J_aSI",
        "BTBZMqHH6r4Tts7J_aSIggAA",
        "BTBZMqHH6r4Tts7J aSIgg",
        "é",
    ] {
        let reason = check_keys(P256DH, auth).unwrap_err();
        assert!(reason.starts_with("auth must be"), "{reason}");
    }
}

#[test]
fn a_key_pair_is_the_same_after_it_was_kept() {
    let vapid = Vapid::generate().unwrap();
    let kept = Vapid::from_secret(&vapid.to_secret()).unwrap();
    assert_eq!(kept.public_key(), vapid.public_key());
    assert_eq!(kept.to_secret(), vapid.to_secret());
    let point = URL_SAFE_NO_PAD.decode(vapid.public_key()).unwrap();
    assert_eq!((point.len(), point[0]), (65, 4));
    assert_ne!(Vapid::generate().unwrap().public_key(), vapid.public_key());
}

#[test]
fn what_is_no_key_pair_is_refused_and_not_repeated() {
    let secret = Vapid::generate().unwrap().to_secret();
    for text in ["", "not base64!", "c2VjcmV0", &secret[..100]] {
        let reason = Vapid::from_secret(text).err().unwrap();
        assert!(text.is_empty() || !reason.contains(text), "{reason}");
    }
}
