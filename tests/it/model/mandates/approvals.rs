//! Tasks that wait for a person, who agrees, refuses, or lets the time pass.

use serde_json::json;

use crate::model::developers::sure;
use crate::model::people::Who;
use crate::model::task::{Payment, Task};
use crate::model::world::{Expected, NOT_FOUND, World};

impl World {
    /// Mostly the owner decides; a limited key never does.
    pub async fn decide_approval(&mut self, task: usize, decision: &'static str) {
        let owner = self.owner(task);
        let who = match (owner, self.random.below(10)) {
            (Who::Live(account), 0) => Who::Agent(account, false),
            (Who::Test(account), 0) => Who::Agent(account, true),
            _ => self.somebody(task),
        };
        let expected: Expected = match (who, self.tasks[task].approval) {
            (Who::Agent(..), _) => Err((403, "PERMISSION_DENIED")),
            _ if who != owner => Err(NOT_FOUND),
            (_, None) => Err((404, "APPROVAL_NOT_FOUND")),
            (_, Some("waiting")) => Ok((200, self.after_decision(task, decision))),
            _ => Err((409, "APPROVAL_DECIDED")),
        };
        let sure = sure(task, &expected);
        let path = format!("{}/approval/{decision}", self.path(task));
        let reply = self.post_once(who, &path, &json!({}), sure).await;
        let answer = self.expect(task, reply, expected.clone()).await;
        if let Ok((_, after)) = expected {
            assert_eq!(answer["status"], json!(after.approval), "{answer}");
            assert_eq!(answer["decided_by"]["type"], "developer", "{answer}");
        }
    }

    /// A refused task is cancelled. One that is agreed to is paid for as if it were created now.
    fn after_decision(&self, task: usize, decision: &str) -> Task {
        let (mut after, now) = (self.tasks[task].clone(), self.time_at(task));
        if decision == "refuse" {
            after.approval = Some("refused");
            return after.moved("cancel", Some("developer"), now).unwrap();
        }
        after.approval = Some("approved");
        if after.test {
            let by = Some("processor");
            return after.moved("payment succeeds", by, now).unwrap();
        }
        if let Some(good) = self.accounts[after.developer].method {
            after.payment = Payment::Charging { good };
        }
        after
    }

    /// Every task that has to be agreed to, and how that stands.
    pub async fn check_approvals(&mut self) {
        let kept = "SELECT task_id || ' ' || status FROM approvals ORDER BY task_id";
        let kept = self.app.database.column(kept).await;
        let asked = self.tasks.iter();
        let asked = asked.filter_map(|task| Some(format!("{} {}", task.id, task.approval?)));
        let mut asked: Vec<_> = asked.collect();
        asked.sort();
        assert_eq!(kept, asked);
    }
}
