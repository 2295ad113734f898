//! Deliveries: signed, in order, tried again, given up, seen.

use std::time::Duration;

use legwork::ambient::Clock;
use legwork::domain::Timestamp;
use legwork::domain::webhooks::{WebhookSecret, sign};
use serde_json::{Value, json};

use crate::events::body;
use crate::support::{Developer, Response, TestApp, eventually, on_both_engines, path};
use crate::webhooks::peers::{verified_by_npm, verified_by_python};

on_both_engines!(
    a_delivery_is_signed_for_both_kinds_of_receivers,
    published_libraries_verify_a_delivery,
    only_subscribed_events_are_delivered,
    a_failed_delivery_is_tried_again_and_given_up,
    gone_disables_at_once,
    three_days_of_failure_disable,
    two_secrets_sign_for_a_day,
    every_replaced_secret_signs_for_a_day,
    a_delivery_can_be_made_again,
    what_was_not_delivered_is_given_up_with_the_webhook,
    a_sample_can_be_sent,
    few_samples_are_sent_at_once,
);

const LIST: &str = "/v1/account/webhook/deliveries";

async fn deliveries(dev: &Developer, query: &str) -> Vec<Value> {
    let page = dev.test.get(&format!("{LIST}{query}")).await.expect(200);
    page["data"].as_array().unwrap().clone()
}

async fn delivery(dev: &Developer, id: &str) -> Value {
    dev.test.get(&format!("{LIST}/{id}")).await.expect(200)
}

async fn a_delivery_is_signed_for_both_kinds_of_receivers(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let dev = app.developer().await;
    let secret = dev.listen_at(&receiver).await;
    let task = dev.create_task().await;
    assert!(receiver.received().is_empty(), "not on the request");
    app.webhooks.drain().await.unwrap();
    let received = receiver.until(2).await;
    let events = super::all_events(&dev.test).await;
    for (received, event) in received.iter().zip(&events) {
        assert_eq!(
            (received.method.as_str(), received.path.as_str()),
            ("POST", "/hook")
        );
        let expected = json!({"event": event["event"], "data": event["data"]});
        assert_eq!(body(received), expected);
        let header = |name: &str| received.header(name).unwrap();
        assert_eq!(header("content-type"), "application/json");
        assert_eq!(header("webhook-id"), event["id"]);
        let at = Timestamp::RULE.check(TestApp::NOON).unwrap();
        assert_eq!(
            header("x-service-timestamp"),
            (at.as_millis() / 1_000).to_string()
        );
        assert_eq!(header("webhook-timestamp"), header("x-service-timestamp"));
        let secrets = [WebhookSecret::parse(&secret).unwrap()];
        let signed = sign(&secrets, header("webhook-id"), at, &received.body);
        assert_eq!(header("x-service-signature"), signed.service);
        assert_eq!(header("webhook-signature"), signed.standard);
    }
    assert_eq!(body(&received[0])["data"]["id"], task["id"]);
    let listed = deliveries(&dev, "").await;
    assert_eq!(listed.len(), 2);
    assert_eq!(
        (&listed[0]["event"], &listed[0]["id"]),
        (&json!("task.funded"), &events[1]["id"])
    );
    for listed in &listed {
        assert_eq!(listed["status"], "delivered");
        assert_eq!(listed["status_code"], 200);
        assert_eq!(listed["attempts_count"], 1);
        assert_eq!(listed["next_attempt_at"], json!(null));
    }
    assert!(
        dev.live.get(LIST).await.expect(200)["data"]
            .as_array()
            .unwrap()
            .is_empty()
    );
}

/// They look at the machine's clock.
async fn published_libraries_verify_a_delivery(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    app.clock.move_to(Clock::system().now());
    let dev = app.developer().await;
    let secret = dev.listen_at(&receiver).await;
    dev.create_task().await;
    app.webhooks.drain().await.unwrap();
    for received in receiver.until(2).await {
        assert!(verified_by_python(
            &secret,
            &received.headers,
            &received.body
        ));
        assert!(verified_by_npm(&secret, &received.headers, &received.body));
        let tampered = [&received.body[..], b" "].concat();
        assert!(!verified_by_python(&secret, &received.headers, &tampered));
        assert!(!verified_by_npm(&secret, &received.headers, &tampered));
    }
}

async fn only_subscribed_events_are_delivered(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let dev = app.developer().await;
    let wanted = json!(["task.cancelled", "task.proof_submitted"]);
    dev.put_webhook(&receiver.url("/some"), wanted).await;
    let task = dev.create_task().await;
    dev.test
        .post(&format!("{}/cancel", path(&task)), &json!({}))
        .await
        .expect(200);
    app.webhooks.drain().await.unwrap();
    let received = receiver.until(1).await;
    assert_eq!(received.len(), 1);
    assert_eq!(body(&received[0])["event"], "task.cancelled");
    assert_eq!(deliveries(&dev, "").await.len(), 1);
}

