//! What tells the rows of the queue apart: which task or worker, where, how much, and who did it.

use std::collections::HashMap;

use crate::api::inside::Refused;
use crate::domain::{Task, TaskId, Worker, WorkerId};
use crate::pages::console::models::Item;
use crate::pages::console::office::Office;
use crate::pages::kit::words::{dollars, spaced};
use crate::store::StoreError;
use crate::usecases::UseCaseError;

pub struct Row {
    pub item: Item,
    /// The title of the task, or the name of the worker.
    pub what: String,
    pub more: Vec<String>,
}

/// The tasks and workers that the items of a page are about.
#[derive(Default)]
struct Known {
    tasks: HashMap<TaskId, Task>,
    workers: HashMap<WorkerId, Worker>,
}

/// The list of the API names most tasks and workers by their ID alone. One read finds those of all rows.
pub async fn rows(office: &Office, items: Vec<Item>) -> Result<Vec<Row>, Refused> {
    let named: Vec<_> = items.iter().map(named).collect();
    let read = office.pages.app.store.read(move |tx| {
        let mut known = Known::default();
        for &(task, worker) in &named {
            let task = task.map(|id| tx.any_task(id)).transpose()?.flatten();
            let worker = worker.or_else(|| task.as_ref()?.worker);
            let worker = worker.map(|id| tx.worker(id)).transpose()?.flatten();
            known.tasks.extend(task.map(|task| (task.id, task)));
            known
                .workers
                .extend(worker.map(|worker| (worker.id, worker)));
        }
        Ok::<_, StoreError>(known)
    });
    let known = read.await.map_err(UseCaseError::from)?;
    Ok(items.into_iter().map(|item| known.row(item)).collect())
}

fn named(item: &Item) -> (Option<TaskId>, Option<WorkerId>) {
    let task = item.task_id.as_deref().and_then(TaskId::parse);
    (task, item.worker_id.as_deref().and_then(WorkerId::parse))
}

impl Known {
    fn row(&self, item: Item) -> Row {
        let (task, worker) = named(&item);
        let task = task.and_then(|id| self.tasks.get(&id));
        let worker = worker.or_else(|| task?.worker);
        let worker = worker.and_then(|id| self.workers.get(&id));
        let (what, more) = match (task, worker) {
            (Some(task), worker) => (task.title.clone(), of_task(task, worker, &item)),
            (None, Some(worker)) => (worker.name.clone(), of_worker(worker, &item)),
            (None, None) => (spaced(&item.kind), first_line(&item).into_iter().collect()),
        };
        Row { item, what, more }
    }
}

fn of_task(task: &Task, worker: Option<&Worker>, item: &Item) -> Vec<String> {
    let place = &task.location;
    let proof = item.proof.as_ref();
    let proof = proof.map(|proof| format!("{}, attempt {}", proof.kind, proof.attempt_number));
    let more = [
        Some(format!("{}, {}", place.city, place.state)),
        Some(dollars(task.budget_cents)),
        worker.map(|worker| worker.name.clone()),
        proof.or_else(|| first_line(item)),
    ];
    more.into_iter().flatten().collect()
}

fn of_worker(worker: &Worker, item: &Item) -> Vec<String> {
    let skills = item.asked_skills.iter().map(|skill| spaced(skill));
    let skills: Vec<_> = skills.collect();
    let skills = (!skills.is_empty()).then(|| skills.join(", "));
    let more = [Some(worker.email.clone()), skills, first_line(item)];
    more.into_iter().flatten().collect()
}

/// What happened. Below it stands what admins have noted.
fn first_line(item: &Item) -> Option<String> {
    let line = item.note.as_deref()?.lines().next()?;
    Some(line.to_owned())
}
