//! What a server knows of a limited key when it creates a task, and a creation by that alone.

use std::sync::Arc;

use legwork::ambient;
use legwork::domain::tasks::{Category, Location, Priority, ProofType, TaskType};
use legwork::domain::{NewTask, Secret, Task, TaskId, Timestamp};
use legwork::store::{KeyHolder, Lookup};
use legwork::usecases::{self, Funded, Funding, UseCaseError};

use super::Limited;
use crate::support::TestApp;

pub fn new_task(budget_cents: i64) -> NewTask {
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
        budget_cents,
        task_type: TaskType::Standard,
        priority: Priority::Normal,
        deadline: None,
        proof_types: vec![ProofType::Photo],
        metadata: "{}".to_owned(),
        quoted_fee_percent: None,
    }
}

/// The key and its mandate as they are now.
pub async fn terms(app: &TestApp, agent: &Limited, funding: Funding) -> (KeyHolder, Funded) {
    let lookup = Lookup::key_and_mandate(Secret::presented(&agent.key).hash());
    let found = app.store.find(lookup).await.unwrap().unwrap();
    let mandate = found.mandate.map(Arc::new);
    assert!(mandate.is_some());
    (found.holder, Funded { funding, mandate })
}

/// Creates a task as a server does whose clock shows this time.
pub async fn create(
    app: &TestApp,
    (holder, funded): (KeyHolder, Funded),
    budget_cents: i64,
    now: Timestamp,
) -> Result<Task, UseCaseError> {
    let (new, id) = (new_task(budget_cents), TaskId::new(now, &ambient::random()));
    let account = holder.owner.account;
    let created = app.store.write_for(account, move |tx| {
        usecases::create_task(tx, &holder, &funded.order(&new, id), now)
    });
    created.await
}
