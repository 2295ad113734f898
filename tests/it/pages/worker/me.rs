//! Password, sessions, second factor, data and deletion.

use super::super::{Browser, PASSWORD};
use super::{browser_of, has, key_of};
use crate::support::{Engine, TestApp, on_both_engines, tell};

on_both_engines!(a_worker_looks_after_the_account,);

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
    has(&setup.text, &["<svg", "1. Add it to your app"]);
    let wrong = browser
        .post("/worker/me/factor/confirm", &[("code", "000000")])
        .await;
    has(&wrong.text, &["code-fault"]);

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
