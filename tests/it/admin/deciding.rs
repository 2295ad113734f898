//! Decisions: their notes are kept, the same one sent again changes nothing, and an Idempotency-Key
//! works as for everybody else.

use serde_json::{Value, json};

use super::{disputed_task, ids};
use crate::support::{Client, Reply, TestApp, Worker, on_both_engines, path, photo};

on_both_engines!(
    a_note_about_a_worker_is_kept_and_the_same_decision_again_is_fine,
    whoever_is_suspended_is_restored_and_not_verified,
    the_tier_of_a_deleted_account_stays,
    a_note_about_an_account_is_kept_and_the_same_decision_again_is_fine,
    a_dispute_that_was_decided_answers_the_same_to_the_same,
    of_two_admins_who_say_the_same_both_are_right,
    a_note_on_a_dispute_leaves_the_statement_alone,
    an_item_that_needs_a_decision_cannot_be_cleared,
    posts_of_admins_take_an_idempotency_key,
    notes_are_deleted_with_the_data_of_their_subject,
);

async fn lines(admin: &Client, subject: &str) -> Vec<Value> {
    let path = format!("/v1/admin/audit?subject_id={subject}");
    let log = admin.get(&path).await.expect(200);
    log["data"].as_array().unwrap().clone()
}

async fn send_documents(worker: &Worker) {
    let (identity, selfie) = (photo("identity"), photo("selfie"));
    let parts: [(&str, &[u8]); 2] = [("identity", &identity), ("selfie", &selfie)];
    let sent = worker.client.send_form("/v1/worker/verification", &parts);
    sent.await.expect(201);
}

async fn a_note_about_a_worker_is_kept_and_the_same_decision_again_is_fine(app: TestApp) {
    let (ada, eve) = (app.admin().await, app.admin().await);
    let worker = app.sign_up(&[]).await;
    let decide = |admin: &Client, verdict: &str, body: Value| {
        let (admin, path) = (
            admin.clone(),
            format!("/v1/admin/workers/{}/{verdict}", worker.id),
        );
        async move { admin.post(&path, &body).await }
    };
    let never = decide(&ada, "refuse", json!({})).await;
    never.expect_error(409, "INVALID_WORKER_STATE");
    send_documents(&worker).await;
    let mut expected = 0;
    for (verdict, action, status) in [
        ("refuse", "worker.refused", "unverified"),
        ("verify", "worker.verified", "verified"),
        ("suspend", "worker.suspended", "suspended"),
        ("restore", "worker.restored", "verified"),
    ] {
        let note = json!({"note": format!("Because of {verdict}.")});
        let decided = decide(&ada, verdict, note.clone()).await.expect(200);
        assert_eq!(decided["status"], status);
        expected += 1;
        let again = decide(&eve, verdict, note.clone()).await.expect(200);
        assert_eq!(again, decided);
        let other = json!({"note": "For another reason."});
        for other in [other, json!({})] {
            let refused = decide(&eve, verdict, other).await;
            let refused = refused.expect_error(409, "INVALID_WORKER_STATE");
            let message = refused.body["error"]["message"].as_str().unwrap();
            assert!(message.contains(status), "{message}");
        }
        let lines = lines(&ada, &worker.id).await;
        assert_eq!(lines.len(), expected);
        assert_eq!(lines[0]["action"], action);
        assert_eq!(lines[0]["note"], note["note"]);
    }
    let long = json!({"note": "x".repeat(2_001)});
    let faulty = decide(&ada, "suspend", long).await;
    assert_eq!(faulty.faulty_fields(), ["note"]);
}

async fn a_note_about_an_account_is_kept_and_the_same_decision_again_is_fine(app: TestApp) {
    let (dev, admin) = (app.developer().await, app.admin().await);
    let path = |verdict: &str| format!("/v1/admin/accounts/{}/{verdict}", dev.account_id);
    let never = admin.post(&path("restore"), &json!({})).await;
    never.expect_error(409, "INVALID_ACCOUNT_STATE");
    for (verdict, status) in [("suspend", "suspended"), ("restore", "active")] {
        let note = json!({"note": format!("Because of {verdict}.")});
        let decided = admin.post(&path(verdict), &note).await.expect(200);
        assert_eq!(decided["status"], status);
        let again = admin.post(&path(verdict), &note).await.expect(200);
        assert_eq!(again, decided);
        let other = admin.post(&path(verdict), &json!({"note": "No."})).await;
        other.expect_error(409, "INVALID_ACCOUNT_STATE");
        assert_eq!(
            lines(&admin, &dev.account_id).await[0]["note"],
            note["note"]
        );
    }
    // Its creation and the two decisions.
    assert_eq!(lines(&admin, &dev.account_id).await.len(), 3);
}

