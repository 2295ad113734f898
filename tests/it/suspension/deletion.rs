//! An account is deleted: when it may be, and what is left at once.

use legwork::domain::{Action, Environment, NewAccount, Tier};
use legwork::usecases;
use legwork::usecases::{OpenedAccount, UseCaseError};
use serde_json::{Value, json};

use super::{delete, id_of, ids};
use crate::support::{Client, Developer, Reply, TestApp, on_both_engines, path, storefront};

on_both_engines!(
    it_has_to_be_confirmed,
    nothing_may_be_open,
    no_money_may_be_owed,
    keys_webhook_and_method_are_gone_and_the_address_is_free,
    tasks_that_race_are_not_created_behind_it,
);

async fn ask(client: &Client, body: &Value) -> Reply {
    client
        .send("DELETE", "/v1/account", &[], body.to_string())
        .await
}

async fn confirm(dev: &Developer) -> Reply {
    let email = email_of(dev).await;
    ask(&dev.test, &json!({ "confirm": email })).await
}

async fn email_of(dev: &Developer) -> String {
    let account = dev.live.get("/v1/account").await.expect(200);
    account["email"].as_str().unwrap().to_owned()
}

async fn it_has_to_be_confirmed(app: TestApp) {
    let dev = app.developer().await;
    for body in [
        json!({}),
        json!({"confirm": null}),
        json!({"confirm": true}),
        json!({"confirm": "yes"}),
        json!({"confirm": "somebody@example.com"}),
    ] {
        let refused = ask(&dev.live, &body).await;
        assert_eq!(refused.status, 400, "{body}");
        assert_eq!(refused.faulty_fields(), ["confirm"], "{body}");
    }
    let faulty = json!({"confirm": "somebody@example.com", "force": true});
    assert_eq!(ask(&dev.live, &faulty).await.faulty_fields(), ["force"]);
    let refused = dev.live.delete("/v1/account").await;
    assert_eq!(refused.status, 400, "{}", refused.text);
    dev.live.get("/v1/account").await.expect(200);
    // In any spelling.
    let email = email_of(&dev).await.to_uppercase();
    let deleted = ask(&dev.live, &json!({ "confirm": email }))
        .await
        .expect(200);
    assert_eq!(deleted["status"], "deleted");
    assert_eq!(deleted["id"].as_str(), Some(&*dev.account_id));
}

async fn nothing_may_be_open(app: TestApp) {
    let dev = app.developer().await;
    let simulated = dev.create_task().await;
    let unpaid = dev.create_live_task().await;
    let refused = confirm(&dev).await.expect_error(409, "TASKS_OPEN");
    assert!(refused.text.contains("2 open tasks"), "{}", refused.text);
    let cancel = format!("{}/cancel", path(&simulated));
    dev.test.post(&cancel, &json!({})).await.expect(200);
    confirm(&dev).await.expect_error(409, "TASKS_OPEN");
    let cancel = format!("{}/cancel", path(&unpaid));
    dev.live.post(&cancel, &json!({})).await.expect(200);
    confirm(&dev).await.expect(200);
}

async fn no_money_may_be_owed(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.ready_worker().await;
    let cancelled = dev.create_paid_task().await;
    let cancel = format!("{}/cancel", path(&cancelled));
    dev.live.post(&cancel, &json!({})).await.expect(200);
    let refused = confirm(&dev).await.expect_error(409, "TASKS_OPEN");
    assert!(refused.text.contains("still pending"), "{}", refused.text);
    app.jobs.drain().await.unwrap();
    let done = dev.create_paid_task().await;
    worker.begin(&done).await;
    worker.prove(&done, "one").await;
    app.act(&dev, &done, &[Action::Approve]).await;
    // The worker has not been paid yet.
    confirm(&dev).await.expect_error(409, "TASKS_OPEN");
    app.jobs.drain().await.unwrap();
    confirm(&dev).await.expect(200);
    TestApp::expect_settled(&app.verify().await);
}

async fn keys_webhook_and_method_are_gone_and_the_address_is_free(app: TestApp) {
    let dev = app.developer().await;
    dev.charge_to("pm_card_visa").await;
    let webhook = json!({"url": "https://127.0.0.1:1/hook", "events": ["task.created"]});
    let path = "/v1/account/webhook";
    let set = dev.live.send("PUT", path, &[], webhook.to_string()).await;
    set.expect(200);
    let new = json!({"name": "Third", "environment": "live"});
    let third = dev.live.post("/v1/account/keys", &new).await.expect(201);
    let third = Client::new(app.address, third["key"].as_str());
    third.get("/v1/account").await.expect(200);
    let email = email_of(&dev).await;
    let deleted = confirm(&dev).await.expect(200);
    assert_eq!(
        deleted["email"],
        format!("deleted-{}@invalid", dev.account_id)
    );
    assert_eq!(deleted["webhook_url"], Value::Null);
    for client in [&dev.live, &dev.test, &third] {
        client
            .get("/v1/account")
            .await
            .expect_error(401, "UNAUTHORIZED");
    }
    for table in ["webhook_endpoints", "payment_methods"] {
        let left = format!("SELECT account_id FROM {table}");
        assert_eq!(ids(&app, &left).await, Vec::<String>::new(), "{table}");
    }
    let refused = delete(&app, id_of(&dev)).await;
    assert!(matches!(
        refused,
        Err(UseCaseError::InvalidAccountState { .. })
    ));
    let again = NewAccount {
        email,
        name: "Ada".to_owned(),
        company: None,
        tier: Tier::Free,
    };
    let opened = OpenedAccount::new(&again, app.clock.now());
    let written = opened.clone();
    app.store
        .write(move |tx| usecases::create_account(tx, &written, &legwork::domain::Actor::SERVICE))
        .await
        .unwrap();
    let dev = Developer::new(app.address, &opened);
    dev.create_task().await;
}

async fn tasks_that_race_are_not_created_behind_it(app: TestApp) {
    let second = TestApp::start(&app.database).await;
    for round in 0..15 {
        let dev = app.developer().await;
        let elsewhere = Client::new(second.address, Some(&dev.test_key));
        let task = storefront();
        let (created, deleted) = tokio::join!(
            elsewhere.post("/v1/tasks", &task),
            delete(&app, id_of(&dev)),
        );
        match deleted {
            Ok(_) => drop(created.expect_error(401, "UNAUTHORIZED")),
            Err(UseCaseError::TasksOpen { open: 1 }) => drop(created.expect(201)),
            Err(refusal) => panic!("{round}: {refusal}"),
        }
    }
    let ghosts = format!(
        "SELECT t.id FROM tasks t JOIN accounts a ON a.id = t.account_id
        WHERE a.status = 'deleted' AND t.environment = '{}'",
        Environment::Test
    );
    assert_eq!(ids(&app, &ghosts).await, Vec::<String>::new());
}
