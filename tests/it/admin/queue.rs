//! Admins share the queue without getting into each other's way.

mod flagged;
mod items;

use std::time::Duration;

use futures_util::future::join_all;
use legwork::domain::{QueueItem, QueueItemId, QueueKind};
use serde_json::{Value, json};

use super::ids;
use crate::support::{TestApp, on_both_engines, photo};

on_both_engines!(
    of_many_who_claim_an_item_one_gets_it,
    a_claim_can_be_extended_released_and_runs_out,
    what_another_admin_has_claimed_cannot_be_decided,
    the_queue_is_filtered_and_paged,
    an_item_that_comes_back_is_nobodys,
);

/// An item about nothing in particular, which can be cleared.
async fn item(app: &TestApp, kind: QueueKind, subject: &str) -> String {
    let now = app.clock.now();
    let id = QueueItemId::new(now, &legwork::ambient::random());
    let item = QueueItem::new(id, kind, subject, now);
    app.store
        .write(move |tx| tx.add_queue_item(&item))
        .await
        .unwrap();
    app.advance(Duration::from_millis(1));
    id.to_string()
}

fn path(item: &str, action: &str) -> String {
    format!("/v1/admin/queue/{item}/{action}")
}

async fn of_many_who_claim_an_item_one_gets_it(app: TestApp) {
    let admins = join_all((0..6).map(|_| app.admin())).await;
    for round in 0..5 {
        let item = item(&app, QueueKind::FlaggedProof, &format!("p{round}")).await;
        let claim = path(&item, "claim");
        let body = json!({});
        let claims = admins.iter().map(|admin| admin.post(&claim, &body));
        let replies = join_all(claims).await;
        let won = replies.iter().filter(|reply| reply.status == 200).count();
        assert_eq!(won, 1);
        for reply in replies.into_iter().filter(|reply| reply.status != 200) {
            reply.expect_error(409, "ITEM_CLAIMED");
        }
    }
    let mut mine = 0;
    for admin in &admins {
        let page = admin.get("/v1/admin/queue?claimed=me").await.expect(200);
        mine += ids(&page).len();
    }
    assert_eq!(mine, 5);
}

async fn a_claim_can_be_extended_released_and_runs_out(app: TestApp) {
    let (ada, eve) = (app.admin().await, app.admin().await);
    let item = item(&app, QueueKind::FlaggedProof, "p").await;
    app.set_time("2025-11-15T13:00:00.000Z");
    let claimed = ada
        .post(&path(&item, "claim"), &json!({}))
        .await
        .expect(200);
    assert_eq!(claimed["claimed_until"], "2025-11-15T13:15:00.000Z");
    app.set_time("2025-11-15T13:10:00.000Z");
    let again = ada
        .post(&path(&item, "claim"), &json!({}))
        .await
        .expect(200);
    assert_eq!(again["claimed_until"], "2025-11-15T13:25:00.000Z");
    assert_eq!(again["claimed_by"], claimed["claimed_by"]);
    let stolen = eve.post(&path(&item, "release"), &json!({})).await;
    stolen.expect_error(409, "ITEM_CLAIMED");
    app.set_time("2025-11-15T13:24:59.999Z");
    let early = eve.post(&path(&item, "claim"), &json!({})).await;
    early.expect_error(409, "ITEM_CLAIMED");
    app.set_time("2025-11-15T13:25:00.000Z");
    let shown = eve
        .get(&format!("/v1/admin/queue/{item}"))
        .await
        .expect(200);
    assert_eq!(
        (&shown["claimed_by"], &shown["claimed_until"]),
        (&Value::Null, &Value::Null)
    );
    let taken = eve
        .post(&path(&item, "claim"), &json!({}))
        .await
        .expect(200);
    assert_ne!(taken["claimed_by"], claimed["claimed_by"]);
    let released = eve
        .post(&path(&item, "release"), &json!({}))
        .await
        .expect(200);
    assert_eq!(released["claimed_by"], Value::Null);
    ada.post(&path(&item, "claim"), &json!({}))
        .await
        .expect(200);
    ada.post(&path(&item, "clear"), &json!({}))
        .await
        .expect(200);
    let closed = ada.post(&path(&item, "claim"), &json!({})).await;
    closed.expect_error(409, "ITEM_CLOSED");
    for action in ["claim", "release"] {
        let none = ada.post(&path("none", action), &json!({})).await;
        none.expect_error(404, "ITEM_NOT_FOUND");
        let faulty = ada
            .post(&path(&item, action), &json!({"for": "ever"}))
            .await;
        assert_eq!(faulty.faulty_fields(), ["for"]);
    }
}

