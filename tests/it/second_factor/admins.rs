//! Admin keys: their second factor, and sessions.

use futures_util::future::join_all;
use legwork::domain::{Actor, AdminKeyId, AdminRole};
use legwork::usecases;
use serde_json::json;

use super::{Factor, codes_of, delete, pass, secret_of, set_up};
use crate::support::{Client, Command, TestApp, on_both_engines};

on_both_engines!(
    every_role_sets_up_a_factor_of_its_own,
    a_code_opens_a_session,
    a_session_ends_with_its_key_its_factor_and_by_itself,
    of_two_who_open_a_session_with_a_code_one_gets_it,
    the_command_line_removes_a_lost_factor,
    a_repeat_is_answered_only_with_a_code_that_passes,
);

const PATH: &str = "/v1/admin/second_factor";
const SESSIONS: &str = "/v1/admin/sessions";

async fn every_role_sets_up_a_factor_of_its_own(app: TestApp) {
    for role in AdminRole::ALL {
        let (admin, other) = (app.admin_with(*role).await, app.admin_with(*role).await);
        let factor = set_up(&app, &admin, PATH).await;
        assert_eq!(admin.get(PATH).await.expect(200)["enabled"], true);
        assert_eq!(other.get(PATH).await.expect(200)["enabled"], false);
        // Where nothing is required, programs go on with the key alone.
        admin.get("/v1/admin/queue").await.expect(200);
        let codes = format!("{PATH}/recovery_codes");
        let code = factor.next_code(&app);
        admin.post(&codes, &code).await.expect(201);
        let code = factor.next_code(&app);
        let off = delete(&admin, PATH, &code).await.expect(200);
        assert_eq!(off["enabled"], false);
    }
}

async fn a_code_opens_a_session(app: TestApp) {
    let admin = app.admin_with(AdminRole::Operator).await;
    let none = admin.post(SESSIONS, &json!({"code": "123456"})).await;
    none.expect_error(409, "SECOND_FACTOR_OFF");
    let factor = set_up(&app, &admin, PATH).await;
    let used = admin.post(SESSIONS, &factor.code(&app)).await;
    used.expect_error(401, "INVALID_CODE");
    let code = factor.next_code(&app);
    let opened = admin.post(SESSIONS, &code).await.expect(201);
    let token = opened["token"].as_str().unwrap();
    assert!(token.starts_with("svc_admin_session_"), "{token}");
    assert_eq!(opened["expires_at"], "2025-11-16T00:00:30.000Z");
    let session = Client::new(app.address, Some(token));
    // It does what the key may do, in the name of the key, and no more.
    let worker = app.sign_up(&[]).await;
    let suspend = format!("/v1/admin/workers/{}/suspend", worker.id);
    session.post(&suspend, &json!({})).await.expect(200);
    let tier = "/v1/admin/accounts/none/tier";
    let refused = session.post(tier, &json!({"tier": "pro"})).await;
    refused.expect_error(403, "FORBIDDEN");
    let audit = session.get("/v1/admin/audit").await.expect(200);
    let lines = audit["data"].as_array().unwrap();
    assert_eq!(lines[0]["action"], "worker.suspended");
    assert_eq!(lines[1]["action"], "admin_key.signed_in");
    assert_eq!(lines[0]["by"], lines[1]["by"]);
    assert!(!app.database.everything().await.contains(token));
    let ended = session.delete("/v1/admin/session").await.expect(200);
    assert_eq!(ended["ended"], true);
    let gone = session.get("/v1/admin/queue").await;
    gone.expect_error(401, "UNAUTHORIZED");
    // The key is no session.
    let ended = admin.delete("/v1/admin/session").await.expect(200);
    assert_eq!(ended["ended"], false);
    admin.get("/v1/admin/queue").await.expect(200);
}

