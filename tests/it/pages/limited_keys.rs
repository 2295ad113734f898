//! An owner hands out a limited key, and says yes or no to what it wants to spend, with forms alone.

use serde_json::json;

use super::{Browser, PASSWORD, between};
use crate::support::{Client, TestApp, on_both_engines, storefront};

on_both_engines!(
    a_limited_key_asks_and_its_owner_decides,
    a_mandate_is_changed_paused_and_lifted_and_the_key_revoked,
    live_keys_need_the_password_and_nothing_entered_is_lost,
);

/// The fields of a key that may spend up to $50.00 on a task, and asks above $20.00.
pub const LIMITED: [(&str, &str); 6] = [
    ("name", "Audit <b>bot</b>"),
    ("permissions", "read"),
    ("permissions", "create"),
    ("max_task_cents", "50"),
    ("day", "100.00"),
    ("approval_above_cents", "20"),
];

/// Makes a key with a form, and the program that uses it.
async fn program(app: &TestApp, browser: &mut Browser) -> Client {
    let made = browser.post("/dashboard/test/keys/new", &LIMITED).await;
    assert_eq!(made.status, 200, "{}", made.text);
    Client::new(app.address, Some(&between(&made.text, "data-copy>", "<")))
}

/// The path of the page of a key.
async fn page_of_key(browser: &mut Browser, environment: &str, name: &str) -> String {
    let keys = browser
        .get(&format!("/dashboard/{environment}/keys"))
        .await
        .text;
    let mut links = keys.split("<td class=\"lead\"><a href=\"").skip(1);
    let link = links.find(|link| {
        link.split('>')
            .nth(1)
            .is_some_and(|text| text.starts_with(name))
    });
    let link = link.unwrap_or_else(|| panic!("no {name} in {keys}"));
    link.split('"').next().unwrap().to_owned()
}

async fn a_limited_key_asks_and_its_owner_decides(app: TestApp) {
    let mut browser = Browser::signed_up(&app, "ada@example.com").await;
    let bot = program(&app, &mut browser).await;
    let mut ids = Vec::new();
    for title in ["Count <i>shelves</i>", "Second", "Third"] {
        let mut task = storefront();
        task["title"] = json!(title);
        let created = bot.post("/v1/tasks", &task).await.expect(201);
        ids.push(created["id"].as_str().unwrap().to_owned());
    }
    let home = browser.get("/dashboard/test").await.text;
    assert!(
        home.contains("<span class=\"count\">3</span> tasks of limited keys wait"),
        "{home}"
    );
    assert!(
        !home.contains("unpaid"),
        "they wait for a yes, not for money"
    );
    let waiting = browser.get("/dashboard/test/approvals").await.text;
    for shown in [
        "Count &#60;i&#62;shelves&#60;/i&#62;",
        "$25.00",
        "<bdi>Brooklyn, NY</bdi>",
        "Audit &#60;b&#62;bot",
    ] {
        assert!(waiting.contains(shown), "{shown}: {waiting}");
    }
    let task = browser
        .get(&format!("/dashboard/test/tasks/{}", ids[0]))
        .await
        .text;
    assert!(task.contains("waits for your yes") && task.contains("/dashboard/test/approvals"));
    let review = format!("/dashboard/test/review?task={}", ids[0]);
    let review = browser.get(&review).await.text;
    assert!(review.contains("waits for your yes"), "{review}");
    let decide = |id: &str, action: &str| format!("/dashboard/test/approvals/{id}/{action}");
    let approved = browser.post(&decide(&ids[0], "approve"), &[]).await;
    assert!(
        browser
            .follow(&approved)
            .await
            .text
            .contains("You have approved")
    );
    let refused = browser.post(&decide(&ids[1], "refuse"), &[]).await;
    let left = browser.follow(&refused).await.text;
    assert!(left.contains("Third") && !left.contains("Second"), "{left}");
    assert!(left.contains("You have refused the task."), "{left}");
    // Decided already: the page says how things stand.
    let late = browser.post(&decide(&ids[1], "approve"), &[]).await;
    assert_eq!(late.status, 409);
    assert!(late.text.contains("role=\"alert\"") && late.text.contains("Third"));
    let all = browser
        .get("/dashboard/test/approvals?status=all")
        .await
        .text;
    for status in ["Approved", "Refused"] {
        assert!(
            all.contains(&format!("\">{status}</span>")),
            "{status}: {all}"
        );
    }
    // Another account sees and decides nothing of it.
    let mut other = Browser::signed_up(&app, "eve@example.com").await;
    assert_eq!(
        other.post(&decide(&ids[2], "approve"), &[]).await.status,
        404
    );
    let own = other.get("/dashboard/test/approvals").await.text;
    assert!(own.contains("Nothing waits for your yes"), "{own}");
    let status =
        async |id: &str| bot.get(&format!("/v1/tasks/{id}")).await.expect(200)["status"].clone();
    assert_eq!(status(&ids[0]).await, "funded");
    assert_eq!(status(&ids[1]).await, "cancelled");
    assert_eq!(status(&ids[2]).await, "pending");
}

