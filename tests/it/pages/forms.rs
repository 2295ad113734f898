//! Forms that come too late, are wrong or are opened by hand lose nothing without a word; moments are told by
//! the clock that made them.

use legwork::domain::TotpSecret;
use serde_json::json;

use super::{Browser, PASSWORD, between};
use crate::support::{Client, TestApp, on_both_engines, storefront};

on_both_engines!(
    a_form_waits_for_the_password_and_is_sent_after_it,
    a_form_of_an_ended_session_leads_back_to_its_page,
    the_place_where_a_form_is_sent_leads_to_its_page,
    a_wrong_filter_is_told_beside_its_field,
    a_wrong_code_leaves_the_secret_on_the_page,
    a_second_factor_that_was_begun_is_found_again,
    moments_are_told_by_the_clock_that_made_them,
    money_is_taken_as_pages_show_it,
    open_tasks_stand_beside_the_end_of_the_account,
);

const HOOK: &str = "https://hooks.example.com/legwork";

/// Gives the password on the page that asks, and sends what waited there as a browser does.
async fn after_password(browser: &mut Browser, action: &str, fields: &[(&str, &str)]) -> String {
    let asked = browser.post(action, fields).await;
    assert_eq!(asked.status, 401, "{}", asked.text);
    let carried = format!("name=\"again_action\" value=\"{action}\"");
    assert!(asked.text.contains(&carried), "{}", asked.text);
    for (name, value) in fields {
        let field = format!("type=\"hidden\" name=\"{name}\" value=\"{value}\"");
        assert!(asked.text.contains(&field), "{field}: {}", asked.text);
    }
    let mut given = fields.to_vec();
    given.push(("again_action", action));
    given.push(("password", "wrong password"));
    let wrong = browser.post("/account/again", &given).await;
    assert!(wrong.text.contains("The password is wrong."));
    assert!(wrong.text.contains(&carried) && !wrong.text.contains("\"wrong password\""));
    given.pop();
    given.push(("password", PASSWORD));
    let passed = browser.post("/account/again", &given).await;
    assert_eq!(passed.status, 307);
    assert_eq!(passed.header("location"), action);
    browser.post(action, &given).await.text
}

async fn a_form_waits_for_the_password_and_is_sent_after_it(app: TestApp) {
    let mut browser = Browser::signed_up(&app, "ada@example.com").await;
    let fields = [("url", HOOK), ("events", "task.completed")];
    app.set_time("2025-11-15T12:11:00Z");
    let saved = after_password(&mut browser, "/dashboard/test/webhook", &fields).await;
    assert!(saved.contains("whsec_") && saved.contains(HOOK), "{saved}");
    app.set_time("2025-11-15T12:30:00Z");
    let method = [("payment_method", "pm_card_visa")];
    let saved = after_password(&mut browser, "/dashboard/live/payment", &method).await;
    assert!(saved.contains("charged to this method"), "{saved}");
    app.set_time("2025-11-15T12:50:00Z");
    let confirm = [("confirm", "ada@example.com")];
    let gone = after_password(&mut browser, "/account/delete", &confirm).await;
    assert!(gone.contains("Your account is deleted"), "{gone}");
}

async fn a_form_of_an_ended_session_leads_back_to_its_page(app: TestApp) {
    let client = app.client();
    let origin = format!("http://{}", app.address);
    let form = format!("{origin}/dashboard/test/tasks/new?a=b");
    let headers = [
        ("accept", "text/html"),
        ("origin", origin.as_str()),
        ("referer", form.as_str()),
    ];
    let path = "/dashboard/test/tasks/new";
    let late = client.send("POST", path, &headers, String::new()).await;
    let to = late.header("location").to_owned();
    assert_eq!(
        to,
        "/sign-in?done=ended&next=%2Fdashboard%2Ftest%2Ftasks%2Fnew%3Fa%3Db"
    );
    let mut browser = Browser::of(&app);
    let page = browser.get(&to).await.text;
    assert!(page.contains("nothing was saved"), "{page}");
    assert!(page.contains("/dashboard/test/tasks/new?a=b"), "{page}");
    // The script that brings back what was typed learns there that it was not sent.
    for sign_in in ["/sign-in", "/admin/sign-in", "/worker/sign-in"] {
        let page = browser.get(&format!("{sign_in}?done=ended")).await.text;
        assert!(page.contains("/assets/draft."), "{sign_in}: {page}");
    }
    let out = client.send("POST", "/sign-out", &headers, String::new());
    assert_eq!(out.await.header("location"), "/sign-in");
}

