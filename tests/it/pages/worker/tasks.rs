//! A worker's own tasks: each state with its next action.

use super::super::Browser;
use super::{browser_of, has, key_of, page};
use crate::support::{TestApp, on_both_engines};

on_both_engines!(a_task_is_started_rejected_disputed, a_task_is_given_back,);

async fn a_task_is_started_rejected_disputed(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let task = dev.create_paid_task().await;
    worker.act(&task, "accept").await.expect(200);
    let (mut browser, path) = (browser_of(&app, &worker).await, page(&task));
    let list = browser.get("/worker/tasks").await.text;
    has(
        &list,
        &["$21.00", "To do", "Photograph a storefront", &path],
    );
    let text = browser.get(&path).await.text;
    has(
        &text,
        &[
            "Start",
            "Directions",
            "A photo, taken there",
            "3 attempts left",
        ],
    );
    let (start, dispute) = (format!("{path}/start"), format!("{path}/dispute"));
    let key = key_of(&text, &start);
    let fields = [("idempotency_key", key.as_str())];
    let started = browser.post(&start, &fields).await;
    has(
        &browser.follow(&started).await.text,
        &["Started.", "Take the proof"],
    );
    // Sent twice, it is started once. Another form finds the task as it stands.
    assert_eq!(browser.post(&start, &fields).await.status, 303);
    let late = browser.post(&start, &[]).await;
    assert_eq!(late.status, 409);
    has(&late.text, &["has changed meanwhile", "Take the proof"]);

    let proof = worker.prove(&task, "one").await;
    has(
        &browser.get(&path).await.text,
        &["being reviewed", "you are paid, reviewed or not"],
    );
    dev.review(&task, &proof, "reject").await.expect(200);
    let text = browser.get(&path).await.text;
    has(
        &text,
        &[
            "Too dark.",
            "2 attempts left",
            "Take new proof",
            "Attempt 1",
        ],
    );
    let long = "x".repeat(5_001);
    let refused = browser.post(&dispute, &[("statement", &long)]).await;
    assert_eq!(refused.status, 400);
    has(&refused.text, &["statement-fault", &long]);
    let key = key_of(&text, &dispute);
    let fields = [
        ("statement", "It is <b>bright</b>."),
        ("idempotency_key", &key),
    ];
    let sent = browser.post(&dispute, &fields).await;
    has(
        &browser.follow(&sent).await.text,
        &["It is &#60;b&#62;bright", "A person decides"],
    );
    // Nobody else sees it.
    let other = app.ready_worker().await;
    let mut stranger = browser_of(&app, &other).await;
    let gone = stranger.get(&path).await;
    assert_eq!(gone.status, 404);
    has(&gone.text, &["not yours now", "/worker/find"]);
}

async fn a_task_is_given_back(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let task = dev.create_paid_task().await;
    worker.act(&task, "accept").await.expect(200);
    let mut browser = browser_of(&app, &worker).await;
    let path = page(&task);
    let text = browser.get(&path).await.text;
    let key = key_of(&text, &format!("{path}/release"));
    let fields = [("idempotency_key", key.as_str())];
    let back = browser.post(&format!("{path}/release"), &fields).await;
    has(
        &browser.follow(&back).await.text,
        &["You have given the task back."],
    );
    assert_eq!(browser.get(&path).await.status, 404);
    let mut nobody = Browser::of(&app);
    assert_eq!(nobody.get(&path).await.status, 303);
    // What is no page of the app is told in the worker's language, and leads back to it.
    browser.language = Some("es");
    for path in ["/worker/tasks/none/extra", "/worker/nothing"] {
        let missing = browser.get(path).await;
        assert_eq!(missing.status, 404);
        has(&missing.text, &["No se encontró", "href=\"/worker\""]);
    }
}