async fn a_failed_delivery_is_tried_again_and_given_up(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let dev = app.developer().await;
    dev.put_webhook(&receiver.url("/"), json!(["task.funded"]))
        .await;
    receiver.answer(|_| Response::with(503, &[], b"not now"));
    dev.create_task().await;
    let within = |seconds: f64| seconds * 0.9..=seconds * 1.1;
    for (attempt, delay) in [
        (1, Some(60.0)),
        (2, Some(480.0)),
        (3, Some(3_840.0)),
        (4, None),
    ] {
        app.webhooks.drain().await.unwrap();
        assert_eq!(receiver.received().len(), attempt);
        let listed = deliveries(&dev, "").await;
        assert_eq!(listed[0]["attempts_count"], attempt);
        let Some(delay) = delay else {
            assert_eq!(listed[0]["status"], "failed");
            assert_eq!(listed[0]["next_attempt_at"], json!(null));
            break;
        };
        assert_eq!(listed[0]["status"], "pending");
        let next = Timestamp::RULE
            .check(listed[0]["next_attempt_at"].as_str().unwrap())
            .unwrap();
        let seconds = (next.as_millis() - app.clock.now().as_millis()) as f64 / 1_000.0;
        assert!(within(delay).contains(&seconds), "{seconds}");
        app.clock.move_to(next.minus(Duration::from_millis(1)));
        app.webhooks.drain().await.unwrap();
        assert_eq!(receiver.received().len(), attempt, "a moment too early");
        app.clock.move_to(next);
    }
    app.advance(Duration::from_secs(7_200));
    app.webhooks.drain().await.unwrap();
    let received = receiver.received();
    assert_eq!(received.len(), 4, "given up");
    let ids: Vec<_> = received
        .iter()
        .map(|one| one.header("webhook-id").unwrap())
        .collect();
    assert!(ids.iter().all(|id| *id == ids[0]));
    let stamps: Vec<_> = received
        .iter()
        .map(|one| one.header("webhook-timestamp"))
        .collect();
    assert_ne!(stamps[0], stamps[3], "signed anew");
    let whole = delivery(&dev, ids[0]).await;
    let attempts = whole["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 4);
    assert_eq!(attempts[2]["status_code"], 503);
    assert_eq!(attempts[2]["response_body"], "not now");
    assert_eq!(attempts[2]["error"], json!(null));
    assert_eq!(
        deliveries(&dev, "?status=failed&event=task.funded")
            .await
            .len(),
        1
    );
    assert!(deliveries(&dev, "?status=pending").await.is_empty());
    assert!(deliveries(&dev, "?event=task.created").await.is_empty());
    dev.test
        .get(&format!("{LIST}?status=lost"))
        .await
        .expect_error(400, "VALIDATION_ERROR");
}

async fn gone_disables_at_once(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let dev = app.developer().await;
    dev.listen_at(&receiver).await;
    receiver.queue([Response::status(410)]);
    dev.create_task().await;
    app.webhooks.drain().await.unwrap();
    app.jobs.drain().await.unwrap();
    assert_eq!(receiver.received().len(), 1, "not even the second event");
    let failed = deliveries(&dev, "?status=failed").await;
    assert_eq!(failed.len(), 2);
    let state = dev.test.get("/v1/account/webhook").await.expect(200);
    assert_eq!(
        (&state["enabled"], &state["disabled_at"]),
        (&json!(false), &json!(TestApp::NOON))
    );
    dev.create_task().await;
    assert_eq!(
        deliveries(&dev, "").await.len(),
        2,
        "nothing is asked for while it is disabled"
    );
    let again = format!("{LIST}/{}/redeliver", failed[0]["id"].as_str().unwrap());
    dev.test
        .post(&again, &json!({}))
        .await
        .expect_error(409, "WEBHOOK_DISABLED");
    let notices = app.notices().await;
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0]["kind"], "webhook_disabled");
    assert!(
        notices[0]["paragraphs"]
            .to_string()
            .contains(&receiver.url("/hook"))
    );
    // Set again, it is served again.
    dev.listen_at(&receiver).await;
    dev.create_task().await;
    app.webhooks.drain().await.unwrap();
    assert_eq!(receiver.received().len(), 3);
}

