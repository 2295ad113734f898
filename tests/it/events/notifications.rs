//! What people are told, and when.

use std::time::Duration;

use legwork::ambient::Clock;
use legwork::domain::{JobKind, JobName};
use serde_json::{Value, json};

use crate::notifications::peers::{header, mail_server};
use crate::support::{
    Command, GOOD_CARD, PASSWORD, Response, Server, TestApp, browser_keys, on_both_engines,
    storefront,
};

on_both_engines!(
    a_worker_is_told_of_what_concerns_them,
    a_developer_is_told_of_a_failed_payment,
    a_bounty_is_announced_to_eligible_workers_in_range,
    nobody_is_told_twice,
    a_notice_is_mailed_where_there_is_a_mail_server,
    a_notice_is_pushed_and_gone_browsers_are_forgotten,
    a_silent_push_service_is_left_alone,
    workers_say_which_messages_come_and_when,
);

impl TestApp {
    /// All notices, by kind, after what is to be sent has been.
    pub async fn notices(&self) -> Vec<Value> {
        self.jobs.drain().await.unwrap();
        let admin = self.admin().await;
        let page = admin.get("/v1/admin/notices?limit=100").await.expect(200);
        let mut notices = page["data"].as_array().unwrap().clone();
        notices.sort_by_key(|notice| notice["kind"].to_string());
        notices
    }
}

fn kinds(notices: &[Value]) -> Vec<&str> {
    notices
        .iter()
        .map(|notice| notice["kind"].as_str().unwrap())
        .collect()
}

async fn a_worker_is_told_of_what_concerns_them(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.ready_worker().await;
    let task = dev.create_paid_task().await;
    worker.begin(&task).await;
    let first = worker.prove(&task, "first").await;
    dev.review(&task, &first, "reject").await.expect(200);
    let second = worker.prove(&task, "second").await;
    dev.review(&task, &second, "approve").await.expect(200);
    let notices = app.notices().await;
    let expected = [
        "payout",
        "proof_rejected",
        "task_assigned",
        "worker_verified",
    ];
    assert_eq!(kinds(&notices), expected);
    for notice in &notices {
        assert_eq!(notice["email"], worker.email);
        assert_eq!(notice["worker_id"], worker.id);
        assert_eq!(notice["status"], "kept", "there is no mail server");
    }
    let rejected = notices[1]["paragraphs"].to_string();
    assert!(
        rejected.contains("Too dark.") && rejected.contains("2 attempts left"),
        "{rejected}"
    );
    assert!(notices[0]["subject"].as_str().unwrap().contains("$21.00"));
    // The last rejection ends it.
    let task = dev.create_paid_task().await;
    worker.begin(&task).await;
    for attempt in ["a", "b", "c"] {
        let proof = worker.prove(&task, attempt).await;
        dev.review(&task, &proof, "reject").await.expect(200);
    }
    let notices = app.notices().await;
    let over = |notice: &&Value| notice.to_string().contains("your last attempt");
    assert_eq!(notices.iter().filter(over).count(), 1);
    let unverified = app.sign_up(&[]).await;
    let refuse = format!("/v1/admin/workers/{}/refuse", unverified.id);
    app.admin()
        .await
        .post(&refuse, &json!({}))
        .await
        .expect_error(409, "INVALID_WORKER_STATE");
    assert_eq!(app.notices().await.len(), notices.len());
}

async fn a_developer_is_told_of_a_failed_payment(app: TestApp) {
    let dev = app.developer().await;
    dev.charge_to("pm_card_chargeDeclined").await;
    dev.live.post("/v1/tasks", &storefront()).await.expect(201);
    let notices = app.notices().await;
    assert_eq!(kinds(&notices), ["payment_failed"]);
    assert_eq!(notices[0]["account_id"], dev.account_id);
    let told = notices[0]["paragraphs"].to_string();
    assert!(told.contains("Photograph a storefront"), "{told}");
}