async fn the_place_where_a_form_is_sent_leads_to_its_page(app: TestApp) {
    let mut browser = Browser::signed_up(&app, "ada@example.com").await;
    for (place, page) in [
        ("/dashboard/test/webhook/rotate", "/dashboard/test/webhook"),
        (
            "/dashboard/test/review/a/b/approve",
            "/dashboard/test/review",
        ),
        ("/worker/tasks/a/start", "/worker/tasks/a"),
        ("/account/sessions/others", "/account"),
        ("/sign-out", "/"),
    ] {
        let led = browser.get(place).await;
        assert_eq!(led.header("location"), page, "{}", led.text);
    }
    let client = app.client();
    let wrong = client.send("PUT", "/account", &[], String::new()).await;
    assert_eq!(wrong.status, 405);
    // Only tests have a clock.
    let clock = browser.get("/dashboard/test/clock").await.text;
    assert!(clock.contains("href=\"/dashboard/live\">Live"), "{clock}");
}

async fn a_wrong_filter_is_told_beside_its_field(app: TestApp) {
    let mut browser = Browser::signed_up(&app, "ada@example.com").await;
    let wrong = browser.get("/dashboard/test/events?task_id=nonsense").await;
    assert_eq!(wrong.status, 400);
    for shown in [
        "id=\"task_id-fault\"",
        "value=\"nonsense\"",
        "Pages",
        "<option>task.proof_submitted</option>",
    ] {
        assert!(wrong.text.contains(shown), "{shown}: {}", wrong.text);
    }
}

async fn a_wrong_code_leaves_the_secret_on_the_page(app: TestApp) {
    let mut browser = Browser::signed_up(&app, "ada@example.com").await;
    let secret = begun(&mut browser, "/account/factor").await;
    let code = [("code", "000000")];
    let wrong = browser.post("/account/factor/confirm", &code).await;
    assert_eq!(wrong.status, 400);
    assert!(wrong.text.contains(&secret) && wrong.text.contains("class=\"qr\""));
    // Whoever finds the page open later does not see it.
    app.set_time("2025-11-15T12:11:00Z");
    let later = browser.post("/account/factor/confirm", &code).await.text;
    assert!(!later.contains(&secret), "{later}");
}

/// Begins to set up a second factor, and tells its secret.
async fn begun(browser: &mut Browser, page: &str) -> String {
    let reply = browser.post(page, &[]).await;
    let text = match reply.status.is_redirection() {
        true => browser.follow(&reply).await.text,
        false => reply.text,
    };
    secret_in(&text)
}

fn secret_in(page: &str) -> String {
    between(page, "class=\"secret\" data-copy>", "<")
}

/// Whoever loads a page anew goes on with the secret that the app has by now, and never loses the way in.
async fn a_second_factor_that_was_begun_is_found_again(app: TestApp) {
    let developer = Browser::signed_up(&app, "ada@example.com").await;
    let mut admin = Browser::of(&app);
    let key = app.admin().await;
    let signed_in = admin.post("/admin/sign-in", &[("key", key.key())]).await;
    signed_in.expect(303);
    for (mut browser, page) in [(developer, "/account/factor"), (admin, "/admin/factor")] {
        app.set_time("2025-11-15T12:00:00Z");
        let secret = begun(&mut browser, page).await;
        let again = browser.get(page).await.text;
        assert_eq!(secret_in(&again), secret);
        assert!(again.contains("id=\"code\"") && again.contains("Begin anew"));
        app.set_time("2025-11-15T12:11:00Z");
        let later = browser.get(page).await.text;
        assert!(!later.contains(&secret), "{later}");
        assert!(later.contains("You have begun to set it up."), "{later}");
        assert!(later.contains("id=\"code\""), "{later}");
        let secret = TotpSecret::from_base32(&secret).unwrap();
        let code = secret.code_at(app.clock.now());
        let fields = [("code", code.as_str()), ("idempotency_key", "0a1b")];
        let confirm = format!("{page}/confirm");
        let on = browser.post(&confirm, &fields).await;
        assert_eq!(on.status, 200, "{}", on.text);
        assert!(on.text.contains("they are shown this once"), "{}", on.text);
        let reloaded = browser.post(&confirm, &fields).await;
        assert_eq!(reloaded.status, 409, "{}", reloaded.text);
        let told = "make new ones with the next code of your app";
        assert!(reloaded.text.contains(told), "{}", reloaded.text);
        assert!(reloaded.text.contains("10 are left."), "{}", reloaded.text);
    }
}

