//! A developer who is also the worker is put before the admins, and may work all the same.

use std::net::IpAddr;
use std::time::Duration;

use legwork::domain::{TaskId, WorkerId};
use legwork::maintenance::{KeyUse, prune};
use legwork::usecases;
use serde_json::{Value, json};

use crate::support::{Developer, TestApp, Worker, on_both_engines};

on_both_engines!(
    one_mailbox_is_flagged_once,
    one_network_address_is_flagged_while_it_is_kept,
);

async fn items(app: &TestApp) -> Vec<Value> {
    let admin = app.admin().await;
    let queue = admin.get("/v1/admin/queue?kind=same_person").await;
    queue.expect(200)["data"].as_array().unwrap().clone()
}

async fn one_mailbox_is_flagged_once(app: TestApp) {
    let (dev, admin) = (app.developer().await, app.admin().await);
    let worker = app.ready_worker().await;
    let other = dev.create_paid_task().await;
    worker.begin(&other).await;
    assert_eq!(items(&app).await, Vec::<Value>::new(), "two people");
    app.database
        .execute(&format!(
            "UPDATE accounts SET email = 'ada@example.com' WHERE id = '{}';
             UPDATE workers SET email = 'ada+work@example.com' WHERE id = '{}'",
            dev.account_id, worker.id
        ))
        .await;
    let task = dev.create_paid_task().await;
    worker.begin(&task).await;
    let [item] = &items(&app).await[..] else {
        panic!("one item");
    };
    assert_eq!(
        (&item["task_id"], &item["worker_id"]),
        (&task["id"], &json!(worker.id))
    );
    assert_eq!(
        item["note"],
        "Developer and worker have the same e-mail address."
    );
    let clear = format!("/v1/admin/queue/{}/clear", item["id"].as_str().unwrap());
    let note = json!({"note": "They told us."});
    admin.post(&clear, &note).await.expect(200);
    // The task that was accepted before is found when proof is sent. The other was looked at.
    worker.prove(&task, "one").await;
    assert_eq!(items(&app).await, Vec::<Value>::new());
    worker.prove(&other, "two").await;
    assert_eq!(items(&app).await[0]["task_id"], other["id"]);
}

/// A key of the developer is used from an address; only a mark of it is written.
async fn use_key(app: &TestApp, dev: &Developer, address: IpAddr) {
    let keys = dev.live.get("/v1/account/keys").await.expect(200);
    let key = keys["data"][0]["id"].as_str().unwrap().to_owned();
    let used = KeyUse::default();
    let at = app.clock.now().plus(Duration::from_millis(1));
    used.note(legwork::domain::ApiKeyId::parse(&key).unwrap(), at, address);
    used.flush(&app.store).await.unwrap();
}

async fn seen(app: &TestApp, task: &Value, worker: &Worker, address: IpAddr) -> usize {
    let (id, worker) = (
        TaskId::parse(task["id"].as_str().unwrap()).unwrap(),
        WorkerId::parse(&worker.id).unwrap(),
    );
    let now = app.clock.now();
    app.store
        .write(move |tx| {
            let task = tx.any_task(id)?.unwrap();
            usecases::flag_same_person(tx, &task, worker, address, now)
        })
        .await
        .unwrap();
    items(app).await.len()
}

async fn one_network_address_is_flagged_while_it_is_kept(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let address = |text: &str| -> IpAddr { text.parse().unwrap() };
    use_key(&app, &dev, address("203.0.113.7")).await;
    let kept = "SELECT last_address FROM api_keys WHERE last_address IS NOT NULL";
    let marks = app.database.column(kept).await;
    assert_eq!(marks.len(), 1);
    assert!(!marks[0].contains("203.0.113"), "{marks:?}");
    let (first, second) = (dev.create_paid_task().await, dev.create_paid_task().await);
    for other in ["203.0.113.8", "127.0.0.1", "10.0.0.1"] {
        assert_eq!(
            seen(&app, &first, &worker, address(other)).await,
            0,
            "{other}"
        );
    }
    assert_eq!(seen(&app, &first, &worker, address("203.0.113.7")).await, 1);
    let said = "Developer and worker have the same network address.";
    assert_eq!(items(&app).await[0]["note"], said);
    assert_eq!(
        seen(&app, &first, &worker, address("203.0.113.7")).await,
        1,
        "once"
    );
    app.advance(Duration::from_secs(31 * 24 * 60 * 60));
    assert_eq!(
        seen(&app, &second, &worker, address("203.0.113.7")).await,
        1,
        "too old"
    );
    prune(&app.store, app.clock.now()).await.unwrap();
    assert_eq!(app.database.column(kept).await, Vec::<String>::new());
}
