//! Workers set a second factor up, sign in with it and turn it off.

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{codes_of, delete, pass, secret_of, set_up};
use crate::support::{Client, PASSWORD, TestApp, Worker, on_both_engines};

on_both_engines!(
    a_right_code_turns_the_factor_on,
    a_sign_in_needs_password_and_code,
    a_recovery_code_opens_once,
    new_recovery_codes_replace_the_old_ones,
    a_code_turns_the_factor_off,
    the_setup_can_begin_again_until_it_is_confirmed,
    an_old_sign_in_does_not_set_up_a_factor,
    an_old_sign_in_opens_no_payout_account,
    what_is_wrong_with_a_code_is_named,
    a_repeated_request_gets_the_same_codes,
);

const PATH: &str = "/v1/worker/second_factor";
const CONFIRM: &str = "/v1/worker/second_factor/confirm";
const CODES: &str = "/v1/worker/second_factor/recovery_codes";
const SESSIONS: &str = "/v1/workers/sessions";

/// A sign-in with the right password.
pub fn credentials(worker: &Worker, code: Option<&Value>) -> Value {
    let mut body = json!({"email": worker.email, "password": PASSWORD});
    if let Some(code) = code {
        body["code"] = code["code"].clone();
    }
    body
}

async fn a_right_code_turns_the_factor_on(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let client = &worker.client;
    let off =
        json!({"enabled": false, "enabled_at": null, "recovery_codes_left": 0, "required": false});
    assert_eq!(client.get(PATH).await.expect(200), off);
    let early = client.post(CONFIRM, &json!({"code": "123456"})).await;
    early.expect_error(409, "SECOND_FACTOR_OFF");

    let setup = client.post(PATH, &json!({})).await.expect(201);
    let (secret, url) = (
        setup["secret"].as_str().unwrap(),
        setup["otpauth_url"].as_str().unwrap(),
    );
    assert_eq!(secret.len(), 32);
    assert!(url.starts_with("otpauth://totp/Legwork:"), "{url}");
    assert!(url.contains(&format!("secret={secret}&")), "{url}");
    let svg = setup["qr_svg"].as_str().unwrap();
    assert_eq!(
        svg,
        legwork::domain::second_factor::qr::svg(url).unwrap(),
        "the picture is of the URL"
    );
    // Nothing has changed yet.
    assert_eq!(client.get(PATH).await.expect(200), off);
    let session = credentials(&worker, None);
    app.client().post(SESSIONS, &session).await.expect(201);

    let secret = secret_of(&setup);
    let right = json!({"code": secret.code_at(app.clock.now())});
    let wrong = json!({"code": if right["code"] == "000000" { "000001" } else { "000000" }});
    let refused = client.post(CONFIRM, &wrong).await;
    refused.expect_error(401, "INVALID_CODE");
    let confirmed = client.post(CONFIRM, &right).await.expect(200);
    let codes = codes_of(&confirmed);
    assert_eq!(codes.len(), 10);
    assert!(codes.iter().all(|code| code.len() == 19), "{codes:?}");
    let on = client.get(PATH).await.expect(200);
    assert_eq!(on["enabled"], true);
    assert_eq!(on["enabled_at"], TestApp::NOON);
    assert_eq!(on["recovery_codes_left"], 10);
    for path in [PATH, CONFIRM] {
        let body = if path == PATH {
            json!({})
        } else {
            right.clone()
        };
        let again = client.post(path, &body).await;
        again.expect_error(409, "SECOND_FACTOR_ON");
    }
    let stored = app.database.everything().await;
    assert!(!stored.contains(&secret.to_base32()));
    for code in codes {
        assert!(!stored.contains(&code) && !stored.contains(&code.replace('-', "")));
    }
}