fn decide(task: &Value) -> String {
    format!("/v1/admin/disputes/{}/decide", task["id"].as_str().unwrap())
}

async fn a_dispute_that_was_decided_answers_the_same_to_the_same(app: TestApp) {
    let (dev, admin, worker) = (
        app.developer().await,
        app.admin().await,
        app.ready_worker().await,
    );
    let decisions = [
        json!({"decision": "pay", "note": "It is there."}),
        json!({"decision": "refund", "note": "It is not."}),
        json!({"decision": "split", "paid_cents": 1000, "note": "Half of it is."}),
        json!({"decision": "split", "paid_cents": 999, "note": "Half of it is."}),
        json!({"decision": "pay"}),
    ];
    for decision in &decisions {
        let task = disputed_task(&app, &dev, &worker).await;
        let decided = admin.post(&decide(&task), decision).await.expect(200);
        app.jobs.drain().await.unwrap();
        for other in &decisions {
            let again = admin.post(&decide(&task), other).await;
            if other == decision {
                assert_eq!(again.expect(200), decided);
            } else {
                let refused = again.expect_error(409, "INVALID_TASK_STATE");
                let message = refused.body["error"]["message"].as_str().unwrap();
                let kind = decision["decision"].as_str().unwrap();
                assert!(message.contains(kind), "{message}");
            }
        }
        let lines = lines(&admin, task["id"].as_str().unwrap()).await;
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0]["note"], decision["note"]);
    }
    TestApp::expect_settled(&app.verify().await);
}

async fn of_two_admins_who_say_the_same_both_are_right(app: TestApp) {
    let (dev, ada, eve) = (app.developer().await, app.admin().await, app.admin().await);
    let worker = app.ready_worker().await;
    let body = json!({"decision": "split", "paid_cents": 700, "note": "Some of it."});
    for _ in 0..4 {
        let task = disputed_task(&app, &dev, &worker).await;
        let decide = decide(&task);
        let (one, two) = tokio::join!(ada.post(&decide, &body), eve.post(&decide, &body));
        assert_eq!(one.expect(200)["status"], two.expect(200)["status"]);
        let lines = lines(&ada, task["id"].as_str().unwrap()).await;
        assert_eq!(lines.len(), 1);
        app.jobs.drain().await.unwrap();
    }
    TestApp::expect_settled(&app.verify().await);
}

async fn a_note_on_a_dispute_leaves_the_statement_alone(app: TestApp) {
    let (dev, admin, worker) = (
        app.developer().await,
        app.admin().await,
        app.ready_worker().await,
    );
    disputed_task(&app, &dev, &worker).await;
    let queue = admin.get("/v1/admin/queue?kind=dispute").await.expect(200);
    let id = ids(&queue)[0];
    let note = json!({"note": "Ask the worker for the original."});
    let noted = admin
        .post(&format!("/v1/admin/queue/{id}/note"), &note)
        .await;
    let noted = noted.expect(200);
    assert_eq!(noted["note"], note["note"]);
    assert_eq!(noted["dispute"]["statement"], "The door is in the picture.");
    assert_eq!(lines(&admin, id).await[0]["note"], note["note"]);
}

async fn an_item_that_needs_a_decision_cannot_be_cleared(app: TestApp) {
    let (dev, admin, worker) = (
        app.developer().await,
        app.admin().await,
        app.ready_worker().await,
    );
    disputed_task(&app, &dev, &worker).await;
    let queue = admin.get("/v1/admin/queue?kind=dispute").await.expect(200);
    let clear = format!("/v1/admin/queue/{}/clear", ids(&queue)[0]);
    let refused = admin.post(&clear, &json!({})).await;
    refused.expect_error(409, "ITEM_NEEDS_DECISION");
    let none = admin.post("/v1/admin/queue/none/clear", &json!({})).await;
    none.expect_error(404, "ITEM_NOT_FOUND");
}

fn replayed(reply: &Reply) -> bool {
    reply.headers.contains_key("idempotent-replayed")
}

