//! Compares what the service says with what the model thinks.

use std::collections::{BTreeMap, HashMap};

use legwork::domain::Timestamp;
use serde_json::{Value, json};

use super::developers::moment;
use super::people::Who;
use super::table::STATUSES;
use super::task::{Doer, Millis, Task};
use super::world::World;

/// The events of an account and environment: how many there were, and those of each task.
#[derive(Default)]
pub struct Told {
    count: u64,
    of_task: HashMap<String, Vec<(String, String)>>,
}

fn millis(value: &Value) -> Millis {
    Timestamp::RULE
        .check(value.as_str().unwrap())
        .unwrap()
        .as_millis()
}

impl World {
    /// The task as its owner reads it.
    pub async fn look_at(&mut self, task: usize) {
        let (who, path) = (self.owner(task), self.path(task));
        let found = self.get(who, &path).await;
        self.agree(&self.tasks[task], &found);
    }

    #[track_caller]
    pub fn agree(&self, task: &Task, found: &Value) {
        let fee = super::task::fee(task.budget, task.fee_percent);
        let worker_id = match task.doer {
            None => Value::Null,
            Some(Doer::Worker(hand)) => json!(self.hands[hand].worker.id),
            Some(Doer::Simulated) => found["worker_id"].clone(),
        };
        assert_eq!(found["worker_id"].is_null(), task.doer.is_none(), "{found}");
        let optional = |at: Option<Millis>| at.map(moment);
        let expected = json!({
            "id": task.id,
            "developer_id": self.accounts[task.developer].developer.account_id,
            "environment": if task.test { "test" } else { "live" },
            "title": task.title,
            "status": task.status,
            "budget_cents": task.budget,
            "platform_fee_cents": fee,
            "worker_payout_cents": task.budget - fee,
            "worker_id": worker_id,
            "deadline": optional(task.deadline),
            "proof_types": task.proof_types,
            "max_proof_attempts": 3,
            "assigned_at": optional(task.assigned_at),
            "started_at": optional(task.started_at),
            "completed_at": optional(task.completed_at),
            "cancelled_at": optional(task.cancelled_at),
            "created_at": moment(task.created_at),
            "updated_at": moment(task.updated_at),
        });
        let fields = expected.as_object().unwrap().keys();
        let shown: Value = fields
            .map(|field| (field.clone(), found[field].clone()))
            .collect();
        assert_eq!(shown, expected);
    }

    /// Everything: lists, events, ledgers, histories, counters, and the ledger as a whole.
    pub async fn check_all(&mut self) {
        self.note("all is looked at");
        for (account, test, who) in self.everybody() {
            self.check_totals(account, test, who).await;
            self.check_mandate(account, test).await;
            self.read_events(account, test, who).await;
        }
        for task in std::mem::take(&mut self.changed) {
            self.check_events(task);
            self.check_ledger(task).await;
            self.check_history(task).await;
            self.check_proofs(task).await;
        }
        for hand in 0..self.hands.len() {
            self.check_earnings(hand).await;
            self.check_record(hand).await;
        }
        assert_eq!(self.app.verify().await.differences, Vec::<String>::new());
    }

    /// Some of the counts, every time others.
    async fn check_totals(&mut self, account: usize, test: bool, who: Who) {
        for status in [(); 3].map(|()| self.random.one_of(&STATUSES)) {
            let path = format!("/v1/tasks?limit=1&status={status}");
            let total = self.get(who, &path).await["meta"]["total"].clone();
            let own = self
                .tasks
                .iter()
                .filter(|task| (task.developer, task.test) == (account, test));
            let expected = own.filter(|task| task.status == status).count();
            assert_eq!(total, expected, "{status} of {who:?}");
        }
        let usage = self.get(who, "/v1/account/usage").await;
        assert_eq!(
            usage["tasks_this_month"],
            self.this_month(account, test),
            "{who:?}"
        );
        assert_eq!(usage["tasks_limit"], self.accounts[account].tasks_limit());
    }