async fn three_days_of_failure_disable(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let dev = app.developer().await;
    dev.put_webhook(&receiver.url("/hook"), json!(["task.funded"]))
        .await;
    receiver.answer(|_| Response::status(500));
    let fail = async |after: Duration| {
        app.advance(after);
        app.webhooks.drain().await.unwrap();
        dev.test.get("/v1/account/webhook").await.expect(200)
    };
    let (hour, day) = (Duration::from_secs(3_600), Duration::from_secs(86_400));
    dev.create_task().await;
    let state = fail(Duration::ZERO).await;
    assert_eq!(state["failing_since"], TestApp::NOON);
    // A single delivery that is taken wipes the slate.
    fail(day * 2).await;
    receiver.queue([Response::status(204)]);
    assert_eq!(fail(hour).await["failing_since"], json!(null));
    dev.create_task().await;
    for _ in 0..4 {
        assert_ne!(fail(hour * 2).await["failing_since"], json!(null));
    }
    // It is given up, and nothing is sent for days. The next delivery has all of its attempts.
    app.advance(day * 3);
    dev.create_task().await;
    for _ in 0..3 {
        assert_eq!(fail(hour * 2).await["enabled"], json!(true));
    }
    assert_eq!(fail(hour * 2).await["enabled"], json!(false));
    let told = app.notices().await;
    assert_eq!(told.len(), 1);
    let account = dev.test.get("/v1/account").await.expect(200);
    assert_eq!(told[0]["email"], account["email"]);
}

async fn two_secrets_sign_for_a_day(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let dev = app.developer().await;
    let old = dev
        .put_webhook(&receiver.url("/"), json!(["task.funded"]))
        .await;
    let rotate = "/v1/account/webhook/rotate_secret";
    let new = dev.test.post(rotate, &json!({})).await.expect(200);
    let new = new["webhook_secret"].as_str().unwrap().to_owned();
    let day = Duration::from_secs(24 * 60 * 60);
    let (both, one) = ([new.as_str(), old.as_str()], [new.as_str()]);
    let cases = [
        (Duration::ZERO, &both[..]),
        (day - Duration::from_millis(1), &both[..]),
        (Duration::from_millis(1), &one[..]),
    ];
    for (count, (later, secrets)) in (1..).zip(cases) {
        app.advance(later);
        dev.create_task().await;
        app.webhooks.drain().await.unwrap();
        let received = receiver.until(count).await.pop().unwrap();
        let secrets = secrets
            .iter()
            .map(|text| WebhookSecret::parse(text).unwrap());
        let id = received.header("webhook-id").unwrap();
        let signed = sign(
            &secrets.collect::<Vec<_>>(),
            id,
            app.clock.now(),
            &received.body,
        );
        assert_eq!(
            received.header("x-service-signature"),
            Some(signed.service.as_str())
        );
        assert_eq!(
            received.header("webhook-signature"),
            Some(signed.standard.as_str())
        );
    }
}

async fn every_replaced_secret_signs_for_a_day(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let dev = app.developer().await;
    let first = dev
        .put_webhook(&receiver.url("/"), json!(["task.funded"]))
        .await;
    let path = "/v1/account/webhook/rotate_secret";
    let hour = Duration::from_secs(60 * 60);
    let mut newest_first = vec![first];
    for _ in 0..3 {
        app.advance(hour);
        let rotated = dev.test.post(path, &json!({})).await.expect(200);
        let secret = rotated["webhook_secret"].as_str().unwrap().to_owned();
        newest_first.insert(0, secret);
    }
    let refused = dev.test.post(path, &json!({})).await;
    let refused = refused.expect_error(409, "ROTATED_RECENTLY");
    let message = refused.body["error"]["message"].as_str().unwrap();
    assert!(message.contains("2025-11-16T13:00:00.000Z"), "{message}");
    // The first was replaced at 13:00, the next ones an hour later each.
    let until_first_ends = hour * 22 - Duration::from_millis(1);
    let cases = [
        (Duration::ZERO, 4),
        (until_first_ends, 4),
        (Duration::from_millis(1), 3),
    ];
    for (count, (later, signing)) in (1..).zip(cases) {
        app.advance(later);
        dev.create_task().await;
        app.webhooks.drain().await.unwrap();
        let received = receiver.until(count).await.pop().unwrap();
        let secrets = newest_first[..signing].iter();
        let secrets: Vec<_> = secrets
            .map(|text| WebhookSecret::parse(text).unwrap())
            .collect();
        let id = received.header("webhook-id").unwrap();
        let signed = sign(&secrets, id, app.clock.now(), &received.body);
        let header = received.header("x-service-signature");
        assert_eq!(header, Some(signed.service.as_str()));
        let header = received.header("webhook-signature");
        assert_eq!(header, Some(signed.standard.as_str()));
    }
    // There is room for another one now.
    dev.test.post(path, &json!({})).await.expect(200);
    let refused = dev.test.post(path, &json!({})).await;
    refused.expect_error(409, "ROTATED_RECENTLY");
}

