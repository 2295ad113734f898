//! Workers sign up, and confirm and change their addresses.

use std::time::Duration;

use futures_util::future::join_all;
use legwork::domain::MailLinkId;
use legwork::usecases;
use serde_json::{Value, json};

use crate::support::{Client, PASSWORD, TestApp, Worker, on_both_engines, photo};

on_both_engines!(
    verification_needs_a_confirmed_address,
    without_mail_every_address_counts_as_confirmed,
    a_sign_up_does_not_tell_whether_the_address_is_known,
    the_first_who_confirms_gets_the_address,
    nobody_signs_in_with_an_address_that_is_only_claimed,
    a_confirmation_is_sent_again,
    the_pages_of_the_links_work_for_workers_too,
    whoever_claims_an_address_is_not_its_owner,
    a_link_of_somebody_else_confirms_nothing,
    a_new_address_is_confirmed_by_its_link_and_told_to_the_old_one,
    without_mail_an_address_is_changed_at_once,
    a_sign_up_of_a_worker_with_a_key_happens_once,
);

pub(super) const NEW: &str = "staple battery horse";
pub(super) const SESSIONS: &str = "/v1/workers/sessions";
pub(super) const RESET: &str = "/v1/workers/password_reset";

/// The token of the latest link of a purpose that is still good.
pub(super) async fn token(app: &TestApp, purpose: &str) -> String {
    app.jobs.drain().await.unwrap();
    let sql = format!(
        "SELECT id FROM mail_links WHERE purpose = '{purpose}' AND used_at IS NULL
            AND voided_at IS NULL ORDER BY id"
    );
    let id = app.database.column(&sql).await.pop().unwrap();
    let (id, now) = (MailLinkId::parse(&id).unwrap(), app.clock.now());
    let made = app
        .store
        .read(move |tx| usecases::token_to_mail(tx, id, now));
    made.await.unwrap().unwrap().token.expose().to_owned()
}

/// The kinds of the mails to an address, in the order of the alphabet.
pub(super) async fn mails(app: &TestApp, email: &str) -> Vec<String> {
    app.jobs.drain().await.unwrap();
    let sql = format!("SELECT kind FROM notices WHERE email = '{email}' ORDER BY kind");
    app.database.column(&sql).await
}

async fn confirm(app: &TestApp) -> Value {
    let body = json!({"token": token(app, "confirm_email").await, "password": PASSWORD});
    let reply = app.client().post("/v1/workers/confirm", &body).await;
    reply.expect(200)
}

pub(super) fn credentials(email: &str, password: &str) -> Value {
    json!({"email": email, "password": password})
}

async fn send_documents(worker: &Worker) -> crate::support::Reply {
    let (identity, selfie) = (photo("identity"), photo("selfie"));
    let parts: [(&str, &[u8]); 2] = [("identity", &identity), ("selfie", &selfie)];
    let path = "/v1/worker/verification";
    worker.client.send_form(path, &parts).await
}

async fn verification_needs_a_confirmed_address(app: TestApp) {
    let app = app.sending_mail().await;
    let worker = app.sign_up(&[]).await;
    let profile = worker.client.get("/v1/worker").await.expect(200);
    assert_eq!(profile["email"], worker.email);
    assert_eq!(mails(&app, &worker.email).await, ["confirm_email"]);
    let early = send_documents(&worker).await;
    early.expect_error(403, "EMAIL_NOT_CONFIRMED");
    let confirmed = confirm(&app).await;
    assert_eq!(confirmed, json!({"email": worker.email, "confirmed": true}));
    send_documents(&worker).await.expect(201);
}

async fn without_mail_every_address_counts_as_confirmed(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    assert_eq!(mails(&app, &worker.email).await, Vec::<String>::new());
    send_documents(&worker).await.expect(201);
    let email = worker
        .client
        .post("/v1/worker/confirmation", &json!({}))
        .await;
    assert_eq!(email.expect(200)["confirmed"], true);
}

