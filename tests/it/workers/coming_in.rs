//! Workers sign up, sign in, and are verified.

use std::net::{IpAddr, Ipv4Addr};

use legwork::domain::PersonKind;
use serde_json::{Value, json};

use crate::support::{Client, Command, PASSWORD, TestApp, browser_keys, on_both_engines, photo};

on_both_engines!(
    a_worker_signs_up_and_sees_the_profile,
    a_worker_signs_in_and_out,
    a_token_dies_after_thirty_days,
    what_is_wrong_with_a_sign_up_is_named,
    passwords_cannot_be_guessed,
    who_has_just_signed_up_does_not_wait_with_strangers,
    keys_and_tokens_open_only_their_own,
    documents_go_to_the_admins,
    new_documents_replace_the_old_ones,
    the_profile_can_be_changed,
    push_subscriptions_are_kept_once,
    the_command_line_makes_admin_keys,
);

async fn a_worker_signs_up_and_sees_the_profile(app: TestApp) {
    let body = json!({"email": "Grace@Example.com", "password": PASSWORD, "name": "Grace"});
    let reply = app.client().post("/v1/workers", &body).await.expect(201);
    let token = reply["token"].as_str().unwrap();
    assert!(token.starts_with("svc_worker_"));
    let worker = &reply["worker"];
    assert_eq!(worker["email"], "grace@example.com");
    assert_eq!(worker["status"], "unverified");
    assert_eq!(worker["payout_account"]["status"], "none");
    assert_eq!(worker["radius_km"], 25.0);
    assert_eq!(worker["approval_rate"], Value::Null);
    assert_eq!(worker["completed_tasks"], 0);
    let client = Client::new(app.address, Some(token));
    assert_eq!(client.get("/v1/worker").await.expect(200), *worker);
    let again = app.client().post("/v1/workers", &body).await;
    again.expect_error(409, "EMAIL_TAKEN");
    let stored = app.database.everything().await;
    assert!(!stored.contains(PASSWORD) && !stored.contains(token));
}

async fn a_worker_signs_in_and_out(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let credentials = json!({"email": worker.email.to_uppercase(), "password": PASSWORD});
    let reply = app
        .client()
        .post("/v1/workers/sessions", &credentials)
        .await;
    let reply = reply.expect(201);
    assert_eq!(reply["worker"]["id"], worker.id);
    let second = Client::new(app.address, reply["token"].as_str());
    second.get("/v1/worker").await.expect(200);
    second.delete("/v1/worker/session").await.expect(200);
    let gone = second.get("/v1/worker").await;
    gone.expect_error(401, "UNAUTHORIZED");
    worker.client.get("/v1/worker").await.expect(200);
}

async fn a_token_dies_after_thirty_days(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    app.set_time("2025-12-15T11:59:59.999Z");
    worker.client.get("/v1/worker").await.expect(200);
    app.set_time("2025-12-15T12:00:00.000Z");
    let dead = worker.client.get("/v1/worker").await;
    dead.expect_error(401, "UNAUTHORIZED");
}

async fn what_is_wrong_with_a_sign_up_is_named(app: TestApp) {
    let faulty = json!({"email": "x", "password": "short", "name": "", "phone": "no",
        "skills": ["flying"], "home_latitude": 91, "radius_km": 0, "admin": true});
    let refused = app.client().post("/v1/workers", &faulty).await;
    let expected = [
        "email",
        "password",
        "name",
        "phone",
        "skills[0]",
        "home_latitude",
        "radius_km",
        "admin",
    ];
    assert_eq!(refused.faulty_fields(), expected);
    let half = json!({"email": "a@b.org", "password": PASSWORD, "name": "G", "home_latitude": 1});
    let refused = app.client().post("/v1/workers", &half).await;
    assert_eq!(refused.faulty_fields(), ["home_longitude"]);
    for weak in [
        "12345678",
        "QwertyUiop",
        "xx-wanda-xx",
        "wanda@b.org and more",
    ] {
        let body = json!({"email": "wanda@b.org", "password": weak, "name": "G"});
        let refused = app.client().post("/v1/workers", &body).await;
        assert_eq!(refused.faulty_fields(), ["password"], "{weak}");
    }
}

async fn passwords_cannot_be_guessed(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let wrong = json!({"email": worker.email, "password": "not this one"});
    let unknown = json!({"email": "nobody@example.com", "password": "not this one"});
    let sessions = "/v1/workers/sessions";
    let first = app.client().post(sessions, &wrong).await;
    let second = app.client().post(sessions, &unknown).await;
    assert_eq!(
        first.body["error"]["message"],
        second.body["error"]["message"]
    );
    first.expect_error(401, "INVALID_CREDENTIALS");
    second.expect_error(401, "INVALID_CREDENTIALS");
    for _ in 0..9 {
        let reply = app.client().post(sessions, &wrong).await;
        assert_eq!(reply.status, 401);
    }
    let right = json!({"email": worker.email, "password": PASSWORD});
    let limited = app.client().post(sessions, &right).await;
    assert!(limited.header("retry-after").parse::<u32>().unwrap() > 0);
    limited.expect_error(429, "RATE_LIMITED");
}

