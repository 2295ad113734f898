//! Workers sign up, in and out, in either language.

use super::super::{Browser, PASSWORD};
use super::key_of;
use crate::support::{TestApp, on_both_engines};

on_both_engines!(
    a_worker_signs_up_out_and_in_again,
    each_language_has_its_own_words,
);

async fn a_worker_signs_up_out_and_in_again(app: TestApp) {
    let mut browser = Browser::of(&app);
    let front = browser.get("/worker").await;
    assert_eq!(front.status, 200, "{}", front.text);
    let form = browser.get("/worker/sign-up").await.text;
    let key = key_of(&form, "/worker/sign-up");
    let mut fields = vec![
        ("name", "Wanda <b>"),
        ("email", "nowhere"),
        ("password", "short"),
        ("idempotency_key", key.as_str()),
    ];
    let refused = browser.post("/worker/sign-up", &fields).await;
    assert_eq!(refused.status, 400);
    for kept in ["value=\"nowhere\"", "email-fault", "password-fault", &key] {
        assert!(refused.text.contains(kept), "{kept}: {}", refused.text);
    }
    assert!(!refused.text.contains("short\""), "{}", refused.text);
    (fields[1].1, fields[2].1) = ("wanda@example.com", PASSWORD);
    let welcome = browser.post("/worker/sign-up", &fields).await;
    assert_eq!(welcome.header("location"), "/worker/start");
    let set = welcome.header("set-cookie").to_owned();
    assert!(
        set.starts_with("__Host-legwork_worker=svc_worker_"),
        "{set}"
    );
    for attribute in ["; Path=/", "; Secure", "; HttpOnly", "; SameSite=Lax"] {
        assert!(set.contains(attribute), "{set}");
    }
    // Sent twice, it is one worker, with one token.
    let again = browser.post("/worker/sign-up", &fields).await;
    assert_eq!(again.header("set-cookie"), set);
    let taken = Browser::of(&app)
        .post("/worker/sign-up", &fields[..3])
        .await;
    assert_eq!(taken.status, 409);
    assert!(taken.text.contains("email-fault"), "{}", taken.text);

    let tasks = browser.get("/worker/tasks").await;
    assert_eq!(tasks.status, 200, "{}", tasks.text);
    assert!(tasks.text.contains("No tasks yet") && tasks.text.contains("/worker/find"));
    // Whoever is signed in does not read what the app is.
    assert_eq!(
        browser.get("/worker").await.header("location"),
        "/worker/tasks"
    );
    let kept = browser.cookie.clone();
    let out = browser.post("/worker/sign-out", &[]).await;
    assert_eq!(out.header("location"), "/worker/sign-in?done=out");
    assert_eq!(browser.cookie, None);
    browser.cookie = kept;
    let ended = browser.get("/worker/tasks").await;
    assert_eq!(
        ended.header("location"),
        "/worker/sign-in?next=%2Fworker%2Ftasks"
    );
    signs_in(&app).await;
}

async fn signs_in(app: &TestApp) {
    let mut browser = Browser::of(app);
    let wrong = [
        ("email", "wanda@example.com"),
        ("password", "wrong password"),
    ];
    let refused = browser.post("/worker/sign-in", &wrong).await;
    assert_eq!(refused.status, 401);
    assert!(refused.text.contains("value=\"wanda@example.com\""));
    assert_eq!(browser.cookie, None);
    let mut right = vec![
        ("email", "Wanda@example.com"),
        ("password", PASSWORD),
        ("next", "/worker/earnings"),
    ];
    let back = browser.post("/worker/sign-in", &right).await;
    assert_eq!(back.header("location"), "/worker/earnings");
    let first = browser.cookie.clone();
    // Another site is not where it goes on. The former token of this browser ends.
    right[2].1 = "//evil.example";
    let back = browser.post("/worker/sign-in", &right).await;
    assert_eq!(back.header("location"), "/worker/tasks");
    assert_ne!(browser.cookie, first);
    browser.cookie = first;
    assert_eq!(browser.get("/worker/tasks").await.status, 303);
}

async fn each_language_has_its_own_words(app: TestApp) {
    let mut browser = Browser::of(&app);
    browser.language = Some("es-MX,es;q=0.9,en;q=0.5");
    let front = browser.get("/worker").await.text;
    assert!(front.contains("<html lang=\"es\"") && front.contains("Registrarse"));
    let wrong = [("email", "a@b.example"), ("password", "wrong password")];
    let refused = browser.post("/worker/sign-in", &wrong).await;
    assert!(
        refused.text.contains("no son correctos"),
        "{}",
        refused.text
    );
    let fields = [("name", ""), ("email", "nowhere"), ("password", "x")];
    let refused = browser.post("/worker/sign-up", &fields).await;
    assert!(refused.text.contains("correo válida"), "{}", refused.text);
    // The switch beats the browser, and comes back to the page.
    let choice = [("lang", "en"), ("next", "/worker/sign-in")];
    let chosen = browser.post("/worker/language", &choice).await;
    assert_eq!(chosen.header("location"), "/worker/sign-in");
    let page = browser.follow(&chosen).await.text;
    assert!(page.contains("<html lang=\"en\"") && page.contains("Forgot your password?"));
}