async fn a_sign_up_does_not_tell_whether_the_address_is_known(app: TestApp) {
    let app = app.sending_mail().await;
    let owner = app.sign_up(&[]).await;
    confirm(&app).await;
    let body = json!({"email": owner.email, "password": NEW, "name": "Mallory"});
    let known = app.client().post("/v1/workers", &body).await.expect(201);
    let body = json!({"email": "unknown@example.com", "password": NEW, "name": "Mallory"});
    let unknown = app.client().post("/v1/workers", &body).await.expect(201);
    let hide = |mut reply: Value| {
        reply["token"] = "".into();
        reply["worker"]["id"] = "".into();
        reply["worker"]["email"] = "".into();
        reply
    };
    let stranger = Client::new(app.address, known["token"].as_str());
    let profile = stranger.get("/v1/worker").await.expect(200);
    assert_eq!(profile["email"], owner.email);
    assert_ne!(profile["id"], owner.id);
    assert_eq!(hide(known), hide(unknown));
    // The owner is told, once a day, and no link gives the address away.
    let expected = ["confirm_email", "email_known"];
    assert_eq!(mails(&app, &owner.email).await, expected);
    app.client().post("/v1/workers", &body).await.expect(201);
    assert_eq!(mails(&app, &owner.email).await, expected);
    let wrong = app
        .client()
        .post(SESSIONS, &credentials(&owner.email, NEW))
        .await;
    wrong.expect_error(401, "INVALID_CREDENTIALS");
    let right = credentials(&owner.email, PASSWORD);
    let signed_in = app.client().post(SESSIONS, &right).await.expect(201);
    assert_eq!(signed_in["worker"]["id"], owner.id);
}

async fn the_first_who_confirms_gets_the_address(app: TestApp) {
    let app = app.sending_mail().await;
    let body = json!({"email": "grace@example.com", "password": PASSWORD, "name": "Grace"});
    let mut tokens = Vec::new();
    for _ in 0..2 {
        app.client().post("/v1/workers", &body).await.expect(201);
        tokens.push(token(&app, "confirm_email").await);
        app.clock
            .move_to(app.clock.now().plus(Duration::from_millis(1)));
    }
    let posts = tokens.iter().map(|token| {
        let (client, body) = (app.client(), json!({"token": token, "password": PASSWORD}));
        async move { client.post("/v1/workers/confirm", &body).await }
    });
    let replies = join_all(posts).await;
    let done = replies.iter().filter(|reply| reply.status == 200).count();
    assert_eq!(done, 1, "one of two who confirm at once");
    let refused = replies.iter().find(|reply| reply.status != 200).unwrap();
    assert_eq!(refused.body["error"]["code"], "EMAIL_TAKEN");
    for token in tokens {
        let body = json!({"token": token, "password": PASSWORD});
        let again = app.client().post("/v1/workers/confirm", &body).await;
        assert!(again.status == 410 || again.status == 409, "{}", again.text);
    }
}

async fn nobody_signs_in_with_an_address_that_is_only_claimed(app: TestApp) {
    let app = app.sending_mail().await;
    let worker = app.sign_up(&[]).await;
    let body = credentials(&worker.email, PASSWORD);
    let claimed = app.client().post(SESSIONS, &body).await;
    claimed.expect_error(401, "INVALID_CREDENTIALS");
    let asked = app
        .client()
        .post(RESET, &json!({"email": worker.email}))
        .await;
    asked.expect(200);
    assert_eq!(mails(&app, &worker.email).await, ["confirm_email"]);
    confirm(&app).await;
    app.client().post(SESSIONS, &body).await.expect(201);
}

