//! Stripe as our server meets it: in front of localstripe, with what that lacks.
//!
//! It takes every request as the real one would and writes it down. localstripe gets it without the
//! parameters it does not know; Idempotency-Keys, Connect and paging are done here. It can lose an
//! answer, or be down.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use legwork::domain::accounts::api_key::hex;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::connect::Connect;
use super::exchange::{Answer, Asked, Pairs, encoded, page, read};
use super::peers;
use crate::support::{Client, Reply};

pub const KEY: &str = "sk_test_legwork";
/// What localstripe does not know.
const UNKNOWN: [&str; 3] = [
    "transfer_group",
    "description",
    "automatic_payment_methods[enabled]",
];

#[derive(Default)]
struct State {
    exchanges: Vec<(Asked, Answer)>,
    /// By their Idempotency-Key.
    answered: HashMap<String, (Asked, Answer)>,
    /// What was made here: localstripe serves other tests as well.
    made: HashSet<String>,
    connect: Connect,
    /// Refunds that did not reach anybody.
    failed_refunds: HashSet<String>,
    down: bool,
    refusing: bool,
    loses: Option<String>,
    answers: Option<(String, Trouble)>,
}

/// What comes of the next request that changes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It is refused, and nothing is done.
    Refused,
    /// Stripe fails, and nothing is done.
    Failed,
    /// Stripe fails after it was done.
    FailedLate,
}

#[derive(Clone)]
pub struct Adapter {
    pub address: SocketAddr,
    localstripe: Client,
    state: Arc<Mutex<State>>,
}

/// The connection ends without an answer.
#[derive(Debug)]
struct Lost;

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("lost")
    }
}

impl std::error::Error for Lost {}