async fn who_has_just_signed_up_does_not_wait_with_strangers(app: TestApp) {
    let is_known = |app: &TestApp, email: &str| {
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST).into();
        let limits = &app.app.sign_in_limits;
        let attempt = limits.begin((PersonKind::Worker, email), here).unwrap();
        attempt.applicant().is_known
    };
    let worker = app.sign_up(&[]).await;
    assert!(is_known(&app, &worker.email));
    let body = json!({"email": "ada@example.com", "password": "short", "name": "Ada"});
    app.client().post("/v1/workers", &body).await.expect(400);
    assert!(!is_known(&app, "ada@example.com"));
    // Where addresses are confirmed, this one is only claimed so far.
    let mailing = app.sending_mail().await;
    let claimed = mailing.sign_up(&[]).await;
    assert!(!is_known(&mailing, &claimed.email));
}

async fn keys_and_tokens_open_only_their_own(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.sign_up(&[]).await;
    let admin = app.admin().await;
    for (path, opens) in [
        ("/v1/account", &dev.live),
        ("/v1/tasks", &dev.test),
        ("/v1/worker", &worker.client),
        ("/v1/worker/earnings", &worker.client),
        ("/v1/admin/queue", &admin),
    ] {
        opens.get(path).await.expect(200);
        for client in [&dev.live, &dev.test, &worker.client, &admin, &app.client()] {
            let reply = client.get(path).await;
            let own = reply.status == 200;
            assert!(own || reply.status == 401, "{path}: {}", reply.text);
        }
    }
    for client in [&dev.live, &worker.client] {
        let reply = client.get("/v1/admin/queue").await;
        reply.expect_error(401, "UNAUTHORIZED");
    }
}

async fn new_documents_replace_the_old_ones(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    for seed in ["first", "second", "third"] {
        let (identity, selfie) = (photo(seed), photo(&format!("{seed} selfie")));
        let parts: [(&str, &[u8]); 2] = [("identity", &identity), ("selfie", &selfie)];
        let sent = worker
            .client
            .send_form("/v1/worker/verification", &parts)
            .await;
        sent.expect(201);
        assert_eq!(
            super::proofs::proving::stored_files(&app),
            2,
            "nobody keeps the old ones"
        );
    }
}

async fn documents_go_to_the_admins(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let (identity, selfie) = (photo("identity"), photo("selfie"));
    let path = "/v1/worker/verification";
    let missing = worker
        .client
        .send_form(path, &[("identity", &identity)])
        .await;
    assert_eq!(missing.faulty_fields(), ["selfie"]);
    let parts: [(&str, &[u8]); 2] = [("identity", &identity), ("selfie", b"<svg></svg>")];
    let wrong = worker.client.send_form(path, &parts).await;
    assert_eq!(wrong.faulty_fields(), ["selfie"]);
    let parts: [(&str, &[u8]); 2] = [("identity", &identity), ("selfie", &selfie)];
    let sent = worker.client.send_form(path, &parts).await.expect(201);
    assert_eq!(sent["status"], "in_review");
    let admin = app.admin().await;
    let queue = admin.get("/v1/admin/queue?kind=worker_verification").await;
    let queue = queue.expect(200);
    assert_eq!(queue["data"].as_array().unwrap().len(), 1);
    let item = &queue["data"][0];
    assert_eq!(item["worker"]["id"], worker.id);
    assert_eq!(item["files"].as_array().unwrap().len(), 2);
    assert_eq!(item["files"][0]["file_url"], Value::Null);
    let item = format!("/v1/admin/queue/{}", item["id"].as_str().unwrap());
    let item = admin.get(&item).await.expect(200);
    let url = item["files"][0]["file_url"].as_str().unwrap();
    let (_, file) = url.split_once("/files/").unwrap();
    let file = app.client().get(&format!("/files/{file}")).await;
    assert_eq!(file.status, 200);
    let worker_path = format!("/v1/admin/workers/{}", worker.id);
    let refuse = format!("{worker_path}/refuse");
    let refused = admin.post(&refuse, &json!({})).await.expect(200);
    assert_eq!(refused["status"], "unverified");
    worker.client.send_form(path, &parts).await.expect(201);
    let verify = format!("{worker_path}/verify");
    let verified = admin.post(&verify, &json!({})).await.expect(200);
    assert_eq!(verified["status"], "verified");
    let again = admin.post(&verify, &json!({})).await.expect(200);
    assert_eq!(again["status"], "verified");
    let other = json!({"note": "Another decision."});
    let other = admin.post(&verify, &other).await;
    other.expect_error(409, "INVALID_WORKER_STATE");
    let none = admin
        .post("/v1/admin/workers/none/verify", &json!({}))
        .await;
    none.expect_error(404, "WORKER_NOT_FOUND");
    let queue = admin.get("/v1/admin/queue").await.expect(200);
    assert_eq!(queue["data"], json!([]));
    let suspend = format!("{worker_path}/suspend");
    admin.post(&suspend, &json!({})).await.expect(200);
    let signed_out = worker.client.get("/v1/worker").await;
    signed_out.expect_error(401, "UNAUTHORIZED");
    let worker = worker.signed_in_again(&app).await;
    let suspended = worker.client.get("/v1/worker").await.expect(200);
    assert_eq!(suspended["status"], "suspended");
    let sent = worker.client.send_form(path, &parts).await;
    sent.expect_error(409, "INVALID_WORKER_STATE");
}

