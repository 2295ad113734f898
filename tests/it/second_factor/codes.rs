//! Codes are good once, and cannot be guessed.

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::workers::credentials;
use super::{delete, pass, set_up};
use crate::support::{Command, TestApp, on_both_engines};

on_both_engines!(
    of_two_who_use_a_code_at_once_one_passes,
    wrong_codes_are_limited,
    wrong_codes_of_sign_ins_count_as_wrong_passwords,
    secrets_of_factors_are_sealed_again_with_the_others,
    a_lost_master_key_leaves_the_recovery_codes,
);

const PATH: &str = "/v1/worker/second_factor";
const SESSIONS: &str = "/v1/workers/sessions";

async fn of_two_who_use_a_code_at_once_one_passes(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let factor = set_up(&app, &worker.client, PATH).await;
    // Two servers, as two people could use.
    let other = TestApp::start_on(app.store.clone(), &app.database).await;
    for code in [
        factor.next_code(&app),
        factor.recovery_code(0),
        factor.next_code(&app),
        factor.recovery_code(1),
    ] {
        other.clock.move_to(app.clock.now());
        let body = credentials(&worker, Some(&code));
        let (one, two) = (app.client(), other.client());
        let both = join_all([
            one.post(SESSIONS, &body),
            two.post(SESSIONS, &body),
            one.post(SESSIONS, &body),
        ]);
        let both = both.await;
        let passed = both.iter().filter(|reply| reply.status == 201).count();
        assert_eq!(passed, 1, "{code}");
        for reply in both.iter().filter(|reply| reply.status != 201) {
            assert_eq!(
                reply.body["error"]["code"], "INVALID_CODE",
                "{}",
                reply.text
            );
        }
    }
}

async fn wrong_codes_are_limited(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let factor = set_up(&app, &worker.client, PATH).await;
    let right = factor.next_code(&app);
    let wrong = wrong_code(&right);
    for _ in 0..10 {
        let refused = delete(&worker.client, PATH, &wrong).await;
        refused.expect_error(401, "INVALID_CODE");
    }
    // On another server too: the database counts.
    let other = TestApp::start_on(app.store.clone(), &app.database).await;
    other.clock.move_to(app.clock.now());
    let mut client = worker.client.clone();
    for server in [&app, &other] {
        client = crate::support::Client::new(server.address, Some(client.key()));
        let limited = delete(&client, PATH, &right).await;
        assert_eq!(limited.header("retry-after"), "900");
        limited.expect_error(429, "RATE_LIMITED");
    }
    // A recovery code still passes, so that nobody can lock the owner out.
    let codes = "/v1/worker/second_factor/recovery_codes";
    let recovery = factor.recovery_code(0);
    worker.client.post(codes, &recovery).await.expect(201);
    let limited = delete(&worker.client, PATH, &right).await;
    limited.expect_error(429, "RATE_LIMITED");
    pass(&app, 900);
    let right = factor.code(&app);
    delete(&worker.client, PATH, &right).await.expect(200);
}

fn wrong_code(right: &Value) -> Value {
    // Neither this step's code nor one of those beside it, as good as always.
    match right["code"].as_str() {
        Some("000000") => json!({"code": "999999"}),
        _ => json!({"code": "000000"}),
    }
}

async fn wrong_codes_of_sign_ins_count_as_wrong_passwords(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let factor = set_up(&app, &worker.client, PATH).await;
    // A password without a code does not count.
    for _ in 0..12 {
        let reply = app
            .client()
            .post(SESSIONS, &credentials(&worker, None))
            .await;
        reply.expect_error(401, "SECOND_FACTOR_REQUIRED");
    }
    let wrong = credentials(&worker, Some(&json!({"code": "no recovery code"})));
    for _ in 0..10 {
        let reply = app.client().post(SESSIONS, &wrong).await;
        reply.expect_error(401, "INVALID_CODE");
    }
    let right = credentials(&worker, Some(&factor.recovery_code(0)));
    let limited = app.client().post(SESSIONS, &right).await;
    limited.expect_error(429, "RATE_LIMITED");
    // It was not looked at.
    let status = worker.client.get(PATH).await.expect(200);
    assert_eq!(status["recovery_codes_left"], 10);
}

async fn stored(app: &TestApp) -> String {
    let sql = "SELECT secret FROM second_factors";
    app.database.column(sql).await.remove(0)
}

async fn secrets_of_factors_are_sealed_again_with_the_others(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let factor = set_up(&app, &worker.client, PATH).await;
    let before = stored(&app).await;
    assert!(before.starts_with("sealed:v1:"), "{before}");
    Command::new(&["secrets", "rotate"])
        .on(&app.database)
        .succeed();
    let after = stored(&app).await;
    assert!(after.starts_with("sealed:v1:"), "{after}");
    let key = |sealed: &str| sealed.split(':').nth(2).unwrap().to_owned();
    assert_ne!(key(&before), key(&after));
    let reopened = TestApp::start(&app.database).await;
    reopened.clock.move_to(app.clock.now());
    let body = credentials(&worker, Some(&factor.next_code(&reopened)));
    reopened.client().post(SESSIONS, &body).await.expect(201);
}

async fn a_lost_master_key_leaves_the_recovery_codes(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let factor = set_up(&app, &worker.client, PATH).await;
    std::fs::remove_file(app.database.folder.path().join("master.key")).unwrap();
    let reset = Command::new(&["secrets", "reset", "--yes"]).on(&app.database);
    let told = reset.succeed();
    assert!(
        told.contains("1 second factors take recovery codes only"),
        "{told}"
    );
    let reopened = TestApp::start(&app.database).await;
    reopened.clock.move_to(app.clock.now());
    let body = credentials(&worker, Some(&factor.next_code(&reopened)));
    let lost = reopened.client().post(SESSIONS, &body).await;
    lost.expect_error(401, "INVALID_CODE");
    let body = credentials(&worker, Some(&factor.recovery_code(0)));
    reopened.client().post(SESSIONS, &body).await.expect(201);
    let by_operator = ["second-factor", "reset", "--worker", &worker.email];
    Command::new(&by_operator).on(&app.database).succeed();
    let body = credentials(&worker, None);
    reopened.client().post(SESSIONS, &body).await.expect(201);
}
