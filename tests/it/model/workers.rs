//! What workers do with live tasks, and what admins decide.

use legwork::domain::Action;
use serde_json::{Value, json};

use super::developers::sure;
use super::people::Who;
use super::task::{DAY, Doer};
use super::world::{Expected, NOT_FOUND, WRONG_STATE, World};
use crate::support::{photo, signature};

const NOT_ELIGIBLE: (u16, &str) = (403, "WORKER_NOT_ELIGIBLE");
const MAX_OPEN_TASKS: usize = 5;
/// What waits for the developer or an admin does not count.
const IN_HAND: [&str; 3] = ["assigned", "in_progress", "proof_rejected"];

impl World {
    /// Mostly who has the task.
    fn some_worker(&mut self, task: usize) -> usize {
        match self.tasks[task].doer {
            Some(Doer::Worker(hand)) if self.random.percent(90) => hand,
            _ => self.random.below(self.hands.len()),
        }
    }

    /// The first worker wants more than the others, and more than one may have.
    pub async fn accept(&mut self, task: usize) {
        let eager = self.random.percent(75);
        let hand = if eager {
            0
        } else {
            self.random.below(self.hands.len())
        };
        let expected = self.accepted(task, hand);
        let sure = sure(task, &expected);
        let path = format!("/v1/worker/tasks/{}/accept", self.tasks[task].id);
        let reply = self
            .post_once(Who::Worker(hand), &path, &json!({}), sure)
            .await;
        self.expect(task, reply, expected).await;
    }

    fn accepted(&self, task: usize, hand: usize) -> Expected {
        let (before, doer) = (&self.tasks[task], Doer::Worker(hand));
        if before.test || ["pending", "funded"].contains(&before.status) {
            return Err(NOT_FOUND);
        }
        let by = Some("worker");
        let moved = before.moved_with("accept", by, self.now(), Some(doer), 0);
        let moved = moved.filter(|_| !before.is_overdue(self.now()));
        let moved = moved.ok_or(WRONG_STATE)?;
        let has = self.tasks.iter().filter(|task| task.doer == Some(doer));
        let in_hand = has.filter(|task| IN_HAND.contains(&task.status)).count();
        let skilled = self.hands[hand].is_notary || !before.needs_notary;
        if !skilled || in_hand >= MAX_OPEN_TASKS {
            return Err(NOT_ELIGIBLE);
        }
        Ok((200, moved))
    }

    /// What a worker's move with a task of their own leads to.
    fn worked(&self, task: usize, hand: usize, trigger: &str, status: u16) -> Expected {
        let before = &self.tasks[task];
        if before.doer != Some(Doer::Worker(hand)) {
            return Err(NOT_FOUND);
        }
        let too_late = trigger == "dispute" && self.now() > before.since + 3 * DAY;
        let moved = before.moved(trigger, Some("worker"), self.now());
        let moved = moved.filter(|_| !too_late);
        Ok((status, moved.ok_or(WRONG_STATE)?))
    }

    pub async fn work(&mut self, task: usize, trigger: &str) {
        let hand = self.some_worker(task);
        let expected = self.worked(task, hand, trigger, 200);
        let sure = sure(task, &expected);
        let path = format!("/v1/worker/tasks/{}/{trigger}", self.tasks[task].id);
        let reply = self
            .post_once(Who::Worker(hand), &path, &json!({}), sure)
            .await;
        let answer = self.expect(task, reply, expected.clone()).await;
        if let Ok((_, after)) = expected {
            assert_eq!(answer["status"], after.status);
            assert_eq!(answer["attempts_used"], after.proofs.len());
        }
    }

    pub async fn submit(&mut self, task: usize) {
        let hand = self.some_worker(task);
        let expected = self.worked(task, hand, "submit", 201);
        let near = self.random.percent(80);
        let form = self.form(task, near);
        let path = format!("/v1/worker/tasks/{}/proofs", self.tasks[task].id);
        let kind = [("content-type", "multipart/form-data; boundary=model")];
        let reply = self
            .send(Who::Worker(hand), "POST", &path, &kind, &form)
            .await;
        let answer = self.expect(task, reply, expected.clone()).await;
        if let Ok((_, after)) = expected {
            expect_attempt(&answer, after.proofs.len(), after.proof_types, near);
        }
    }

    /// One file for each type that the task asks for, taken at the place or far from it.
    fn form(&mut self, task: usize, near: bool) -> Vec<u8> {
        let seed = format!("{:x}", self.random.next());
        let latitude = if near { "40.7163" } else { "41" };
        let mut parts = vec![
            ("gps_latitude", latitude.into()),
            ("gps_longitude", "-73.9595".into()),
        ];
        for name in self.tasks[task].proof_types {
            let file = if *name == "photo" {
                photo(&seed)
            } else {
                signature(&seed)
            };
            parts.push((name, file));
        }
        let mut form = Vec::new();
        for (name, content) in parts {
            let head =
                format!("--model\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
            form.extend([head.as_bytes(), &content, b"\r\n"].concat());
        }
        form.extend(b"--model--\r\n");
        form
    }

    /// An admin decides, or tries to.
    pub async fn decide(&mut self, task: usize) {
        let before = &self.tasks[task];
        if before.test {
            return;
        }
        // A part of it: all or nothing is no split.
        let paid_cents = self.random.between(1, before.budget - 1);
        let (trigger, decision) = self.random.one_of(&[
            ("decide to pay", Action::DecidePay),
            ("decide to refund", Action::DecideRefund),
            ("decide to split", Action::DecideSplit { paid_cents }),
        ]);
        let now = self.now();
        let after = self.tasks[task].moved_with(trigger, None, now, None, paid_cents);
        let again = self.verdicts.get(&task) == Some(&decision);
        assert_eq!(self.decided(task, decision).await, after.is_some() || again);
        if let Some(after) = after {
            self.verdicts.insert(task, decision);
            self.becomes(task, after);
        }
        self.look_at(task).await;
    }

    /// Whether a decision was taken.
    async fn decided(&self, task: usize, decision: Action) -> bool {
        let task = &self.tasks[task];
        let body = match decision {
            Action::DecideSplit { paid_cents } => {
                json!({"decision": "split", "paid_cents": paid_cents})
            }
            Action::DecidePay => json!({"decision": "pay"}),
            _ => json!({"decision": "refund"}),
        };
        let path = format!("/v1/admin/disputes/{}/decide", task.id);
        let decided = self.app.admin().await.post(&path, &body).await;
        decided.status == 200
    }
}

/// The proofs of a new attempt, as they are answered.
pub fn expect_attempt(answer: &Value, attempt: usize, types: &[&str], near: bool) {
    let proofs = answer["data"].as_array().unwrap().iter();
    let mut shown: Vec<_> = proofs
        .map(|proof| {
            json!([
                proof["type"],
                proof["attempt_number"],
                proof["status"],
                proof["geo_valid"]
            ])
        })
        .collect();
    shown.sort_by_key(Value::to_string);
    let expected: Vec<_> = types
        .iter()
        .map(|name| json!([name, attempt, "pending", near]))
        .collect();
    assert_eq!(shown, expected);
}