async fn posts_of_admins_take_an_idempotency_key(app: TestApp) {
    let (dev, ada, eve) = (app.developer().await, app.admin().await, app.admin().await);
    let worker = app.ready_worker().await;
    let task = disputed_task(&app, &dev, &worker).await;
    let (key, pay) = ([("idempotency-key", "one")], json!({"decision": "pay"}));
    let first = ada.post_with(&decide(&task), &key, &pay).await;
    assert!(!replayed(&first));
    let second = ada.post_with(&decide(&task), &key, &pay).await;
    assert!(replayed(&second));
    assert_eq!(second.expect(200), first.expect(200));
    let other = json!({"decision": "refund"});
    let other = ada.post_with(&decide(&task), &key, &other).await;
    other.expect_error(422, "IDEMPOTENCY_MISMATCH");
    // The keys of another admin are their own.
    let suspend = format!("/v1/admin/workers/{}/suspend", worker.id);
    let suspended = eve.post_with(&suspend, &key, &json!({})).await;
    assert!(!replayed(&suspended));
    let suspended = suspended.expect(200);
    let restore = format!("/v1/admin/workers/{}/restore", worker.id);
    ada.post(&restore, &json!({})).await.expect(200);
    // What was said before is not said again, whatever happened since.
    let again = eve.post_with(&suspend, &key, &json!({})).await;
    assert_eq!(again.expect(200), suspended);
    let worker = worker.signed_in_again(&app).await;
    let profile = worker.client.get("/v1/worker").await.expect(200);
    assert_eq!(profile["status"], "verified");
    // A refused request leaves nothing behind.
    let verify = format!("/v1/admin/workers/{}/refuse", worker.id);
    for _ in 0..2 {
        let key = [("idempotency-key", "two")];
        let refused = eve.post_with(&verify, &key, &json!({})).await;
        refused.expect_error(409, "INVALID_WORKER_STATE");
    }
    let empty = [("idempotency-key", "")];
    let bad = eve.post_with(&verify, &empty, &json!({})).await;
    assert_eq!(bad.faulty_fields(), ["Idempotency-Key"]);
    assert_eq!(
        dev.live.get(&path(&task)).await.expect(200)["status"],
        "completed"
    );
}

async fn notes_are_deleted_with_the_data_of_their_subject(app: TestApp) {
    let (dev, admin, worker) = (
        app.developer().await,
        app.admin().await,
        app.ready_worker().await,
    );
    let task = disputed_task(&app, &dev, &worker).await;
    let state = format!("{}/dispute/statement", path(&task));
    let side = json!({"statement": "Call Jane Doe."});
    dev.live.post(&state, &side).await.expect(200);
    let pay = json!({"decision": "pay", "note": "Jane Doe confirms it."});
    admin.post(&decide(&task), &pay).await.expect(200);
    let suspend = format!("/v1/admin/workers/{}/suspend", worker.id);
    let note = json!({"note": "Jane Doe complained."});
    admin.post(&suspend, &note).await.expect(200);
    let subjects = [task["id"].as_str().unwrap(), worker.id.as_str()];
    for subject in subjects {
        assert!(lines(&admin, subject).await[0]["note"].is_string());
        let id = subject.to_owned();
        let erased = app.store.write(move |tx| tx.erase_notes_about(&id));
        erased.await.unwrap();
        assert_eq!(lines(&admin, subject).await[0]["note"], Value::Null);
    }
    for table in ["audit_notes", "decisions", "dispute_statements"] {
        let column = match table {
            "dispute_statements" => "task_id",
            _ => "subject_id",
        };
        for subject in subjects {
            let left = format!("SELECT {column} FROM {table} WHERE {column} = '{subject}'");
            assert_eq!(app.database.column(&left).await, Vec::<String>::new());
        }
    }
    // The chain stands without them.
    let report = app.store.snapshot(legwork::usecases::verify_audit).await;
    assert_eq!(report.unwrap().broken, None);
}

/// Otherwise what was earned would stay held as if the worker were suspended.
async fn whoever_is_suspended_is_restored_and_not_verified(app: TestApp) {
    let (admin, worker) = (app.admin().await, app.ready_worker().await);
    let decide = async |verdict: &str| {
        let path = format!("/v1/admin/workers/{}/{verdict}", worker.id);
        admin.post(&path, &json!({})).await
    };
    decide("suspend").await.expect(200);
    let refused = decide("verify").await;
    refused.expect_error(409, "INVALID_WORKER_STATE");
    assert_eq!(decide("restore").await.expect(200)["status"], "verified");
}

async fn the_tier_of_a_deleted_account_stays(app: TestApp) {
    let (admin, dev) = (app.admin().await, app.developer().await);
    let account = dev.live.get("/v1/account").await.expect(200);
    let confirm = json!({"confirm": account["email"]}).to_string();
    let deleted = dev.live.send("DELETE", "/v1/account", &[], confirm);
    deleted.await.expect(200);
    let path = format!(
        "/v1/admin/accounts/{}/tier",
        account["id"].as_str().unwrap()
    );
    let refused = admin.post(&path, &json!({"tier": "pro"})).await;
    refused.expect_error(409, "INVALID_ACCOUNT_STATE");
}
