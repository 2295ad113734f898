//! What admins write with a decision is kept, and decisions of two admins do not get in each other's way.

use legwork::domain::AdminRole;
use serde_json::{Value, json};

use super::super::{PASSWORD, between};
use super::{applicant, first_item, page_of, refused_payout, signed_in};
use crate::admin::disputed_task;
use crate::support::{Client, InjectedFault, TestApp, on_both_engines, path, photo};

on_both_engines!(
    a_note_with_a_retry_is_kept,
    a_note_about_a_payout_goes_with_the_worker,
    a_note_with_a_write_off_is_shown_to_whoever_confirms_it,
    a_note_with_confirmed_skills_is_kept,
    what_is_wrong_with_a_decision_leads_to_it,
    a_refund_that_was_paid_in_another_way_is_settled,
    an_admin_is_given_no_proposal_of_her_own,
    a_proposal_that_was_withdrawn_cannot_be_confirmed,
    what_was_written_is_kept_when_the_claim_is_lost,
    whoever_holds_a_claim_is_told_of_it_and_nobody_else,
    a_refusal_of_documents_says_why,
    rows_of_the_queue_are_told_apart,
);

/// Below the payout of the tasks here.
const LIMIT: i64 = 500;
const NOTE: &str = "The bank was <b>closed</b>.";

/// The note of the newest line about this action.
async fn noted(admin: &Client, action: &str) -> Value {
    let lines = admin.get(&format!("/v1/admin/audit?action={action}")).await;
    lines.expect(200)["data"][0]["note"].clone()
}

async fn a_note_with_a_retry_is_kept(app: TestApp) {
    let (app, _, _, _) = refused_payout(app).await;
    let owner = app.admin().await;
    let mut browser = signed_in(&app, &owner).await;
    let item = page_of(&first_item(&app, "failed_payout").await);
    let page = browser.get(&item).await.text;
    let form = page.split("/note\">").nth(1).unwrap();
    let first = form.split("<button").nth(1).unwrap();
    assert!(
        first.starts_with(" hidden disabled"),
        "Enter does nothing: {first}"
    );
    let fields = [("note", NOTE)];
    let retried = browser.post(&format!("{item}/retry"), &fields).await;
    assert_eq!(retried.header("location"), "/admin/queue?done=retry");
    assert_eq!(noted(&owner, "payout.retried").await, NOTE);
    let closed = owner.get("/v1/admin/queue?status=closed").await.expect(200);
    assert_eq!(closed["data"][0]["note"], NOTE);
}

async fn a_note_about_a_payout_goes_with_the_worker(app: TestApp) {
    let (app, processor, task, worker) = refused_payout(app).await;
    let owner = app.admin().await;
    let retry = format!("/v1/admin/payouts/{}/retry", task["id"].as_str().unwrap());
    owner.post(&retry, &json!({"note": NOTE})).await.expect(200);
    processor.set(InjectedFault::None);
    app.jobs.drain().await.unwrap();
    let body = json!({"password": PASSWORD}).to_string();
    let gone = worker.client.send("DELETE", "/v1/worker", &[], body).await;
    gone.expect(200);
    app.jobs.drain().await.unwrap();
    assert_eq!(noted(&owner, "payout.retried").await, Value::Null);
    let closed = owner.get("/v1/admin/queue?status=closed").await.expect(200);
    assert_eq!(closed["data"][0]["note"], Value::Null);
}

async fn a_note_with_a_write_off_is_shown_to_whoever_confirms_it(app: TestApp) {
    let (app, processor, _, _) = refused_payout(app).await;
    processor.set(InjectedFault::None);
    let app = app.with_four_eyes(LIMIT).await;
    let (ada, eve) = (app.admin().await, app.admin().await);
    let mut proposes = signed_in(&app, &ada).await;
    let item = page_of(&first_item(&app, "failed_payout").await);
    let write_off = format!("{item}/write-off");
    let proposed = proposes.post(&write_off, &[("note", NOTE)]).await;
    assert!(proposed.header("location").ends_with("done=proposed"));
    let mut confirms = signed_in(&app, &eve).await;
    let page = confirms.get(&item).await.text;
    assert!(page.contains("The bank was &#60;b&#62;closed"), "{page}");
    let at = between(&page, "name=\"proposed_at\" value=\"", "\"");
    let fields = [("note", NOTE), ("proposed_at", &at)];
    let confirmed = confirms.post(&write_off, &fields).await;
    assert_eq!(confirmed.header("location"), "/admin/queue?done=write-off");
    assert_eq!(noted(&eve, "payout.proposed").await, NOTE);
    assert_eq!(noted(&eve, "payout.written_off").await, NOTE);
}