async fn the_pages_of_the_links_work_for_workers_too(app: TestApp) {
    let app = app.sending_mail().await;
    let worker = app.sign_up(&[]).await;
    let confirm = format!("/confirm/{}", token(&app, "confirm_email").await);
    let page = app.client().get(&confirm).await;
    assert_eq!(page.status, 200, "{}", page.text);
    let seen = worker
        .client
        .post("/v1/worker/confirmation", &json!({}))
        .await;
    assert_eq!(
        seen.expect(200)["confirmed"],
        false,
        "a look confirms nothing"
    );
    let form = [("content-type", "application/x-www-form-urlencoded")];
    for wrong in ["", "password=not+this+one"] {
        let refused = app.client().send("POST", &confirm, &form, wrong).await;
        assert_eq!(refused.status, 400, "{}", refused.text);
    }
    let body = "password=correct+horse+battery";
    let confirmed = app.client().send("POST", &confirm, &form, body).await;
    assert_eq!(confirmed.status, 200, "{}", confirmed.text);
    let seen = worker
        .client
        .post("/v1/worker/confirmation", &json!({}))
        .await;
    assert_eq!(seen.expect(200)["confirmed"], true);
    let body = json!({"email": worker.email});
    app.client().post(RESET, &body).await.expect(200);
    let reset = format!("/reset/{}", token(&app, "reset_password").await);
    let body = format!("password={}", NEW.replace(' ', "+"));
    let set = app.client().send("POST", &reset, &form, body).await;
    assert_eq!(set.status, 200, "{}", set.text);
    assert!(set.text.contains("href=\"/worker/sign-in\""));
    let body = credentials(&worker.email, NEW);
    app.client().post(SESSIONS, &body).await.expect(201);
    let signed_out = worker.client.get("/v1/worker").await;
    signed_out.expect_error(401, "UNAUTHORIZED");
}

async fn whoever_claims_an_address_is_not_its_owner(app: TestApp) {
    let app = app.sending_mail().await;
    let sign_up = async |password: &str| {
        let body = json!({"email": "grace@example.com", "password": password, "name": "Grace"});
        let made = app.client().post("/v1/workers", &body).await.expect(201);
        app.clock
            .move_to(app.clock.now().plus(Duration::from_millis(1)));
        Client::new(app.address, made["token"].as_str())
    };
    sign_up(PASSWORD).await;
    let first = token(&app, "confirm_email").await;
    sign_up(NEW).await;
    let second = token(&app, "confirm_email").await;
    for (token, password, status) in [(first, PASSWORD, 200), (second, NEW, 409)] {
        let page = format!("/confirm/{token}");
        let form = [("content-type", "application/x-www-form-urlencoded")];
        let body = format!("password={}", password.replace(' ', "+"));
        let reply = app.client().send("POST", &page, &form, body).await;
        assert_eq!(reply.status, status, "{}", reply.text);
    }
    let claimant = sign_up(NEW).await;
    app.jobs.drain().await.unwrap();
    // Neither what was mailed nor a password tells that somebody has the address.
    let told = claimant.get("/v1/worker/notifications").await.expect(200);
    assert_eq!(
        (&told["data"], &told["unread_count"]),
        (&json!([]), &json!(0))
    );
    let delete = async |password: &str| {
        let body = json!({ "password": password }).to_string();
        claimant.send("DELETE", "/v1/worker", &[], body).await
    };
    let refused = delete(PASSWORD).await;
    refused.expect_error(401, "INVALID_CREDENTIALS");
    delete(NEW).await.expect(200);
    let body = credentials("grace@example.com", PASSWORD);
    app.client().post(SESSIONS, &body).await.expect(201);
}

async fn a_confirmation_is_sent_again(app: TestApp) {
    let app = app.sending_mail().await;
    let worker = app.sign_up(&[]).await;
    let path = "/v1/worker/confirmation";
    // Three good links at a time.
    for _ in 0..4 {
        let email = worker.client.post(path, &json!({})).await.expect(200);
        assert_eq!(email, json!({"email": worker.email, "confirmed": false}));
        // What is asked for again before the job has run is one mail.
        app.jobs.drain().await.unwrap();
    }
    assert_eq!(mails(&app, &worker.email).await, ["confirm_email"; 3]);
    confirm(&app).await;
    let email = worker.client.post(path, &json!({})).await.expect(200);
    assert_eq!(email["confirmed"], true);
    assert_eq!(mails(&app, &worker.email).await.len(), 3);
}

async fn a_link_of_somebody_else_confirms_nothing(app: TestApp) {
    use legwork::domain::{AccountId, LinkPurpose, Person};
    let now = app.clock.now();
    let person = Person::Account(AccountId::new(now, &[1; 10]));
    for (purpose, path) in [
        (LinkPurpose::ConfirmEmail, "/v1/workers/confirm"),
        (
            LinkPurpose::ResetPassword,
            "/v1/workers/password_reset/confirm",
        ),
    ] {
        let make = move |tx: &mut legwork::store::Tx<'_>| {
            usecases::make_link(tx, purpose, person, "ada@example.com", now)
        };
        let made = app.store.write(make).await.unwrap().unwrap();
        let body = json!({"token": made.token.expose(), "password": NEW});
        let refused = app.client().post(path, &body).await;
        refused.expect_error(410, "LINK_EXPIRED");
    }
    let malformed = app.client().post("/v1/workers/confirm", &json!({})).await;
    assert_eq!(malformed.faulty_fields(), ["token", "password"]);
}

