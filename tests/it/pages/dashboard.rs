//! What the pages of developers tell is so: of the task that was asked for, of what was done, of the month.

use serde_json::{Value, json};

use super::outcomes::developer;
use super::{Browser, between};
use crate::support::{Developer, TestApp, on_both_engines};

on_both_engines!(
    a_review_of_what_is_decided_says_so_and_decides_nothing_else,
    a_refused_form_is_summed_up_at_its_top,
    nothing_is_said_to_be_done_that_is_not,
    what_was_done_is_said,
    home_tells_what_the_month_has_cost,
    the_webhook_has_code_and_its_deliveries_have_an_address,
);

fn id(task: &Value) -> &str {
    task["id"].as_str().unwrap()
}

/// A test task whose proof waits.
async fn with_proof(dev: &Developer, browser: &mut Browser) -> Value {
    let task = dev.create_task().await;
    let advance = format!("/dashboard/test/tasks/{}/advance", id(&task));
    let to = [("to", "proof_submitted")];
    browser.post(&advance, &to).await.expect(303);
    task
}

/// The ID of the proof of a task.
async fn proof_of(dev: &Developer, task: &Value) -> String {
    let proofs = format!("/v1/tasks/{}/proofs", id(task));
    let proofs = dev.test.get(&proofs).await.expect(200);
    proofs["data"][0]["id"].as_str().unwrap().to_owned()
}

