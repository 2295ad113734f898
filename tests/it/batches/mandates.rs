//! Creations of a limited key that run in one batch.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use legwork::ambient;
use legwork::domain::{TaskId, Tier};
use legwork::store::{StoreError, Tx};
use legwork::usecases::{self, Funding};
use serde_json::json;

use super::Held;
use crate::mandates::terms::{new_task, terms};
use crate::mandates::{Limited, with};
use crate::support::{Engine, TestApp, eventually, on_both_engines, tell};

on_both_engines!(one_too_many_is_refused_and_undoes_only_itself);

const CENTS: i64 = 500;
const ALLOWED: usize = 5;

/// Creates so many tasks with each of these keys of an account, behind one that is held. All trust the
/// mandates as they are now.
async fn create(app: &TestApp, agents: [&Limited; 2], count: usize) -> Vec<Result<(), StoreError>> {
    let terms = [
        terms(app, agents[0], Funding::Simulated).await,
        terms(app, agents[1], Funding::Simulated).await,
    ];
    let account = terms[0].0.owner.account;
    let mut held = Held::of(&app.store, account).await;
    for (holder, funded) in (0..count).flat_map(|_| terms.clone()) {
        let (new, now) = (new_task(CENTS), app.clock.now());
        let id = TaskId::new(now, &ambient::random());
        let work = move |tx: &mut Tx<'_>| {
            let created = usecases::create_task(tx, &holder, &funded.order(&new, id), now);
            created
                .map(drop)
                .map_err(|error| StoreError::Failed(format!("{error:?}")))
        };
        held.queue(&app.store, account, work).await;
    }
    held.let_go().await
}

async fn one_too_many_is_refused_and_undoes_only_itself(app: TestApp) {
    let dev = app.developer_on(Tier::Enterprise).await;
    let cents = CENTS * ALLOWED as i64;
    let limit = json!([{"interval": "total", "cents": cents}]);
    let limited = Limited::in_test(&app, &dev, with("spending_limits", limit)).await;
    let other = Limited::in_test(&app, &dev, with("max_open_tasks", json!(100))).await;
    let created = create(&app, [&limited, &other], ALLOWED + 3).await;
    let refused: Vec<_> = created.into_iter().filter_map(Result::err).collect();
    assert_eq!(refused.len(), 3);
    for error in refused {
        // It is told why: nobody has to send it again to find out.
        assert!(error.to_string().contains("MandateExceeded"), "{error}");
    }
    assert_eq!(limited.used("spending_limits.total").await, cents);
    assert_eq!(other.used("max_open_tasks").await, ALLOWED as i64 + 3);
    let tasks = dev.test.get("/v1/tasks?limit=1").await.expect(200);
    assert_eq!(tasks["meta"]["total"], 2 * ALLOWED + 3);
}

#[test]
fn what_a_batch_reserves_is_one_update() {
    const TOGETHER: usize = 4;
    tell(Engine::Postgres, async |app: TestApp| {
        let dev = app.developer_on(Tier::Enterprise).await;
        let mandate = || with("max_open_tasks", json!(1_000));
        let agents = [
            Limited::in_test(&app, &dev, mandate()).await,
            Limited::in_test(&app, &dev, mandate()).await,
        ];
        let count = "CREATE TABLE reserved (tasks TEXT);
            CREATE FUNCTION reserve() RETURNS TRIGGER AS 'BEGIN
                INSERT INTO reserved VALUES (NEW.open_tasks - OLD.open_tasks); RETURN NULL;
            END' LANGUAGE plpgsql;
            CREATE TRIGGER reserve AFTER UPDATE ON mandates FOR EACH ROW EXECUTE FUNCTION reserve()";
        app.database.execute(count).await;
        // On a busy machine a batch may take too long, and is ended before it has all of them.
        eventually("they are reserved together", async || {
            let results = create(&app, agents.each_ref(), TOGETHER).await;
            assert!(results.iter().all(Result::is_ok), "{results:?}");
            let reserved = app.database.column("SELECT tasks FROM reserved").await;
            reserved.contains(&TOGETHER.to_string())
        })
        .await;
        let tasks = dev.test.get("/v1/tasks?limit=1").await.expect(200);
        for agent in agents {
            let created = agent.used("max_open_tasks").await;
            assert_eq!(tasks["meta"]["total"], 2 * created);
        }
    });
}

/// The day of a mandate is among what must be the same for two to be one.
#[test]
fn a_batch_over_midnight_is_run_once() {
    const TOGETHER: usize = 3;
    tell(Engine::Postgres, async |app: TestApp| {
        let dev = app.developer_on(Tier::Enterprise).await;
        let agent = Limited::in_test(&app, &dev, with("max_open_tasks", json!(100))).await;
        let (holder, funded) = terms(&app, &agent, Funding::Simulated).await;
        let account = holder.owner.account;
        let midnight = app.clock.now().plus(Duration::from_secs(12 * 3_600));
        let times = [midnight.minus(Duration::from_millis(1)), midnight];
        let ran = Arc::new(AtomicUsize::new(0));
        let mut held = Held::of(&app.store, account).await;
        for now in times.into_iter().flat_map(|time| [time; TOGETHER]) {
            let (new, id) = (new_task(CENTS), TaskId::new(now, &ambient::random()));
            let (holder, funded, ran) = (holder, funded.clone(), ran.clone());
            let work = move |tx: &mut Tx<'_>| {
                ran.fetch_add(1, Ordering::Relaxed);
                let created = usecases::create_task(tx, &holder, &funded.order(&new, id), now);
                created
                    .map(drop)
                    .map_err(|error| StoreError::Failed(format!("{error:?}")))
            };
            held.queue(&app.store, account, work).await;
        }
        let results = held.let_go().await;
        assert!(results.iter().all(Result::is_ok), "{results:?}");
        assert_eq!(ran.load(Ordering::Relaxed), 2 * TOGETHER);
        assert_eq!(agent.used("max_open_tasks").await, 2 * TOGETHER as i64);
    });
}
