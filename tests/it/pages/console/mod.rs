//! The admins' console, with forms alone.

mod deciding;

use legwork::domain::{AdminRole, RequiredFactor};
use serde_json::{Value, json};

use super::Browser;
use crate::support::{
    Client, Flaky, InjectedFault, Reply, TestApp, Worker, on_both_engines, photo,
};

on_both_engines!(
    an_admin_signs_in_with_the_key_and_stays_until_it_is_revoked,
    an_item_belongs_to_whoever_claimed_it_first,
    looking_at_documents_is_recorded_and_not_for_viewers,
    a_dispute_is_split_to_the_cent_and_the_next_item_comes,
    a_write_off_needs_the_key_again_after_ten_minutes,
    a_role_that_is_too_low_is_told_which_one_it_takes,
    accounts_and_workers_are_found_suspended_and_restored,
    an_address_that_is_only_claimed_is_marked,
    the_pages_of_how_it_runs_show_what_the_api_tells,
    where_a_second_factor_is_required_a_key_without_one_opens_no_page,
);

/// The secret of an admin's key.
fn secret(admin: &Client) -> String {
    admin.key().to_owned()
}

async fn signed_in(app: &TestApp, admin: &Client) -> Browser {
    let mut browser = Browser::of(app);
    let reply = browser
        .post("/admin/sign-in", &[("key", &secret(admin))])
        .await;
    assert_eq!(reply.header("location"), "/admin/queue", "{}", reply.text);
    browser
}

async fn applicant(app: &TestApp) -> Worker {
    let worker = app.sign_up(&[]).await;
    let (identity, selfie) = (photo("identity"), photo("selfie"));
    let parts: [(&str, &[u8]); 2] = [("identity", &identity), ("selfie", &selfie)];
    let sent = worker.client.send_form("/v1/worker/verification", &parts);
    sent.await.expect(201);
    worker
}

/// The oldest open item of a kind.
async fn first_item(app: &TestApp, kind: &str) -> Value {
    let queue = format!("/v1/admin/queue?kind={kind}");
    let queue = app.admin().await.get(&queue).await.expect(200);
    queue["data"][0].clone()
}

fn page_of(item: &Value) -> String {
    format!("/admin/queue/{}", item["id"].as_str().unwrap())
}

async fn an_admin_signs_in_with_the_key_and_stays_until_it_is_revoked(app: TestApp) {
    let (admin, other) = (app.admin_with(AdminRole::Operator).await, app.admin().await);
    let mut browser = Browser::of(&app);
    let wrong = browser
        .post("/admin/sign-in", &[("key", "svc_admin_wrong")])
        .await;
    assert_eq!(wrong.status, 401);
    assert!(!wrong.text.contains("svc_admin_wrong"), "{}", wrong.text);
    let empty = browser.post("/admin/sign-in", &[]).await;
    assert!(empty.text.contains("id=\"key-fault\""), "{}", empty.text);
    let fields = [
        ("key", secret(&admin)),
        ("next", "/admin/queue?kind=dispute".to_owned()),
    ];
    let fields = fields
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    let reply = browser.post("/admin/sign-in", &fields).await;
    assert_eq!(reply.header("location"), "/admin/queue?kind=dispute");
    let set = reply.header("set-cookie");
    assert!(
        set.starts_with("__Host-legwork_admin=svc_session_"),
        "{set}"
    );
    let queue = browser.get("/admin/queue").await;
    assert!(queue.text.contains("All clear"), "{}", queue.text);
    // The cookie opens the console, and nothing of the API.
    let token = browser.cookie.clone().unwrap();
    let token = token.split_once('=').unwrap().1.to_owned();
    let api = Client::new(app.address, Some(&token));
    api.get("/v1/admin/queue")
        .await
        .expect_error(401, "UNAUTHORIZED");
    // The sign-in is a line of the audit log, by the key.
    let log = "/v1/admin/audit?action=admin_key.signed_in";
    let lines = other.get(log).await.expect(200);
    let by = lines["data"][0]["by"]["id"].as_str().unwrap().to_owned();
    let mut second = signed_in(&app, &admin).await;
    let out = second.post("/admin/sign-out", &[]).await;
    assert_eq!(out.header("location"), "/admin/sign-in");
    assert_eq!(browser.get("/admin/queue").await.status, 200);
    let revoked = other
        .send("DELETE", &format!("/v1/admin/keys/{by}"), &[], "")
        .await;
    revoked.expect(200);
    let ended = browser.get("/admin/queue").await;
    assert_eq!(
        ended.header("location"),
        "/admin/sign-in?next=%2Fadmin%2Fqueue"
    );
}

