use super::*;
use crate::domain::TaskId;
use serde_json::json;

const BODY: &[u8] = br#"{"id":"evt_1","type":"ping","data":{"object":{}}}"#;
const MOMENT: i64 = 1_763_200_000;

fn secret(text: &str) -> Secret {
    Secret::presented(text)
}

fn signature(with: &str, moment: i64) -> String {
    sign(&secret(with), &moment.to_string(), BODY)
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
        sign(&secret("whsec_a"), "1763200000", body),
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
                ready,
                at: Timestamp::from_millis(0),
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

const TASK: &str = "0199c0de00007abc8def0123456789ab";

#[test]
fn the_status_of_a_dispute_is_one_of_four() {
    use ChargeDisputeStatus::{Inquiry, Lost, Open, Won};
    for (stripes, ours) in [
        ("warning_needs_response", Inquiry),
        ("warning_under_review", Inquiry),
        ("warning_closed", Won),
        ("needs_response", Open),
        ("under_review", Open),
        ("invented_tomorrow", Open),
        ("charge_refunded", Won),
        ("won", Won),
        ("lost", Lost),
    ] {
        for (moment, intent) in [
            ("created", json!("pi_1")),
            ("updated", json!({"id": "pi_1", "object": "payment_intent"})),
            ("closed", json!("pi_1")),
            ("funds_withdrawn", json!("pi_1")),
            ("funds_reinstated", json!("pi_1")),
        ] {
            let object = json!({"id": "du_1", "amount": 2500, "status": stripes,
                "reason": "fraudulent", "payment_intent": intent});
            let expected = ProcessorEventKind::ChargeDisputed {
                payment: "pi_1".to_owned(),
                dispute: "du_1".to_owned(),
                cents: 2500,
                status: ours,
                reason: "fraudulent".to_owned(),
            };
            let kind = format!("charge.dispute.{moment}");
            assert_eq!(
                event_kind(&kind, object),
                Ok(expected),
                "{stripes} {moment}"
            );
        }
    }
    let without = json!({"id": "du_1", "amount": 2500, "payment_intent": null});
    let other = Ok(ProcessorEventKind::Other);
    assert_eq!(event_kind("charge.dispute.created", without), other);
}

#[test]
fn only_our_own_refund_that_failed_is_told_of() {
    let refund = |status: &str, metadata: Value| {
        json!({"id": "re_1", "amount": 1250, "created": 1, "status": status,
            "failure_reason": "lost_or_stolen_card", "metadata": metadata})
    };
    let ours = || json!({"task": TASK, "step": "refund"});
    let failed = ProcessorEventKind::Returned(Returned {
        kind: OutgoingKind::Refund,
        id: "re_1".to_owned(),
        task: TaskId::parse(TASK).unwrap(),
        cents: 1250,
        reason: "lost_or_stolen_card".to_owned(),
    });
    for kind in ["refund.failed", "refund.updated", "charge.refund.updated"] {
        for status in ["failed", "canceled"] {
            let told = event_kind(kind, refund(status, ours()));
            assert_eq!(told, Ok(failed.clone()), "{kind} {status}");
        }
        for other in [
            refund("succeeded", ours()),
            refund("pending", ours()),
            refund("failed", json!({})),
            refund("failed", json!({"task": TASK})),
            refund("failed", json!({"task": "order 66", "step": "refund"})),
        ] {
            assert_eq!(event_kind(kind, other), Ok(ProcessorEventKind::Other));
        }
    }
}

#[test]
fn a_reversed_transfer_tells_how_much_came_back() {
    let transfer = |metadata: Value| {
        json!({"id": "tr_1", "amount": 2100, "amount_reversed": 500, "created": 1,
            "metadata": metadata})
    };
    let reversed = ProcessorEventKind::Returned(Returned {
        kind: OutgoingKind::Transfer,
        id: "tr_1".to_owned(),
        task: TaskId::parse(TASK).unwrap(),
        cents: 500,
        reason: "reversed".to_owned(),
    });
    let told = event_kind("transfer.reversed", transfer(json!({"task": TASK})));
    assert_eq!(told, Ok(reversed));
    let other = event_kind("transfer.reversed", transfer(json!({})));
    assert_eq!(other, Ok(ProcessorEventKind::Other));
}

#[test]
fn a_payout_that_failed_belongs_to_an_account() {
    let mut event = json!({"id": "evt_1", "type": "payout.failed", "account": "acct_1",
        "data": {"object": {"id": "po_1", "amount": 2100, "failure_code": "account_closed"}}});
    let expected = ProcessorEventKind::PayoutFailed {
        payout_account: "acct_1".to_owned(),
        cents: 2100,
        reason: "account_closed".to_owned(),
    };
    let told = read(event.to_string().as_bytes()).unwrap();
    assert_eq!(told.kind, expected);
    event["account"] = Value::Null;
    let ours = read(event.to_string().as_bytes()).unwrap();
    assert_eq!(ours.kind, ProcessorEventKind::Other);
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
