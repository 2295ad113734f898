//! A service, those who use it, and what the model thinks of them all.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use legwork::domain::{Action, Tier};
use serde_json::Value;

use super::check::Told;
use super::mandates::Agent;
use super::mandates::quotes::Quoted;
use super::people::{Account, Hand, Who};
use super::random::Random;
use super::task::{DAY, Millis, Task};
use crate::support::{Client, Database, Flaky, Reply, TestApp};

pub struct World {
    pub app: TestApp,
    pub processor: Flaky,
    pub clients: HashMap<Option<String>, Client>,
    pub random: Random,
    pub accounts: Vec<Account>,
    pub hands: Vec<Hand>,
    pub tasks: Vec<Task>,
    pub quotes: Vec<Quoted>,
    /// With which a task can be paid for, where the answer of its creation said so.
    pub secrets: HashMap<usize, String>,
    /// What admins have decided: the same once more is no mistake.
    pub verdicts: HashMap<usize, Action>,
    /// Tasks that changed since all was looked at.
    pub changed: BTreeSet<usize>,
    /// Until then, jobs may belong to somebody who died.
    pub leased_until: Millis,
    /// What events have said so far, for each account and environment.
    pub told: BTreeMap<(usize, bool), Told>,
    seed: u64,
    steps: Vec<String>,
}