async fn an_item_belongs_to_whoever_claimed_it_first(app: TestApp) {
    let worker = applicant(&app).await;
    let (ada, bob) = (app.admin().await, app.admin_with(AdminRole::Operator).await);
    let (mut first, mut second) = (signed_in(&app, &ada).await, signed_in(&app, &bob).await);
    let item = page_of(&first_item(&app, "worker_verification").await);
    let claimed = first.post("/admin/queue/next", &[]).await;
    assert!(claimed.header("location").starts_with(&item));
    let page = first.follow(&claimed).await;
    assert!(
        page.text.contains("Claimed by <strong>you</strong>"),
        "{}",
        page.text
    );
    // Sent twice, it is the same item.
    let again = first.post("/admin/queue/next", &[]).await;
    assert!(again.header("location").starts_with(&item));
    let nothing = second.post("/admin/queue/next", &[]).await;
    assert_eq!(nothing.header("location"), "/admin/queue");
    let refused = second
        .post(&format!("{item}/verify"), &[("note", "Mine!")])
        .await;
    assert_eq!(refused.status, 409);
    assert!(
        refused.text.contains("It is claimed by Ada until"),
        "{}",
        refused.text
    );
    let seen = second.get(&item).await;
    assert!(
        !seen.text.contains("/verify\""),
        "no button that would be refused"
    );
    let verified = first.post(&format!("{item}/verify"), &[]).await;
    assert_eq!(verified.header("location"), "/admin/queue?done=verify");
    let profile = worker.client.get("/v1/worker").await.expect(200);
    assert_eq!(profile["status"], "verified");
    let late = first.post(&format!("{item}/claim"), &[]).await;
    assert_eq!(late.status, 409);
    assert!(late.text.contains("It was closed at"), "{}", late.text);
}

async fn looking_at_documents_is_recorded_and_not_for_viewers(app: TestApp) {
    let worker = applicant(&app).await;
    let hostile = "<script>alert(1)</script>\"'";
    app.database
        .execute(&format!(
            "UPDATE workers SET name = '{}' WHERE id = '{}'",
            hostile.replace('\'', "''"),
            worker.id
        ))
        .await;
    let (owner, viewer) = (app.admin().await, app.admin_with(AdminRole::Viewer).await);
    let item = page_of(&first_item(&app, "worker_verification").await);
    let looks = async || {
        let log = "/v1/admin/audit?action=worker.documents_viewed";
        let lines = owner.get(log).await.expect(200);
        lines["data"].as_array().unwrap().len()
    };
    let seen = signed_in(&app, &viewer).await.get(&item).await;
    assert!(
        seen.text
            .contains("Only operators and owners see documents")
    );
    assert!(!seen.text.contains("/files/"), "{}", seen.text);
    assert_eq!(looks().await, 0);
    let mut browser = signed_in(&app, &owner).await;
    let queue = browser.get("/admin/queue").await;
    assert_eq!(looks().await, 0, "a list shows none");
    let seen = browser.get(&item).await;
    assert_eq!(looks().await, 1);
    assert!(
        seen.text.contains("src=\"/files/"),
        "by a path of this server"
    );
    for page in [queue, seen] {
        assert!(!page.text.contains("<script>alert"), "{}", page.text);
        assert!(
            page.text.contains("&#60;script&#62;alert(1)"),
            "{}",
            page.text
        );
    }
}