async fn what_another_admin_has_claimed_cannot_be_decided(app: TestApp) {
    let (ada, eve) = (app.admin().await, app.admin().await);
    let flagged = item(&app, QueueKind::FlaggedProof, "p").await;
    ada.post(&path(&flagged, "claim"), &json!({}))
        .await
        .expect(200);
    let refused = eve.post(&path(&flagged, "clear"), &json!({})).await;
    refused.expect_error(409, "ITEM_CLAIMED");
    let note = json!({"note": "Seen."});
    eve.post(&path(&flagged, "note"), &note).await.expect(200);
    let worker = app.sign_up(&[]).await;
    let (identity, selfie) = (photo("identity"), photo("selfie"));
    let parts: [(&str, &[u8]); 2] = [("identity", &identity), ("selfie", &selfie)];
    let sent = worker.client.send_form("/v1/worker/verification", &parts);
    sent.await.expect(201);
    let queue = "/v1/admin/queue?kind=worker_verification";
    let queue = ada.get(queue).await.expect(200);
    let verification = ids(&queue)[0];
    ada.post(&path(verification, "claim"), &json!({}))
        .await
        .expect(200);
    let worker = |verdict: &str| format!("/v1/admin/workers/{}/{verdict}", worker.id);
    for verdict in ["verify", "refuse"] {
        let refused = eve.post(&worker(verdict), &json!({})).await;
        refused.expect_error(409, "ITEM_CLAIMED");
    }
    ada.post(&worker("verify"), &json!({})).await.expect(200);
    let decided = ada
        .get(&format!("/v1/admin/queue/{verification}"))
        .await
        .expect(200);
    assert_eq!(
        (&decided["status"], &decided["claimed_by"]),
        (&json!("closed"), &Value::Null)
    );
    // What cannot wait does not.
    eve.post(&worker("suspend"), &json!({})).await.expect(200);
    app.advance(Duration::from_secs(15 * 60));
    eve.post(&path(&flagged, "clear"), &json!({}))
        .await
        .expect(200);
}

async fn the_queue_is_filtered_and_paged(app: TestApp) {
    let (ada, eve) = (app.admin().await, app.admin().await);
    let mut proofs = Vec::new();
    for number in 0..5 {
        proofs.push(item(&app, QueueKind::FlaggedProof, &format!("p{number}")).await);
        item(&app, QueueKind::Dispute, &format!("d{number}")).await;
    }
    let base = "/v1/admin/queue?kind=flagged_proof&limit=2";
    let first = ada.get(base).await.expect(200);
    assert_eq!(ids(&first), proofs[..2]);
    let cursor = first["meta"]["next_cursor"].as_str().unwrap();
    let second = ada
        .get(&format!("{base}&cursor={cursor}"))
        .await
        .expect(200);
    assert_eq!(ids(&second), proofs[2..4]);
    let cursor = second["meta"]["next_cursor"].as_str().unwrap();
    let last = ada
        .get(&format!("{base}&cursor={cursor}"))
        .await
        .expect(200);
    assert_eq!(ids(&last), proofs[4..]);
    assert_eq!(last["meta"], json!({"limit": 2, "next_cursor": null}));
    ada.post(&path(&proofs[1], "claim"), &json!({}))
        .await
        .expect(200);
    eve.post(&path(&proofs[2], "claim"), &json!({}))
        .await
        .expect(200);
    ada.post(&path(&proofs[0], "clear"), &json!({}))
        .await
        .expect(200);
    for (filter, expected) in [
        ("claimed=me", vec![&proofs[1]]),
        ("claimed=nobody", vec![&proofs[3], &proofs[4]]),
        ("status=closed", vec![&proofs[0]]),
        ("status=closed&claimed=me", vec![]),
    ] {
        let page = format!("/v1/admin/queue?kind=flagged_proof&{filter}");
        let page = ada.get(&page).await.expect(200);
        assert_eq!(ids(&page), expected, "{filter}");
    }
    let of_test = format!(
        "UPDATE queue_items SET environment = 'test' WHERE id IN ('{}', '{}', '{}')",
        proofs[0], proofs[1], proofs[4]
    );
    app.database.execute(&of_test).await;
    for (filter, expected) in [
        ("environment=test", vec![&proofs[1], &proofs[4]]),
        ("environment=live", vec![&proofs[2], &proofs[3]]),
        ("environment=test&claimed=me", vec![&proofs[1]]),
        ("environment=live&claimed=me", vec![]),
        ("environment=test&claimed=nobody", vec![&proofs[4]]),
        ("environment=test&status=closed", vec![&proofs[0]]),
    ] {
        let page = format!("/v1/admin/queue?kind=flagged_proof&{filter}");
        let page = ada.get(&page).await.expect(200);
        assert_eq!(ids(&page), expected, "{filter}");
    }
    let of_all_kinds = ada.get("/v1/admin/queue?environment=test").await;
    assert_eq!(ids(&of_all_kinds.expect(200)), [&proofs[1], &proofs[4]]);
    app.advance(Duration::from_secs(15 * 60));
    let mine = ada.get("/v1/admin/queue?claimed=me").await.expect(200);
    assert_eq!(ids(&mine), Vec::<&str>::new());
    let faulty = "/v1/admin/queue?status=x&kind=x&environment=x&claimed=x&cursor=x&limit=0&x=1";
    let faults = ada.get(faulty).await.faulty_fields();
    assert_eq!(
        faults,
        [
            "status",
            "claimed",
            "kind",
            "environment",
            "cursor",
            "limit",
            "x"
        ]
    );
}

async fn an_item_that_comes_back_is_nobodys(app: TestApp) {
    let (ada, eve) = (app.admin().await, app.admin().await);
    let item_id = item(&app, QueueKind::FlaggedProof, "p").await;
    ada.post(&path(&item_id, "claim"), &json!({}))
        .await
        .expect(200);
    ada.post(&path(&item_id, "clear"), &json!({"note": "Fine."}))
        .await
        .expect(200);
    item(&app, QueueKind::FlaggedProof, "p").await;
    let back = eve.get("/v1/admin/queue?claimed=nobody").await.expect(200);
    assert_eq!(ids(&back), [item_id.as_str()]);
    eve.post(&path(&item_id, "clear"), &json!({}))
        .await
        .expect(200);
}