async fn a_new_address_is_confirmed_by_its_link_and_told_to_the_old_one(app: TestApp) {
    let app = app.sending_mail().await;
    let worker = app.sign_up(&[]).await;
    confirm(&app).await;
    let other = app.sign_up(&[]).await;
    confirm(&app).await;
    let put = async |email: &str| {
        let body = json!({"password": PASSWORD, "email": email}).to_string();
        let reply = worker
            .client
            .send("PUT", "/v1/worker/email", &[], body)
            .await;
        reply.expect(200)
    };
    // Whether somebody has the address is not told.
    let expected = json!({"email": worker.email, "new_email": other.email});
    assert_eq!(put(&other.email).await, expected);
    let body = json!({"token": token(&app, "change_email").await, "password": PASSWORD});
    let taken = app.client().post("/v1/workers/confirm", &body).await;
    taken.expect_error(409, "EMAIL_TAKEN");
    app.clock
        .move_to(app.clock.now().plus(Duration::from_millis(1)));
    put("hopper@example.com").await;
    let unchanged = worker.client.get("/v1/worker").await.expect(200);
    assert_eq!(unchanged["email"], worker.email);
    let body = json!({"token": token(&app, "change_email").await, "password": PASSWORD});
    let changed = app.client().post("/v1/workers/confirm", &body).await;
    assert_eq!(changed.expect(200)["email"], "hopper@example.com");
    let profile = worker.client.get("/v1/worker").await.expect(200);
    assert_eq!(profile["email"], "hopper@example.com");
    let told = mails(&app, &worker.email).await;
    assert!(told.contains(&"email_changed".to_owned()), "{told:?}");
    let new = credentials("hopper@example.com", PASSWORD);
    app.client().post(SESSIONS, &new).await.expect(201);
    let old = app
        .client()
        .post(SESSIONS, &credentials(&worker.email, PASSWORD))
        .await;
    old.expect_error(401, "INVALID_CREDENTIALS");
}

async fn without_mail_an_address_is_changed_at_once(app: TestApp) {
    let (worker, other) = (app.sign_up(&[]).await, app.sign_up(&[]).await);
    let put = async |email: &str| {
        let body = json!({"password": PASSWORD, "email": email}).to_string();
        worker
            .client
            .send("PUT", "/v1/worker/email", &[], body)
            .await
    };
    put(&other.email).await.expect_error(409, "EMAIL_TAKEN");
    let changed = put("Hopper@Example.com").await.expect(200);
    let expected = json!({"email": "hopper@example.com", "new_email": null});
    assert_eq!(changed, expected);
    let new = credentials("hopper@example.com", PASSWORD);
    app.client().post(SESSIONS, &new).await.expect(201);
}

async fn a_sign_up_of_a_worker_with_a_key_happens_once(app: TestApp) {
    let once = [("Idempotency-Key", "once")];
    let body = json!({"email": "grace@example.com", "password": PASSWORD, "name": "Grace"});
    let client = app.client();
    let first = client.post_with("/v1/workers", &once, &body).await;
    let first = first.expect(201);
    let again = client.post_with("/v1/workers", &once, &body).await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.expect(201), first);
    let token = first["token"].as_str().unwrap();
    let signed_in = Client::new(app.address, Some(token));
    assert_eq!(
        signed_in.get("/v1/worker").await.expect(200),
        first["worker"]
    );
    assert!(!app.database.everything().await.contains(token));
    // Whoever knows the key and the address, and not the password, gets nothing.
    let mut other = body.clone();
    other["password"] = NEW.into();
    let other = client.post_with("/v1/workers", &once, &other).await;
    other.expect_error(422, "IDEMPOTENCY_MISMATCH");
    let without = client.post("/v1/workers", &body).await;
    without.expect_error(409, "EMAIL_TAKEN");
}
