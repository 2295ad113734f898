//! How a live task is paid for.

use std::time::Duration;

use futures_util::future::join_all;
use legwork::payments::Sandbox;
use legwork::payments::sandbox::Condition;
use serde_json::{Value, json};

use crate::support::{
    Command, Developer, GOOD_CARD, Server, TestApp, on_both_engines, path, storefront,
};

on_both_engines!(
    a_live_task_is_paid_on_the_page_and_posted,
    a_declined_card_can_be_followed_by_a_good_one,
    the_page_takes_no_other_card,
    a_wrong_secret_opens_no_page,
    a_default_method_is_charged_off_the_request,
    a_declined_method_leaves_the_task_to_be_paid_by_hand,
    of_many_payments_one_counts,
    a_payment_after_cancelling_is_not_taken,
    a_payment_that_won_against_cancelling_is_refunded,
    a_processor_that_is_down_leaves_nothing_behind,
    a_processor_that_is_too_slow_is_a_503,
    the_default_method_is_set_and_removed,
    the_world_of_test_never_meets_the_processor,
    a_payment_is_nobody_elses_to_see,
    a_replayed_creation_hands_out_the_same_secret,
    a_full_month_asks_no_processor,
    card_numbers_go_nowhere,
);

async fn payment(dev: &Developer, task: &Value) -> Value {
    let path = format!("{}/payment", path(task));
    dev.live.get(&path).await.expect(200)
}

async fn status(dev: &Developer, task: &Value) -> Value {
    dev.live.get(&path(task)).await.expect(200)["status"].clone()
}

async fn a_live_task_is_paid_on_the_page_and_posted(app: TestApp) {
    let dev = app.developer().await;
    let (task, secret) = dev.create_payable_task().await;
    assert_eq!(task["status"], "pending");
    let before = payment(&dev, &task).await;
    assert_eq!(before["status"], "requires_payment");
    assert_eq!(before["amount_cents"], 2500);
    assert_eq!(before["payment_client_secret"], secret);
    let url = before["payment_url"].as_str().unwrap();
    assert_eq!(url, format!("http://{}/pay/{secret}", app.address));
    let page = app.client().get(&format!("/pay/{secret}")).await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("$25.00") && page.text.contains("name=\"card\""));
    // Who is paid, and what for.
    assert!(page.text.contains("Pay Legwork for a task"));
    assert!(page.text.contains(task["title"].as_str().unwrap()));
    assert!(
        page.header("content-security-policy")
            .contains("default-src 'none'")
    );
    let paid = app.client().pay(&secret, GOOD_CARD).await;
    assert_eq!(paid.status, 200);
    assert_eq!(status(&dev, &task).await, "posted");
    let after = payment(&dev, &task).await;
    assert_eq!(after["status"], "succeeded");
    assert_eq!(after["escrow_cents"], 2500);
    assert_eq!(after["payment_client_secret"], Value::Null);
    assert_eq!(after["payment_url"], Value::Null);
    let again = app.client().get(&format!("/pay/{secret}")).await;
    assert!(again.text.contains("You paid") && !again.text.contains("<form"));
    TestApp::expect_settled(&app.verify().await);
}

async fn a_declined_card_can_be_followed_by_a_good_one(app: TestApp) {
    let dev = app.developer().await;
    let (task, secret) = dev.create_payable_task().await;
    for (card, code) in [
        ("4000000000000002", "card_declined"),
        ("4000000000009995", "insufficient_funds"),
    ] {
        let declined = app.client().pay(&secret, card).await;
        assert_eq!(declined.status, 402);
        assert!(declined.text.contains("role=\"alert\""));
        assert_eq!(status(&dev, &task).await, "pending");
        assert_eq!(payment(&dev, &task).await["failure"]["code"], code);
    }
    let paid = app.client().pay(&secret, "4242+4242+4242+4242").await;
    assert_eq!(paid.status, 200);
    assert_eq!(status(&dev, &task).await, "posted");
    assert_eq!(payment(&dev, &task).await["failure"], Value::Null);
}

