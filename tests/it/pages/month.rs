//! What a month has cost, what falls due, where tasks are, and the account itself.

use serde_json::json;

use super::{Browser, PASSWORD};
use crate::support::{Command, TestApp, on_both_engines};

on_both_engines!(
    a_month_has_a_chart_and_a_statement,
    the_clock_and_the_lists_tell_what_comes_and_where,
    a_list_is_read_by_pages_and_says_what_is_wrong_with_a_filter,
    an_account_changes_its_address_and_sets_its_first_password,
);

/// Creates a task with a form, and returns its path.
async fn task(browser: &mut Browser, title: &str, longitude: &str) -> String {
    let fields = [
        ("title", title),
        ("description", "Front of the shop."),
        ("category", "photography"),
        ("city", "Brooklyn"),
        ("state", "NY"),
        ("latitude", "40.7163"),
        ("longitude", longitude),
        ("budget", "25.50"),
        ("proof_types", "photo"),
    ];
    let created = browser.post("/dashboard/test/tasks/new", &fields).await;
    assert_eq!(created.status, 303, "{}", created.text);
    created
        .header("location")
        .split('?')
        .next()
        .unwrap()
        .to_owned()
}

async fn a_month_has_a_chart_and_a_statement(app: TestApp) {
    let mut browser = Browser::signed_up(&app, "ada@example.com").await;
    let done = task(&mut browser, "=HYPERLINK(\"x\")", "-73.9595").await;
    browser
        .post(&format!("{done}/advance"), &[("to", "completed")])
        .await
        .expect(303);
    let back = task(&mut browser, "Never mind", "-73.9595").await;
    browser
        .post(&format!("{back}/cancel"), &[])
        .await
        .expect(303);
    let usage = browser.get("/dashboard/test/usage").await.text;
    for shown in [
        "2025-11-15",
        "$51.00",
        "<svg class=\"chart meter\"",
        "usage?month=2025-10",
    ] {
        assert!(usage.contains(shown), "{shown}: {usage}");
    }
    assert!(!usage.contains("usage?month=2025-12"), "{usage}");
    let printed = browser
        .get("/dashboard/test/usage/statement?month=2025-11")
        .await
        .text;
    assert!(
        printed.contains("Never mind") && printed.contains("$51.00"),
        "{printed}"
    );
    let csv = browser
        .get("/dashboard/test/usage/statement.csv?month=2025-11")
        .await;
    assert_eq!(csv.header("content-type"), "text/csv; charset=utf-8");
    assert_eq!(
        csv.header("content-disposition"),
        "attachment; filename=\"legwork-test-2025-11.csv\""
    );
    let lines: Vec<_> = csv.text.trim_end().split("\r\n").collect();
    assert_eq!(lines.len(), 3, "{}", csv.text);
    assert!(
        lines[1].contains(",\"Never mind\",cancelled,2550,2550,0,2550,0,0"),
        "{}",
        csv.text
    );
    let paid = ",\"'=HYPERLINK(\"\"x\"\")\",completed,2550,2550,0,0,2142,408";
    assert!(lines[2].contains(paid), "{}", csv.text);
    let empty = browser
        .get("/dashboard/test/usage?month=2025-10")
        .await
        .text;
    assert!(empty.contains("No task was created in this month"));
    assert_eq!(
        browser.get("/dashboard/test/usage?month=x").await.status,
        400
    );
    assert_eq!(
        browser
            .get("/dashboard/test/usage/statement.csv?month=x")
            .await
            .status,
        404
    );
}

/// By what checks the query of a program, though no JSON is written.
async fn a_list_is_read_by_pages_and_says_what_is_wrong_with_a_filter(app: TestApp) {
    let mut browser = Browser::signed_up(&app, "ada@example.com").await;
    for number in 1..=26 {
        task(&mut browser, &format!("Task <{number}>"), "-73.95").await;
    }
    let list = "/dashboard/test/tasks";
    let first = browser.get(list).await.text;
    let titles = |page: &str| page.matches("Task &#60;").count();
    assert_eq!(titles(&first), 25, "{first}");
    for shown in [
        "<span class=\"faint num\">26</span>",
        "Task &#60;26&#62;",
        "Brooklyn, NY",
        "$25.50",
        ">Photography</td>",
        "title=\"2025-11-15 ",
        "offset=25",
    ] {
        assert!(first.contains(shown), "{shown}: {first}");
    }
    let older = browser.get(&format!("{list}?offset=25")).await.text;
    assert_eq!(titles(&older), 1, "{older}");
    assert!(older.contains("Task &#60;1&#62;") && older.contains("offset=0"));
    let found = browser
        .get(&format!("{list}?q=%3C7%3E&status=funded&status=posted"))
        .await
        .text;
    assert_eq!(titles(&found), 1, "{found}");
    let by_cursor = browser.get(&format!("{list}?category=photography")).await;
    assert!(by_cursor.text.contains("cursor=2\""), "{}", by_cursor.text);
    for (query, field) in [
        ("status=lost", "status-fault"),
        ("q=x&category=magic", "category-fault"),
        (
            "created_from=2025-11-16&created_to=2025-11-15",
            "created_to-fault",
        ),
    ] {
        let refused = browser.get(&format!("{list}?{query}")).await;
        assert_eq!(refused.status, 400, "{query}");
        assert!(refused.text.contains(field), "{query}: {}", refused.text);
    }
    assert_eq!(browser.get(&format!("{list}?offset=x")).await.status, 400);
    // Nobody sees the list of another, and a session that has ended shows none.
    let mut bob = Browser::signed_up(&app, "bob@example.com").await;
    let none = bob.get(list).await.text;
    assert!(none.contains("No tasks yet"), "{none}");
    let mut left = Browser::of(&app);
    left.cookie.clone_from(&bob.cookie);
    bob.post("/sign-out", &[]).await;
    let sent = left.get(list).await;
    assert!(sent.header("location").starts_with("/sign-in?next="));
}

