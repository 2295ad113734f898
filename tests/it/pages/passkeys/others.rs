//! Passkeys of workers and admins.

use std::time::Duration;

use legwork::domain::{AdminKeyId, Person, RequiredFactor, TotpSecret};
use legwork::store::Tx;
use legwork::usecases::{self, FactorAtSignIn, UseCaseError};
use serde_json::json;

use super::{Phone, add, asked, given, has, send, sign_in};
use crate::pages::{Browser, PASSWORD, between};
use crate::support::{Client, TestApp, on_both_engines};

on_both_engines!(
    a_worker_signs_in_with_a_passkey,
    an_admin_gives_the_key_and_a_passkey,
);

async fn a_worker_signs_in_with_a_passkey(app: TestApp) {
    let (base, enter) = ("/worker/me/passkeys", "/worker/sign-in/passkey");
    let mut browser = Browser::of(&app);
    let profile = [
        ("name", "Wanda"),
        ("email", "wanda@example.com"),
        ("password", PASSWORD),
    ];
    browser.post("/worker/sign-up", &profile).await;
    browser.language = Some("es");
    let page = browser.get(base).await.text;
    has(&page, &["Las llaves de acceso necesitan JavaScript."]);
    let mut phone = Phone::of(&app);
    let added = add(&mut browser, base, &mut phone, "Mi tel\u{e9}fono").await;
    assert_eq!(added.status, 200, "{}", added.text);
    has(
        &added.text,
        &["C\u{f3}digos de recuperaci\u{f3}n", "Mi tel\u{e9}fono"],
    );
    let codes = between(
        &added.text,
        "<code data-copy=\"Copiar|Copiado\">",
        "</code>",
    );
    let mut fresh = Browser::of(&app);
    let signed_in = sign_in(&mut fresh, enter, &phone).await;
    assert_eq!(signed_in.header("location"), "/worker/tasks");
    assert_eq!(fresh.get(base).await.status, 200);
    // One kind of account does not open another.
    let refused = sign_in(&mut Browser::of(&app), "/sign-in/passkey", &phone).await;
    assert_eq!(refused.status, 401);
    has(&refused.text, &["This passkey is not known here."]);
    // The API knows no passkeys, and the password alone does not open it.
    let password = [("email", "wanda@example.com"), ("password", PASSWORD)];
    let mut body = json!({"email": password[0].1, "password": PASSWORD});
    let refused = app.client().post("/v1/workers/sessions", &body).await;
    refused.expect_error(401, "SECOND_FACTOR_REQUIRED");
    body["code"] = "123456".into();
    let refused = app.client().post("/v1/workers/sessions", &body).await;
    refused.expect_error(401, "INVALID_CODE");
    body["code"] = codes.lines().next().unwrap().into();
    let token = app
        .client()
        .post("/v1/workers/sessions", &body)
        .await
        .expect(201);
    assert!(token["token"].is_string());
    let asked_for = fresh.post("/worker/sign-in", &password).await;
    assert_eq!(asked_for.status, 401);
    let passed = send(&mut fresh, enter, &phone.answer(&given(&asked_for.text))).await;
    assert_eq!(passed.status, 303, "{}", passed.text);
    // What moves money or keeps others out needs a sign-in of the last minutes.
    app.clock
        .move_to(app.clock.now().plus(Duration::from_secs(601)));
    let again = fresh.post(&format!("{base}/options"), &[]).await;
    has(&again.text, &["/worker/sign-in?again=1"]);
    let codes = fresh.post(&format!("{base}/codes"), &[]).await;
    assert!(codes.header("location").starts_with("/worker/sign-in"));
    sign_in(&mut fresh, enter, &phone).await;
    let id = between(
        &fresh.get(base).await.text,
        "/worker/me/passkeys/",
        "/remove",
    );
    let removed = fresh.post(&format!("{base}/{id}/remove"), &[]).await;
    assert_eq!(removed.header("location"), base);
    assert_eq!(
        Browser::of(&app)
            .post("/worker/sign-in", &password)
            .await
            .status,
        303
    );
}