async fn a_sign_in_needs_password_and_code(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let factor = set_up(&app, &worker.client, PATH).await;
    let sign_in = async |body: &Value| app.client().post(SESSIONS, body).await;
    // The code that confirmed the setup is used up.
    let used = sign_in(&credentials(&worker, Some(&factor.code(&app)))).await;
    used.expect_error(401, "INVALID_CODE");
    let code = factor.next_code(&app);
    let none = sign_in(&credentials(&worker, None)).await;
    none.expect_error(401, "SECOND_FACTOR_REQUIRED");
    // Whoever does not know the password learns nothing about the factor.
    for code in [None, Some(&code)] {
        let mut wrong = credentials(&worker, code);
        wrong["password"] = "not this one".into();
        let refused = sign_in(&wrong).await;
        refused.expect_error(401, "INVALID_CREDENTIALS");
    }
    let signed_in = sign_in(&credentials(&worker, Some(&code)))
        .await
        .expect(201);
    let client = Client::new(app.address, signed_in["token"].as_str());
    client.get("/v1/worker").await.expect(200);
    let again = sign_in(&credentials(&worker, Some(&code))).await;
    again.expect_error(401, "INVALID_CODE");
    // The code of one step ago, and after it that of the next.
    let late = factor.next_code(&app);
    pass(&app, 30);
    sign_in(&credentials(&worker, Some(&late)))
        .await
        .expect(201);
    pass(&app, 30);
    let early = factor.next_code(&app);
    app.clock
        .move_to(app.clock.now().minus(std::time::Duration::from_secs(30)));
    sign_in(&credentials(&worker, Some(&early)))
        .await
        .expect(201);
    // Who has no factor may send a code.
    let other = app.sign_up(&[]).await;
    sign_in(&credentials(&other, Some(&early)))
        .await
        .expect(201);
}

async fn a_recovery_code_opens_once(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let factor = set_up(&app, &worker.client, PATH).await;
    let shouted = json!({"code": factor.recovery[3].to_uppercase().replace('-', " ")});
    let body = credentials(&worker, Some(&shouted));
    app.client().post(SESSIONS, &body).await.expect(201);
    let again = app.client().post(SESSIONS, &body).await;
    again.expect_error(401, "INVALID_CODE");
    let status = worker.client.get(PATH).await.expect(200);
    assert_eq!(status["recovery_codes_left"], 9);
    // Somebody else's codes are nothing here.
    let other = app.sign_up(&[]).await;
    let others = set_up(&app, &other.client, PATH).await;
    let body = credentials(&worker, Some(&others.recovery_code(0)));
    let refused = app.client().post(SESSIONS, &body).await;
    refused.expect_error(401, "INVALID_CODE");
}

async fn new_recovery_codes_replace_the_old_ones(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let factor = set_up(&app, &worker.client, PATH).await;
    let used = worker.client.post(CODES, &factor.code(&app)).await;
    used.expect_error(401, "INVALID_CODE");
    let code = factor.next_code(&app);
    let fresh = worker.client.post(CODES, &code).await.expect(201);
    let fresh = codes_of(&fresh);
    assert_eq!(fresh.len(), 10);
    let old = credentials(&worker, Some(&factor.recovery_code(0)));
    let old = app.client().post(SESSIONS, &old).await;
    old.expect_error(401, "INVALID_CODE");
    let new = credentials(&worker, Some(&json!({"code": fresh[0]})));
    app.client().post(SESSIONS, &new).await.expect(201);
}

async fn a_code_turns_the_factor_off(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let client = &worker.client;
    let early = delete(client, PATH, &json!({"code": "123456"})).await;
    early.expect_error(409, "SECOND_FACTOR_OFF");
    let factor = set_up(&app, client, PATH).await;
    let missing = delete(client, PATH, &json!({})).await;
    assert_eq!(missing.faulty_fields(), ["code"]);
    let wrong = delete(client, PATH, &json!({"code": "nothing"})).await;
    wrong.expect_error(401, "INVALID_CODE");
    let code = factor.next_code(&app);
    let off = delete(client, PATH, &code).await.expect(200);
    assert_eq!(off["enabled"], false);
    assert_eq!(off["recovery_codes_left"], 0);
    let session = credentials(&worker, None);
    app.client().post(SESSIONS, &session).await.expect(201);
    // Another setup begins from nothing, and its codes are others.
    let again = set_up(&app, client, PATH).await;
    assert_ne!(again.secret.to_base32(), factor.secret.to_base32());
    let old = credentials(&worker, Some(&factor.recovery_code(0)));
    let old = app.client().post(SESSIONS, &old).await;
    old.expect_error(401, "INVALID_CODE");
    let admin = app.admin().await;
    let audit = format!("/v1/admin/audit?subject_id={}", worker.id);
    let audit = admin.get(&audit).await.expect(200);
    let lines = audit["data"].as_array().unwrap().iter();
    let actions: Vec<_> = lines.map(|line| line["action"].as_str().unwrap()).collect();
    let expected = [
        "second_factor.enabled",
        "second_factor.disabled",
        "second_factor.enabled",
    ];
    assert_eq!(actions, expected);
}

