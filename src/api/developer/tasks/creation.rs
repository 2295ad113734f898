//! A task that is to be created.

use crate::ambient;
use crate::api::App;
use crate::domain::{NewTask, Task, TaskId, Timestamp};
use crate::store::{KeyHolder, Tx};
use crate::usecases::{self, Funding, UseCaseError};

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
        funding: &Funding,
    ) -> Result<(Task, Option<String>), UseCaseError> {
        let task = usecases::create_task(tx, &self.holder, &self.new, self.id, funding, now)?;
        let client_secret = match funding {
            Funding::ByHand(_, intent) => Some(intent.client_secret.clone()),
            Funding::Simulated | Funding::ByMethod(..) | Funding::Later(_) => None,
        };
        Ok((task, client_secret))
    }
}