async fn a_bounty_is_announced_to_eligible_workers_in_range(app: TestApp) {
    let near = app.ready_worker().await;
    let far = app.ready_worker().await;
    let away = json!({"home_latitude": 40.7163, "home_longitude": -74.5, "radius_km": 25});
    far.client.patch("/v1/worker", &away).await.expect(200);
    let further = app.ready_worker().await;
    let reach = json!({"home_latitude": 41.5, "home_longitude": -73.9595, "radius_km": 90});
    further.client.patch("/v1/worker", &reach).await.expect(200);
    let unpayable = app.sign_up(&[]).await;
    let verify = format!("/v1/admin/workers/{}/verify", unpayable.id);
    app.admin()
        .await
        .post(&verify, &json!({}))
        .await
        .expect(200);
    app.sign_up(&[]).await;
    let dev = app.developer().await;
    let mut bounty = storefront();
    bounty["task_type"] = "bounty".into();
    let task = dev.live.post("/v1/tasks", &bounty).await.expect(201);
    dev.live
        .pay(task["payment_client_secret"].as_str().unwrap(), GOOD_CARD)
        .await;
    dev.create_paid_task().await;
    let mut notices = app.notices().await;
    notices.retain(|notice| notice["kind"] == "bounty");
    let mut told: Vec<_> = notices
        .iter()
        .map(|notice| notice["email"].as_str().unwrap())
        .collect();
    told.sort();
    let mut expected = [near.email.as_str(), further.email.as_str()];
    expected.sort();
    assert_eq!(told, expected);
    assert!(
        !notices[0].to_string().contains("Bedford"),
        "the exact place is not told"
    );
}

async fn nobody_is_told_twice(app: TestApp) {
    app.ready_worker().await;
    let dev = app.developer().await;
    let mut bounty = storefront();
    bounty["task_type"] = "bounty".into();
    let task = dev.live.post("/v1/tasks", &bounty).await.expect(201);
    dev.live
        .pay(task["payment_client_secret"].as_str().unwrap(), GOOD_CARD)
        .await;
    let before = app.notices().await.len();
    let id = task["id"].as_str().unwrap().to_owned();
    let now = app.clock.now().plus(Duration::from_secs(1));
    app.clock.move_to(now);
    app.store
        .write(move |tx| tx.add_job(&JobName::new(JobKind::AnnounceBounty, &id), now))
        .await
        .unwrap();
    assert_eq!(app.notices().await.len(), before);
}

/// The real program, with a real mail server.
async fn a_notice_is_mailed_where_there_is_a_mail_server(app: TestApp) {
    app.clock.move_to(Clock::system().now());
    let port = mail_server().port("plain");
    let command = Command::new(&["--listen", "127.0.0.1:0", "--log", "warn"]).on(&app.database);
    let server = Server::spawn(
        command
            .env("LEGWORK_SMTP_URL", &format!("smtp://127.0.0.1:{port}"))
            .env("LEGWORK_MAIL_FROM", "Legwork <notices@legwork.example>"),
    );
    let worker = app.sign_up(&[]).await;
    let verify = format!("/v1/admin/workers/{}/verify", worker.id);
    let admin = app.admin().await;
    server
        .client(admin.key())
        .post(&verify, &json!({}))
        .await
        .expect(200);
    let sent = async || {
        let page = admin.get("/v1/admin/notices").await.expect(200);
        page["data"][0]["status"] == "sent"
    };
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    while !sent().await {
        assert!(tokio::time::Instant::now() < deadline, "no mail was sent");
        tokio::task::yield_now().await;
    }
    let mail = mail_server().mail(&worker.email);
    assert_eq!(header(&mail, "Subject"), "You are verified");
    assert_eq!(header(&mail, "From"), "Legwork <notices@legwork.example>");
}

const OTHER: &str = "staple battery horse";

