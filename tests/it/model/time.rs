//! Time: the one clock of live, which a test lets run, and the clocks of test environments.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::developers::moment;
use super::people::Who;
use super::task::{DAY, Doer, HOUR, Millis, Sending};
use super::world::World;

const MINUTE: Millis = HOUR / 60;
const TUS: (&str, &str) = ("tus-resumable", "1.0.0");
const OCTETS: (&str, &str) = ("content-type", "application/offset+octet-stream");
const CLOCK: &str = "/v1/test_helpers/clock";

impl World {
    /// A little while, or some days.
    pub async fn time_passes(&mut self) {
        if self.random.percent(50) {
            return self.something_falls_due().await;
        }
        let by = match self.random.percent(80) {
            true => self.random.between(1, 3 * HOUR),
            false => self.random.between(1, 9 * DAY),
        };
        self.wait(by);
    }

    /// A moment before something is due in live, at that moment, or after it; somebody may still be
    /// faster than the clock.
    async fn something_falls_due(&mut self) {
        let Some((task, at)) = self.next_due(None) else {
            return;
        };
        let is_worked_on = ["in_progress", "proof_rejected"].contains(&self.tasks[task].status);
        if is_worked_on && self.random.percent(50) {
            return self.somebody_sends(task, at).await;
        }
        let by = at - self.now() + self.random.between(-1, 1);
        self.wait(by);
        let faster: &[&'static str] = match self.tasks[task].status {
            "proof_rejected" => &["dispute", "submit"],
            "proof_submitted" => &["review"],
            "assigned" => &["start", "cancel"],
            "pending" => &["pay", "agree", "refuse"],
            _ => &[],
        };
        if !faster.is_empty() && self.random.percent(40) {
            let what = self.random.one_of(faster);
            self.act_on(task, what).await;
        }
        self.catch_up().await;
    }

    /// The worker is sending a file when the time is over: the clock waits while bytes come.
    async fn somebody_sends(&mut self, task: usize, at: Millis) {
        let Some(by @ Doer::Worker(hand)) = self.tasks[task].doer else {
            return;
        };
        let begin = at - self.random.between(-1, 20 * MINUTE);
        self.wait(begin - self.now());
        let path = self.begin_upload(task, hand).await;
        let (begun, last) = (self.now(), self.now());
        self.tasks[task].sending = Some(Sending { by, begun, last });
        let mut arrived = 1;
        let mut pauses = 1..4;
        while pauses.next().is_some()
            && self.tasks[task].doer == Some(by)
            && !self.tasks[task].is_final()
        {
            let longest = self.random.one_of(&[MINUTE, 16 * MINUTE, 7 * HOUR]);
            let pause = self.random.between(0, longest);
            self.wait(pause);
            if self.random.percent(60) {
                let offset = arrived.to_string();
                let headers = [TUS, OCTETS, ("upload-offset", offset.as_str())];
                let who = Who::Worker(hand);
                let reply = self.send(who, "PATCH", &path, &headers, b"x").await;
                reply.expect(204);
                arrived += 1;
                let last = self.now();
                self.tasks[task].sending = Some(Sending { by, begun, last });
            }
            self.catch_up().await;
        }
        let gone = self.send(Who::Worker(hand), "DELETE", &path, &[TUS], b"");
        gone.await.expect(204);
        self.tasks[task].sending = None;
        self.catch_up().await;
    }

    /// The path of an upload that has one byte.
    async fn begin_upload(&mut self, task: usize, hand: usize) -> String {
        self.note(format!("worker {hand} begins to send a file"));
        let before = &self.tasks[task];
        let (id, kind) = (STANDARD.encode(&before.id), before.proof_types[0]);
        let metadata = format!("task_id {id},proof_type {}", STANDARD.encode(kind));
        let headers = [
            TUS,
            OCTETS,
            ("upload-length", "100"),
            ("upload-metadata", &metadata),
        ];
        let who = Who::Worker(hand);
        let begun = self.send(who, "POST", "/v1/worker/uploads", &headers, b"x");
        let begun = begun.await;
        assert_eq!(begun.status, 201, "{}", begun.text);
        begun.header("location").to_owned()
    }

    pub fn wait(&mut self, by: Millis) {
        let by = by.max(0);
        self.note(format!("{} s pass in live", by as f64 / 1_000.0));
        self.app.advance(Duration::from_millis(by.unsigned_abs()));
    }

    /// A task of live, or of an account's test environment, that the clock moves soon, and when.
    fn next_due(&mut self, account: Option<usize>) -> Option<(usize, Millis)> {
        let now = account.map_or(self.now(), |account| self.time_of(account, true));
        let there = self
            .tasks
            .iter()
            .enumerate()
            .filter(|(_, task)| match account {
                None => !task.test,
                Some(account) => task.test && task.developer == account,
            });
        let due = there.filter_map(|(number, task)| Some((number, task.next_by_clock()?.0)));
        let soon = now..now + 8 * DAY;
        let mut due: Vec<_> = due.filter(|(_, at)| soon.contains(at)).collect();
        due.sort_by_key(|(_, at)| *at);
        if self.random.percent(60) {
            // What somebody works on is worth more than what nobody has taken.
            due.sort_by_key(|(number, _)| self.tasks[*number].doer.is_none());
            due.truncate(3);
        }
        (!due.is_empty()).then(|| self.random.one_of(&due))
    }

    /// The clock does what is due in live, each move once.
    pub async fn catch_up(&mut self) {
        self.note("the clock catches up");
        let moved = self.app.scheduler.catch_up().await.unwrap();
        let mut expected = 0;
        for task in 0..self.tasks.len() {
            let before = &self.tasks[task];
            if before.test {
                continue;
            }
            let after = before.caught_up(self.now());
            let moves = after.history.len() - before.history.len();
            if moves > 0 {
                expected += moves;
                self.becomes(task, after);
                self.look_at(task).await;
            }
        }
        assert_eq!(moved, expected, "moves by the clock");
    }

    pub async fn wind(&mut self) {
        let account = self.random.below(self.accounts.len());
        let due = self
            .random
            .percent(50)
            .then(|| self.next_due(Some(account)))
            .flatten();
        let by = match due {
            Some((_, due)) => due - self.time_of(account, true) + self.random.between(-1, 1),
            None if self.random.percent(70) => self.random.between(1, 3 * HOUR),
            None => self.random.between(1, 9 * DAY),
        };
        self.wind_by(account, by.max(0)).await;
    }

    pub async fn wind_by(&mut self, account: usize, by: Millis) {
        let to = self.time_of(account, true) + by;
        self.note(format!(
            "account {account} winds its clock by {} s",
            by as f64 / 1_000.0
        ));
        let body = json!({ "at": moment(to) });
        let wound = self
            .post(Who::Test(account), CLOCK, &body)
            .await
            .expect(200);
        self.accounts[account].ahead += by;
        let ahead_seconds = self.accounts[account].ahead / 1_000;
        assert_eq!(
            wound,
            json!({"now": moment(to), "ahead_seconds": ahead_seconds})
        );
        for task in 0..self.tasks.len() {
            let before = &self.tasks[task];
            if !before.test || before.developer != account {
                continue;
            }
            let after = before.wound(to);
            if after != *before {
                self.becomes(task, after);
                self.look_at(task).await;
            }
        }
    }
}
