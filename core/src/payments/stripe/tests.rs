use super::*;
use serde_json::{Value, json};

fn settings() -> StripeSettings {
    StripeSettings {
        key: Secret::presented("sk_test_hidden"),
        webhook_secret: Secret::presented("whsec_hidden, whsec_also_hidden"),
        base_url: "http://127.0.0.1:1".to_owned(),
        return_url: "https://legwork.example/".to_owned(),
    }
}

fn intent(status: &str, last_payment_error: Value) -> Intent {
    serde_json::from_value(json!({
        "id": "pi_1", "status": status, "amount": 2500, "created": 100,
        "last_payment_error": last_payment_error,
    }))
    .unwrap()
}

#[test]
fn no_secret_is_shown() {
    let shown = format!("{:?} {:?}", settings(), Stripe::new(settings()).unwrap());
    assert!(!shown.contains("hidden"), "{shown}");
}

#[test]
fn several_webhook_secrets_may_be_given_but_not_none() {
    assert_eq!(Stripe::new(settings()).unwrap().webhook_secrets.len(), 2);
    for none in ["", " ", ",", " , "] {
        let webhook_secret = Secret::presented(none);
        let settings = StripeSettings {
            webhook_secret,
            ..settings()
        };
        assert!(Stripe::new(settings).is_err(), "{none:?}");
    }
}

#[test]
fn the_status_of_an_intent_tells_what_became_of_the_charge() {
    let outcome = |status| outcome(&intent(status, Value::Null));
    assert_eq!(outcome("succeeded"), Ok(Charge::Succeeded));
    assert_eq!(outcome("processing"), Ok(Charge::Processing));
    for status in ["requires_action", "requires_payment_method"] {
        let declined = Charge::Declined(authentication_required());
        assert_eq!(outcome(status), Ok(declined));
    }
    for status in ["canceled", "requires_capture", "invented_yesterday"] {
        let refused = matches!(outcome(status), Err(ProcessorError::Refused { .. }));
        assert!(refused, "{status}");
    }
}

#[test]
fn a_declined_intent_tells_why() {
    let error = json!({"code": "card_declined", "message": "Your card was declined."});
    let failure = PaymentFailure {
        code: "card_declined".to_owned(),
        message: "Your card was declined.".to_owned(),
    };
    let declined = outcome(&intent("requires_payment_method", error));
    assert_eq!(declined, Ok(Charge::Declined(failure)));
}