async fn a_notice_is_pushed_and_gone_browsers_are_forgotten(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let worker = app.sign_up(&[]).await;
    for path in ["/browser", "/broken"] {
        let body = json!({"endpoint": receiver.url(path), "keys": browser_keys()});
        let subscribed = worker
            .client
            .post("/v1/worker/push_subscriptions", &body)
            .await;
        subscribed.expect(201);
    }
    // From before keys were checked.
    let broken = "UPDATE push_subscriptions SET auth = 'a', p256dh = 'b'
        WHERE endpoint LIKE '%/broken'";
    app.database.execute(broken).await;
    let decide = async |decision: &str| {
        let path = format!("/v1/admin/workers/{}/{decision}", worker.id);
        app.admin().await.post(&path, &json!({})).await.expect(200);
        app.advance(Duration::from_secs(1));
        app.jobs.drain().await.unwrap();
        receiver.received()
    };
    let pushed = decide("verify").await;
    assert_eq!(pushed.len(), 1);
    assert_eq!(pushed[0].path, "/browser");
    assert_eq!(pushed[0].header("content-encoding"), Some("aes128gcm"));
    let key = worker.client.get("/v1/worker/push_key").await.expect(200);
    let key = key["public_key"].as_str().unwrap();
    let authorization = pushed[0].header("authorization").unwrap();
    assert!(
        authorization.starts_with("vapid t=") && authorization.ends_with(key),
        "{authorization}"
    );
    assert!(
        !pushed[0].body.windows(8).any(|part| part == b"verified"),
        "nobody else reads it"
    );
    receiver.queue([Response::status(410)]);
    for (expected, from, to) in [(2, PASSWORD, OTHER), (2, OTHER, PASSWORD)] {
        let body = json!({"current_password": from, "password": to}).to_string();
        let changed = worker.client.send("PUT", "/v1/worker/password", &[], body);
        changed.await.expect(200);
        app.advance(Duration::from_secs(1));
        app.jobs.drain().await.unwrap();
        assert_eq!(receiver.received().len(), expected);
    }
    for (expected, decision) in [(2, "suspend"), (2, "restore"), (2, "suspend")] {
        assert_eq!(decide(decision).await.len(), expected, "{decision}");
    }
}

/// Otherwise it would keep the places busy that mail needs.
async fn a_silent_push_service_is_left_alone(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    receiver.answer(|_| Response::hang(""));
    let worker = app.sign_up(&[]).await;
    let body = json!({"endpoint": receiver.url("/browser"), "keys": browser_keys()});
    let subscribed = worker.client.post("/v1/worker/push_subscriptions", &body);
    subscribed.await.expect(201);
    let admin = app.admin().await;
    for decision in ["verify", "suspend", "restore"] {
        let path = format!("/v1/admin/workers/{}/{decision}", worker.id);
        admin.post(&path, &json!({})).await.expect(200);
        app.advance(Duration::from_secs(1));
        app.jobs.drain().await.unwrap();
        assert_eq!(receiver.received().len(), 1, "{decision}");
    }
}

async fn workers_say_which_messages_come_and_when(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let worker = app.ready_worker().await;
    let body = json!({"endpoint": receiver.url("/browser"), "keys": browser_keys()});
    let subscribed = worker.client.post("/v1/worker/push_subscriptions", &body);
    subscribed.await.expect(201);
    let put = async |body: Value| {
        let path = "/v1/worker/push_settings";
        let text = body.to_string();
        worker.client.send("PUT", path, &[], text).await
    };
    let dev = app.developer().await;
    let mut told = 0;
    let mut accepted = async || {
        let task = dev.create_paid_task().await;
        worker.act(&task, "accept").await.expect(200);
        app.jobs.drain().await.unwrap();
        let before = std::mem::replace(&mut told, receiver.received().len());
        told - before
    };
    assert!(accepted().await > 0, "nothing is muted at first");
    put(json!({"muted": ["tasks"]})).await.expect(200);
    assert_eq!(accepted().await, 0);
    // It is noon in UTC: seven in the morning in New York.
    let night = json!({"quiet_from": "22:00", "quiet_to": "07:30", "utc_offset_minutes": -300});
    let set = put(night.clone()).await.expect(200);
    assert_eq!(set["muted"], json!([]));
    let read = worker.client.get("/v1/worker/push_settings").await;
    assert_eq!(read.expect(200), set);
    assert_eq!(accepted().await, 0);
    app.advance(Duration::from_secs(31 * 60));
    assert_eq!(accepted().await, 2, "that of the night, and a new one");
    let half = put(json!({"quiet_from": "22:00", "quiet_to": null, "muted": ["all"]})).await;
    half.expect_error(400, "VALIDATION_ERROR");
    let read = worker.client.get("/v1/worker/push_settings").await;
    assert_eq!(read.expect(200), set, "nothing was changed");
}
