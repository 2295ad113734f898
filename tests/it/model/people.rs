//! Those who act, and how they reach the service.

use std::time::Duration;

use legwork::domain::Tier;
use serde_json::{Value, json};

use super::mandates::Agent;
use super::task::{DAY, Millis};
use super::world::World;
use crate::support::{Client, Developer, PASSWORD, Reply, Worker};

pub struct Account {
    pub developer: Developer,
    pub tier: Tier,
    /// Whether the default payment method is a good one, if there is one.
    pub method: Option<bool>,
    /// By how much the test clock is ahead.
    pub ahead: Millis,
    /// The keys with a mandate: live and test.
    pub agents: [Agent; 2],
}

pub struct Hand {
    pub worker: Worker,
    pub is_notary: bool,
    pub token: String,
    pub signed_in_at: Millis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    Live(usize),
    Test(usize),
    /// The limited key of an account, in test or not.
    Agent(usize, bool),
    Worker(usize),
    Nobody,
}

/// A move that the model allows: it may be asked for, cut off, and asked for again.
#[derive(Clone, Copy)]
pub struct Sure {
    pub task: Option<usize>,
    pub then: &'static str,
}

impl Account {
    pub fn fee_percent(&self, bounty: bool) -> i64 {
        match (self.tier, bounty) {
            (Tier::Enterprise, _) => 12,
            (_, false) => 16,
            (_, true) => 20,
        }
    }

    pub fn tasks_limit(&self) -> usize {
        match self.tier {
            Tier::Free => 100,
            Tier::Growth => 1_000,
            Tier::Pro => 10_000,
            Tier::Enterprise => 1_000_000,
        }
    }
}

impl World {
    fn client(&mut self, who: Who) -> Client {
        let key = match who {
            Who::Live(account) => Some(self.accounts[account].developer.live_key.clone()),
            Who::Test(account) => Some(self.accounts[account].developer.test_key.clone()),
            Who::Agent(account, test) => Some(self.agent(account, test).key.clone()),
            Who::Worker(hand) => Some(self.hands[hand].token.clone()),
            Who::Nobody => None,
        };
        let address = self.app.address;
        let new = || Client::new(address, key.as_deref());
        self.clients.entry(key.clone()).or_insert_with(new).clone()
    }

    /// A limit of requests is kept in memory: whoever runs into one starts the server anew.
    pub async fn send(
        &mut self,
        who: Who,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Reply {
        if let Who::Worker(hand) = who {
            self.sign_in_again(hand).await;
        }
        loop {
            let client = self.client(who);
            let reply = client.send(method, path, headers, body.to_vec()).await;
            if reply.status != 429 {
                return reply;
            }
            self.crash().await;
        }
    }

    pub async fn get(&mut self, who: Who, path: &str) -> Value {
        self.send(who, "GET", path, &[], b"").await.expect(200)
    }

    pub async fn post(&mut self, who: Who, path: &str, body: &Value) -> Reply {
        let body = body.to_string();
        self.send(who, "POST", path, &[], body.as_bytes()).await
    }

    /// Now and then the answer is not waited for, perhaps because the server dies. What then holds is
    /// what held before or what was asked for; and asked again, it has happened once.
    pub async fn post_once(
        &mut self,
        who: Who,
        path: &str,
        body: &Value,
        sure: Option<Sure>,
    ) -> Reply {
        let Some(sure) = sure.filter(|_| self.random.percent(6)) else {
            return self.post(who, path, body).await;
        };
        self.note("cut off, then again:");
        let key = format!("{:016x}", self.random.next());
        let headers = [("idempotency-key", key.as_str())];
        let patience = Duration::from_micros(self.random.next() % 3_000);
        if let Who::Worker(hand) = who {
            self.sign_in_again(hand).await;
        }
        let client = self.client(who);
        let _ = tokio::time::timeout(patience, client.post_with(path, &headers, body)).await;
        if self.random.percent(25) {
            self.crash().await;
        }
        if let Some(task) = sure.task {
            let found = self.get(self.owner(task), &self.path(task)).await;
            let allowed = [self.tasks[task].status, sure.then];
            let status = found["status"].as_str().unwrap();
            assert!(allowed.contains(&status), "{status} is none of {allowed:?}");
        }
        let body = body.to_string();
        loop {
            let reply = self.send(who, "POST", path, &headers, body.as_bytes());
            let reply = reply.await;
            if reply.body["error"]["code"] != "IDEMPOTENCY_IN_FLIGHT" {
                return reply;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Whose task it is, in its environment.
    pub fn owner(&self, task: usize) -> Who {
        let task = &self.tasks[task];
        match task.test {
            true => Who::Test(task.developer),
            false => Who::Live(task.developer),
        }
    }

    /// Mostly the owner; else somebody from whom the task is hidden.
    pub fn somebody(&mut self, task: usize) -> Who {
        let owner = self.owner(task);
        if self.random.percent(94) {
            return owner;
        }
        let account = self.random.below(self.accounts.len());
        match self.random.percent(50) {
            true => Who::Test(account),
            false => Who::Live(account),
        }
    }

    pub fn path(&self, task: usize) -> String {
        format!("/v1/tasks/{}", self.tasks[task].id)
    }

    /// Tokens are good for thirty days.
    async fn sign_in_again(&mut self, hand: usize) {
        if self.now() - self.hands[hand].signed_in_at < 30 * DAY {
            return;
        }
        let body = json!({"email": self.hands[hand].worker.email, "password": PASSWORD});
        let client = Client::new(self.app.address, None);
        let session = client.post("/v1/workers/sessions", &body).await.expect(201);
        self.hands[hand].token = session["token"].as_str().unwrap().to_owned();
        self.hands[hand].signed_in_at = self.now();
    }
}
