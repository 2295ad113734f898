//! Developers sign up, in and out with forms alone.

use std::time::Duration;

use super::{Browser, PASSWORD};
use crate::support::{TestApp, on_both_engines};

on_both_engines!(
    somebody_signs_up_out_and_in_again,
    the_form_of_a_sign_up_signs_in_for_some_minutes,
    what_was_entered_is_kept_beside_what_is_wrong,
    a_suspended_or_ended_session_opens_nothing,
    a_suspended_developer_can_sign_out,
    what_no_database_takes_is_nobodys,
    pages_are_counted_for_whoever_is_signed_in,
);

/// Somebody else may do it, at the same browser.
async fn the_form_of_a_sign_up_signs_in_for_some_minutes(app: TestApp) {
    let fields = [
        ("name", "Ada"),
        ("email", "ada@example.com"),
        ("password", PASSWORD),
        ("idempotency_key", "once"),
    ];
    let welcome = Browser::of(&app).post("/sign-up", &fields).await;
    assert_eq!(welcome.status, 200, "{}", welcome.text);
    let later = app.clock.now().plus(Duration::from_secs(600));
    app.clock.move_to(later);
    let mut browser = Browser::of(&app);
    let again = browser.post("/sign-up", &fields).await;
    assert_eq!(again.header("location"), "/sign-in", "{}", again.text);
    assert_eq!(browser.cookie, None);
}

async fn pages_are_counted_for_whoever_is_signed_in(app: TestApp) {
    let mut browser = Browser::signed_up(&app, "ada@example.com").await;
    // The quota refills while we ask, so we ask until it is used up.
    let refused = loop {
        let page = browser.get("/dashboard/test/webhook").await;
        if page.status != 200 {
            break page;
        }
    };
    assert_eq!(refused.status, 429, "{}", refused.text);
    assert!(refused.header("retry-after").parse::<u64>().unwrap() >= 1);
    assert!(refused.text.contains("<html"), "{}", refused.text);
}

async fn what_no_database_takes_is_nobodys(app: TestApp) {
    let mut browser = Browser::of(&app);
    let fields = [("email", "a\0b"), ("password", PASSWORD)];
    let refused = browser.post("/sign-in", &fields).await;
    assert_eq!(refused.status, 401, "{}", refused.text);
    for path in ["/pay/a%00_secret_b", "/onboarding/a%00_secret_b"] {
        assert!(!browser.get(path).await.status.is_server_error(), "{path}");
    }
}

async fn somebody_signs_up_out_and_in_again(app: TestApp) {
    let mut browser = Browser::of(&app);
    let form = browser.get("/sign-up").await.text;
    let key = form
        .split("name=\"idempotency_key\" value=\"")
        .nth(1)
        .unwrap();
    let key = key.split('"').next().unwrap().to_owned();
    let fields = [
        ("name", "Ada <b>"),
        ("email", "ada@example.com"),
        ("password", PASSWORD),
        ("idempotency_key", &key),
    ];
    let welcome = browser.post("/sign-up", &fields).await;
    assert_eq!(welcome.status, 200);
    let set = welcome.header("set-cookie").to_owned();
    assert!(set.starts_with("__Host-legwork_dev=svc_session_"), "{set}");
    for attribute in ["; Path=/", "; Secure", "; HttpOnly", "; SameSite=Lax"] {
        assert!(set.contains(attribute), "{set}");
    }
    assert!(!set.contains("Domain"));
    assert_eq!(welcome.header("cache-control"), "no-store");
    assert!(
        welcome.text.contains("svc_test_") && welcome.text.contains("Ada &#60;b&#62;"),
        "{}",
        welcome.text
    );
    // Sent twice, it opens one account.
    let again = browser.post("/sign-up", &fields).await;
    assert_eq!(again.text, welcome.text);
    assert_eq!(browser.get("/dashboard/test").await.status, 200);
    let out = browser.post("/sign-out", &[]).await;
    assert_eq!(out.header("location"), "/sign-in");
    assert_eq!(browser.cookie, None);
    let turned_away = browser.get("/dashboard/live").await;
    assert_eq!(
        turned_away.header("location"),
        "/sign-in?next=%2Fdashboard%2Flive"
    );
    let fields = [
        ("email", "Ada@example.com"),
        ("password", PASSWORD),
        ("next", "/dashboard/live"),
    ];
    let back = browser.post("/sign-in", &fields).await;
    assert_eq!(back.header("location"), "/dashboard/live");
    assert_eq!(browser.follow(&back).await.status, 200);
}

async fn what_was_entered_is_kept_beside_what_is_wrong(app: TestApp) {
    let mut browser = Browser::of(&app);
    let fields = [("name", "Ada"), ("email", "nowhere"), ("password", "short")];
    let refused = browser.post("/sign-up", &fields).await;
    assert_eq!(refused.status, 400);
    for kept in [
        "value=\"Ada\"",
        "value=\"nowhere\"",
        "id=\"email-fault\"",
        "id=\"password-fault\"",
    ] {
        assert!(refused.text.contains(kept), "{kept}: {}", refused.text);
    }
    assert!(
        !refused.text.contains("short"),
        "a password is not sent back"
    );
    let fields = [("email", "ada@example.com"), ("password", "wrong password")];
    let refused = browser.post("/sign-in", &fields).await;
    assert_eq!(refused.status, 401);
    assert!(
        refused.text.contains("value=\"ada@example.com\"") && refused.text.contains("is wrong")
    );
    assert_eq!(browser.cookie, None);
    for _ in 0..9 {
        browser.post("/sign-in", &fields).await;
    }
    let limited = browser.post("/sign-in", &fields).await;
    assert_eq!(limited.status, 429);
    assert!(limited.text.contains("Try again in"), "{}", limited.text);
}

async fn a_suspended_or_ended_session_opens_nothing(app: TestApp) {
    let mut browser = Browser::signed_up(&app, "ada@example.com").await;
    let mut other = Browser::of(&app);
    let fields = [("email", "ada@example.com"), ("password", PASSWORD)];
    other.post("/sign-in", &fields).await;
    assert_eq!(other.get("/dashboard/test").await.status, 200);
    browser.post("/sign-out", &[]).await;
    assert_eq!(other.get("/dashboard/test").await.status, 200);
    // A week without a visit.
    app.set_time("2025-11-23T12:00:01Z");
    let ended = other.get("/dashboard/test").await;
    assert_eq!(ended.status, 303);
    assert!(ended.header("set-cookie").contains("Max-Age=0"));
}

async fn a_suspended_developer_can_sign_out(app: TestApp) {
    let mut browser = Browser::signed_up(&app, "ada@example.com").await;
    let admin = app.admin().await;
    let accounts = admin.get("/v1/admin/accounts").await.expect(200);
    let id = accounts["data"][0]["id"].as_str().unwrap().to_owned();
    let suspend = format!("/v1/admin/accounts/{id}/suspend");
    admin
        .post(&suspend, &serde_json::json!({}))
        .await
        .expect(200);
    let told = browser.get("/dashboard/test").await;
    assert_eq!(told.status, 403);
    for text in ["Your account is suspended", "action=\"/sign-out\""] {
        assert!(told.text.contains(text), "{text}: {}", told.text);
    }
    let out = browser.post("/sign-out", &[]).await;
    assert_eq!(out.header("location"), "/sign-in");
    assert_eq!(browser.cookie, None);
}
