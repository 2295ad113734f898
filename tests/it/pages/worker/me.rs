//! Password, sessions, second factor, data and deletion.

use super::super::{Browser, PASSWORD, between};
use super::{browser_of, has, key_of};
use legwork::domain::TotpSecret;
use serde_json::json;

use crate::support::{Engine, TestApp, Worker, on_both_engines, tell};

on_both_engines!(
    a_worker_looks_after_the_account,
    a_worker_takes_another_address,
    what_is_wrong_is_not_folded_up,
    quiet_hours_follow_the_clock_of_the_phone,
);

async fn a_worker_looks_after_the_account(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let mut browser = browser_of(&app, &worker).await;
    let mut other = browser_of(&app, &worker).await;
    let me = browser.get("/worker/me").await.text;
    has(&me, &["Grace", &worker.email, "This one", "data-unsent"]);
    let ends = me.matches("action=\"/worker/me/sessions/").count();
    assert_eq!(ends, 2, "the sign-up and the other browser");
    let fields = [("current_password", "wrong password"), ("password", "x")];
    let refused = browser.post("/worker/me/password", &fields).await;
    assert_eq!(refused.status, 400);
    has(&refused.text, &["password-fault", "value=\"Grace\""]);
    let new = "staple battery horse";
    let fields = [("current_password", "wrong password"), ("password", new)];
    let refused = browser.post("/worker/me/password", &fields).await;
    assert_eq!(refused.status, 401);
    has(
        &refused.text,
        &["current_password-fault", "value=\"Grace\""],
    );
    let fields = [("current_password", PASSWORD), ("password", new)];
    let changed = browser.post("/worker/me/password", &fields).await;
    has(
        &browser.follow(&changed).await.text,
        &["Your password is changed."],
    );
    assert_eq!(other.get("/worker/me").await.status, 303);

    let text = browser.get("/worker/me/factor").await.text;
    let key = key_of(&text, "/worker/me/factor");
    let setup = browser
        .post("/worker/me/factor", &[("idempotency_key", &key)])
        .await;
    let setup = browser.follow(&setup).await.text;
    has(&setup, &["<svg", "1. Add it to your app"]);
    let wrong = browser
        .post("/worker/me/factor/confirm", &[("code", "000000")])
        .await;
    let shown = between(&setup, "|Copied\">", "<");
    has(&wrong.text, &["code-fault", &shown, "Begin anew"]);
    let secret = TotpSecret::from_base32(&shown).unwrap();
    let code = secret.code_at(app.clock.now());
    let fields = [("code", code.as_str()), ("idempotency_key", "0a1b")];
    let on = browser.post("/worker/me/factor/confirm", &fields).await;
    has(&on.text, &["Write them down"]);
    let reloaded = browser.post("/worker/me/factor/confirm", &fields).await;
    assert_eq!(reloaded.status, 409);
    has(&reloaded.text, &["make new ones with the next code"]);

    let text = browser.get("/worker/me/data").await.text;
    let key = key_of(&text, "/worker/me/data/export");
    let fields = [("idempotency_key", key.as_str())];
    let asked = browser.post("/worker/me/data/export", &fields).await;
    has(
        &browser.follow(&asked).await.text,
        &["Your copy is being made."],
    );
    let twice = browser.post("/worker/me/data/export", &[]).await;
    assert_eq!(twice.status, 409);
    let wrong = [("password", PASSWORD)];
    let refused = browser.post("/worker/me/data/delete", &wrong).await;
    assert_eq!(refused.status, 401);
    has(&refused.text, &["password-fault"]);
    let gone = browser
        .post("/worker/me/data/delete", &[("password", new)])
        .await;
    assert_eq!(gone.status, 200, "{}", gone.text);
    has(&gone.text, &["Your account is deleted"]);
    assert_eq!(browser.cookie, None);
}

