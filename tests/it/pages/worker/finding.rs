//! From signing up to the first payout, with forms alone.

use serde_json::json;

use super::super::{Browser, PASSWORD};
use super::{browser_of, has, key_of, page};
use crate::support::{TestApp, on_both_engines, photo, storefront};

on_both_engines!(
    a_worker_sends_documents_and_sets_up_payouts,
    a_task_is_found_and_accepted_once,
    a_worker_without_a_home_comes_back_to_the_task,
    a_suspended_worker_is_told_so,
    earnings_are_shown_to_the_cent,
);

async fn a_worker_sends_documents_and_sets_up_payouts(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let mut browser = browser_of(&app, &worker).await;
    let start = browser.get("/worker/start").await;
    has(
        &start.text,
        &["Get started", "/worker/verify", "/worker/payout"],
    );
    let picture = photo("me");
    let junk = vec![b'x'; 200];
    let parts: [(&str, &[u8]); 2] = [("identity", &picture), ("selfie", &junk)];
    let refused = browser.send_files("/worker/verify", &parts).await;
    assert_eq!(refused.status, 400);
    has(&refused.text, &["selfie-fault", "name=\"identity\""]);
    assert!(!refused.text.contains("identity-fault"));
    let parts: [(&str, &[u8]); 2] = [("identity", &picture), ("selfie", &picture)];
    let sent = browser.send_files("/worker/verify", &parts).await;
    assert_eq!(sent.header("location"), "/worker/start", "{}", sent.text);
    has(&browser.get("/worker/verify").await.text, &["in review"]);
    let twice = browser.send_files("/worker/verify", &parts).await;
    assert_ne!(twice.status, 500, "{}", twice.text);
    let admin = app.admin().await;
    let refuse = format!("/v1/admin/workers/{}/refuse", worker.id);
    let note = json!({"note": "The photo is blurred."});
    admin.post(&refuse, &note).await.expect(200);
    let again = browser.get("/worker/verify").await.text;
    has(
        &again,
        &["were refused", "The photo is blurred.", "name=\"selfie\""],
    );
    let steps = browser.get("/worker/start").await.text;
    has(
        &steps,
        &["were refused", "The photo is blurred.", "Send others"],
    );

    let text = browser.get("/worker/payout").await.text;
    let key = key_of(&text, "/worker/payout");
    let fields = [("idempotency_key", key.as_str())];
    let onboarding = browser.post("/worker/payout", &fields).await;
    let to = onboarding.header("location").to_owned();
    assert!(to.starts_with("/onboarding/"), "{to}");
    browser.post(&to, &[]).await;
    has(
        &browser.get("/worker/payout").await.text,
        &["Your pay can be sent."],
    );
    // A quarter of an hour later it takes the password again.
    app.set_time("2025-11-15T12:15:01Z");
    let asked = browser.post("/worker/payout", &[]).await;
    assert_eq!(
        asked.header("location"),
        "/worker/sign-in?again=1&next=%2Fworker%2Fpayout"
    );
}

async fn a_task_is_found_and_accepted_once(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.sign_up(&[]).await);
    let mut wanted = storefront();
    wanted["required_skills"] = json!(["driving"]);
    dev.charge_to("pm_card_visa").await;
    let task = dev.live.post("/v1/tasks", &wanted).await.expect(201);
    app.jobs.drain().await.unwrap();
    let mut browser = browser_of(&app, &worker).await;
    let id = task["id"].as_str().unwrap();
    let offer = format!("/worker/find/{id}");
    has(
        &browser.get(&offer).await.text,
        &[
            "$21.00",
            "not verified yet",
            "/worker/start",
            "Too new to tell how they deal with work.",
        ],
    );
    worker.become_ready(&app).await;
    has(&browser.get(&offer).await.text, &["/worker/me#skills"]);
    let none = browser.get("/worker/find?radius_km=5").await.text;
    has(&none, &["Nothing here right now", "radius_km=10"]);
    let profile = [
        ("name", "Grace"),
        ("skills", "driving"),
        ("home_latitude", "40.7"),
        ("home_longitude", "-73.95"),
        ("radius_km", "abc"),
    ];
    let refused = browser.post("/worker/me", &profile).await;
    assert_eq!(refused.status, 400);
    has(
        &refused.text,
        &[
            "radius_km-fault",
            "value=\"abc\"",
            "value=\"driving\" checked",
        ],
    );
    let all_wrong = [
        ("name", ""),
        ("home_latitude", "91"),
        ("home_longitude", "x"),
        ("radius_km", "0"),
    ];
    let refused = browser.post("/worker/me", &all_wrong).await;
    assert_eq!(refused.status, 400);
    for (field, value) in all_wrong {
        let fault = format!("id=\"{field}-fault\"");
        has(&refused.text, &[&fault, &format!("value=\"{value}\"")]);
    }
    let mut profile = profile;
    profile[4].1 = "15";
    let saved = browser.post("/worker/me", &profile).await;
    has(
        &browser.follow(&saved).await.text,
        &["Saved.", "value=\"15\""],
    );
    let found = browser
        .get("/worker/find?view=radar&sort=payout")
        .await
        .text;
    has(
        &found,
        &["$21.00", "<svg class=\"radar\"", "2.4 km away", &offer],
    );
    // Every card says first what it pays.
    let card = found.split("class=\"offer\"").nth(1).unwrap();
    assert!(card.find("$21.00") < card.find("Photograph a storefront"));
    let wrong = browser.get("/worker/find?radius_km=x").await;
    assert_eq!(wrong.status, 400);
    has(&wrong.text, &["radius_km-fault", "value=\"x\""]);

    let text = browser.get(&offer).await.text;
    let accept = format!("{offer}/accept");
    let key = key_of(&text, &accept);
    let fields = [("idempotency_key", key.as_str())];
    let accepted = browser.post(&accept, &fields).await;
    let own = page(&task);
    assert_eq!(accepted.header("location"), format!("{own}?done=accepted"));
    has(
        &browser.follow(&accepted).await.text,
        &["The task is yours.", "Start"],
    );
    assert_eq!(browser.get(&offer).await.header("location"), own);
    let other = app.ready_worker().await;
    let mut late = browser_of(&app, &other).await;
    let taken = late.post(&accept, &[]).await;
    assert_eq!(taken.status, 404);
    has(&taken.text, &["Somebody was faster", "/worker/find"]);
}

