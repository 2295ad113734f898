//! Creations of a limited key that run in one batch.

use std::sync::Arc;

use legwork::ambient;
use legwork::domain::tasks::{Category, Location, Priority, ProofType, TaskType};
use legwork::domain::{AccountId, NewTask, Secret, TaskId, Tier};
use legwork::store::{Lookup, StoreError, Tx};
use legwork::usecases::{self, Funded, Funding};
use serde_json::json;

use super::Held;
use crate::mandates::{Limited, with};
use crate::support::{Engine, TestApp, eventually, on_both_engines, tell};

on_both_engines!(one_too_many_is_refused_and_undoes_only_itself);

const CENTS: i64 = 500;
const ALLOWED: usize = 5;

fn new_task() -> NewTask {
    NewTask {
        title: "Photograph the storefront".to_owned(),
        description: "Front door and window display".to_owned(),
        instructions: None,
        category: Category::Photography,
        required_skills: vec![],
        location: Location {
            address: None,
            city: "New York".to_owned(),
            state: "NY".to_owned(),
            latitude: 40.7128,
            longitude: -74.006,
        },
        budget_cents: CENTS,
        task_type: TaskType::Standard,
        priority: Priority::Normal,
        deadline: None,
        proof_types: vec![ProofType::Photo],
        metadata: "{}".to_owned(),
        quoted_fee_percent: None,
    }
}

/// Creates so many tasks behind one that is held. All trust the mandate as it is now.
async fn create(app: &TestApp, agent: &Limited, count: usize) -> Vec<Result<(), StoreError>> {
    let lookup = Lookup::key_and_mandate(Secret::presented(&agent.key).hash());
    let found = app.store.find(lookup).await.unwrap().unwrap();
    let funded = Funded {
        funding: Funding::Simulated,
        mandate: found.mandate.map(Arc::new),
    };
    assert!(funded.mandate.is_some());
    let (holder, account) = (found.holder, found.holder.owner.account);
    let mut held = Held::of(&app.store, account).await;
    for _ in 0..count {
        let (funded, new, now) = (funded.clone(), new_task(), app.clock.now());
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
    let agent = Limited::in_test(&app, &dev, with("spending_limits", limit)).await;
    let created = create(&app, &agent, ALLOWED + 3).await;
    let refused: Vec<_> = created.into_iter().filter_map(Result::err).collect();
    assert_eq!(refused.len(), 3);
    for error in refused {
        // It is told why: nobody has to send it again to find out.
        assert!(error.to_string().contains("MandateExceeded"), "{error}");
    }
    assert_eq!(agent.used("spending_limits.total").await, cents);
    let tasks = agent.client.get("/v1/tasks?limit=1").await.expect(200);
    assert_eq!(tasks["meta"]["total"], ALLOWED);
}

#[test]
fn what_a_batch_reserves_is_one_update() {
    const TOGETHER: usize = 4;
    tell(Engine::Postgres, async |app: TestApp| {
        let dev = app.developer_on(Tier::Enterprise).await;
        let agent = Limited::in_test(&app, &dev, with("max_open_tasks", json!(1_000))).await;
        let count = "CREATE TABLE reserved (tasks TEXT);
            CREATE FUNCTION reserve() RETURNS TRIGGER AS 'BEGIN
                INSERT INTO reserved VALUES (NEW.open_tasks - OLD.open_tasks); RETURN NULL;
            END' LANGUAGE plpgsql;
            CREATE TRIGGER reserve AFTER UPDATE ON mandates FOR EACH ROW EXECUTE FUNCTION reserve()";
        app.database.execute(count).await;
        // On a busy machine a batch may take too long, and is ended before it has all of them.
        eventually("they are reserved together", async || {
            let results = create(&app, &agent, TOGETHER).await;
            assert!(results.iter().all(Result::is_ok), "{results:?}");
            let reserved = app.database.column("SELECT tasks FROM reserved").await;
            reserved.contains(&TOGETHER.to_string())
        })
        .await;
        let tasks = agent.client.get("/v1/tasks?limit=1").await.expect(200);
        let created = &tasks["meta"]["total"];
        assert_eq!(agent.used("max_open_tasks").await, *created);
    });
}
