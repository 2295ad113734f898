//! Stripe's events: checks their signature and reads them.

use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq};

use super::error::StripeError;
use crate::domain::accounts::api_key::hex;
use crate::domain::{PaymentFailure, Secret, Timestamp};
use crate::payments::{ProcessorEvent, ProcessorEventError, ProcessorEventKind};

/// How far the time of a signature may differ from ours. This prevents replays of old events.
const TOLERANCE: Duration = Duration::from_secs(5 * 60);

/// `t=1763200000,v1=5257a8...,v1=...`: the time, and a signature for each valid secret.
struct Signature<'a> {
    moment: &'a str,
    signatures: Vec<&'a str>,
}

impl<'a> Signature<'a> {
    fn read(header: &'a str) -> Option<Self> {
        let mut moment = None;
        let mut signatures = Vec::new();
        for part in header.split(',') {
            match part.trim().split_once('=') {
                Some(("t", text)) => moment = Some(text),
                Some(("v1", text)) => signatures.push(text),
                _ => {}
            }
        }
        Some(Self {
            moment: moment?,
            signatures,
        })
    }

    /// Compares all with all, so that the time it takes reveals nothing.
    fn is_by(&self, secrets: &[Secret], body: &[u8]) -> bool {
        let mut right = Choice::from(0);
        for secret in secrets {
            let Some(expected) = sign(secret, self.moment, body) else {
                continue;
            };
            for signature in &self.signatures {
                right |= signature.as_bytes().ct_eq(expected.as_bytes());
            }
        }
        right.into()
    }

    fn is_of(&self, now: Timestamp) -> bool {
        let seconds: Option<i64> = self.moment.parse().ok();
        let Some(millis) = seconds.and_then(|seconds| seconds.checked_mul(1_000)) else {
            return false;
        };
        let apart = u128::from(now.as_millis().abs_diff(millis));
        apart <= TOLERANCE.as_millis()
    }
}

fn sign(secret: &Secret, moment: &str, body: &[u8]) -> Option<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()).ok()?;
    mac.update(moment.as_bytes());
    mac.update(b".");
    mac.update(body);
    Some(hex(&mac.finalize().into_bytes()))
}

/// Checks that an event is from Stripe and recent.
pub fn check(
    header: Option<&str>,
    body: &[u8],
    secrets: &[Secret],
    now: Timestamp,
) -> Result<(), ProcessorEventError> {
    let signature = header.and_then(Signature::read);
    let signature = signature.ok_or(ProcessorEventError::BadSignature)?;
    if !signature.is_by(secrets, body) {
        return Err(ProcessorEventError::BadSignature);
    }
    if !signature.is_of(now) {
        return Err(ProcessorEventError::TooOld);
    }
    Ok(())
}

#[derive(Deserialize)]
struct Event {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    data: EventData,
}

#[derive(Deserialize)]
struct EventData {
    object: Value,
}

#[derive(Deserialize)]
struct Payment {
    id: String,
    last_payment_error: Option<StripeError>,
}

#[derive(Deserialize)]
struct PayoutAccount {
    id: String,
    #[serde(default)]
    payouts_enabled: bool,
    capabilities: Option<Capabilities>,
}

#[derive(Deserialize)]
struct Capabilities {
    transfers: Option<String>,
}

impl PayoutAccount {
    /// Stripe accepts a transfer when the capability is active. But if payouts are off, the worker
    /// could not withdraw the money, so it stays with us.
    fn is_ready(&self) -> bool {
        let capabilities = self.capabilities.as_ref();
        let takes_transfers = capabilities
            .is_none_or(|capabilities| capabilities.transfers.as_deref() == Some("active"));
        self.payouts_enabled && takes_transfers
    }
}

/// Reads an event.
pub fn read(body: &[u8]) -> Result<ProcessorEvent, ProcessorEventError> {
    let event: Event = serde_json::from_slice(body).map_err(|_| ProcessorEventError::Malformed)?;
    let object = event.data.object;
    let kind = match event.kind.as_str() {
        "payment_intent.succeeded" => ProcessorEventKind::PaymentSucceeded {
            payment: of::<Payment>(object)?.id,
        },
        "payment_intent.payment_failed" => {
            let payment: Payment = of(object)?;
            let error = payment.last_payment_error.as_ref();
            ProcessorEventKind::PaymentFailed {
                failure: error.map_or_else(unexplained, StripeError::failure),
                payment: payment.id,
            }
        }
        "payment_intent.canceled" => ProcessorEventKind::PaymentCancelled {
            payment: of::<Payment>(object)?.id,
        },
        "account.updated" => {
            let account: PayoutAccount = of(object)?;
            ProcessorEventKind::PayoutAccountChanged {
                ready: account.is_ready(),
                payout_account: account.id,
            }
        }
        _ => ProcessorEventKind::Other,
    };
    Ok(ProcessorEvent { id: event.id, kind })
}

