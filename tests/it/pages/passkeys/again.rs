//! A passkey once more, before something dangerous.

use std::time::Duration;

use serde_json::Value;

use super::{BASE, Phone, add, asked, has, send, sign_in};
use crate::pages::{Browser, PASSWORD};
use crate::support::authenticator::text;
use crate::support::{TestApp, on_both_engines};

on_both_engines!(
    a_developer_gives_a_passkey_again,
    an_admin_gives_a_passkey_again
);

const AGAIN: &str = "/account/again/passkey";

fn later(app: &TestApp) {
    app.clock
        .move_to(app.clock.now().plus(Duration::from_secs(601)));
}

/// Whether what is dangerous is allowed in this session.
async fn is_recent(browser: &mut Browser) -> bool {
    let reply = browser.post(&format!("{BASE}/options"), &[]).await;
    let told: Value = serde_json::from_str(&reply.text).unwrap();
    told["again"].is_null()
}

async fn a_developer_gives_a_passkey_again(app: TestApp) {
    let mut ada = Browser::signed_up(&app, "ada@example.com").await;
    assert_eq!(
        ada.post(&format!("{AGAIN}/options"), &[]).await.status,
        404,
        "nobody answers without a passkey"
    );
    let page = ada.get("/account/again").await.text;
    assert!(!page.contains("Use a passkey"), "{page}");
    let (mut phone, mut his) = (Phone::of(&app), Phone::of(&app));
    add(&mut ada, BASE, &mut phone, "Phone").await.expect(200);
    let mut other = Browser::of(&app);
    sign_in(&mut other, "/sign-in/passkey", &phone).await;
    let mut bob = Browser::signed_up(&app, "bob@example.com").await;
    add(&mut bob, BASE, &mut his, "His").await.expect(200);
    later(&app);
    assert!(!is_recent(&mut ada).await && !is_recent(&mut other).await);
    let page = ada.get("/account/again?next=/account/passkeys").await.text;
    has(&page, &["Use a passkey", "/account/again/passkey/options"]);
    // It must be hers, for a challenge that was made for this.
    let of_bob = asked(&mut bob, AGAIN).await;
    for wrong in [
        his.answer(&of_bob),
        his.answer(&asked(&mut ada, AGAIN).await),
        phone.answer(&asked(&mut bob, AGAIN).await),
        phone.answer(&asked(&mut Browser::of(&app), "/sign-in/passkey").await),
    ] {
        let refused = send(&mut ada, AGAIN, &wrong).await;
        assert_eq!(refused.status, 401, "{}", refused.text);
        has(&refused.text, &["role=\"alert\""]);
    }
    let mine = asked(&mut ada, AGAIN).await;
    assert_eq!(mine["allowCredentials"][0], phone.it.id().as_str());
    let stranger = &mut Browser::of(&app);
    let signed_in = send(stranger, "/sign-in/passkey", &phone.answer(&mine)).await;
    assert_eq!(signed_in.status, 401, "it signs nobody in");
    assert!(!is_recent(&mut ada).await);
    // Hers opens this session alone, and is taken once.
    let mut fields = phone.answer(&asked(&mut ada, AGAIN).await);
    fields.push(("next", BASE.to_owned()));
    let passed = send(&mut ada, AGAIN, &fields).await;
    assert_eq!(passed.header("location"), BASE, "{}", passed.text);
    assert!(is_recent(&mut ada).await);
    assert!(!is_recent(&mut other).await, "only this session");
    assert_eq!(send(&mut ada, AGAIN, &fields).await.status, 401);
    guesses_count_with_those_of_passwords(&app, &mut bob, &his).await;
    // Who has no password has the passkey.
    app.database
        .execute("UPDATE accounts SET password_hash = NULL")
        .await;
    // A write of the server itself shows it what another program has written.
    asked(&mut ada, AGAIN).await;
    let page = ada.get("/account/again").await.text;
    has(&page, &["Your passkey again"]);
    assert!(!page.contains("id=\"password\""), "{page}");
}

async fn guesses_count_with_those_of_passwords(app: &TestApp, bob: &mut Browser, his: &Phone) {
    let mut tries = 0;
    loop {
        let mut fields = his.answer(&asked(bob, AGAIN).await);
        fields[4].1 = text(&[1; 70]);
        let reply = send(bob, AGAIN, &fields).await;
        if reply.status == 429 {
            has(&reply.text, &["Too many attempts."]);
            break;
        }
        assert_eq!(reply.status, 401);
        tries += 1;
        assert!(tries <= 10, "{tries}");
    }
    let fields = [("email", "bob@example.com"), ("password", PASSWORD)];
    let password = Browser::of(app).post("/sign-in", &fields).await;
    assert_eq!(password.status, 429);
    assert_eq!(bob.post("/account/again", &fields).await.status, 429);
}

async fn an_admin_gives_a_passkey_again(app: TestApp) {
    let (base, again) = ("/admin/passkeys", "/admin/again/passkey");
    let admin = app.admin().await;
    let key = [("key", admin.key()), ("next", base)];
    let mut browser = Browser::of(&app);
    assert_eq!(browser.post("/admin/sign-in", &key).await.status, 303);
    let mut phone = Phone::of(&app);
    add(&mut browser, base, &mut phone, "Token")
        .await
        .expect(200);
    later(&app);
    let options = browser.post(&format!("{base}/options"), &[]).await;
    has(&options.text, &["/admin/again?next=%2Fadmin%2Fpasskeys"]);
    let page = browser.get("/admin/again?next=/admin/passkeys").await.text;
    has(
        &page,
        &["Use a passkey", "id=\"key\"", "value=\"/admin/passkeys\""],
    );
    // It is no way to sign in.
    let challenge = asked(&mut browser, again).await;
    let stranger = &mut Browser::of(&app);
    let refused = send(
        stranger,
        "/admin/sign-in/passkey",
        &phone.answer(&challenge),
    )
    .await;
    assert_eq!(refused.status, 401);
    let mut fields = phone.answer(&asked(&mut browser, again).await);
    fields.push(("next", base.to_owned()));
    let passed = send(&mut browser, again, &fields).await;
    assert_eq!(passed.header("location"), base, "{}", passed.text);
    let options = browser.post(&format!("{base}/options"), &[]).await;
    has(&options.text, &["challenge_id"]);
    // So does the key.
    later(&app);
    let wrong = browser.post("/admin/again", &[("key", "no key")]).await;
    assert_eq!(wrong.status, 401);
    let passed = browser.post("/admin/again", &key).await;
    assert_eq!(passed.header("location"), base, "{}", passed.text);
    let options = browser.post(&format!("{base}/options"), &[]).await;
    has(&options.text, &["challenge_id"]);
}