async fn a_delivery_can_be_made_again(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let dev = app.developer().await;
    dev.put_webhook(&receiver.url("/"), json!(["task.funded"]))
        .await;
    dev.create_task().await;
    app.webhooks.drain().await.unwrap();
    let id = deliveries(&dev, "").await[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let redeliver = format!("{LIST}/{id}/redeliver");
    let again = dev.test.post(&redeliver, &json!({})).await.expect(200);
    assert_eq!(again["status"], "pending");
    let stranger = app.developer().await;
    stranger
        .test
        .get(&format!("{LIST}/{id}"))
        .await
        .expect_error(404, "DELIVERY_NOT_FOUND");
    stranger
        .test
        .post(&redeliver, &json!({}))
        .await
        .expect_error(404, "DELIVERY_NOT_FOUND");
    dev.live
        .post(&redeliver, &json!({}))
        .await
        .expect_error(404, "DELIVERY_NOT_FOUND");
    app.webhooks.drain().await.unwrap();
    let received = receiver.received();
    assert_eq!(received.len(), 2);
    assert_eq!(received[0].body, received[1].body);
    assert_eq!(
        received[0].header("webhook-id"),
        received[1].header("webhook-id")
    );
    let whole = delivery(&dev, &id).await;
    assert_eq!(
        (&whole["status"], &whole["attempts_count"]),
        (&json!("delivered"), &json!(2))
    );
}

async fn what_was_not_delivered_is_given_up_with_the_webhook(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let dev = app.developer().await;
    dev.listen_at(&receiver).await;
    dev.create_task().await;
    dev.test.delete("/v1/account/webhook").await.expect(200);
    app.webhooks.drain().await.unwrap();
    app.jobs.drain().await.unwrap();
    let statuses: Vec<_> = deliveries(&dev, "")
        .await
        .iter()
        .map(|d| d["status"].clone())
        .collect();
    assert_eq!(statuses, ["failed", "failed"]);
    app.advance(Duration::from_secs(1));
    dev.listen_at(&receiver).await;
    app.webhooks.drain().await.unwrap();
    assert!(receiver.received().is_empty());
}

/// A receiver decides how long a sample takes, and each holds a connection.
async fn few_samples_are_sent_at_once(app: TestApp) {
    const AT_ONCE: usize = 4;
    let (app, receiver) = app.with_receiver().await;
    let [dev, other] = [app.developer().await, app.developer().await];
    for dev in [&dev, &other] {
        dev.listen_at(&receiver).await;
    }
    receiver.queue((0..AT_ONCE).map(|_| Response::hang("")));
    let test = "/v1/account/webhook/test";
    let waiting = (0..AT_ONCE).map(|_| {
        let client = dev.test.clone();
        tokio::spawn(async move { client.post(test, &json!({})).await })
    });
    let waiting: Vec<_> = waiting.collect();
    receiver.until(AT_ONCE).await;
    let refused = dev.test.post(test, &json!({})).await;
    assert_eq!(refused.header("retry-after"), "5");
    refused.expect_error(429, "RATE_LIMITED");
    let sent = other.test.post(test, &json!({})).await.expect(200);
    assert_eq!(sent["delivered"], true);
    // Whoever goes away makes room.
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
    eventually("there is room again", async || {
        dev.test.post(test, &json!({})).await.status == 200
    })
    .await;
}

async fn a_sample_can_be_sent(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let dev = app.developer().await;
    let secret = dev.listen_at(&receiver).await;
    let test = "/v1/account/webhook/test";
    let sent = dev.test.post(test, &json!({})).await.expect(200);
    let duration = sent["duration_ms"].as_u64().unwrap();
    let expected = json!({"event": "task.created", "delivered": true, "status_code": 200,
        "duration_ms": duration, "error": null});
    assert_eq!(sent, expected);
    let received = receiver.until(1).await.remove(0);
    let told = body(&received);
    assert_eq!(told["event"], "task.created");
    assert_eq!(told["data"]["developer_id"], dev.account_id);
    assert!(told["data"].get("instructions").is_none());
    let secrets = [WebhookSecret::parse(&secret).unwrap()];
    let id = received.header("webhook-id").unwrap();
    let signed = sign(&secrets, id, app.clock.now(), &received.body);
    assert_eq!(
        received.header("x-service-signature"),
        Some(signed.service.as_str())
    );
    receiver.queue([Response::with(500, &[], b"oh")]);
    let sent = dev.test.post(test, &json!({})).await.expect(200);
    assert_eq!(
        (&sent["delivered"], &sent["status_code"]),
        (&json!(false), &json!(500))
    );
    receiver.queue([Response::close("")]);
    let sent = dev.test.post(test, &json!({})).await.expect(200);
    assert_eq!(
        (&sent["delivered"], &sent["status_code"]),
        (&json!(false), &json!(null))
    );
    assert!(sent["error"].is_string());
    assert!(
        super::all_events(&dev.test).await.is_empty(),
        "it never happened"
    );
}