async fn a_dispute_is_split_to_the_cent_and_the_next_item_comes(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let task = crate::admin::disputed_task(&app, &dev, &worker).await;
    applicant(&app).await;
    let admin = app.admin().await;
    let mut browser = signed_in(&app, &admin).await;
    let item = page_of(&first_item(&app, "dispute").await);
    let page = browser.get(&item).await;
    for text in [
        "The door is in the picture.",
        "Too dark.",
        "What each decision does",
    ] {
        assert!(page.text.contains(text), "{text}: {}", page.text);
    }
    let split = browser.get(&format!("{item}/split?paid_cents=1001")).await;
    assert!(
        split.text.contains("goes back to the developer"),
        "{}",
        split.text
    );
    let none = browser
        .post(&format!("{item}/decide"), &[("note", "Kept text")])
        .await;
    assert_eq!(none.status, 400);
    assert!(
        none.text.contains("id=\"decision-fault\"") && none.text.contains(">Kept text</textarea>")
    );
    let fields = [
        ("decision", "split"),
        ("paid_cents", "1001"),
        ("note", "Half of it is there."),
    ];
    let decided = browser.post(&format!("{item}/decide"), &fields).await;
    let next = decided.header("location").to_owned();
    assert!(
        next.starts_with("/admin/queue/") && next.contains("done=decide"),
        "{next}"
    );
    assert!(
        browser
            .get(&next)
            .await
            .text
            .contains("The dispute is decided.")
    );
    let id = task["id"].as_str().unwrap();
    let seen = admin
        .get(&format!("/v1/admin/tasks/{id}"))
        .await
        .expect(200);
    let payout = seen["payment"]["payout"]["amount_cents"].as_i64().unwrap();
    let cents = format!("${}.{:02}", payout / 100, payout % 100);
    assert!(
        split.text.contains(&cents),
        "{} has not {cents}",
        split.text
    );
}

/// A server whose processor has refused the payout of a task.
async fn refused_payout(app: TestApp) -> (TestApp, Flaky, Value, Worker) {
    let (app, processor) = TestApp::start_flaky(&app.database).await;
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let task = dev.create_paid_task().await;
    worker.begin(&task).await;
    let proof = worker.prove(&task, task["id"].as_str().unwrap()).await;
    dev.review(&task, &proof, "approve").await.expect(200);
    processor.set(InjectedFault::Refuses);
    app.jobs.drain().await.unwrap();
    (app, processor, task, worker)
}

async fn a_write_off_needs_the_key_again_after_ten_minutes(app: TestApp) {
    let (app, processor, _, _) = refused_payout(app).await;
    // The processor is asked whether the transfer was made after all.
    processor.set(InjectedFault::None);
    let (owner, other) = (app.admin().await, app.admin().await);
    let mut browser = signed_in(&app, &owner).await;
    let item = page_of(&first_item(&app, "failed_payout").await);
    let write_off = format!("{item}/write-off");
    app.advance(std::time::Duration::from_secs(601));
    let page = browser.get(&item).await;
    assert!(page.text.contains("older than 10 minutes") && page.text.contains("Write off"));
    let without = browser.post(&write_off, &[]).await;
    assert_eq!(without.status, 403);
    let wrong = browser.post(&write_off, &[("key", &secret(&other))]).await;
    assert_eq!(wrong.status, 401, "the key of somebody else");
    assert_eq!(first_item(&app, "failed_payout").await["status"], "open");
    let right = browser.post(&write_off, &[("key", &secret(&owner))]).await;
    assert_eq!(right.header("location"), "/admin/queue?done=write-off");
}

async fn a_role_that_is_too_low_is_told_which_one_it_takes(app: TestApp) {
    applicant(&app).await;
    let viewer = app.admin_with(AdminRole::Viewer).await;
    let mut browser = signed_in(&app, &viewer).await;
    let item = page_of(&first_item(&app, "worker_verification").await);
    let queue = browser.get("/admin/queue").await;
    assert!(!queue.text.contains("Claim next"), "{}", queue.text);
    let page = browser.get(&item).await;
    assert!(!page.text.contains("formaction"), "{}", page.text);
    let told: Reply = browser.post(&format!("{item}/claim"), &[]).await;
    assert_eq!(told.status, 403);
    assert!(
        told.text
            .contains("This needs a key with the role operator"),
        "{}",
        told.text
    );
    assert_eq!(
        first_item(&app, "worker_verification").await["claimed_by"],
        json!(null)
    );
}

