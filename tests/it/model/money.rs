//! What the processor is asked to do, sooner or later, and those who die while they ask.

use super::task::{Millis, Payment, Task};
use super::world::World;
use crate::support::{Engine, InjectedFault};

/// How long a job belongs to somebody who may be dead.
const LEASE: Millis = 120_000;

impl World {
    /// Jobs are done: all of them, but for those that somebody took along when they died.
    pub async fn drain(&mut self) {
        self.note("jobs are done");
        self.app.jobs.drain().await.unwrap();
        self.after_jobs(self.now() > self.leased_until).await;
    }

    pub async fn die_while_draining(&mut self) {
        self.note("somebody dies while jobs are done");
        self.processor.set(InjectedFault::Killed);
        let drained = self.processor.until_killed(self.app.jobs.drain()).await;
        self.processor.set(InjectedFault::None);
        let all = drained.is_some() && self.now() > self.leased_until;
        if drained.transpose().unwrap().is_none() {
            self.leased_until = self.now() + LEASE;
            self.until_quiet().await;
            for task in &mut self.tasks {
                task.in_doubt |= !task.test && !task.processor_steps(0).is_empty();
            }
        }
        if self.random.percent(50) {
            self.crash().await;
        }
        self.after_jobs(all).await;
    }

    /// What a dead one had handed to the database is done or not, but not still on its way.
    async fn until_quiet(&self) {
        let nothing = |_: &mut legwork::store::Tx<'_>| Ok::<_, legwork::store::StoreError>(());
        self.app.store.write(nothing).await.unwrap();
        if self.app.database.engine == Engine::Sqlite {
            return;
        }
        let busy = "SELECT pid::text FROM pg_stat_activity WHERE datname = current_database()
            AND pid <> pg_backend_pid() AND state <> 'idle'";
        while !self.app.database.column(busy).await.is_empty() {
            tokio::task::yield_now().await;
        }
    }

    /// What the processor had to do has happened; or, if not all was done, some of it.
    async fn after_jobs(&mut self, all: bool) {
        for task in 0..self.tasks.len() {
            let before = &self.tasks[task];
            let untouched = before.processor_steps(self.now()).is_empty();
            if before.test || untouched {
                continue;
            }
            let mut allowed = outcomes(before, self.now());
            if all {
                allowed.retain(|task| task.processor_steps(0).is_empty());
            }
            let mut after = self.one_of(task, allowed).await;
            after.in_doubt &= !all;
            self.becomes(task, after);
            self.look_at(task).await;
        }
        if all {
            self.tasks.iter_mut().for_each(|task| task.in_doubt = false);
        }
    }

    /// The one of several states that the service is in.
    async fn one_of(&mut self, task: usize, mut allowed: Vec<Task>) -> Task {
        if allowed.len() > 1 {
            let (owner, path) = (self.owner(task), self.path(task));
            let found = self.get(owner, &path).await;
            let payment = self.get(owner, &format!("{path}/payment")).await;
            let ledger = self.get(owner, &format!("{path}/ledger")).await;
            let steps = ledger["data"].as_array().unwrap().iter();
            let mut steps: Vec<_> = steps.map(|entry| entry["type"].as_str().unwrap()).collect();
            steps.sort_unstable();
            // A payment that is still to be made has no secret yet.
            let shown = payment["payment_client_secret"].is_string();
            let now = self.now();
            let is_over = |task: &Task| task.is_final() || task.is_overdue(now);
            allowed.retain(|task| {
                found["status"] == task.status
                    && payment["status"] == task.payment_status()
                    && (!shown || task.payment == Payment::Unpaid)
                    && (shown || task.payment != Payment::Unpaid || is_over(task))
                    && task.ledger.keys().copied().eq(steps.iter().copied())
            });
            let told = format!("{} {} {steps:?}", found["status"], payment["status"]);
            assert_eq!(allowed.len(), 1, "not foreseen: {told}");
        }
        allowed.pop().unwrap()
    }
}

/// Everything that a task can come to by what the processor does for it.
fn outcomes(task: &Task, now: Millis) -> Vec<Task> {
    let mut found = vec![task.clone()];
    let mut next = 0;
    while next < found.len() {
        for step in found[next].processor_steps(now) {
            if !found.contains(&step) {
                found.push(step);
            }
        }
        next += 1;
    }
    found
}