async fn a_note_with_confirmed_skills_is_kept(app: TestApp) {
    let worker = app.sign_up(&["notary"]).await;
    let (identity, selfie) = (photo("identity"), photo("selfie"));
    let parts: [(&str, &[u8]); 2] = [("identity", &identity), ("selfie", &selfie)];
    let sent = worker.client.send_form("/v1/worker/verification", &parts);
    sent.await.expect(201);
    let admin = app.admin().await;
    let mut browser = signed_in(&app, &admin).await;
    let item = page_of(&first_item(&app, "skill_check").await);
    let wrong = [("confirmed", "juggling")];
    let refused = browser.post(&format!("{item}/skills"), &wrong).await;
    for said in ["href=\"#confirmed\">Confirmed skills: ", "id=\"confirmed\""] {
        assert!(refused.text.contains(said), "{said}: {}", refused.text);
    }
    let fields = [("confirmed", "notary"), ("note", NOTE)];
    let confirmed = browser.post(&format!("{item}/skills"), &fields).await;
    assert_eq!(confirmed.status, 303, "{}", confirmed.text);
    assert_eq!(noted(&admin, "worker.skills_confirmed").await, NOTE);
}

async fn what_is_wrong_with_a_decision_leads_to_it(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    disputed_task(&app, &dev, &worker).await;
    let mut browser = signed_in(&app, &app.admin().await).await;
    let item = page_of(&first_item(&app, "dispute").await);
    let refused = browser.post(&format!("{item}/decide"), &[]).await;
    assert_eq!(refused.status, 400);
    for said in [
        "href=\"#decision\">Who gets the money?: ",
        "id=\"decision\"",
    ] {
        assert!(refused.text.contains(said), "{said}: {}", refused.text);
    }
}

async fn an_admin_is_given_no_proposal_of_her_own(app: TestApp) {
    let app = app.with_four_eyes(LIMIT).await;
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    disputed_task(&app, &dev, &worker).await;
    let first = page_of(&first_item(&app, "dispute").await);
    disputed_task(&app, &dev, &worker).await;
    let (otto, olga) = (app.admin_with(AdminRole::Operator).await, app.admin().await);
    let mut otto = signed_in(&app, &otto).await;
    let pay = [("decision", "pay"), ("note", "It is there.")];
    let proposed = otto.post(&format!("{first}/decide"), &pay).await;
    assert!(proposed.header("location").ends_with("done=proposed"));
    let page = otto.get(&first).await.text;
    assert!(!page.contains(&format!("{first}/claim")), "{page}");
    let queue = otto.get("/admin/queue").await.text;
    assert_eq!(
        queue.matches("Waits for another admin").count(),
        1,
        "{queue}"
    );
    let next = [("kind", "dispute")];
    let second = otto.post("/admin/queue/next", &next).await;
    let second = second.header("location");
    assert!(
        second.starts_with("/admin/queue/") && !second.starts_with(&first),
        "{second}"
    );
    // Nobody else has the first one, so it comes to the other admin.
    let mut olga = signed_in(&app, &olga).await;
    let queue = olga.get("/admin/queue").await.text;
    assert_eq!(queue.matches("Waits to be confirmed").count(), 1, "{queue}");
    let given = olga.post("/admin/queue/next", &next).await;
    assert!(given.header("location").starts_with(&first));
}

async fn a_proposal_that_was_withdrawn_cannot_be_confirmed(app: TestApp) {
    let app = app.with_four_eyes(LIMIT).await;
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    disputed_task(&app, &dev, &worker).await;
    let item = page_of(&first_item(&app, "dispute").await);
    let (ada, eve) = (app.admin().await, app.admin().await);
    let (mut ada, mut eves) = (signed_in(&app, &ada).await, signed_in(&app, &eve).await);
    let decide = format!("{item}/decide");
    let pay = [("decision", "pay"), ("note", "It is there.")];
    ada.post(&decide, &pay).await;
    let page = eves.get(&item).await.text;
    let at = between(&page, "name=\"proposed_at\" value=\"", "\"");
    let confirm = [pay[0], pay[1], ("proposed_at", at.as_str())];
    ada.post(&format!("{item}/withdraw"), &[]).await;
    let told = eves.post(&decide, &confirm).await;
    assert_eq!(told.status, 409);
    assert!(
        told.text.contains("The proposal was withdrawn"),
        "{}",
        told.text
    );
    let now = first_item(&app, "dispute").await;
    assert_eq!(now["proposal"], Value::Null, "nobody has proposed it again");
    // Another one in its place is read first.
    ada.post(&decide, &[("decision", "pay"), ("note", "Look again.")])
        .await;
    let told = eves.post(&decide, &confirm).await;
    assert_eq!(told.status, 409);
    assert!(
        told.text.contains("Another decision was proposed"),
        "{}",
        told.text
    );
    assert!(told.text.contains("Look again.") && !told.text.contains("{&#34;"));
}

