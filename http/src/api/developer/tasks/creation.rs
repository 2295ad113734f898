//! A task that is to be created.

use crate::ambient;
use crate::api::App;
use crate::domain::{Environment, NewTask, Owner, Task, TaskId, Timestamp};
use crate::store::{KeyHolder, Tx};
use crate::usecases::{self, Funded, UseCaseError};

#[derive(Clone)]
pub struct Creation {
    pub holder: KeyHolder,
    pub new: NewTask,
    pub id: TaskId,
}

impl Creation {
    pub fn new(app: &App, holder: KeyHolder, new: NewTask) -> Self {
        // By the real time: lists of admins are ordered by it, whatever the clock of a test
        // environment says.
        let id = TaskId::new(app.clock.now(), &ambient::random_for_id());
        Self { holder, new, id }
    }

    /// The task, and the secret to pay for it with.
    pub fn run(
        &self,
        tx: &mut Tx<'_>,
        now: Timestamp,
        funded: &Funded,
    ) -> Result<(Task, Option<String>), UseCaseError> {
        let order = funded.order(&self.new, self.id);
        let task = usecases::create_task(tx, &self.holder, &order, now)?;
        Ok((task, funded.funding.client_secret().map(str::to_owned)))
    }
}

/// A live task may have a client secret.
pub fn has_secrets(owner: Owner) -> bool {
    owner.environment == Environment::Live
}