async fn the_page_takes_no_other_card(app: TestApp) {
    let dev = app.developer().await;
    let (task, secret) = dev.create_payable_task().await;
    for form in [
        "",
        "card=",
        "card=5555555555554444",
        "kard=4242424242424242",
        "%",
    ] {
        let path = format!("/pay/{secret}");
        let refused = app.client().send("POST", &path, &[], form).await;
        assert_eq!(refused.status, 400, "{form}");
        assert!(refused.text.contains("<form"), "{form}");
    }
    let huge = format!("card={}", "4".repeat(100_000));
    let path = format!("/pay/{secret}");
    let refused = app.client().send("POST", &path, &[], huge).await;
    assert_eq!(refused.status, 400);
    assert_eq!(status(&dev, &task).await, "pending");
}

async fn a_wrong_secret_opens_no_page(app: TestApp) {
    let dev = app.developer().await;
    let (task, secret) = dev.create_payable_task().await;
    let mut altered = secret.clone();
    let last = altered.pop().unwrap();
    altered.push(if last == '0' { '1' } else { '0' });
    for wrong in [
        altered.as_str(),
        &secret[..secret.len() - 1],
        "x",
        "_secret_",
        "%00",
        "<b>",
    ] {
        let wrong = wrong.replace('<', "%3C").replace('>', "%3E");
        let shown = app.client().get(&format!("/pay/{wrong}")).await;
        assert_eq!(shown.status, 404, "{wrong}");
        let paid = app.client().pay(&wrong, GOOD_CARD).await;
        assert_eq!(paid.status, 404, "{wrong}");
    }
    assert_eq!(status(&dev, &task).await, "pending");
}

async fn a_default_method_is_charged_off_the_request(app: TestApp) {
    let dev = app.developer().await;
    dev.charge_to("pm_card_visa").await;
    let task = dev.live.post("/v1/tasks", &storefront()).await.expect(201);
    assert_eq!(task["status"], "pending");
    assert_eq!(task.get("payment_client_secret"), None);
    assert_eq!(payment(&dev, &task).await["status"], "processing");
    assert_eq!(app.jobs.drain().await.unwrap(), 1);
    assert_eq!(status(&dev, &task).await, "posted");
    assert_eq!(payment(&dev, &task).await["status"], "succeeded");
    TestApp::expect_settled(&app.verify().await);
}

async fn a_declined_method_leaves_the_task_to_be_paid_by_hand(app: TestApp) {
    let dev = app.developer().await;
    dev.charge_to("pm_card_chargeDeclined").await;
    let task = dev.live.post("/v1/tasks", &storefront()).await.expect(201);
    app.jobs.drain().await.unwrap();
    assert_eq!(status(&dev, &task).await, "pending");
    let declined = payment(&dev, &task).await;
    assert_eq!(declined["status"], "requires_payment");
    assert_eq!(declined["failure"]["code"], "card_declined");
    let secret = declined["payment_client_secret"].as_str().unwrap();
    let paid = app.client().pay(secret, GOOD_CARD).await;
    assert_eq!(paid.status, 200);
    assert_eq!(status(&dev, &task).await, "posted");
    TestApp::expect_settled(&app.verify().await);
}

async fn of_many_payments_one_counts(app: TestApp) {
    let dev = app.developer().await;
    let (task, secret) = dev.create_payable_task().await;
    let client = app.client();
    let replies = join_all((0..20).map(|_| client.pay(&secret, GOOD_CARD))).await;
    assert!(replies.iter().all(|reply| reply.status == 200));
    app.jobs.drain().await.unwrap();
    let ledger = format!("{}/ledger", path(&task));
    let ledger = dev.live.get(&ledger).await.expect(200);
    assert_eq!(ledger["meta"]["total"], 1);
    TestApp::expect_settled(&app.verify().await);
}

async fn a_payment_after_cancelling_is_not_taken(app: TestApp) {
    let dev = app.developer().await;
    let (task, secret) = dev.create_payable_task().await;
    let cancel = format!("{}/cancel", path(&task));
    dev.live.send("POST", &cancel, &[], "").await.expect(200);
    app.jobs.drain().await.unwrap();
    let refused = app.client().pay(&secret, GOOD_CARD).await;
    assert_eq!(refused.status, 409);
    assert!(refused.text.contains("cancelled"));
    let cancelled = payment(&dev, &task).await;
    assert_eq!(cancelled["status"], "cancelled");
    assert_eq!(cancelled["payment_client_secret"], Value::Null);
    TestApp::expect_settled(&app.verify().await);
}