async fn a_review_of_what_is_decided_says_so_and_decides_nothing_else(app: TestApp) {
    let (dev, mut browser) = developer(&app).await;
    let first = with_proof(&dev, &mut browser).await;
    with_proof(&dev, &mut browser).await;
    let proof = proof_of(&dev, &first).await;
    let approve = format!("/v1/tasks/{}/proofs/{proof}/approve", id(&first));
    dev.test.post(&approve, &json!({})).await.expect(200);
    let asked = format!("/dashboard/test/review?task={}", id(&first));
    let page = browser.get(&asked).await.text;
    for said in [
        "Done: the proof counts",
        "data-onward>Go on with the next",
        "by you or",
        "data-live=",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    assert!(!page.contains("Approve and pay"), "{page}");
    // A decision that comes too late leads there.
    let late = format!("/dashboard/test/review/{}/{proof}/reject", id(&first));
    let late = browser.post(&late, &[("reason", "Too dark.")]).await;
    let page = browser.follow(&late).await.text;
    assert!(page.contains("decided elsewhere") && page.contains("Done: the proof counts"));
    let none = browser.get("/dashboard/test/review?task=abc").await;
    assert_eq!(none.status, 404, "{}", none.text);
    let next = browser.get("/dashboard/test/review").await.text;
    assert!(next.contains("Approve and pay") && next.contains("1 of 1"));
}

async fn a_refused_form_is_summed_up_at_its_top(app: TestApp) {
    let mut browser = Browser::signed_up(&app, "ada@example.com").await;
    let fields = [("title", "Shelves"), ("city", "Brooklyn"), ("budget", "1")];
    let refused = browser.post("/dashboard/test/tasks/new", &fields).await;
    assert_eq!(refused.status, 400);
    let page = refused.text;
    let (top, form) = page.split_once("data-new-task").unwrap();
    for said in [
        "<title>Error: New task",
        "role=\"alert\" tabindex=\"-1\" autofocus",
        "href=\"#budget\">Budget in dollars: must be an amount",
        "href=\"#description\">Description: ",
    ] {
        assert!(top.contains(said), "{said}: {top}");
    }
    assert!(form.contains("id=\"budget-fault\"") && !page.contains("budget_cents-fault"));
}

async fn nothing_is_said_to_be_done_that_is_not(app: TestApp) {
    let (dev, mut browser) = developer(&app).await;
    let task = with_proof(&dev, &mut browser).await;
    let path = format!("/dashboard/test/tasks/{}", id(&task));
    for (target, untrue) in [
        (format!("{path}?done=cancelled"), "The task is cancelled."),
        (format!("{path}?done=stated"), "Your statement is kept."),
        (
            format!("/dashboard/test/review?done=approve&of={}", id(&task)),
            "Approved. The worker is paid.",
        ),
        (
            format!("/dashboard/test/approvals?done=approved&of={}", id(&task)),
            "You have approved the task.",
        ),
        (
            "/dashboard/test/approvals?done=refused".to_owned(),
            "You have refused the task.",
        ),
    ] {
        let shown = browser.get(&target).await;
        assert_eq!(shown.status, 200, "{target}: {}", shown.text);
        assert!(!shown.text.contains(untrue), "{target}: {}", shown.text);
    }
    let decide = format!(
        "/dashboard/test/review/{}/{}/approve",
        id(&task),
        proof_of(&dev, &task).await
    );
    let approved = browser.post(&decide, &[]).await;
    let page = browser.follow(&approved).await.text;
    assert!(page.contains("Approved. The worker is paid."), "{page}");
}

async fn what_was_done_is_said(app: TestApp) {
    let (dev, mut browser) = developer(&app).await;
    let cancelled = dev.create_task().await;
    let cancel = format!("/v1/tasks/{}/cancel", id(&cancelled));
    dev.test.post(&cancel, &json!({})).await.expect(200);
    let target = format!("/dashboard/test/tasks/{}?done=cancelled", id(&cancelled));
    let page = browser.get(&target).await.text;
    assert!(page.contains("The task is cancelled."), "{page}");

    let rejected = with_proof(&dev, &mut browser).await;
    let proof = proof_of(&dev, &rejected).await;
    let reject = format!("/dashboard/test/review/{}/{proof}/reject", id(&rejected));
    let told = browser.post(&reject, &[("reason", "Too dark.")]).await;
    let page = browser.follow(&told).await.text;
    assert!(page.contains("The worker has been told why."), "{page}");

    let disputed = dev.create_task().await;
    let path = format!("/dashboard/test/tasks/{}", id(&disputed));
    let to = [("to", "disputed")];
    let advance = format!("{path}/advance");
    browser.post(&advance, &to).await.expect(303);
    let statement = [("statement", "It shows a window.")];
    let stated = browser.post(&format!("{path}/dispute"), &statement).await;
    let page = browser.follow(&stated).await.text;
    assert!(page.contains("Your statement is kept."), "{page}");
}

/// What stands on a card of the home page.
async fn figure(browser: &mut Browser, heading: &str) -> String {
    let home = browser.get("/dashboard/live").await.text;
    between(
        &home,
        &format!("<h2>{heading}</h2><p class=\"figure\">"),
        "<",
    )
}

async fn home_tells_what_the_month_has_cost(app: TestApp) {
    let ((dev, mut browser), worker) = (developer(&app).await, app.ready_worker().await);
    dev.create_live_task().await;
    assert_eq!(figure(&mut browser, "Held").await, "$0.00");
    dev.create_paid_task().await;
    assert_eq!(figure(&mut browser, "Held").await, "$25.00");
    assert_eq!(figure(&mut browser, "Spent this month").await, "$0.00");
    // A worker has accepted it: to cancel it costs half.
    let task = dev.create_paid_task().await;
    worker.act(&task, "accept").await.expect(200);
    let cancel = format!("/v1/tasks/{}/cancel", id(&task));
    dev.live.post(&cancel, &json!({})).await.expect(200);
    assert_eq!(figure(&mut browser, "Held").await, "$25.00");
    assert_eq!(figure(&mut browser, "Spent this month").await, "$12.50");
}

async fn the_webhook_has_code_and_its_deliveries_have_an_address(app: TestApp) {
    let mut browser = Browser::signed_up(&app, "ada@example.com").await;
    let page = browser.get("/dashboard/test/webhook").await.text;
    for said in [
        "<summary>Ruby</summary>",
        "hmac.compare_digest",
        "data-draft",
        "id=\"deliveries\"",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    let list = browser.get("/dashboard/test/webhook/deliveries").await;
    let place = list.header("location");
    assert_eq!(place, "/dashboard/test/webhook#deliveries");
}
