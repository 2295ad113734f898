//! Moves of one account's tasks that run in one batch. The first of them locks the totals, and the others know
//! what they are.

use legwork::domain::{AccountId, Action, Actor, Environment, EventType, Owner, TaskId};
use legwork::store::{StoreError, Tx};
use legwork::usecases;

use super::{Held, now};
use crate::support::{TestApp, on_both_engines, storefront};

on_both_engines!(
    totals_are_right_after_many_moves,
    an_endpoint_that_is_set_between_moves_gets_what_follows,
);

const URL: &str = "https://example.com/hook";

struct Tasks {
    owner: Owner,
    ids: Vec<TaskId>,
}

/// So many test tasks of a new developer.
async fn funded(app: &TestApp, count: usize) -> Tasks {
    let dev = app.developer().await;
    let mut ids = Vec::new();
    for _ in 0..count {
        let task = dev.test.post("/v1/tasks", &storefront()).await.expect(201);
        ids.push(TaskId::parse(task["id"].as_str().unwrap()).unwrap());
    }
    let account = AccountId::parse(&dev.account_id).unwrap();
    let environment = Environment::Test;
    Tasks {
        owner: Owner {
            account,
            environment,
        },
        ids,
    }
}

fn moves(
    owner: Owner,
    id: TaskId,
    action: Action,
) -> impl FnMut(&mut Tx<'_>) -> Result<(), StoreError> {
    move |tx| {
        let moved = usecases::transition(tx, owner, id, action, Actor::SERVICE, now());
        let moved = moved.map_err(|error| StoreError::Failed(format!("{error:?}")));
        moved.map(drop)
    }
}

async fn count(app: &TestApp, sql: &str) -> String {
    app.database.column(sql).await.remove(0)
}

async fn totals_are_right_after_many_moves(app: TestApp) {
    let Tasks { owner, ids } = funded(&app, 6).await;
    let account = owner.account;
    let mut held = Held::of(&app.store, account).await;
    for id in &ids {
        let publish = moves(owner, *id, Action::Publish);
        held.queue(&app.store, account, publish).await;
    }
    // One that is not allowed, in the middle of those that are.
    let again = moves(owner, ids[0], Action::Publish);
    held.queue(&app.store, account, again).await;
    for id in &ids[..4] {
        let cancel = moves(owner, *id, Action::Cancel);
        held.queue(&app.store, account, cancel).await;
    }
    let results = held.let_go().await;
    let refused = results.iter().filter(|result| result.is_err());
    assert_eq!(refused.count(), 1);
    let of_owner = format!("WHERE account_id = '{account}' AND environment = 'test'");
    let totals = "CAST(funded || ' ' || posted || ' ' || cancelled AS TEXT)";
    let totals = format!("SELECT {totals} FROM task_totals {of_owner}");
    assert_eq!(count(&app, &totals).await, "0 2 4");
    // Created and funded, posted, cancelled: numbered without a gap.
    let events = "CAST(COUNT(*) || ' ' || MIN(number) || ' ' || MAX(number) AS TEXT)";
    let events = format!("SELECT {events} FROM events {of_owner}");
    assert_eq!(count(&app, &events).await, "22 1 22");
    let last = format!("SELECT CAST(last_event AS TEXT) FROM task_totals {of_owner}");
    assert_eq!(count(&app, &last).await, "22");
}

async fn an_endpoint_that_is_set_between_moves_gets_what_follows(app: TestApp) {
    let Tasks { owner, ids } = funded(&app, 2).await;
    let account = owner.account;
    let mut held = Held::of(&app.store, account).await;
    let before = moves(owner, ids[0], Action::Publish);
    held.queue(&app.store, account, before).await;
    let set = move |tx: &mut Tx<'_>| {
        let put = tx.put_webhook(account, URL, EventType::ALL, "whsec_of_a_test", now());
        put.map(drop)
    };
    held.queue(&app.store, account, set).await;
    let after = moves(owner, ids[1], Action::Publish);
    held.queue(&app.store, account, after).await;
    for result in held.let_go().await {
        result.unwrap();
    }
    let told = format!("SELECT task_id FROM deliveries WHERE account_id = '{account}'");
    let told = app.database.column(&told).await;
    assert_eq!(told, [ids[1].to_string()]);
}