async fn a_worker_without_a_home_comes_back_to_the_task(app: TestApp) {
    let task = app.developer().await.create_paid_task().await;
    let offer = format!("/worker/find/{}", task["id"].as_str().unwrap());
    let mut browser = Browser::of(&app);
    let fields = [
        ("name", "Wanda"),
        ("email", "wanda@example.com"),
        ("password", PASSWORD),
    ];
    browser.post("/worker/sign-up", &fields).await;
    let asked = browser.get(&offer).await;
    assert_eq!(asked.status, 200);
    let home = format!("/worker/me?next={offer}");
    let search = format!("action=\"{offer}\"");
    has(&asked.text, &[&format!("{home}#home"), &search]);
    let wrong = format!("{offer}?latitude=91&longitude=0");
    let wrong = browser.get(&wrong).await;
    assert_eq!(wrong.status, 400);
    has(&wrong.text, &["latitude-fault", "value=\"91\""]);
    let here = format!("{offer}?latitude=40.7&longitude=-73.95");
    has(&browser.get(&here).await.text, &["$21.00"]);
    let next = format!("name=\"next\" value=\"{offer}\"");
    has(&browser.get(&home).await.text, &[&next]);
    let mut profile = [
        ("name", "Wanda"),
        ("home_latitude", "40.7"),
        ("home_longitude", "-73.95"),
        ("radius_km", "25"),
        ("next", "https://example.com"),
    ];
    let saved = browser.post("/worker/me", &profile).await;
    assert_eq!(saved.header("location"), "/worker/me?done=saved");
    profile[4].1 = &offer;
    let saved = browser.post("/worker/me", &profile).await;
    assert_eq!(saved.header("location"), offer);
    has(&browser.follow(&saved).await.text, &["$21.00"]);
}

async fn a_suspended_worker_is_told_so(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let task = dev.create_paid_task().await;
    let offer = format!("/worker/find/{}", task["id"].as_str().unwrap());
    let suspend = format!("/v1/admin/workers/{}/suspend", worker.id);
    let admin = app.admin().await;
    admin.post(&suspend, &json!({})).await.expect(200);
    let mut browser = browser_of(&app, &worker).await;
    for path in ["/worker/tasks", "/worker/find", &offer, "/worker/start"] {
        let text = browser.get(path).await.text;
        has(
            &text,
            &["Your account is suspended", "operator of this service"],
        );
        assert!(!text.contains("not verified yet"), "{path}: {text}");
        assert!(!text.contains("/accept\""), "{path}: {text}");
    }
    browser.language = Some("es");
    let text = browser.get(&offer).await.text;
    has(&text, &["Tu cuenta está suspendida"]);
}

async fn earnings_are_shown_to_the_cent(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let mut browser = browser_of(&app, &worker).await;
    has(
        &browser.get("/worker/earnings").await.text,
        &["Nothing earned yet", "/worker/find"],
    );
    let task = dev.create_paid_task().await;
    worker.begin(&task).await;
    let proof = worker.prove(&task, "one").await;
    has(
        &browser.get("/worker/earnings").await.text,
        &["Waiting for a review", "$21.00", "in 7 days at the latest"],
    );
    dev.review(&task, &proof, "approve").await.expect(200);
    app.jobs.drain().await.unwrap();
    let text = browser.get("/worker/earnings").await.text;
    has(
        &text,
        &[
            "$0.00",
            "$21.00",
            "Sent to your payout account on 2025-11-15",
        ],
    );
    let csv = browser.get("/worker/earnings.csv?month=2025-11").await;
    assert_eq!(csv.header("content-type"), "text/csv; charset=utf-8");
    let lines: Vec<_> = csv.text.lines().collect();
    assert_eq!(lines.len(), 2, "{}", csv.text);
    has(
        lines[1],
        &[
            ",paid,21.00,USD,",
            "\"Photograph a storefront\",21.00,0.00,0.00",
        ],
    );
    assert_eq!(browser.get("/worker/earnings?month=x").await.status, 400);
    let mut nobody = Browser::of(&app);
    assert_eq!(nobody.get("/worker/earnings.csv").await.status, 303);
}