    /// Reads on from where it stopped; no number is left out.
    async fn read_events(&mut self, account: usize, test: bool, who: Who) {
        let mut told = self.told.remove(&(account, test)).unwrap_or_default();
        let (mut new, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = self
                .get(who, &format!("/v1/events?limit=100{cursor}"))
                .await;
            let events = page["data"].as_array().unwrap().clone();
            let unread = events
                .into_iter()
                .filter(|event| event["number"].as_u64() > Some(told.count));
            let unread: Vec<_> = unread.collect();
            let whole = unread.len() == 100;
            new.extend(unread);
            match page["meta"]["next_cursor"].as_str().filter(|_| whole) {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        for event in new.iter().rev() {
            told.count += 1;
            assert_eq!(event["number"], told.count, "{who:?}");
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            let of_task = told.of_task.entry(text(&event["data"]["id"])).or_default();
            of_task.push((text(&event["event"]), text(&event["data"]["status"])));
        }
        let own = self
            .tasks
            .iter()
            .filter(|task| (task.developer, task.test) == (account, test));
        let expected: usize = own.map(|task| task.events.len()).sum();
        assert_eq!(told.count, expected as u64, "events of {who:?}");
        self.told.insert((account, test), told);
    }

    fn check_events(&self, task: usize) {
        let task = &self.tasks[task];
        let told = &self.told[&(task.developer, task.test)].of_task[&task.id];
        let told = told
            .iter()
            .map(|(event, status)| (event.as_str(), status.as_str()));
        assert_eq!(told.collect::<Vec<_>>(), task.events, "{}", task.id);
    }

    async fn check_ledger(&mut self, task: usize) {
        let path = format!("{}/ledger?limit=100", self.path(task));
        let ledger = self.get(self.owner(task), &path).await;
        let entries = ledger["data"].as_array().unwrap();
        let shown: BTreeMap<_, BTreeMap<_, _>> = entries
            .iter()
            .map(|entry| {
                let postings = entry["postings"].as_array().unwrap().iter();
                let posting = |posting: &Value| {
                    (
                        posting["account"].as_str().unwrap().to_owned(),
                        posting["amount_cents"].as_i64().unwrap(),
                    )
                };
                (
                    entry["type"].as_str().unwrap().to_owned(),
                    postings.map(posting).collect(),
                )
            })
            .collect();
        assert_eq!(entries.len(), shown.len(), "a step twice: {ledger}");
        let task = &self.tasks[task];
        assert_eq!(json!(shown), json!(task.ledger), "{}", task.id);
        let first = entries.first().map(|entry| entry["type"].clone());
        assert_eq!(first.unwrap_or("payment".into()), "payment", "{ledger}");
    }

    async fn check_history(&mut self, task: usize) {
        let path = format!("{}/history?limit=100", self.path(task));
        let history = self.get(self.owner(task), &path).await;
        let shown = history["data"].as_array().unwrap();
        let expected = &self.tasks[task].history;
        assert_eq!(shown.len(), expected.len(), "{history}");
        for (shown, expected) in shown.iter().zip(expected) {
            assert_eq!(shown["from"], json!(expected.from));
            assert_eq!(shown["to"], expected.to);
            assert_eq!(millis(&shown["created_at"]), expected.at, "{shown}");
            if let Some(by) = expected.by {
                assert_eq!(shown["by"]["type"], by, "{shown}");
            }
        }
    }

    async fn check_proofs(&mut self, task: usize) {
        let path = format!("{}/proofs?limit=100", self.path(task));
        let proofs = self.get(self.owner(task), &path).await;
        let shown = proofs["data"].as_array().unwrap().iter();
        let shown: Vec<_> = shown
            .map(|proof| (proof["attempt_number"].clone(), proof["status"].clone()))
            .collect();
        let task = &self.tasks[task];
        let files = task.proof_types.len();
        let attempts = task.proofs.iter().enumerate();
        let expected: Vec<_> = attempts
            .flat_map(|(index, status)| vec![(json!(index + 1), json!(status)); files])
            .collect();
        assert_eq!(shown, expected, "{}", task.id);
    }

    /// What is kept of how a worker's work ended.
    async fn check_record(&mut self, hand: usize) {
        let profile = self.get(Who::Worker(hand), "/v1/worker").await;
        let outcomes = self.tasks.iter().flat_map(|task| &task.outcomes);
        let own: Vec<bool> = outcomes
            .filter(|(worker, _)| *worker == hand)
            .map(|(_, paid)| *paid)
            .collect();
        let paid = own.iter().filter(|paid| **paid).count();
        assert_eq!(profile["completed_tasks"], paid, "{hand}");
        let rate = (!own.is_empty()).then(|| paid as f64 / own.len() as f64);
        assert_eq!(profile["approval_rate"], json!(rate), "{hand}");
    }

    async fn check_earnings(&mut self, hand: usize) {
        let shown = self.get(Who::Worker(hand), "/v1/worker/earnings").await;
        let own = self
            .tasks
            .iter()
            .filter(|task| task.doer == Some(Doer::Worker(hand)));
        let (mut balance, mut paid) = (0, 0);
        for task in own {
            balance += task.transfer_due;
            paid += task
                .ledger
                .get("transfer")
                .map_or(0, |entry| entry["processor"]);
        }
        assert_eq!(
            (&shown["balance_cents"], &shown["paid_cents"]),
            (&json!(balance), &json!(paid))
        );
        let payouts = shown["payouts"].as_array().unwrap();
        // The list ends there.
        if payouts.len() < 100 {
            let sum = |field| payouts.iter().filter_map(|one| one[field].as_i64()).sum();
            let listed: [i64; 2] = ["pending_cents", "paid_cents"].map(sum);
            assert_eq!(listed, [balance, paid], "{payouts:?}");
        }
    }
}