async fn an_admin_gives_the_key_and_a_passkey(app: TestApp) {
    let (base, enter) = ("/admin/passkeys", "/admin/sign-in/passkey");
    let admin = app.admin().await;
    let key = [("key", admin.key())];
    let mut browser = Browser::of(&app);
    assert_eq!(browser.post("/admin/sign-in", &key).await.status, 303);
    // Whoever has the key alone begins an app in time.
    let begin = async || admin.post("/v1/admin/second_factor", &json!({})).await;
    let begun = begin().await.expect(201);
    let mut phone = Phone::of(&app);
    let added = add(&mut browser, base, &mut phone, "Token").await;
    assert_eq!(added.status, 200, "{}", added.text);
    let mut other = Browser::of(&app);
    let asked_for = other.post("/admin/sign-in", &key).await;
    assert_eq!(asked_for.status, 401);
    let challenge = given(&asked_for.text);
    // A passkey without the key is none.
    let anybody = asked(&mut other, "/sign-in/passkey").await;
    assert_eq!(
        send(&mut other, enter, &phone.answer(&anybody))
            .await
            .status,
        401
    );
    let passed = send(&mut other, enter, &phone.answer(&challenge)).await;
    assert_eq!(passed.status, 303, "{}", passed.text);
    assert_eq!(other.follow(&passed).await.status, 200);
    // Programs go on as before, and add no app behind the passkey's back.
    admin.get("/v1/admin/queue").await.expect(200);
    begin().await.expect_error(401, "SECOND_FACTOR_REQUIRED");
    let secret = TotpSecret::from_base32(begun["secret"].as_str().unwrap()).unwrap();
    let code = json!({"code": secret.code_at(app.clock.now())});
    let confirm = async || admin.post("/v1/admin/second_factor/confirm", &code).await;
    confirm().await.expect_error(409, "SECOND_FACTOR_OFF");
    let sql = "SELECT person_id FROM sessions WHERE person_kind = 'admin' LIMIT 1";
    let id = AdminKeyId::parse(&app.database.column(sql).await[0]).unwrap();
    let (person, now) = (Person::Admin(id), app.clock.now());
    let at_the_same_moment =
        move |tx: &mut Tx<'_>| usecases::begin_second_factor(tx, person, &secret, now);
    app.store.write(at_the_same_moment).await.unwrap();
    confirm().await.expect_error(401, "SECOND_FACTOR_REQUIRED");
    let key_of = between(&other.get("/admin/factor").await.text, "value=\"", "\"");
    let begun = other
        .post("/admin/factor", &[("idempotency_key", &key_of)])
        .await;
    has(&begun.text, &["1. Add it to your app"]);
    // Where a factor is required, the console has it, and programs need an app.
    let strict = app.requiring(RequiredFactor::Admins).await;
    strict.clock.move_to(app.clock.now());
    let mut there = Browser::of(&strict);
    there.cookie.clone_from(&other.cookie);
    assert_eq!(there.get("/admin/queue").await.status, 200);
    let program = Client::new(strict.address, Some(admin.key()));
    let refused = program.get("/v1/admin/queue").await;
    refused.expect_error(403, "SECOND_FACTOR_NOT_SET_UP");
    // What is dangerous asks for the key again. The passkey was given in the session, unless that is from before.
    let given_again = move |tx: &mut Tx<'_>| {
        let mut session = tx.sessions_of(person, now)?.remove(0);
        let strong = usecases::admin_key_given_again(tx, &session, None, now)?;
        session.second_factor = false;
        let weak = usecases::admin_key_given_again(tx, &session, None, now)?;
        Ok::<_, UseCaseError>((strong, weak))
    };
    let (strong, weak) = app.store.write(given_again).await.unwrap();
    assert_eq!(strong, FactorAtSignIn::Passes { given: true });
    assert_eq!(weak, FactorAtSignIn::CodeRequired);
}