async fn the_clock_and_the_lists_tell_what_comes_and_where(app: TestApp) {
    let mut browser = Browser::signed_up(&app, "ada@example.com").await;
    let clock = browser.get("/dashboard/test/clock").await.text;
    assert!(clock.contains("Nothing: no open task"), "{clock}");
    let path = task(&mut browser, "<i>East</i>", "-73.95").await;
    task(&mut browser, "West", "-74.05").await;
    browser
        .post(&format!("{path}/advance"), &[("to", "proof_submitted")])
        .await
        .expect(303);
    let clock = browser.get("/dashboard/test/clock").await.text;
    assert!(
        clock.contains("in 7 days</time>: the proof counts as approved"),
        "{clock}"
    );
    let list = browser
        .get("/dashboard/test/tasks?status=funded")
        .await
        .text;
    assert!(
        list.contains("&#38;map=1\"") && !list.contains("<svg"),
        "{list}"
    );
    let mapped = browser.get("/dashboard/test/tasks?map=1").await.text;
    assert_eq!(
        mapped.matches("<path class=\"task\"").count(),
        2,
        "{mapped}"
    );
    assert!(mapped.contains("<title>&#60;i&#62;East&#60;/i&#62;</title>"));
    // The form shows a place without creating anything.
    let fields = [
        ("preview", "map"),
        ("latitude", "40.7"),
        ("longitude", "-73.9"),
        ("title", "Kept"),
    ];
    let shown = browser.post("/dashboard/test/tasks/new", &fields).await;
    assert_eq!(shown.status, 200);
    assert!(shown.text.contains("class=\"ring\"") && shown.text.contains("value=\"Kept\""));
    let nowhere = browser
        .get("/dashboard/test/tasks/map?latitude=91&longitude=0")
        .await;
    assert_eq!(nowhere.status, 200);
    assert_eq!(nowhere.text, "");
    // What was sent about a task stands on its page.
    let page = browser.get(&path).await.text;
    assert!(!page.contains("<h2>Deliveries</h2>"));
    let hook = [
        ("url", "https://127.0.0.1:9/hook"),
        ("events", "task.cancelled"),
    ];
    let set = browser.post("/dashboard/test/webhook", &hook).await;
    assert_eq!(set.status, 200, "{}", set.text);
    let other = task(&mut browser, "Third", "-74.05").await;
    browser
        .post(&format!("{other}/cancel"), &[])
        .await
        .expect(303);
    let page = browser.get(&other).await.text;
    assert!(
        page.contains("<h2>Deliveries</h2>") && page.contains("/webhook/deliveries/"),
        "{page}"
    );
}

async fn an_account_changes_its_address_and_sets_its_first_password(app: TestApp) {
    let mut browser = Browser::signed_up(&app, "ada@example.com").await;
    let taken = app.developer().await;
    let taken = taken.test.get("/v1/account").await.expect(200)["email"].clone();
    let change = |email: &str, password: &str| {
        [
            ("email".to_owned(), email.to_owned()),
            ("email_password".to_owned(), password.to_owned()),
        ]
    };
    for (email, password, status, fault) in [
        ("nowhere", PASSWORD, 400, "email-fault"),
        (
            "new@example.com",
            "wrong password",
            401,
            "email_password-fault",
        ),
        (taken.as_str().unwrap(), PASSWORD, 409, "email-fault"),
    ] {
        let fields = change(email, password);
        let fields: Vec<_> = fields
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let refused = browser.post("/account/email", &fields).await;
        assert_eq!(refused.status, status, "{}", refused.text);
        assert!(
            refused.text.contains(fault) && refused.text.contains(&format!("value=\"{email}\""))
        );
    }
    let fields = [("email", "New@example.com"), ("email_password", PASSWORD)];
    let changed = browser.post("/account/email", &fields).await;
    let page = browser.follow(&changed).await.text;
    assert!(page.contains("new@example.com"), "{page}");
    // Somebody who came by a local link has no password, and is not locked out.
    app.clock.move_to(legwork::ambient::Clock::system().now());
    let words = [
        "account",
        "create",
        "--email",
        "local@example.com",
        "--name",
        "Ada",
        "--json",
    ];
    Command::new(&words).on(&app.database).succeed();
    let link = Command::new(&["account", "sign-in-link", "--email", "local@example.com"]);
    let link = link.on(&app.database).succeed();
    let path = link
        .lines()
        .next()
        .unwrap()
        .strip_prefix("http://localhost:8080")
        .unwrap()
        .to_owned();
    let mut local = Browser::of(&app);
    local.post(&path, &[]).await.expect(303);
    app.advance(std::time::Duration::from_secs(660));
    let asked = local.post("/account/export", &[]).await;
    assert_eq!(
        asked.header("location"),
        "/account?done=no_password#password-card"
    );
    local
        .post("/account/password", &[("password", PASSWORD)])
        .await
        .expect(303);
    let exported = local.post("/account/export", &[]).await;
    assert_eq!(
        exported.header("location"),
        "/account?done=export",
        "{}",
        json!(exported.text)
    );
}