async fn accounts_and_workers_are_found_suspended_and_restored(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let task = dev.create_paid_task().await;
    let admin = app.admin().await;
    let account = admin.get("/v1/admin/accounts").await.expect(200)["data"][0].clone();
    let (id, email) = (
        account["id"].as_str().unwrap(),
        account["email"].as_str().unwrap(),
    );
    let mut owner = signed_in(&app, &admin).await;
    let found = owner.get(&format!("/admin/accounts?q={email}")).await;
    let page = format!("/admin/accounts/{id}");
    assert!(
        found.text.contains(&format!("href=\"{page}\"")),
        "{}",
        found.text
    );
    assert!(!found.text.contains("Not confirmed"), "{}", found.text);
    let by_id = owner.get(&format!("/admin/accounts?q={id}")).await;
    assert_eq!(by_id.header("location"), page);
    let odd = owner.get("/admin/accounts?q=ada").await;
    assert_eq!(odd.status, 400);
    assert!(odd.text.contains("id=\"q-fault\"") && odd.text.contains("value=\"ada\""));
    let note = [("note", "Chargebacks <i>again</i>.")];
    let done = owner.post(&format!("{page}/suspend"), &note).await;
    let shown = owner.follow(&done).await;
    for text in [
        "The account is suspended",
        "account.suspended",
        "Chargebacks &#60;i&#62;again",
    ] {
        assert!(shown.text.contains(text), "{text}: {}", shown.text);
    }
    let twice = owner
        .post(&format!("{page}/suspend"), &[("note", "Other words.")])
        .await;
    assert_eq!(twice.status, 409);
    assert!(
        twice.text.contains("The account is suspended."),
        "{}",
        twice.text
    );
    dev.live
        .get("/v1/tasks")
        .await
        .expect_error(403, "ACCOUNT_SUSPENDED");
    owner.post(&format!("{page}/restore"), &[]).await;
    let tier = owner
        .post(&format!("{page}/tier"), &[("tier", "pro")])
        .await;
    assert!(
        owner
            .follow(&tier)
            .await
            .text
            .contains("The tier is changed.")
    );
    // An operator has no form for the tier, and is told who has one.
    let operator = app.admin_with(AdminRole::Operator).await;
    let mut operator = signed_in(&app, &operator).await;
    assert!(!operator.get(&page).await.text.contains("/tier\""));
    let refused = operator
        .post(&format!("{page}/tier"), &[("tier", "free")])
        .await;
    assert_eq!(refused.status, 403);
    assert!(refused.text.contains("the role owner"), "{}", refused.text);
    let person = format!("/admin/workers/{}", worker.id);
    let done = operator.post(&format!("{person}/suspend"), &[]).await;
    assert!(operator.follow(&done).await.text.contains("/restore\""));
    let page = format!("/admin/tasks/{}", task["id"].as_str().unwrap());
    let shown = operator.get(&page).await;
    assert!(
        shown.text.contains("Escrow") && shown.text.contains(id),
        "{}",
        shown.text
    );
    let missing = operator
        .get("/admin/tasks/00000000000000000000000000000000")
        .await;
    assert_eq!(missing.status, 404);
}

async fn an_address_that_is_only_claimed_is_marked(app: TestApp) {
    let app = app.sending_mail().await;
    let owner = app.developer().await.live.get("/v1/account").await;
    let email = owner.expect(200)["email"].as_str().unwrap().to_owned();
    Browser::signed_up(&app, &email).await;
    let admin = app.admin().await;
    let mut browser = signed_in(&app, &admin).await;
    let search = format!("/admin/accounts?q={email}");
    let found = browser.get(&search).await.text;
    assert_eq!(found.matches(&format!("{email}<")).count(), 1, "{found}");
    assert_eq!(found.matches("Not confirmed").count(), 1, "{found}");
    let list = format!("/v1/admin/accounts?email={email}");
    let list = admin.get(&list).await.expect(200);
    for account in list["data"].as_array().unwrap() {
        let page = format!("/admin/accounts/{}", account["id"].as_str().unwrap());
        let page = browser.get(&page).await.text;
        let is_claim = account["email_confirmed"] == json!(false);
        assert_eq!(page.contains("Not confirmed"), is_claim, "{page}");
        assert_eq!(page.contains("All with this address"), is_claim, "{page}");
    }
}