fn of<T: DeserializeOwned>(object: Value) -> Result<T, ProcessorEventError> {
    serde_json::from_value(object).map_err(|_| ProcessorEventError::Malformed)
}

fn unexplained() -> PaymentFailure {
    PaymentFailure {
        code: "payment_failed".to_owned(),
        message: "The payment failed.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const BODY: &[u8] = br#"{"id":"evt_1","type":"ping","data":{"object":{}}}"#;
    const MOMENT: i64 = 1_763_200_000;

    fn secret(text: &str) -> Secret {
        Secret::presented(text)
    }

    fn signature(with: &str, moment: i64) -> String {
        sign(&secret(with), &moment.to_string(), BODY).unwrap()
    }

    fn header(with: &str, moment: i64) -> String {
        format!("t={moment},v1={}", signature(with, moment))
    }

    fn checked(header: &str, body: &[u8]) -> Result<(), ProcessorEventError> {
        let now = Timestamp::from_millis(MOMENT * 1_000 + 500);
        let secrets = [secret("whsec_a"), secret("whsec_b")];
        check(Some(header), body, &secrets, now)
    }

    #[test]
    fn the_signature_is_the_one_that_stripe_makes() {
        // Made with openssl dgst -sha256 -hmac whsec_a.
        let body = br#"{"id":"evt_1"}"#;
        assert_eq!(
            sign(&secret("whsec_a"), "1763200000", body).unwrap(),
            "d05b0769d21c70950131a57065f4a1e2d51a6d6ba4ca8ac07058c83886af3edb"
        );
    }

    #[test]
    fn a_notice_signed_with_one_of_the_secrets_is_taken() {
        for with in ["whsec_a", "whsec_b"] {
            assert_eq!(checked(&header(with, MOMENT), BODY), Ok(()));
        }
    }

    #[test]
    fn one_right_signature_of_several_is_enough() {
        let right = signature("whsec_a", MOMENT);
        let wrong = signature("whsec_z", MOMENT);
        for header in [
            format!("t={MOMENT},v1={wrong},v1={right}"),
            format!("t={MOMENT},v1={right},v1={wrong}"),
            format!("v1={right}, t={MOMENT}, v0=old"),
        ] {
            assert_eq!(checked(&header, BODY), Ok(()), "{header}");
        }
    }

    #[test]
    fn what_is_not_signed_by_stripe_is_refused() {
        let right = signature("whsec_a", MOMENT);
        for header in [
            header("whsec_z", MOMENT),
            header("", MOMENT),
            format!("t={},v1={right}", MOMENT + 1),
            format!("t={MOMENT},v0={right}"),
            format!("t={MOMENT},v1="),
            format!("t={MOMENT},v1={}", &right[..32]),
            format!("t={MOMENT}"),
            format!("v1={right}"),
            format!("t=,v1={right}"),
            "garbage".to_owned(),
            String::new(),
        ] {
            let refused = Err(ProcessorEventError::BadSignature);
            assert_eq!(checked(&header, BODY), refused, "{header}");
        }
        let altered = [BODY, b" "].concat();
        let refused = Err(ProcessorEventError::BadSignature);
        assert_eq!(checked(&header("whsec_a", MOMENT), &altered), refused);
        let now = Timestamp::from_millis(MOMENT * 1_000);
        assert_eq!(check(None, BODY, &[secret("whsec_a")], now), refused);
    }

    #[test]
    fn a_notice_of_another_moment_is_refused() {
        for moment in [MOMENT - 299, MOMENT + 300] {
            assert_eq!(
                checked(&header("whsec_a", moment), BODY),
                Ok(()),
                "{moment}"
            );
        }
        for moment in [MOMENT - 301, MOMENT + 302, 0, i64::MAX, i64::MIN] {
            let refused = Err(ProcessorEventError::TooOld);
            assert_eq!(
                checked(&header("whsec_a", moment), BODY),
                refused,
                "{moment}"
            );
        }
    }

    fn event_kind(kind: &str, object: Value) -> Result<ProcessorEventKind, ProcessorEventError> {
        let event = json!({"id": "evt_1", "type": kind, "data": {"object": object}});
        let event = read(event.to_string().as_bytes())?;
        assert_eq!(event.id, "evt_1");
        Ok(event.kind)
    }

    #[test]
    fn payments_are_told_of() {
        let payment = "pi_1".to_owned();
        let object = json!({"id": "pi_1", "object": "payment_intent", "last_payment_error": {
            "type": "card_error", "code": "card_declined", "decline_code": "lost_card",
            "message": "Your card was declined.",
        }});
        assert_eq!(
            event_kind("payment_intent.succeeded", json!({"id": "pi_1"})),
            Ok(ProcessorEventKind::PaymentSucceeded {
                payment: payment.clone()
            })
        );
        assert_eq!(
            event_kind("payment_intent.canceled", json!({"id": "pi_1"})),
            Ok(ProcessorEventKind::PaymentCancelled {
                payment: payment.clone()
            })
        );
        let failure = PaymentFailure {
            code: "lost_card".to_owned(),
            message: "Your card was declined.".to_owned(),
        };
        assert_eq!(
            event_kind("payment_intent.payment_failed", object),
            Ok(ProcessorEventKind::PaymentFailed { payment, failure })
        );
    }

    #[test]
    fn a_payout_account_is_ready_when_money_reaches_its_worker() {
        let active = json!({"transfers": "active"});
        for (ready, object) in [
            (
                true,
                json!({"payouts_enabled": true, "capabilities": active}),
            ),
            (true, json!({"payouts_enabled": true})),
            (
                false,
                json!({"payouts_enabled": false, "capabilities": active}),
            ),
            (
                false,
                json!({"payouts_enabled": true, "capabilities": {"transfers": "pending"}}),
            ),
            (false, json!({"payouts_enabled": true, "capabilities": {}})),
            (false, json!({})),
        ] {
            let mut object = object;
            object["id"] = json!("acct_1");
            let payout_account = "acct_1".to_owned();
            assert_eq!(
                event_kind("account.updated", object),
                Ok(ProcessorEventKind::PayoutAccountChanged {
                    payout_account,
                    ready
                })
            );
        }
    }

    #[test]
    fn the_rest_does_not_concern_us() {
        assert_eq!(
            event_kind("charge.succeeded", json!({"id": "ch_1"})),
            Ok(ProcessorEventKind::Other)
        );
        assert_eq!(
            event_kind("invented.yesterday", json!([])),
            Ok(ProcessorEventKind::Other)
        );
    }

    #[test]
    fn what_is_no_notice_is_malformed() {
        for body in ["", "{", "[]", "{}", r#"{"id":"evt_1","type":"ping"}"#] {
            assert_eq!(
                read(body.as_bytes()).unwrap_err(),
                ProcessorEventError::Malformed,
                "{body}"
            );
        }
        let nameless = event_kind("payment_intent.succeeded", json!({}));
        assert_eq!(nameless, Err(ProcessorEventError::Malformed));
    }

    proptest::proptest! {
        #![proptest_config(crate::domain::testing::cases(256))]

        #[test]
        fn any_header_is_a_signature_or_not(
            header in "((t|v1|v0|x)=[0-9a-f-]{0,70},? ?){0,6}.{0,10}",
            body in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..100),
        ) {
            let refused = check(Some(&header), &body, &[secret("whsec_1")], Timestamp::from_millis(0));
            proptest::prop_assert!(refused.is_err());
        }

        #[test]
        fn any_body_is_an_event_or_not(
            kind in "(payment_intent\\.(succeeded|payment_failed|canceled)|account\\.updated|[a-z._]{0,30})",
            object in "(\\{(\"(id|last_payment_error|capabilities|payouts_enabled)\":(\"[a-z_]{0,9}\"|null|true|1|\\{\\}|\\[\\]),?){0,4}\\}|.{0,30})",
            cut in proptest::prelude::any::<proptest::sample::Index>(),
        ) {
            let body = format!(
                "{{\"id\":\"evt_1\",\"type\":\"{kind}\",\"data\":{{\"object\":{object}}}}}"
            );
            if let Ok(event) = read(body.as_bytes()) {
                proptest::prop_assert_eq!(event.id, "evt_1");
            }
            let _ = read(&body.as_bytes()[..cut.index(body.len())]);
        }
    }
}
