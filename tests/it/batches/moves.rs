//! Moves of one account's tasks that run in one batch. The first of them locks the totals, and the others know
//! what they are.

use legwork::domain::{
    AccountId, Action, Actor, Environment, EventType, JobKind, JobName, Lane, Owner, TaskId,
};
use legwork::store::{StoreError, Tx};
use legwork::usecases;

use super::{Held, now};
use crate::support::{Engine, TestApp, eventually, on_both_engines, storefront, tell};

on_both_engines!(
    totals_are_right_after_many_moves,
    an_endpoint_that_is_set_between_moves_gets_what_follows,
    a_job_that_another_process_has_is_told_and_undoes_nothing,
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

#[test]
fn moves_of_different_tasks_are_one_update() {
    const TOGETHER: usize = 4;
    tell(Engine::Postgres, async |app: TestApp| {
        let note = "CREATE TABLE updates (tasks TEXT);
            CREATE FUNCTION note() RETURNS TRIGGER AS 'BEGIN
                INSERT INTO updates SELECT COUNT(*) FROM changed; RETURN NULL;
            END' LANGUAGE plpgsql;
            CREATE TRIGGER note AFTER UPDATE ON tasks REFERENCING NEW TABLE AS changed
                FOR EACH STATEMENT EXECUTE FUNCTION note()";
        app.database.execute(note).await;
        // On a busy machine a batch may take too long, and is ended before it has all of them.
        eventually("they are updated together", async || {
            let Tasks { owner, ids } = funded(&app, TOGETHER).await;
            let mut held = Held::of(&app.store, owner.account).await;
            for id in ids {
                let publish = moves(owner, id, Action::Publish);
                held.queue(&app.store, owner.account, publish).await;
            }
            let results = held.let_go().await;
            assert!(results.iter().all(Result::is_ok), "{results:?}");
            let updates = app.database.column("SELECT tasks FROM updates").await;
            updates.contains(&TOGETHER.to_string())
        })
        .await;
    });
}

async fn a_job_that_another_process_has_is_told_and_undoes_nothing(app: TestApp) {
    let account = super::account(&app).await;
    let (begun, lease_ends) = (now(), now().plus(std::time::Duration::from_secs(60)));
    let claimed = app.store.write(move |tx| {
        for number in 0..4 {
            tx.add_job(&JobName::new(JobKind::Post, number), begun)?;
        }
        tx.claim_jobs(Lane::Rest, "ours", begun, lease_ends, 10)
    });
    let claimed: Result<_, StoreError> = claimed.await;
    let lost = "UPDATE jobs SET claim = 'theirs' WHERE subject = '2'";
    app.database.execute(lost).await;
    let mut held = Held::of(&app.store, account).await;
    for job in claimed.unwrap() {
        let finish = move |tx: &mut Tx<'_>| match tx.finish_job(&job)? {
            true => Ok(()),
            false => Err(StoreError::Failed(job.name.subject.clone())),
        };
        held.queue(&app.store, account, finish).await;
    }
    let results = held.let_go().await;
    let lost: Vec<_> = results.iter().filter_map(|it| it.as_ref().err()).collect();
    assert!(
        matches!(&lost[..], [StoreError::Failed(subject)] if subject == "2"),
        "{lost:?}"
    );
    let left = app.database.column("SELECT subject FROM jobs").await;
    assert_eq!(left, ["2"]);
}