async fn the_profile_can_be_changed(app: TestApp) {
    let worker = app.sign_up(&["driving"]).await;
    let change = json!({"name": "Grace H.", "phone": "+1 718 555 0100", "skills": ["notary"],
        "home_latitude": 1.5, "home_longitude": 2.5, "radius_km": 3});
    let changed = worker.client.patch("/v1/worker", &change).await.expect(200);
    assert_eq!(changed["name"], "Grace H.");
    assert_eq!(changed["skills"], json!(["notary"]));
    assert_eq!(changed["home_latitude"], 1.5);
    assert_eq!(changed["home_longitude"], 2.5);
    for (half, missing) in [
        (json!({"home_latitude": 3.5}), "home_longitude"),
        (json!({"home_longitude": 3.5}), "home_latitude"),
        (
            json!({"home_latitude": 3.5, "home_longitude": null}),
            "home_longitude",
        ),
    ] {
        let refused = worker.client.patch("/v1/worker", &half).await;
        assert_eq!(refused.faulty_fields(), [missing]);
    }
    let same = worker.client.get("/v1/worker").await.expect(200);
    assert_eq!(same["home_latitude"], 1.5);
    let cleared = worker
        .client
        .patch("/v1/worker", &json!({"phone": null}))
        .await;
    assert_eq!(cleared.expect(200)["phone"], Value::Null);
    let faulty = json!({"status": "verified", "email": "x@y.org"});
    let refused = worker.client.patch("/v1/worker", &faulty).await;
    assert_eq!(refused.faulty_fields(), ["status", "email"]);
}

async fn push_subscriptions_are_kept_once(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let path = "/v1/worker/push_subscriptions";
    let body = json!({"endpoint": "https://push.example.net/1",
        "keys": browser_keys()});
    let first = worker.client.post(path, &body).await.expect(201);
    let again = worker.client.post(path, &body).await.expect(201);
    assert_eq!(first["id"], again["id"]);
    let faulty = json!({"endpoint": "http://push.example.net/1", "keys": {"auth": 1}});
    let refused = worker.client.post(path, &faulty).await;
    assert_eq!(
        refused.faulty_fields(),
        ["endpoint", "keys.p256dh", "keys.auth"]
    );
    let with = |name: &str, key: &str| {
        let mut body = body.clone();
        body["endpoint"] = json!("https://push.example.net/2");
        body["keys"][name] = json!(key);
        body
    };
    let key = browser_keys()["p256dh"].as_str().unwrap().to_owned();
    // Not base64; too short; a point that is not on the curve.
    let beside = format!("{}A", &key[..key.len() - 1]);
    for wrong in ["%", &key[..40], &beside] {
        let refused = worker.client.post(path, &with("p256dh", wrong)).await;
        assert_eq!(refused.faulty_fields(), ["keys.p256dh"], "{wrong}");
    }
    for wrong in ["%", "BTBZMqHH6r4Tts7J_aSI", "BTBZMqHH6r4Tts7J_aSIggAA"] {
        let refused = worker.client.post(path, &with("auth", wrong)).await;
        assert_eq!(refused.faulty_fields(), ["keys.auth"], "{wrong}");
    }
    let mut inside = body.clone();
    inside["endpoint"] = json!("https://10.0.0.1/push");
    let refused = worker.client.post(path, &inside).await;
    assert_eq!(refused.faulty_fields(), ["endpoint"]);
    let gone = json!({"endpoint": "https://push.example.net/1"}).to_string();
    for removed in [true, false] {
        let reply = worker.client.send("DELETE", path, &[], gone.clone()).await;
        assert_eq!(reply.expect(200)["removed"], removed);
    }
}

async fn the_command_line_makes_admin_keys(app: TestApp) {
    let create = ["admin", "create-key", "--name", "Ada", "--json"];
    let printed = Command::new(&create).on(&app.database).succeed();
    let printed: Value = serde_json::from_str(&printed).unwrap();
    let key = printed["key"].as_str().unwrap();
    assert!(key.starts_with("svc_admin_"));
    let admin = Client::new(app.address, Some(key));
    admin.get("/v1/admin/queue").await.expect(200);
    assert!(!app.database.everything().await.contains(key));
}