/// The task is cancelled, the payer is faster than the job that cancels the payment.
async fn a_payment_that_won_against_cancelling_is_refunded(app: TestApp) {
    let dev = app.developer().await;
    let (task, secret) = dev.create_payable_task().await;
    let cancel = format!("{}/cancel", path(&task));
    dev.live.send("POST", &cancel, &[], "").await.expect(200);
    app.pay_past_the_page(&secret).await;
    assert_eq!(payment(&dev, &task).await["status"], "processing");
    app.jobs.drain().await.unwrap();
    assert_eq!(status(&dev, &task).await, "cancelled");
    let refunded = payment(&dev, &task).await;
    assert_eq!(refunded["refunded_cents"], 2500);
    assert_eq!(refunded["refund_pending_cents"], 0);
    TestApp::expect_settled(&app.verify().await);
}

async fn a_processor_that_is_down_leaves_nothing_behind(app: TestApp) {
    let dev = app.developer().await;
    Sandbox::set_condition(&app.store, Condition::Down)
        .await
        .unwrap();
    let key = [("idempotency-key", "once")];
    let refused = dev.live.post_with("/v1/tasks", &key, &storefront()).await;
    refused.expect_error(503, "PAYMENT_UNAVAILABLE");
    let put = json!({"payment_method": "pm_card_visa"}).to_string();
    let path = "/v1/account/payment_method";
    let refused = dev.live.send("PUT", path, &[], put).await;
    refused.expect_error(503, "PAYMENT_UNAVAILABLE");
    let list = dev.live.get("/v1/tasks").await.expect(200);
    assert_eq!(list["meta"]["total"], 0);
    assert_eq!(
        app.database
            .column("SELECT task_id FROM payments")
            .await
            .len(),
        0
    );
    Sandbox::set_condition(&app.store, Condition::Up)
        .await
        .unwrap();
    // Refused requests leave their key free.
    let created = dev.live.post_with("/v1/tasks", &key, &storefront()).await;
    created.expect(201);
}

async fn a_processor_that_is_too_slow_is_a_503(app: TestApp) {
    let app = app.impatient().await;
    let dev = app.developer().await;
    let slow = Condition::Slow(Duration::from_secs(300));
    Sandbox::set_condition(&app.store, slow).await.unwrap();
    let refused = dev.live.post("/v1/tasks", &storefront()).await;
    refused.expect_error(503, "PAYMENT_UNAVAILABLE");
    let list = dev.live.get("/v1/tasks").await.expect(200);
    assert_eq!(list["meta"]["total"], 0);
}

async fn the_default_method_is_set_and_removed(app: TestApp) {
    let dev = app.developer().await;
    let path = "/v1/account/payment_method";
    let none = json!({"payment_method": null, "processor": null, "updated_at": null});
    assert_eq!(dev.live.get(path).await.expect(200), none);
    dev.charge_to("pm_card_visa").await;
    let set = json!({"payment_method": "pm_card_visa", "processor": "sandbox",
        "updated_at": TestApp::NOON});
    assert_eq!(dev.live.get(path).await.expect(200), set);
    assert_eq!(
        dev.test.get(path).await.expect(200),
        none,
        "the other world"
    );
    for faulty in [
        json!({}),
        json!({"payment_method": "pm_card_unknown"}),
        json!({"payment_method": ""}),
        json!({"payment_method": 7}),
        json!({"payment_method": null}),
        json!({"payment_method": "pm_card_visa; DROP"}),
        json!({"payment_method": "x".repeat(256)}),
    ] {
        let refused = dev.live.send("PUT", path, &[], faulty.to_string()).await;
        assert_eq!(refused.faulty_fields(), ["payment_method"], "{faulty}");
    }
    assert_eq!(dev.live.get(path).await.expect(200), set);
    assert_eq!(dev.live.delete(path).await.expect(200), none);
    assert_eq!(dev.live.delete(path).await.expect(200), none);
    assert_eq!(dev.live.get(path).await.expect(200), none);
}