impl Adapter {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let adapter = Self {
            address: listener.local_addr().unwrap(),
            localstripe: peers::localstripe(KEY),
            state: Arc::default(),
        };
        let serving = adapter.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let adapter = serving.clone();
                let service = service_fn(move |request| adapter.clone().serve(request));
                let connection = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service);
                tokio::spawn(connection);
            }
        });
        adapter
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Whether it is there at all.
    pub fn set_down(&self, down: bool) {
        self.state().down = down;
    }

    /// Whether it refuses everything, for good.
    pub fn set_refusing(&self, refusing: bool) {
        self.state().refusing = refusing;
    }

    /// The next request that changes something at a path that ends so is done, but nobody hears of it.
    pub fn lose_answer(&self, path: &str) {
        self.state().loses = Some(path.to_owned());
    }

    /// The next request that changes something at a path that ends so gets into trouble. The answer is kept
    /// with its key, like any other.
    pub fn trouble(&self, path: &str, trouble: Trouble) {
        self.state().answers = Some((path.to_owned(), trouble));
    }

    /// A day goes by.
    pub fn forget_keys(&self) {
        self.state().answered.clear();
    }

    /// The requests to a path that ends so.
    pub fn asked(&self, method: &str, path: &str) -> Vec<Asked> {
        let state = self.state();
        let asked = state.exchanges.iter().map(|(asked, _)| asked);
        asked
            .filter(|asked| asked.method == method && asked.path.ends_with(path))
            .cloned()
            .collect()
    }

    /// Somebody pays with the client secret, in a browser.
    pub async fn pay(&self, client_secret: &str, method: &str) -> Answer {
        let (intent, _) = client_secret.split_once("_secret_").unwrap();
        self.confirm(intent, method).await
    }

    pub async fn intent(&self, id: &str) -> Value {
        let path = format!("/v1/payment_intents/{id}");
        self.localstripe.get(&path).await.expect(200)
    }

    /// Tells localstripe where to send its notices.
    pub async fn send_notices_to(&self, url: &str, secret: &str) {
        let id = hex(&legwork::ambient::random::<8>());
        let form = encoded(&[
            ("url".to_owned(), url.to_owned()),
            ("secret".to_owned(), secret.to_owned()),
        ]);
        let path = format!("/_config/webhooks/{id}");
        let told = self.forward("POST", &path, form).await;
        assert_eq!(told.status, 200, "{}", told.text);
    }

    /// A worker completes an account; returns it as a notice would tell it.
    pub fn complete_account(&self, account: &str) -> Value {
        self.state().connect.complete(account)
    }

    /// A refund does not reach the payer; returns it as a notice would tell it.
    pub async fn fail_refund(&self, number: usize) -> Value {
        let found = self.state().exchanges.clone();
        let mut made = found
            .iter()
            .filter(|(asked, _)| asked.method == "POST" && asked.path.ends_with("/refunds"));
        let (_, answer) = made.nth(number).unwrap();
        let id = answer.body["id"].as_str().unwrap().to_owned();
        self.state().failed_refunds.insert(id);
        failed(answer.body.clone())
    }

    /// A part of a transfer, or all of it, is reversed; returns it as a notice would tell it.
    pub fn reverse_transfer(&self, number: usize, cents: i64) -> Value {
        self.state().connect.reverse(number, cents)
    }

    pub fn add_dispute(&self, dispute: Value) {
        self.state().connect.disputes.push(dispute);
    }

    pub fn transfers(&self) -> Vec<Value> {
        self.state().connect.transfers.clone()
    }

    /// Everything that was asked is what Stripe's documentation allows, and everything answered is
    /// what it promises. Returns how much that was.
    pub fn expect_as_documented(&self) -> usize {
        let state = self.state();
        for (asked, answer) in &state.exchanges {
            let authorized = asked.header("authorization") == Some(&format!("Bearer {KEY}"));
            assert!(authorized, "{asked:?}");
            assert_eq!(asked.header("stripe-version"), Some("2024-06-20"));
            let has_key = asked
                .header("idempotency-key")
                .is_some_and(|key| key.len() > 20);
            assert_eq!(has_key, asked.method == "POST", "{asked:?}");
            let faults = peers::faults(&json!({
                "method": asked.method,
                "path": asked.path,
                "query": asked.query,
                "form": asked.form,
                "status": answer.status,
                "answer": answer.body,
                "strict": !answer.by_localstripe,
            }));
            assert_eq!(faults, Vec::<String>::new(), "{asked:?} {answer:?}");
        }
        state.exchanges.len()
    }

    async fn serve(self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Lost> {
        // A notice of localstripe to the server of an earlier test, which had this port.
        let is_stray = request.uri().path() == "/hooks/stripe";
        if self.state().down || is_stray {
            return Err(Lost);
        }
        let asked = read(request).await;
        let refusing = self.state().refusing;
        let answer = match refusing {
            true => Answer::error(400, "account_closed", "The account was closed."),
            false => self.answer_once(&asked).await,
        };
        let mut state = self.state();
        state.exchanges.push((asked.clone(), answer.clone()));
        if state
            .loses
            .as_ref()
            .is_some_and(|path| asked.method == "POST" && asked.path.ends_with(path))
        {
            state.loses = None;
            return Err(Lost);
        }
        let body = Full::new(answer.body.to_string().into());
        let response = Response::builder().status(answer.status);
        Ok(response.body(body).unwrap())
    }

    async fn answer_once(&self, asked: &Asked) -> Answer {
        let Some(key) = asked.header("idempotency-key") else {
            return self.answer(asked).await;
        };
        let known = self.state().answered.get(key).cloned();
        if let Some((first, answer)) = known {
            if (&first.path, &first.form) == (&asked.path, &asked.form) {
                return answer;
            }
            let mut refused = Answer::error(400, "", "The key was used for another request.");
            refused.body["error"]["type"] = json!("idempotency_error");
            return refused;
        }
        let answer = match self.trouble_with(asked) {
            None => self.answer(asked).await,
            Some(Trouble::Refused) => {
                Answer::error(400, "balance_insufficient", "Not enough money.")
            }
            Some(Trouble::Failed) => Answer::failure(),
            Some(Trouble::FailedLate) => {
                self.answer(asked).await;
                Answer::failure()
            }
        };
        let kept = (asked.clone(), answer.clone());
        self.state().answered.insert(key.to_owned(), kept);
        answer
    }

    fn trouble_with(&self, asked: &Asked) -> Option<Trouble> {
        let mut state = self.state();
        let meant = |(path, _): &mut (String, Trouble)| asked.path.ends_with(path.as_str());
        state.answers.take_if(meant).map(|(_, trouble)| trouble)
    }

    async fn answer(&self, asked: &Asked) -> Answer {
        let parts: Vec<&str> = asked.path.trim_start_matches("/v1/").split('/').collect();
        match (asked.method.as_str(), parts.as_slice()) {
            ("POST", ["payment_intents" | "refunds"]) => {
                let made = self.relay(asked).await;
                let id = made.body["id"].as_str().map(str::to_owned);
                self.state().made.extend(id);
                made
            }
            ("POST", ["payment_intents", id, "confirm"]) => {
                // Such an intent may send people elsewhere, and Stripe wants to know where to.
                if asked.field("return_url").is_none() {
                    return Answer::error(
                        400,
                        "parameter_missing",
                        "You must provide a return_url",
                    );
                }
                let method = asked.field("payment_method").unwrap();
                self.confirm(id, method).await
            }
            ("GET", ["payment_intents" | "refunds"]) => self.list(asked).await,
            ("POST", ["accounts"]) => self.state().connect.open_account(asked),
            ("POST", ["account_links"]) => self.state().connect.link(asked),
            ("POST", ["transfers"]) => {
                let charge = self.charge_of(asked.field("transfer_group")).await;
                self.state().connect.transfer(asked, charge.as_deref())
            }
            ("GET", ["transfers"]) => {
                let group = asked.field("transfer_group");
                let transfers = self.state().connect.transfers(group);
                page(asked, transfers, false)
            }
            ("GET", ["disputes"]) => {
                let disputes = self.state().connect.disputes(asked.field("payment_intent"));
                page(asked, disputes, false)
            }
            _ => self.relay(asked).await,
        }
    }

    async fn forward(&self, method: &str, path: &str, form: String) -> Reply {
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        self.localstripe.send(method, path, &headers, form).await
    }

    async fn relay(&self, asked: &Asked) -> Answer {
        let form = asked.form_without(&UNKNOWN);
        let path = match encoded(&asked.query) {
            query if query.is_empty() => asked.path.clone(),
            query => format!("{}?{query}", asked.path),
        };
        Answer::relayed(self.forward(&asked.method, &path, form).await)
    }

    /// localstripe wants the method to be set first, and does not look whether it may be.
    async fn confirm(&self, id: &str, method: &str) -> Answer {
        let path = format!("/v1/payment_intents/{id}");
        let intent = self.intent(id).await;
        let status = intent["status"].as_str().unwrap();
        if ["succeeded", "canceled"].contains(&status) {
            let code = "payment_intent_unexpected_state";
            return Answer::error(
                400,
                code,
                &format!("This PaymentIntent's status is {status}."),
            );
        }
        let known = self
            .localstripe
            .get(&format!("/v1/payment_methods/{method}"))
            .await;
        if known.status != 200 {
            let missing = Answer::error(400, "resource_missing", "No such PaymentMethod");
            return missing.about("payment_method");
        }
        let form = encoded(&[("payment_method".to_owned(), method.to_owned())]);
        self.forward("POST", &path, form).await.expect(200);
        let confirm = format!("{path}/confirm");
        Answer::relayed(self.forward("POST", &confirm, String::new()).await)
    }

    async fn list(&self, asked: &Asked) -> Answer {
        let mut found = Vec::new();
        loop {
            let mut query: Pairs = asked.query.clone();
            // localstripe filters neither by these nor by pages of ours.
            let ours = ["limit", "starting_after", "customer", "created[gte]"];
            query.retain(|(name, _)| !ours.contains(&name.as_str()));
            query.push(("limit".to_owned(), "100".to_owned()));
            let last = found
                .last()
                .map(|last: &Value| last["id"].as_str().unwrap().to_owned());
            query.extend(last.map(|last| ("starting_after".to_owned(), last)));
            let path = format!("{}?{}", asked.path, encoded(&query));
            let reply = self.localstripe.get(&path).await.expect(200);
            found.extend(reply["data"].as_array().unwrap().iter().cloned());
            if reply["has_more"] == false {
                break;
            }
        }
        let state = self.state();
        found.retain(|item| state.made.contains(item["id"].as_str().unwrap()));
        if let Some(customer) = asked.field("customer") {
            found.retain(|item| item["customer"] == customer);
        }
        if let Some(since) = asked.field("created[gte]") {
            let since: i64 = since.parse().unwrap();
            found.retain(|item| item["created"].as_i64() >= Some(since));
        }
        for item in &mut found {
            if state.failed_refunds.contains(item["id"].as_str().unwrap()) {
                *item = failed(item.take());
            }
        }
        page(asked, found, true)
    }

    /// The charge that paid for a task.
    async fn charge_of(&self, task: Option<&str>) -> Option<String> {
        let made: Vec<String> = self.state().made.iter().cloned().collect();
        for id in made.iter().filter(|id| id.starts_with("pi_")) {
            let intent = self.intent(id).await;
            if intent["metadata"]["task"].as_str() == task {
                return intent["latest_charge"]["id"].as_str().map(str::to_owned);
            }
        }
        None
    }
}

fn failed(mut refund: Value) -> Value {
    refund["status"] = json!("failed");
    refund["failure_reason"] = json!("lost_or_stolen_card");
    refund
}
