//! Developers open accounts themselves.

use std::time::Duration;

use futures_util::future::join_all;
use legwork::domain::AccountId;
use legwork::store::Tx;
use legwork::usecases;
use serde_json::{Value, json};

use super::mails::{named_developer, new_address, plain_mailer, sign_up};
use crate::support::{Client, PASSWORD, Reply, TestApp, on_both_engines, storefront};

on_both_engines!(
    a_sign_up_answers_the_account_and_keys_that_work,
    what_is_wrong_with_a_sign_up_of_a_developer_is_named,
    a_known_address_makes_no_difference,
    without_a_mail_server_every_address_counts_as_confirmed,
    a_sign_up_with_a_key_happens_once,
    sign_ups_from_one_address_are_limited,
    a_confirmation_is_sent_again,
    admins_find_accounts_by_the_address_they_claim,
    a_deleted_account_leaves_no_links_and_sessions,
    without_a_mail_server_a_change_of_address_is_noted_for_the_former_one,
);

const SIGN_UP: &str = "/v1/accounts/sign_up";

fn ada(email: &str) -> Value {
    json!({"email": email, "password": PASSWORD, "name": "Ada", "company": "Example Audits"})
}

async fn a_sign_up_answers_the_account_and_keys_that_work(app: TestApp) {
    let reply = app.client().post(SIGN_UP, &ada("Ada@Example.com")).await;
    let signed_up = reply.expect(201);
    let account = &signed_up["account"];
    assert_eq!(account["email"], "ada@example.com");
    assert_eq!(account["tier"], "free");
    assert_eq!(account["company"], "Example Audits");
    for key in ["live_key", "test_key"] {
        let client = Client::new(app.address, signed_up[key].as_str());
        assert_eq!(&client.get("/v1/account").await.expect(200), account);
    }
    let test = Client::new(app.address, signed_up["test_key"].as_str());
    test.post("/v1/tasks", &storefront()).await.expect(201);
    let everything = app.database.everything().await;
    assert!(!everything.contains(signed_up["live_key"].as_str().unwrap()));
    assert!(!everything.contains(PASSWORD));
}

async fn what_is_wrong_with_a_sign_up_of_a_developer_is_named(app: TestApp) {
    let faulty = json!({"email": "x", "password": "password", "name": "", "company": 1,
        "tier": "pro"});
    let refused = app.client().post(SIGN_UP, &faulty).await;
    let expected = ["email", "password", "name", "company", "tier"];
    assert_eq!(refused.faulty_fields(), expected);
    let weak = json!({"email": "lovelace@b.org", "password": "lovelace-1815", "name": "Ada"});
    let refused = app.client().post(SIGN_UP, &weak).await;
    assert_eq!(refused.faulty_fields(), ["password"]);
    let accounts = "SELECT CAST(COUNT(*) AS TEXT) FROM accounts";
    assert_eq!(app.database.column(accounts).await, ["0"]);
}

/// All that differs from one account to another.
fn shape(reply: Reply, email: &str) -> String {
    let mut body = reply.expect(201);
    assert_eq!(body["account"]["email"], email);
    for name in ["live_key", "test_key"] {
        body[name] = json!(body[name].as_str().unwrap().len());
    }
    body["account"]["id"] = json!("id");
    body["account"]["email"] = json!("email");
    body.to_string()
}

async fn a_known_address_makes_no_difference(app: TestApp) {
    let app = app.with_mail(plain_mailer()).await;
    let (known, unknown) = (new_address("known"), new_address("fresh"));
    named_developer(&app, &known).await;
    let mut shapes = Vec::new();
    for email in [&known, &unknown] {
        let reply = app.client().post(SIGN_UP, &ada(email)).await;
        let test = Client::new(app.address, reply.body["test_key"].as_str());
        let live = Client::new(app.address, reply.body["live_key"].as_str());
        test.post("/v1/tasks", &storefront()).await.expect(201);
        let refused = live.post("/v1/tasks", &storefront()).await;
        refused.expect_error(403, "EMAIL_NOT_CONFIRMED");
        let again = live.post("/v1/account/confirmation", &json!({})).await;
        let expected = json!({"email": email, "confirmed": false});
        assert_eq!(again.expect(200), expected);
        shapes.push(shape(reply, email));
    }
    assert_eq!(shapes[0], shapes[1]);
    // Nothing was charged, and no task was made.
    let live = "SELECT CAST(COUNT(*) AS TEXT) FROM tasks WHERE environment = 'live'";
    assert_eq!(app.database.column(live).await, ["0"]);
}

async fn without_a_mail_server_every_address_counts_as_confirmed(app: TestApp) {
    for _ in 0..2 {
        let signed_up = sign_up(&app, "ada@example.com").await;
        let live = Client::new(app.address, signed_up["live_key"].as_str());
        live.post("/v1/tasks", &storefront()).await.expect(201);
        let said = live.post("/v1/account/confirmation", &json!({})).await;
        let expected = json!({"email": "ada@example.com", "confirmed": true});
        assert_eq!(said.expect(200), expected);
    }
    app.jobs.drain().await.unwrap();
}