async fn moments_are_told_by_the_clock_that_made_them(app: TestApp) {
    let mut browser = Browser::signed_up(&app, "ada@example.com").await;
    let made = browser
        .post("/dashboard/test/keys", &[("name", "Bot")])
        .await
        .text;
    let bot = Client::new(app.address, Some(&between(&made, "data-copy>", "<")));
    let mut task = storefront();
    task["title"] = json!("First");
    bot.post("/v1/tasks", &task).await.expect(201);
    let month = [("advance_seconds", "2592000")];
    let moved = browser.post("/dashboard/test/clock", &month).await;
    assert_eq!(moved.status, 200, "{}", moved.text);
    let keys = browser.get("/dashboard/test/keys").await.text;
    let key = between(&keys, ">Bot<", "</tr>");
    assert!(!key.contains("30 days ago"), "{key}");
    // An admin sees the tasks of tests by the same clock.
    task["title"] = json!("Second");
    bot.post("/v1/tasks", &task).await.expect(201);
    let admin = app.admin().await;
    let mut console = Browser::of(&app);
    console
        .post("/admin/sign-in", &[("key", admin.key())])
        .await
        .expect(303);
    let list = console.get("/admin/tasks").await.text;
    let second = between(&list, ">Second<", "</tr>");
    assert!(second.contains(">now</time>"), "{second}");
    let first = between(&list, ">First<", "</tr>");
    assert!(first.contains("30 days ago"), "{first}");
    let path = between(&list, "<td class=\"lead\"><a href=\"", "\"");
    let page = console.get(&path).await.text;
    assert!(!page.contains("in 30 days"), "{page}");
}

async fn money_is_taken_as_pages_show_it(app: TestApp) {
    let mut browser = Browser::signed_up(&app, "ada@example.com").await;
    let form = |budget: &'static str| {
        [
            ("title", "Photograph a storefront"),
            ("description", "Front of the shop."),
            ("category", "photography"),
            ("city", "Brooklyn"),
            ("state", "NY"),
            ("latitude", "40.7163"),
            ("longitude", "-73.9595"),
            ("budget", budget),
            ("proof_types", "photo"),
        ]
    };
    let path = "/dashboard/test/tasks/new";
    for (budget, shown) in [("$1,234.50", "$1,234.50"), ("$ 30", "$30.00")] {
        let created = browser.post(path, &form(budget)).await;
        let page = browser.follow(&created).await.text;
        assert!(page.contains(shown), "{budget}: {page}");
    }
    for budget in ["1e3", "12,34"] {
        let refused = browser.post(path, &form(budget)).await;
        assert_eq!(refused.status, 400, "{budget}");
        assert!(refused.text.contains("id=\"budget-fault\""));
    }
}

async fn open_tasks_stand_beside_the_end_of_the_account(app: TestApp) {
    let mut browser = Browser::signed_up(&app, "ada@example.com").await;
    let page = browser.get("/account").await.text;
    assert!(!page.contains("These tasks are open"), "{page}");
    let first = browser.post("/dashboard/test/tasks/first", &[]).await;
    assert_eq!(first.status, 303, "{}", first.text);
    let confirm = [("confirm", "ada@example.com")];
    let refused = browser.post("/account/delete", &confirm).await;
    assert_eq!(refused.status, 409);
    let link = "href=\"/dashboard/test/tasks?status=funded\">1 Funded</a>";
    assert!(refused.text.contains(link), "{}", refused.text);
}