async fn a_mandate_is_changed_paused_and_lifted_and_the_key_revoked(app: TestApp) {
    let mut browser = Browser::signed_up(&app, "ada@example.com").await;
    // Contradictions stand beside their fields, and what was entered is kept.
    let wrong = [
        ("name", "Bot"),
        ("day", "much"),
        ("max_open_tasks", "3"),
        ("expires_at", "2020-01-01T00:00"),
        ("latitude", "40.7"),
    ];
    let refused = browser.post("/dashboard/test/keys/new", &wrong).await;
    assert_eq!(refused.status, 400);
    for shown in [
        "permissions-fault",
        "day-fault",
        "longitude-fault",
        "radius_km-fault",
        "value=\"much\"",
        "value=\"Bot\"",
        "value=\"3\"",
    ] {
        assert!(refused.text.contains(shown), "{shown}: {}", refused.text);
    }
    let bot = program(&app, &mut browser).await;
    let key = page_of_key(&mut browser, "test", "Audit").await;
    bot.post("/v1/tasks", &storefront()).await.expect(201);
    let shown = browser.get(&key).await.text;
    for part in [
        "Spent today",
        "$25.00",
        "$100.00",
        "$75.00",
        "value=\"50.00\"",
        "read, create",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let list = browser.get("/dashboard/test/keys").await.text;
    assert!(
        list.contains("Spent today: $25.00 of $100.00") && list.contains("asks above $20.00"),
        "{list}"
    );
    let pause = format!("{key}/pause");
    let paused = browser.post(&pause, &[("paused", "true")]).await;
    assert!(browser.follow(&paused).await.text.contains("Let it go on"));
    bot.get("/v1/tasks")
        .await
        .expect_error(403, "MANDATE_PAUSED");
    let expires = bot.get("/v1/mandate").await.expect(200)["expires_at"].clone();
    browser
        .post(&pause, &[("paused", "false")])
        .await
        .expect(303);
    let mandate = bot.get("/v1/mandate").await.expect(200);
    assert_eq!(
        (&mandate["paused"], &mandate["expires_at"]),
        (&json!(false), &expires)
    );
    assert_eq!(mandate["max_task_cents"], 5_000);
    let change = [
        ("permissions", "read"),
        ("total", "30.00"),
        ("states", "NY, NJ"),
    ];
    browser.post(&key, &change).await.expect(303);
    let mandate = bot.get("/v1/mandate").await.expect(200);
    assert_eq!(mandate["permissions"], json!(["read"]));
    assert_eq!(
        mandate["spending_limits"],
        json!([{"interval": "total", "cents": 3_000}])
    );
    assert_eq!(mandate["states"], json!(["NY", "NJ"]));
    bot.post("/v1/tasks", &storefront())
        .await
        .expect_error(403, "PERMISSION_DENIED");
    browser.post(&format!("{key}/lift"), &[]).await.expect(303);
    bot.get("/v1/mandate")
        .await
        .expect_error(404, "MANDATE_NOT_FOUND");
    let revoked = browser.post(&format!("{key}/revoke"), &[]).await;
    assert!(
        browser
            .follow(&revoked)
            .await
            .text
            .contains("The key is revoked")
    );
    bot.get("/v1/tasks").await.expect_error(401, "UNAUTHORIZED");
    // The last one of an environment needs a second yes.
    let last = page_of_key(&mut browser, "test", "First").await;
    let held = browser.post(&format!("{last}/revoke"), &[]).await;
    assert_eq!(held.status, 409);
    assert!(
        held.text.contains("Revoke it all the same"),
        "{}",
        held.text
    );
    let sure = browser
        .post(&format!("{last}/revoke"), &[("confirm", "true")])
        .await;
    assert_eq!(sure.header("location"), "/dashboard/test/keys?done=revoked");
    // Another account's key is not found.
    let mut other = Browser::signed_up(&app, "eve@example.com").await;
    assert_eq!(other.get(&last).await.status, 404);
}

async fn live_keys_need_the_password_and_nothing_entered_is_lost(app: TestApp) {
    let mut browser = Browser::signed_up(&app, "ada@example.com").await;
    app.set_time("2025-11-15T12:11:00Z");
    let mut fields = LIMITED.to_vec();
    let asked = browser.post("/dashboard/live/keys/new", &fields).await;
    assert_eq!(asked.status, 401);
    assert!(
        asked.text.contains("current_password-fault") && asked.text.contains("value=\"100.00\"")
    );
    fields.push(("current_password", "wrong password"));
    let wrong = browser.post("/dashboard/live/keys/new", &fields).await;
    assert!(
        wrong.text.contains("The password is wrong.") && !wrong.text.contains("wrong password\"")
    );
    fields.pop();
    fields.push(("current_password", PASSWORD));
    let made = browser.post("/dashboard/live/keys/new", &fields).await;
    assert_eq!(made.status, 200, "{}", made.text);
    let key = between(&made.text, "data-copy>", "<");
    assert!(key.starts_with("svc_live_"));
    // It was given now, so the next form does not ask.
    let next = browser.get("/dashboard/live/keys").await.text;
    assert!(
        !next.contains("current_password") && next.contains("Confine test keys"),
        "{next}"
    );
    let confine = [("test_keys_manage", "test")];
    let confined = browser
        .post("/dashboard/live/keys/security", &confine)
        .await;
    assert!(
        browser
            .follow(&confined)
            .await
            .text
            .contains("Test keys alone")
    );
    // To pause needs no password; to go on does.
    app.set_time("2025-11-15T12:30:00Z");
    let page = page_of_key(&mut browser, "live", "Audit").await;
    let pause = format!("{page}/pause");
    browser
        .post(&pause, &[("paused", "true")])
        .await
        .expect(303);
    let asked = browser.post(&pause, &[("paused", "false")]).await;
    assert_eq!(asked.status, 401);
    let asked = browser.post(&format!("{page}/lift"), &[]).await;
    assert_eq!(asked.status, 401);
    let bot = Client::new(app.address, Some(&key));
    assert_eq!(bot.get("/v1/mandate").await.expect(200)["paused"], true);
}