/// What a step should lead to: the task as it is then, or a refusal.
pub type Expected = Result<(u16, Task), (u16, &'static str)>;

pub const NOT_FOUND: (u16, &str) = (404, "TASK_NOT_FOUND");
pub const WRONG_STATE: (u16, &str) = (409, "INVALID_TASK_STATE");

impl World {
    pub async fn create(database: Arc<Database>, seed: u64) -> Self {
        let (app, processor) = TestApp::start_flaky(&database).await;
        let now = app.clock.now().as_millis();
        let mut accounts = Vec::new();
        for tier in [Tier::Free, Tier::Pro, Tier::Enterprise] {
            let developer = app.developer_on(tier).await;
            let live = Agent::create(&developer, "live").await;
            let test = Agent::create(&developer, "test").await;
            accounts.push(Account {
                developer,
                tier,
                method: None,
                ahead: 0,
                agents: [live, test],
            });
        }
        let mut hands = Vec::new();
        for is_notary in [true, true, false, false] {
            let skills: &[&str] = if is_notary { &["notary"] } else { &[] };
            let worker = app.sign_up(skills).await;
            worker.confirm(&app, skills).await;
            worker.become_ready(&app).await;
            hands.push(Hand {
                token: worker.client.key().to_owned(),
                worker,
                is_notary,
                signed_in_at: now,
            });
        }
        app.jobs.drain().await.unwrap();
        Self {
            app,
            processor,
            clients: HashMap::new(),
            random: Random::new(seed),
            accounts,
            hands,
            tasks: Vec::new(),
            quotes: Vec::new(),
            secrets: HashMap::new(),
            changed: BTreeSet::new(),
            verdicts: HashMap::new(),
            leased_until: 0,
            told: BTreeMap::new(),
            seed,
            steps: Vec::new(),
        }
    }

    pub fn now(&self) -> Millis {
        self.app.clock.now().as_millis()
    }

    /// What time it is where a task lives.
    pub fn time_of(&self, developer: usize, test: bool) -> Millis {
        let ahead = self.accounts[developer].ahead;
        self.now() + if test { ahead } else { 0 }
    }

    pub fn time_at(&self, task: usize) -> Millis {
        self.time_of(self.tasks[task].developer, self.tasks[task].test)
    }

    pub fn note(&mut self, what: impl Into<String>) {
        self.steps.push(what.into());
    }

    pub async fn step(&mut self) {
        match self.random.below(100) {
            0..=9 => self.create_task().await,
            10..=11 => self.make_quote().await,
            12..=14 if !self.quotes.is_empty() => self.redeem_quote().await,
            15..=79 if !self.tasks.is_empty() => self.act().await,
            80..=83 => self.time_passes().await,
            84..=87 => self.catch_up().await,
            88..=92 => self.drain().await,
            93 => self.die_while_draining().await,
            94..=95 => self.wind().await,
            96 => self.change_method().await,
            97 if self.random.percent(40) => self.crash().await,
            _ => self.list().await,
        }
        self.check_mandates().await;
    }

    /// Somebody does something to a task, mostly what comes next.
    async fn act(&mut self) {
        let task = self.pick();
        let usual = usual(&self.tasks[task]);
        let what = match self.random.percent(75) && !usual.is_empty() {
            true => self.random.one_of(usual),
            false => self.random.one_of(&ANYTHING),
        };
        self.act_on(task, what).await;
    }

    pub async fn act_on(&mut self, task: usize, what: &'static str) {
        let (number, status) = (task, self.tasks[task].status);
        self.note(format!("{what} task {number}, which is {status}"));
        match what {
            "pay" => self.pay(task).await,
            "patch" => self.patch(task).await,
            "cancel" => self.cancel(task).await,
            "accept" => self.accept(task).await,
            "start" | "release" | "dispute" => self.work(task, what).await,
            "submit" => self.submit(task).await,
            "review" => self.review(task).await,
            "decide" => self.decide(task).await,
            "agree" => self.decide_approval(task, "approve").await,
            "refuse" => self.decide_approval(task, "refuse").await,
            "advance" => self.advance(task).await,
            _ => self.simulate_proof(task).await,
        }
    }

    /// A task that is still open, mostly; of two the one that has come further.
    fn pick(&mut self) -> usize {
        let task = self.random.below(self.tasks.len());
        if self.random.percent(12) {
            return task;
        }
        let open = |task: &usize| !self.tasks[*task].is_final();
        let after = (task..self.tasks.len()).chain(0..task);
        let moves = |task: &usize| self.tasks[*task].history.len();
        let found = after.filter(open).take(2).max_by_key(moves);
        found.unwrap_or(task)
    }

    /// Compares an answer with what it should be, and the task as it can then be read.
    pub async fn expect(&mut self, task: usize, reply: Reply, expected: Expected) -> Value {
        let body = match expected {
            Ok((status, after)) => {
                self.becomes(task, after);
                reply.expect(status)
            }
            Err((status, code)) => reply.expect_error(status, code).body,
        };
        self.look_at(task).await;
        body
    }

    pub fn becomes(&mut self, task: usize, after: Task) {
        self.tasks[task] = after;
        self.changed.insert(task);
    }

    /// The server is gone, and another one takes over what the database holds.
    pub async fn crash(&mut self) {
        self.note("crash");
        let now = self.app.clock.now();
        let (app, processor) = TestApp::start_flaky(&self.app.database).await;
        app.clock.move_to(now);
        (self.app, self.processor) = (app, processor);
        self.clients.clear();
    }

    /// All time passes and everything is done: every task is over, and every cent where it belongs.
    pub async fn come_to_an_end(&mut self) {
        self.note("the end");
        self.wait(self.leased_until - self.now() + 1);
        self.drain().await;
        for _ in 0..3 {
            self.wait(31 * DAY);
            self.catch_up().await;
        }
        for account in 0..self.accounts.len() {
            self.wind_by(account, 100 * DAY).await;
        }
        self.drain().await;
        self.check_mandates().await;
        self.changed = (0..self.tasks.len()).collect();
        self.check_all().await;
        for task in 0..self.tasks.len() {
            self.look_at(task).await;
        }
        let open = self.tasks.iter().filter(|task| !task.is_final());
        let open: Vec<_> = open.map(|task| (&task.id, task.status)).collect();
        assert_eq!(open, []);
        TestApp::expect_settled(&self.app.verify().await);
    }

    pub fn everybody(&self) -> Vec<(usize, bool, Who)> {
        let both = |account| {
            [
                (account, false, Who::Live(account)),
                (account, true, Who::Test(account)),
            ]
        };
        (0..self.accounts.len()).flat_map(both).collect()
    }
}

const ANYTHING: [&str; 14] = [
    "pay",
    "patch",
    "cancel",
    "accept",
    "start",
    "release",
    "dispute",
    "submit",
    "review",
    "decide",
    "advance",
    "simulate proof",
    "agree",
    "refuse",
];

/// What one would do next with a task.
fn usual(task: &Task) -> &'static [&'static str] {
    match (task.test, task.status) {
        _ if task.waits() => &[
            "agree", "agree", "agree", "refuse", "pay", "patch", "cancel",
        ],
        (false, "pending") => &["pay", "pay", "pay", "pay", "pay", "patch"],
        (false, "posted") => &["accept"],
        (false, "assigned") => &["start", "start", "start", "start", "start", "release"],
        (false, "in_progress") => &["submit", "submit", "submit", "submit", "submit", "release"],
        (false, "proof_rejected") => &["submit", "submit", "dispute", "dispute", "release"],
        (_, "proof_submitted") => &["review"],
        (false, "disputed") => &["decide"],
        (false, "cancelled" | "expired") => &["pay", "pay", "cancel"],
        (true, "in_progress" | "proof_rejected") => &["simulate proof", "advance"],
        (true, "funded" | "posted" | "assigned" | "disputed") => &["advance"],
        _ => &[],
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let last = self.steps.len().saturating_sub(25);
            eprintln!(
                "the scenario that the model did not foresee: LEGWORK_TEST_SEED={}, after {} notes; its end:\n  {}",
                self.seed,
                self.steps.len(),
                self.steps[last..].join("\n  ")
            );
        }
    }
}