async fn the_pages_of_how_it_runs_show_what_the_api_tells(app: TestApp) {
    let (app, processor, task, _) = refused_payout(app).await;
    let admin = app.admin_with(AdminRole::Operator).await;
    let mut browser = signed_in(&app, &admin).await;
    let jobs = browser.get("/admin/jobs").await;
    let id = task["id"].as_str().unwrap();
    assert!(
        jobs.text.contains(id) && jobs.text.contains("Retry") && jobs.text.contains("1 attempt,"),
        "{}",
        jobs.text
    );
    let health = browser.get("/admin/health").await;
    assert!(
        health.text.contains("Look at this"),
        "a dead job: {}",
        health.text
    );
    processor.set(InjectedFault::None);
    let fields = [("kind", "transfer"), ("subject", id)];
    let retried = browser.post("/admin/jobs/retry", &fields).await;
    let after = browser.follow(&retried).await;
    assert!(after.text.contains("No dead jobs"), "{}", after.text);
    let gone = browser.post("/admin/jobs/retry", &fields).await;
    assert_eq!(gone.status, 404);
    let audit = browser.get("/admin/audit?action=payout.retried").await;
    assert!(audit.text.contains(id), "{}", audit.text);
    let other = browser.get("/admin/audit?action=worker.refused").await;
    assert!(!other.text.contains(id), "{}", other.text);
    let notices = browser.get("/admin/notices").await;
    assert!(
        notices.text.contains("<summary>Text</summary>"),
        "{}",
        notices.text
    );
    let month: String = app.clock.now().to_string().chars().take(7).collect();
    let report = browser.get(&format!("/admin/reports?month={month}")).await;
    assert!(report.text.contains("<svg class=\"chart bars\"") && report.text.contains("$25.00"));
    let csv = browser
        .get(&format!("/admin/reports.csv?month={month}"))
        .await;
    assert!(
        csv.header("content-type").starts_with("text/csv"),
        "{}",
        csv.text
    );
    let wrong = browser.get("/admin/reports?month=November").await;
    assert_eq!(wrong.status, 400);
    assert!(wrong.text.contains("id=\"month-fault\""), "{}", wrong.text);
}

async fn where_a_second_factor_is_required_a_key_without_one_opens_no_page(app: TestApp) {
    let admin = app.admin().await;
    let strict = app.requiring(RequiredFactor::Admins).await;
    let mut browser = signed_in(&strict, &admin).await;
    for page in ["/admin/queue", "/admin/health", "/admin/reports"] {
        let led = browser.get(page).await;
        assert_eq!(led.header("location"), "/admin/factor", "{page}");
    }
    // It sets one up here, and signs in with a code from then on.
    let setup = browser.post("/admin/factor", &[]).await;
    assert_eq!(setup.status, 200, "{}", setup.text);
    let shown = super::between(&setup.text, "<code class=\"secret\" data-copy>", "<");
    let wrong = browser
        .post("/admin/factor/confirm", &[("code", "000000")])
        .await;
    assert!(wrong.text.contains("code-fault"), "{}", wrong.text);
    let app_secret = legwork::domain::TotpSecret::from_base32(&shown).unwrap();
    let code = app_secret.code_at(strict.clock.now());
    let on = browser
        .post("/admin/factor/confirm", &[("code", &code)])
        .await;
    assert!(on.text.contains("Recovery codes"), "{}", on.text);
    let again = browser.get("/admin/queue").await;
    assert!(
        again.header("location").starts_with("/admin/sign-in"),
        "the session has given no code"
    );
}