async fn a_session_ends_with_its_key_its_factor_and_by_itself(app: TestApp) {
    let admin = app.admin().await;
    let factor = set_up(&app, &admin, PATH).await;
    let open = async || {
        let code = factor.next_code(&app);
        let opened = admin.post(SESSIONS, &code).await.expect(201);
        Client::new(app.address, opened["token"].as_str())
    };
    let session = open().await;
    pass(&app, 12 * 60 * 60 - 1);
    session.get("/v1/admin/queue").await.expect(200);
    pass(&app, 1);
    let expired = session.get("/v1/admin/queue").await;
    expired.expect_error(401, "UNAUTHORIZED");

    let session = open().await;
    let code = factor.next_code(&app);
    delete(&admin, PATH, &code).await.expect(200);
    let ended = session.get("/v1/admin/queue").await;
    ended.expect_error(401, "UNAUTHORIZED");

    let factor = set_up(&app, &admin, PATH).await;
    let code = factor.next_code(&app);
    let opened = admin.post(SESSIONS, &code).await.expect(201);
    let session = Client::new(app.address, opened["token"].as_str());
    session.get("/v1/admin/queue").await.expect(200);
    let id = app.database.column("SELECT id FROM admin_keys").await;
    let (id, now) = (AdminKeyId::parse(&id[0]).unwrap(), app.clock.now());
    let revoke = move |tx: &mut legwork::store::Tx<'_>| {
        usecases::revoke_admin_key(tx, id, &Actor::COMMAND_LINE, now)
    };
    app.store.write(revoke).await.unwrap();
    let ended = session.get("/v1/admin/queue").await;
    ended.expect_error(401, "UNAUTHORIZED");
}

async fn of_two_who_open_a_session_with_a_code_one_gets_it(app: TestApp) {
    let admin = app.admin().await;
    let factor = set_up(&app, &admin, PATH).await;
    for code in [factor.next_code(&app), factor.recovery_code(0)] {
        let both = [admin.post(SESSIONS, &code), admin.post(SESSIONS, &code)];
        let both = join_all(both).await;
        let opened = both.iter().filter(|reply| reply.status == 201).count();
        assert_eq!(opened, 1, "{code}");
    }
}

async fn the_command_line_removes_a_lost_factor(app: TestApp) {
    let create = ["admin", "create-key", "--name", "Ada", "--json"];
    let printed = Command::new(&create).on(&app.database).succeed();
    let printed: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let admin = Client::new(app.address, printed["key"].as_str());
    let id = printed["id"].as_str().unwrap();
    let reset = |arguments: &[&str]| {
        let words = [&["second-factor", "reset"], arguments].concat();
        Command::new(&words).on(&app.database)
    };
    let none = reset(&["--admin-key", id]).fail();
    assert!(none.contains("has no second factor"), "{none}");
    let factor = set_up(&app, &admin, PATH).await;
    let code = factor.next_code(&app);
    let opened = admin.post(SESSIONS, &code).await.expect(201);
    let session = Client::new(app.address, opened["token"].as_str());
    reset(&["--admin-key", id]).succeed();
    assert_eq!(admin.get(PATH).await.expect(200)["enabled"], false);
    let ended = session.get(PATH).await;
    ended.expect_error(401, "UNAUTHORIZED");
    let unknown = reset(&["--worker", "nobody@example.com"]).fail();
    assert!(
        unknown.contains("there is no worker nobody@example.com"),
        "{unknown}"
    );
    assert!(reset(&[]).fail().contains("--worker"));
}

async fn a_repeat_is_answered_only_with_a_code_that_passes(app: TestApp) {
    let admin = app.admin().await;
    let confirm = "/v1/admin/second_factor/confirm";
    let header = [("Idempotency-Key", "set up")];
    let begun = admin.post("/v1/admin/second_factor", &json!({})).await;
    let mut factor = Factor {
        secret: secret_of(&begun.expect(201)),
        recovery: Vec::new(),
    };
    let code = factor.code(&app);
    let first = admin.post_with(confirm, &header, &code).await.expect(200);
    factor.recovery = codes_of(&first);
    let replayed = admin.post_with(confirm, &header, &code).await;
    replayed.expect_error(401, "INVALID_CODE");
    let code = factor.next_code(&app);
    let again = admin.post_with(confirm, &header, &code).await;
    assert_eq!(again.expect(200), first);
    let header = [("Idempotency-Key", "session")];
    let code = factor.next_code(&app);
    let opened = admin.post_with("/v1/admin/sessions", &header, &code).await;
    let opened = opened.expect(201);
    let replayed = admin.post_with("/v1/admin/sessions", &header, &code).await;
    replayed.expect_error(401, "INVALID_CODE");
    let code = factor.next_code(&app);
    let again = admin.post_with("/v1/admin/sessions", &header, &code).await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.expect(201), opened);
}
