//! Test helpers: a test task is walked through its life.

use serde_json::{Value, json};

use super::developers::sure;
use super::people::Who;
use super::table::STATUSES;
use super::task::{Doer, Task};
use super::workers::expect_attempt;
use super::world::{Expected, NOT_FOUND, WRONG_STATE, World};

const TEST_MODE_ONLY: (u16, &str) = (403, "TEST_MODE_ONLY");

/// The next status of the happy path.
fn next(status: &str) -> Option<&'static str> {
    match status {
        "funded" => Some("posted"),
        "posted" => Some("assigned"),
        "assigned" => Some("in_progress"),
        "in_progress" | "proof_rejected" => Some("proof_submitted"),
        _ => None,
    }
}

impl World {
    pub async fn advance(&mut self, task: usize) {
        let who = self.somebody(task);
        let to = self
            .random
            .percent(25)
            .then(|| self.random.one_of(&STATUSES));
        let before = &self.tasks[task];
        let goal = to.or_else(|| next(before.status));
        let ways = goal.map(|goal| before.advanced(goal, self.time_at(task)));
        let ways = ways.unwrap_or_default();
        let refused = self.helped(who, task).err();
        let refused = refused.or(ways.is_empty().then_some(WRONG_STATE));
        let path = format!("/v1/test_helpers/tasks/{}/advance", before.id);
        let body = to.map_or(json!({}), |to| json!({ "to": to }));
        if let Some(refused) = refused {
            let reply = self.post(who, &path, &body).await;
            self.expect(task, reply, Err(refused)).await;
            return;
        }
        let sure = sure(task, &Ok((200, ways[0].clone())));
        let reply = self.post_once(who, &path, &body, sure).await;
        let after = self.way_taken(task, ways).await;
        let answer = self.expect(task, reply, Ok((200, after.clone()))).await;
        self.agree(&after, &answer);
    }

    /// Two ways to a status may be equally short: the history tells which one was taken.
    async fn way_taken(&mut self, task: usize, mut ways: Vec<Task>) -> Task {
        if ways.len() > 1 {
            let path = format!("{}/history?limit=100", self.path(task));
            let history = self.get(self.owner(task), &path).await;
            let moves = history["data"].as_array().unwrap();
            let stops: Vec<_> = moves
                .iter()
                .map(|made| made["to"].as_str().unwrap())
                .collect();
            ways.retain(|way| {
                way.history
                    .iter()
                    .map(|made| made.to)
                    .eq(stops.iter().copied())
            });
        }
        ways.pop().expect("a way that is none of the shortest")
    }

    /// Helpers are for test keys and test tasks.
    fn helped(&self, who: Who, task: usize) -> Result<(), (u16, &'static str)> {
        match who {
            Who::Live(_) => Err(TEST_MODE_ONLY),
            who if who != self.owner(task) => Err(NOT_FOUND),
            _ => Ok(()),
        }
    }

    pub async fn simulate_proof(&mut self, task: usize) {
        let who = self.somebody(task);
        let near = self.random.percent(80);
        let before = &self.tasks[task];
        let doer = before.doer.or(Some(Doer::Simulated));
        let by = Some("simulated_worker");
        let moved = before.moved_with("submit", by, self.time_at(task), doer, 0);
        let refused = self.helped(who, task).err();
        let expected: Expected = match (refused, moved) {
            (Some(refused), _) => Err(refused),
            (None, None) => Err(WRONG_STATE),
            (None, Some(after)) => Ok((201, after)),
        };
        let latitude = if near { 40.7163 } else { 41.0 };
        let body: Value = json!({"gps_latitude": latitude, "gps_longitude": -73.9595});
        let path = format!("/v1/test_helpers/tasks/{}/proofs", before.id);
        let sure = sure(task, &expected);
        let reply = self.post_once(who, &path, &body, sure).await;
        let answer = self.expect(task, reply, expected.clone()).await;
        if let Ok((_, after)) = expected {
            expect_attempt(&answer, after.proofs.len(), after.proof_types, near);
        }
    }
}