async fn the_setup_can_begin_again_until_it_is_confirmed(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let client = &worker.client;
    let first = client.post(PATH, &json!({})).await.expect(201);
    let second = client.post(PATH, &json!({})).await.expect(201);
    assert_ne!(first["secret"], second["secret"]);
    let code = |setup: &Value| json!({"code": secret_of(setup).code_at(app.clock.now())});
    if code(&first) != code(&second) {
        let old = client.post(CONFIRM, &code(&first)).await;
        old.expect_error(401, "INVALID_CODE");
    }
    // Of two that confirm at once, one is told the codes that count.
    let body = code(&second);
    let both = join_all([client.post(CONFIRM, &body), client.post(CONFIRM, &body)]).await;
    let done: Vec<_> = both.iter().filter(|reply| reply.status == 200).collect();
    assert_eq!(done.len(), 1);
    let refused = both.iter().find(|reply| reply.status != 200).unwrap();
    assert_eq!(refused.body["error"]["code"], "SECOND_FACTOR_ON");
    let recovery = json!({"code": codes_of(&done[0].body)[0]});
    let body = credentials(&worker, Some(&recovery));
    app.client().post(SESSIONS, &body).await.expect(201);
}

async fn an_old_sign_in_does_not_set_up_a_factor(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    pass(&app, 601);
    let old = worker.client.post(PATH, &json!({})).await;
    old.expect_error(403, "SIGN_IN_AGAIN");
    let session = credentials(&worker, None);
    let signed_in = app.client().post(SESSIONS, &session).await.expect(201);
    let client = Client::new(app.address, signed_in["token"].as_str());
    client.post(PATH, &json!({})).await.expect(201);
}

async fn an_old_sign_in_opens_no_payout_account(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let path = "/v1/worker/payout_account";
    pass(&app, 600);
    worker.client.post(path, &json!({})).await.expect(201);
    pass(&app, 1);
    let old = worker.client.post(path, &json!({})).await;
    let old = old.expect_error(403, "SIGN_IN_AGAIN");
    let message = old.body["error"]["message"].as_str().unwrap();
    assert!(message.contains("Sign in again"), "{message}");
    let session = credentials(&worker, None);
    let signed_in = app.client().post(SESSIONS, &session).await.expect(201);
    let client = Client::new(app.address, signed_in["token"].as_str());
    client.post(path, &json!({})).await.expect(201);
}

async fn what_is_wrong_with_a_code_is_named(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    for path in [CONFIRM, CODES] {
        for faulty in [json!({}), json!({"code": 492039}), json!({"code": ""})] {
            let refused = worker.client.post(path, &faulty).await;
            assert_eq!(refused.faulty_fields(), ["code"], "{faulty}");
        }
    }
    let extra = worker.client.post(PATH, &json!({"code": "1"})).await;
    assert_eq!(extra.faulty_fields(), ["code"]);
    let long = json!({"email": worker.email, "password": PASSWORD, "code": "1".repeat(41)});
    let refused = app.client().post(SESSIONS, &long).await;
    assert_eq!(refused.faulty_fields(), ["code"]);
}

async fn a_repeated_request_gets_the_same_codes(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let factor = set_up(&app, &worker.client, PATH).await;
    let (header, code) = ([("Idempotency-Key", "once")], factor.next_code(&app));
    let first = worker.client.post_with(CODES, &header, &code).await;
    // Whoever knows the token and the key of the request does not know the codes.
    let replayed = worker.client.post_with(CODES, &header, &code).await;
    replayed.expect_error(401, "INVALID_CODE");
    let code = factor.next_code(&app);
    let again = worker.client.post_with(CODES, &header, &code).await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(first.expect(201), again.expect(201));
}