async fn a_sign_up_with_a_key_happens_once(app: TestApp) {
    let once = [("Idempotency-Key", "once")];
    let (client, body) = (app.client(), ada("ada@example.com"));
    let first = client.post_with(SIGN_UP, &once, &body).await.expect(201);
    let again = client.post_with(SIGN_UP, &once, &body).await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.expect(201), first);
    let mut other = body.clone();
    other["password"] = json!("another horse battery");
    let other = client.post_with(SIGN_UP, &once, &other).await;
    other.expect_error(422, "IDEMPOTENCY_MISMATCH");
    // Another address has keys of its own.
    let bob = client
        .post_with(SIGN_UP, &once, &ada("bob@example.com"))
        .await;
    assert_ne!(bob.expect(201)["account"]["id"], first["account"]["id"]);
    let everything = app.database.everything().await;
    for secret in ["live_key", "test_key"] {
        assert!(!everything.contains(first[secret].as_str().unwrap()));
    }
    let at_once = [("Idempotency-Key", "at once")];
    let many = (0..6).map(|_| client.post_with(SIGN_UP, &at_once, &body));
    let made = join_all(many).await;
    let made: Vec<_> = made.iter().filter(|reply| reply.status == 201).collect();
    assert!(made.iter().all(|reply| reply.body == made[0].body));
    let accounts = "SELECT CAST(COUNT(*) AS TEXT) FROM accounts";
    assert_eq!(app.database.column(accounts).await, ["3"]);
}

async fn sign_ups_from_one_address_are_limited(app: TestApp) {
    let reset = json!({"email": "ada@example.com"});
    let mut accepted = 0;
    loop {
        let client = app.client();
        let reply = client.post("/v1/accounts/password_reset", &reset).await;
        if reply.status == 429 {
            break;
        }
        reply.expect(200);
        accepted += 1;
        assert!(accepted <= 100);
    }
    let refused = app.client().post(SIGN_UP, &ada("ada@example.com")).await;
    refused.expect_error(429, "RATE_LIMITED");
}

async fn a_confirmation_is_sent_again(app: TestApp) {
    let app = app.with_mail(plain_mailer()).await;
    let email = new_address("again");
    let signed_up = sign_up(&app, &email).await;
    let client = Client::new(app.address, signed_up["test_key"].as_str());
    for _ in 0..5 {
        app.jobs.drain().await.unwrap();
        let again = client.post("/v1/account/confirmation", &json!({})).await;
        again.expect(200);
    }
    app.jobs.drain().await.unwrap();
    let mails = crate::notifications::peers::mail_server().mails(&email);
    assert_eq!(mails.len(), 3, "{mails:?}");
}

async fn admins_find_accounts_by_the_address_they_claim(app: TestApp) {
    named_developer(&app, "ada@example.com").await;
    for _ in 0..2 {
        sign_up(&app, "ada@example.com").await;
    }
    let admin = app.admin().await;
    let found = "/v1/admin/accounts?email=ada@example.com";
    let found = admin.get(found).await.expect(200);
    let found = found["data"].as_array().unwrap();
    assert_eq!(found.len(), 3);
    assert!(found.iter().all(|one| one["email"] == "ada@example.com"));
    let page = admin
        .get("/v1/admin/accounts?email=ada@example.com&limit=2")
        .await
        .expect(200);
    assert_eq!(page["data"].as_array().unwrap().len(), 2);
}

async fn a_deleted_account_leaves_no_links_and_sessions(app: TestApp) {
    let signed_up = sign_up(&app, "ada@example.com").await;
    app.jobs.drain().await.unwrap();
    let count = async |table: &str| {
        let sql = format!("SELECT CAST(COUNT(*) AS TEXT) FROM {table}");
        app.database.column(&sql).await.remove(0)
    };
    assert_eq!(count("mail_links").await, "1");
    let client = Client::new(app.address, signed_up["live_key"].as_str());
    let confirm = r#"{"confirm": "ada@example.com"}"#;
    let deleted = client.send("DELETE", "/v1/account", &[], confirm).await;
    deleted.expect(200);
    // The link proves the mailbox until it expires. With this account it does nothing.
    assert_eq!(count("mail_links").await, "1");
    app.advance(Duration::from_secs(31 * 24 * 60 * 60));
    let id = signed_up["account"]["id"].as_str().unwrap();
    let (id, now) = (AccountId::parse(id).unwrap(), app.clock.now());
    app.store
        .write(move |tx| usecases::erase_account(tx, id, now))
        .await
        .unwrap();
    assert_eq!(count("mail_links").await, "0");
    assert_eq!(count("accounts WHERE password_hash IS NOT NULL").await, "0");
    assert_eq!(count("accounts WHERE claimed_email IS NOT NULL").await, "0");
}

async fn without_a_mail_server_a_change_of_address_is_noted_for_the_former_one(app: TestApp) {
    let id = named_developer(&app, "ada@example.com").await;
    let now = app.clock.now();
    let change =
        move |tx: &mut Tx<'_>| usecases::change_email(tx, id, "lovelace@example.com", false, now);
    app.store.write(change).await.unwrap();
    let told = "SELECT email FROM notices WHERE kind = 'email_changed'";
    assert_eq!(app.database.column(told).await, ["ada@example.com"]);
}