async fn the_world_of_test_never_meets_the_processor(app: TestApp) {
    let dev = app.developer().await;
    Sandbox::set_condition(&app.store, Condition::Down)
        .await
        .unwrap();
    let put = json!({"payment_method": "pm_card_chargeDeclined"}).to_string();
    let method = "/v1/account/payment_method";
    dev.test.send("PUT", method, &[], put).await.expect(200);
    let task = dev.create_task().await;
    assert_eq!(task["status"], "funded");
    let payment = dev.test.get(&format!("{}/payment", path(&task))).await;
    let payment = payment.expect(200);
    assert_eq!(payment["status"], "not_required");
    assert_eq!(payment["escrow_cents"], 2500);
    let cancel = format!("{}/cancel", path(&task));
    dev.test.send("POST", &cancel, &[], "").await.expect(200);
    assert_eq!(app.jobs.drain().await.unwrap(), 0);
    for table in ["payments", "sandbox_payments", "sandbox_movements"] {
        let count = format!("SELECT CAST(COUNT(*) AS TEXT) FROM {table}");
        assert_eq!(app.database.column(&count).await, ["0"], "{table}");
    }
    TestApp::expect_settled(&app.verify().await);
}

async fn a_payment_is_nobody_elses_to_see(app: TestApp) {
    let (dev, other) = (app.developer().await, app.developer().await);
    let task = dev.create_live_task().await;
    for what in ["payment", "ledger"] {
        let path = format!("{}/{what}", path(&task));
        dev.live.get(&path).await.expect(200);
        for stranger in [&other.live, &dev.test] {
            let reply = stranger.get(&path).await;
            reply.expect_error(404, "TASK_NOT_FOUND");
        }
        let none = format!("/v1/tasks/none/{what}");
        dev.live
            .get(&none)
            .await
            .expect_error(404, "TASK_NOT_FOUND");
        let no_key = app.client().get(&path).await;
        no_key.expect_error(401, "UNAUTHORIZED");
    }
}

async fn a_replayed_creation_hands_out_the_same_secret(app: TestApp) {
    let dev = app.developer().await;
    let key = [("idempotency-key", "4711")];
    let first = dev.live.post_with("/v1/tasks", &key, &storefront()).await;
    // A replay needs no processor.
    Sandbox::set_condition(&app.store, Condition::Down)
        .await
        .unwrap();
    let again = dev.live.post_with("/v1/tasks", &key, &storefront()).await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    let first = first.expect(201);
    assert!(first["payment_client_secret"].is_string());
    assert_eq!(again.expect(201), first);
    let made = "SELECT CAST(COUNT(*) AS TEXT) FROM sandbox_payments";
    assert_eq!(app.database.column(made).await, ["1"]);
}

async fn a_full_month_asks_no_processor(app: TestApp) {
    let dev = app.developer().await;
    app.database
        .execute("UPDATE task_totals SET month = 202511, month_tasks = 1000")
        .await;
    let refused = dev.live.post("/v1/tasks", &storefront()).await;
    refused.expect_error(403, "TASK_LIMIT_EXCEEDED");
    let made = "SELECT CAST(COUNT(*) AS TEXT) FROM sandbox_payments";
    assert_eq!(app.database.column(made).await, ["0"]);
}

async fn card_numbers_go_nowhere(app: TestApp) {
    let log = app.database.folder.path().join("log");
    let mut command = Command::new(&["--listen", "127.0.0.1:0", "--log", "trace"]);
    command = command.on(&app.database);
    command.0.stderr(std::fs::File::create(&log).unwrap());
    let server = Server::spawn(command);
    let dev = app.developer().await;
    let (live, stranger) = (server.client(&dev.live_key), server.client("none"));
    let created = live.post("/v1/tasks", &storefront()).await.expect(201);
    let secret = created["payment_client_secret"].as_str().unwrap();
    let numbers = ["4000000000000002", "5555555555554444", GOOD_CARD];
    for number in numbers {
        stranger.pay(secret, number).await;
        stranger.pay("pay_1_secret_2", number).await;
    }
    let posted = live.get(&path(&created)).await.expect(200);
    assert_eq!(posted["status"], "posted");
    assert_eq!(server.terminate(), Some(0));
    let mut written = std::fs::read_to_string(&log).unwrap();
    assert!(
        written.contains("/pay/{client_secret}"),
        "nothing was logged"
    );
    assert!(!written.contains(secret), "the log tells the secret");
    written += &app.database.everything().await;
    assert!(written.contains(posted["id"].as_str().unwrap()));
    for number in numbers {
        assert!(!written.contains(number), "{number} was written down");
    }
}