async fn a_worker_takes_another_address(app: TestApp) {
    let (worker, other) = (app.sign_up(&[]).await, app.sign_up(&[]).await);
    let mut browser = browser_of(&app, &worker).await;
    for (email, password, status, says) in [
        (
            "new@example.com",
            "wrong password",
            401,
            "email_password-fault",
        ),
        ("nowhere", PASSWORD, 400, "email-fault"),
        (
            &other.email,
            PASSWORD,
            409,
            "Somebody else uses this address.",
        ),
    ] {
        let fields = [("email", email), ("email_password", password)];
        let refused = browser.post("/worker/me/email", &fields).await;
        assert_eq!(refused.status, status, "{email}");
        has(
            &refused.text,
            &[says, &format!("value=\"{email}\""), &worker.email],
        );
    }
    let fields = [("email", "New@example.com"), ("email_password", PASSWORD)];
    let changed = browser.post("/worker/me/email", &fields).await;
    let me = browser.follow(&changed).await.text;
    has(&me, &["Your e-mail address is changed.", "new@example.com"]);
    assert!(!me.contains("We mail a link"));

    // With mail, it is theirs once they follow the link. In their language.
    let app = app.sending_mail().await;
    let email = "new@example.com".to_owned();
    let worker = Worker { email, ..worker };
    let mut browser = browser_of(&app, &worker).await;
    browser.language = Some("es");
    let hint = "Enviamos un enlace al correo nuevo.";
    has(&browser.get("/worker/me").await.text, &[hint]);
    let fields = [("email", "later@example.com"), ("email_password", PASSWORD)];
    let mailed = browser.post("/worker/me/email", &fields).await;
    let me = browser.follow(&mailed).await.text;
    has(&me, &["Ábrelo para usarlo.", &worker.email]);
    assert!(!me.contains("later@example.com"));
    app.jobs.drain().await.unwrap();
    let linked = "SELECT email FROM mail_links WHERE purpose = 'change_email'";
    assert_eq!(app.database.column(linked).await, ["later@example.com"]);
}

async fn what_is_wrong_is_not_folded_up(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let mut browser = browser_of(&app, &worker).await;
    let fields = [("name", "Grace"), ("skills", "juggling")];
    let refused = browser.post("/worker/me", &fields).await;
    assert_eq!(refused.status, 400);
    has(
        &refused.text,
        &["<details id=\"skills\" open>", "href=\"#skills\">Skills: "],
    );
    let fields = [("utc_offset_minutes", "noon")];
    let refused = browser.post("/worker/me/notices", &fields).await;
    assert_eq!(refused.status, 400);
    has(
        &refused.text,
        &["id=\"notices\" open>", "id=\"utc_offset_minutes-fault\""],
    );
}

async fn quiet_hours_follow_the_clock_of_the_phone(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let mut browser = browser_of(&app, &worker).await;
    let path = "/v1/worker/push_settings";
    let nothing = worker.client.get(path).await.expect(200);
    let mut tell = async |offset: &str| {
        let fields = [("utc_offset_minutes", offset)];
        let told = browser.post("/worker/me/clock", &fields).await;
        let settings = worker.client.get(path).await.expect(200);
        (told.status.as_u16(), settings)
    };
    assert_eq!(tell("-300").await, (204, nothing));
    let mut night = json!({"muted": ["bounties"], "quiet_from": "22:00", "quiet_to": "07:00",
        "utc_offset_minutes": -240});
    let set = worker.client.send("PUT", path, &[], night.to_string());
    set.await.expect(200);
    for wrong in ["", "x", "-721", "841"] {
        assert_eq!(tell(wrong).await, (400, night.clone()), "{wrong}");
    }
    // Daylight saving has ended.
    night["utc_offset_minutes"] = json!(-300);
    assert_eq!(tell("-300").await, (204, night));
}

/// What a phone loads for its first page, uncompressed: the page, its stylesheet and its scripts.
#[test]
fn the_first_page_is_small() {
    const MOST_BYTES: usize = 60_000;
    tell(Engine::Sqlite, async |app: TestApp| {
        let mut browser = Browser::of(&app);
        for path in ["/worker", "/worker/sign-up", "/worker/sign-in"] {
            let page = browser.get(path).await.text;
            let mut bytes = page.len();
            let mut assets = 0;
            for part in page.split(['"', '\'']) {
                if part.starts_with("/assets/") || part == "/favicon.ico" {
                    bytes += browser.get(part).await.text.len();
                    assets += 1;
                }
            }
            assert!(assets >= 3, "{path}: the style, a script and the icon");
            assert!(bytes < MOST_BYTES, "{path}: {bytes}");
        }
    });
}