async fn what_was_written_is_kept_when_the_claim_is_lost(app: TestApp) {
    applicant(&app).await;
    let item = page_of(&first_item(&app, "worker_verification").await);
    let (ada, eve) = (app.admin().await, app.admin().await);
    let (mut ada, mut eve) = (signed_in(&app, &ada).await, signed_in(&app, &eve).await);
    eve.post(&format!("{item}/claim"), &[]).await;
    let lost = ada.post(&format!("{item}/verify"), &[("note", NOTE)]).await;
    assert_eq!(lost.status, 409);
    assert!(lost.text.contains("What you wrote"), "{}", lost.text);
    assert!(lost.text.contains("The bank was &#60;b&#62;closed"));
    // Back on the page of the claim, later.
    eve.post(&format!("{item}/verify"), &[]).await;
    let closed = eve.get(&format!("{item}?done=claimed")).await.text;
    assert!(
        closed.contains("This item is closed") && !closed.contains("Claimed:"),
        "{closed}"
    );
}

async fn whoever_holds_a_claim_is_told_of_it_and_nobody_else(app: TestApp) {
    applicant(&app).await;
    let (ada, eve) = (app.admin().await, app.admin().await);
    let viewer = app.admin_with(AdminRole::Viewer).await;
    let mut holder = signed_in(&app, &ada).await;
    let claimed = holder.post("/admin/queue/next", &[]).await;
    let page = holder.follow(&claimed).await.text;
    assert!(page.contains("Claimed: nobody else"), "{page}");
    for other in [eve, viewer] {
        let mut other = signed_in(&app, &other).await;
        let page = other.get(claimed.header("location")).await.text;
        assert!(!page.contains("Claimed: nobody else"), "{page}");
    }
}

async fn a_refusal_of_documents_says_why(app: TestApp) {
    let worker = applicant(&app).await;
    let item = page_of(&first_item(&app, "worker_verification").await);
    let admin = app.admin().await;
    let mut browser = signed_in(&app, &admin).await;
    let refuse = format!("{item}/refuse");
    let silent = browser.post(&refuse, &[("note", " ")]).await;
    assert_eq!(silent.status, 400);
    assert!(silent.text.contains("id=\"note-fault\""), "{}", silent.text);
    let profile = worker.client.get("/v1/worker").await.expect(200);
    assert_eq!(profile["status"], "in_review");
    let refused = browser.post(&refuse, &[("note", NOTE)]).await;
    assert_eq!(refused.header("location"), "/admin/queue?done=refuse");
    assert_eq!(noted(&admin, "worker.refused").await, NOTE);
}

async fn a_refund_that_was_paid_in_another_way_is_settled(app: TestApp) {
    let (app, processor) = TestApp::start_flaky(&app.database).await;
    let dev = app.developer().await;
    let task = dev.create_paid_task().await;
    let cancel = format!("{}/cancel", path(&task));
    dev.live.send("POST", &cancel, &[], "").await.expect(200);
    processor.set(InjectedFault::Refuses);
    app.jobs.drain().await.unwrap();
    processor.set(InjectedFault::None);
    let owner = app.admin().await;
    let mut browser = signed_in(&app, &owner).await;
    let item = page_of(&first_item(&app, "refund_failed").await);
    let settle = format!("{item}/settle");
    assert!(
        browser
            .get(&item)
            .await
            .text
            .contains("Paid in another way")
    );
    let silent = browser.post(&settle, &[("note", "")]).await;
    assert_eq!(silent.status, 400);
    assert!(silent.text.contains("aria-invalid"), "{}", silent.text);
    let settled = browser.post(&settle, &[("note", NOTE)]).await;
    assert_eq!(settled.header("location"), "/admin/queue?done=settle");
    assert_eq!(noted(&owner, "refund.settled").await, NOTE);
    TestApp::expect_settled(&app.verify().await);
}

async fn rows_of_the_queue_are_told_apart(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    disputed_task(&app, &dev, &worker).await;
    let second = disputed_task(&app, &dev, &worker).await;
    let id = second["id"].as_str().unwrap();
    app.database
        .execute(&format!(
            "UPDATE tasks SET title = 'Count the <b>shelves</b>' WHERE id = '{id}'"
        ))
        .await;
    let applied = applicant(&app).await;
    let mut browser = signed_in(&app, &app.admin().await).await;
    let page = browser.get("/admin/queue").await.text;
    for title in [
        "Photograph a storefront",
        "Count the &#60;b&#62;shelves&#60;/b&#62;",
    ] {
        let row = between(&page, &format!("\">{title}</a>"), "</tr>");
        for text in ["Brooklyn, NY", "$25.00", "Grace", "Dispute", "<time"] {
            assert!(row.contains(text), "{text}: {row}");
        }
    }
    let row = between(&page, &format!("<bdi>{}</bdi>", applied.email), "</tr>");
    assert!(row.contains("Worker verification"), "{row}");
}
