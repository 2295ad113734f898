//! What developers do: create, reword, pay, cancel, review, list.

use legwork::domain::Timestamp;
use legwork::payments::sandbox::{Card, Paid};
use legwork::usecases;
use serde_json::{Value, json};

use super::mandates::APPROVAL_CENTS;
use super::people::{Sure, Who};
use super::table::STATUSES;
use super::task::{DAY, HOUR, Made, Millis, Payment, Task};
use super::world::{Expected, NOT_FOUND, WRONG_STATE, World};
use crate::support::{GOOD_CARD, storefront};

const PROOF_TYPES: [&[&str]; 3] = [&["photo"], &["signature"], &["photo", "signature"]];
const METHODS: [(Option<bool>, &str); 3] = [
    (Some(true), "pm_card_visa"),
    (Some(false), "pm_card_chargeDeclined"),
    (None, ""),
];

pub fn moment(millis: Millis) -> String {
    Timestamp::from_millis(millis).to_string()
}

/// The year and the month.
pub fn month(millis: Millis) -> String {
    moment(millis)[..7].to_owned()
}

/// What somebody wants a task to be.
#[derive(Clone, Debug)]
pub struct Wish {
    budget: i64,
    bounty: bool,
    deadline: Option<Millis>,
    needs_notary: bool,
    proof_types: &'static [&'static str],
}

impl Wish {
    pub fn is_valid(&self) -> bool {
        self.budget >= 500
    }

    pub fn body(&self) -> Value {
        let mut body = storefront();
        body["budget_cents"] = self.budget.into();
        body["proof_types"] = json!(self.proof_types);
        body["task_type"] = if self.bounty { "bounty" } else { "standard" }.into();
        body["deadline"] = self.deadline.map(moment).into();
        if self.needs_notary {
            body["required_skills"] = json!(["notary"]);
        }
        body
    }
}

impl World {
    /// One of the keys of an account: a limited one, or one that may do everything.
    pub fn some_key(&mut self) -> (usize, bool, Who) {
        let account = self.random.below(self.accounts.len());
        let test = self.random.percent(40);
        let who = match (self.random.percent(40), test) {
            (true, test) => Who::Agent(account, test),
            (false, true) => Who::Test(account),
            (false, false) => Who::Live(account),
        };
        (account, test, who)
    }

    pub async fn create_task(&mut self) {
        let (account, test, who) = self.some_key();
        self.note(format!("{who:?} creates task {}", self.tasks.len()));
        let wish = self.wish(account, test);
        let task = self.imagine(&wish, who);
        let expected = match wish.is_valid() {
            true => self.may_create(&task),
            false => Err((400, "VALIDATION_ERROR")),
        };
        let sure = expected.is_ok().then_some(Sure {
            task: None,
            then: "",
        });
        let reply = self.post_once(who, "/v1/tasks", &wish.body(), sure).await;
        match expected {
            Ok(()) => self.created(task, &reply.expect(201)).await,
            Err((status, code)) => drop(reply.expect_error(status, code)),
        }
    }

    /// Whether the limits of its key and of its account leave room for a task.
    pub fn may_create(&self, task: &Task) -> Result<(), (u16, &'static str)> {
        let limit = self.accounts[task.developer].tasks_limit();
        if task.limited && !self.mandate_allows(task) {
            Err((403, "MANDATE_EXCEEDED"))
        } else if self.this_month(task.developer, task.test) >= limit {
            Err((403, "TASK_LIMIT_EXCEEDED"))
        } else {
            Ok(())
        }
    }

    pub async fn created(&mut self, mut task: Task, created: &Value) {
        task.id = created["id"].as_str().unwrap().to_owned();
        let secret = created["payment_client_secret"].as_str();
        assert_eq!(
            secret.is_some(),
            task.payment == Payment::Unpaid,
            "{created}"
        );
        if let Some(secret) = secret {
            self.secrets.insert(self.tasks.len(), secret.to_owned());
        }
        self.agree(&task, created);
        self.changed.insert(self.tasks.len());
        self.tasks.push(task);
        self.look_at(self.tasks.len() - 1).await;
    }

    pub fn wish(&mut self, account: usize, test: bool) -> Wish {
        let now = self.time_of(account, test);
        let deadline = self.random.percent(35);
        let last = self.random.one_of(&[2 * DAY, 20 * DAY]);
        Wish {
            bounty: self.random.percent(20),
            deadline: deadline.then(|| now + self.random.between(-HOUR, last)),
            needs_notary: self.random.percent(15),
            proof_types: self.random.one_of(&PROOF_TYPES),
            budget: match self.random.percent(3) {
                true => 499,
                false => self.random.between(500, 9_999),
            },
        }
    }

    /// The task that a wish becomes, if somebody creates it now with that key.
    pub fn imagine(&self, wish: &Wish, who: Who) -> Task {
        let (developer, test, limited) = match who {
            Who::Agent(account, test) => (account, test, true),
            Who::Test(account) => (account, true, false),
            Who::Live(account) => (account, false, false),
            Who::Worker(_) | Who::Nobody => unreachable!("{who:?} creates no task"),
        };
        let now = self.time_of(developer, test);
        let waits = limited && wish.budget > APPROVAL_CENTS;
        let overdue = wish.deadline.is_some_and(|deadline| deadline <= now);
        let task = Task {
            id: String::new(),
            developer,
            test,
            limited,
            approval: waits.then_some("waiting"),
            title: "Photograph a storefront".to_owned(),
            needs_notary: wish.needs_notary,
            proof_types: wish.proof_types,
            budget: wish.budget,
            fee_percent: self.accounts[developer].fee_percent(wish.bounty),
            deadline: wish.deadline,
            status: "pending",
            since: now,
            doer: None,
            proofs: Vec::new(),
            created_at: now,
            really_created_at: self.now(),
            updated_at: now,
            funded_at: None,
            assigned_at: None,
            started_at: None,
            completed_at: None,
            cancelled_at: None,
            payment: match (test, self.accounts[developer].method) {
                (true, _) => Payment::NotRequired,
                (false, _) if waits => Payment::Later,
                (false, None) if overdue => Payment::Later,
                (false, None) => Payment::Unpaid,
                (false, Some(good)) => Payment::Charging { good },
            },
            failure: None,
            refund_due: 0,
            transfer_due: 0,
            in_doubt: false,
            events: vec![("task.created", "pending")],
            history: vec![Made {
                from: None,
                to: "pending",
                by: Some("developer"),
                at: now,
            }],
            ledger: Default::default(),
            outcomes: Vec::new(),
            sending: None,
        };
        if waits {
            return task.asking();
        }
        let funded = test.then(|| task.moved("payment succeeds", Some("processor"), now));
        funded.flatten().unwrap_or(task)
    }

    pub fn this_month(&self, developer: usize, test: bool) -> usize {
        let now = month(self.now());
        let own = self
            .tasks
            .iter()
            .filter(|task| (task.developer, task.test) == (developer, test));
        own.filter(|task| month(task.really_created_at) == now)
            .count()
    }

    /// What a developer's move leads to.
    fn expected_of(&self, who: Who, task: usize, trigger: &str, status: u16) -> Expected {
        if who != self.owner(task) {
            return Err(NOT_FOUND);
        }
        let moved = self.tasks[task].moved(trigger, Some("developer"), self.time_at(task));
        Ok((status, moved.ok_or(WRONG_STATE)?))
    }

    pub async fn cancel(&mut self, task: usize) {
        let who = self.somebody(task);
        let mut expected = self.expected_of(who, task, "cancel", 200);
        let mut body = json!({});
        if let (Ok((_, after)), 0..40) = (&expected, self.random.below(100)) {
            let differs = self.random.percent(30);
            body["expected_refund_cents"] = (after.refund() + i64::from(differs)).into();
            if differs {
                expected = Err((409, "REFUND_DIFFERS"));
            }
        }
        let sure = sure(task, &expected);
        let path = format!("{}/cancel", self.path(task));
        let reply = self.post_once(who, &path, &body, sure).await;
        let answer = self.expect(task, reply, expected.clone()).await;
        if expected.is_ok() {
            assert_eq!(answer["status"], "cancelled");
            assert_eq!(answer["cancelled_at"], moment(self.time_at(task)));
        }
    }

    pub async fn patch(&mut self, task: usize) {
        let who = self.somebody(task);
        let mut after = self.tasks[task].clone();
        let now = self.time_at(task);
        let body = match self.random.below(10) {
            0 => json!({"title": " "}),
            1..=4 => {
                after.title = format!("Look again at {now}");
                json!({ "title": after.title })
            }
            _ => {
                after.deadline = Some(now + self.random.between(-HOUR, 20 * DAY));
                json!({ "deadline": after.deadline.map(moment) })
            }
        };
        after.updated_at = now;
        let expected = if body["title"] == " " {
            Err((400, "VALIDATION_ERROR"))
        } else if who != self.owner(task) {
            Err(NOT_FOUND)
        } else if after.status != "pending" {
            Err(WRONG_STATE)
        } else {
            Ok((200, after))
        };
        let (path, body) = (self.path(task), body.to_string());
        let reply = self.send(who, "PATCH", &path, &[], body.as_bytes()).await;
        self.expect(task, reply, expected).await;
    }

    /// On the page of the processor. What is in doubt there is left alone until it is known.
    pub async fn pay(&mut self, task: usize) {
        if self.tasks[task].test || self.tasks[task].in_doubt {
            return;
        }
        let path = format!("{}/payment", self.path(task));
        let payment = self.get(self.owner(task), &path).await;
        let before = &self.tasks[task];
        let over = before.is_final() || before.is_overdue(self.now());
        let payable = before.payment == Payment::Unpaid && !over;
        let shown = payment["payment_client_secret"].as_str();
        assert_eq!(shown.is_some(), payable, "{payment}");
        assert_eq!(payment["status"], before.payment_status(), "{payment}");
        let known = self.secrets.get(&task).map(String::as_str);
        let Some(secret) = shown.or(known).map(str::to_owned) else {
            return;
        };
        let (card, failure) = self.random.one_of(&[
            (GOOD_CARD, ""),
            (GOOD_CARD, ""),
            (GOOD_CARD, ""),
            ("4000000000000002", "card_declined"),
            ("4000000000009995", "insufficient_funds"),
        ]);
        let before = &self.tasks[task];
        let (status, after) = match before.payment {
            Payment::Paid => (200, before.clone()),
            Payment::CalledOff => (409, before.clone()),
            _ if over => (409, before.clone()),
            _ if card != GOOD_CARD => (402, before.declined(failure)),
            _ => (200, before.paid(self.now()).unwrap()),
        };
        let too_late = over && before.payment == Payment::Unpaid && card == GOOD_CARD;
        let form = [("content-type", "application/x-www-form-urlencoded")];
        let (page, body) = (format!("/pay/{secret}"), format!("card={card}"));
        let paid = self
            .send(Who::Nobody, "POST", &page, &form, body.as_bytes())
            .await;
        assert_eq!(paid.status, status, "{}", paid.text);
        self.becomes(task, after);
        if too_late {
            self.pay_too_late(task, &secret).await;
        }
        self.look_at(task).await;
    }

    /// Past the page, as with a processor whose page is not ours: it takes the payment all the same.
    async fn pay_too_late(&mut self, task: usize, secret: &str) {
        let sandbox = self.app.payments.sandbox.clone().unwrap();
        let payment = sandbox.payment(secret).await.unwrap().unwrap();
        let paid = sandbox.pay(&payment, Card::Good).await.unwrap();
        let Paid::Yes { event } = paid else {
            panic!("{paid:?}");
        };
        let now = self.app.clock.now();
        let received = self
            .app
            .store
            .write(move |tx| usecases::receive_sandbox_event(tx, &event, now));
        received.await.unwrap();
        let before = &self.tasks[task];
        let after = match before.is_final() {
            true => before.paid_too_late(),
            false => before.paid(self.now()).unwrap(),
        };
        self.becomes(task, after);
    }

    pub async fn review(&mut self, task: usize) {
        let who = self.somebody(task);
        let (proof, attempt) = self.some_proof(task).await;
        let verdict = self.random.one_of(&["approve", "reject", "reject"]);
        let before = &self.tasks[task];
        let expected = match self.expected_of(who, task, verdict, 200) {
            Err(NOT_FOUND) => Err(NOT_FOUND),
            _ if attempt.is_none() => Err((404, "PROOF_NOT_FOUND")),
            Ok(_) if attempt != Some(before.proofs.len()) => Err(WRONG_STATE),
            expected => expected,
        };
        let sure = sure(task, &expected);
        let path = format!("{}/proofs/{proof}/{verdict}", self.path(task));
        let body = if verdict == "reject" {
            json!({"reason": "Too dark."})
        } else {
            json!({})
        };
        let reply = self.post_once(who, &path, &body, sure).await;
        let answer = self.expect(task, reply, expected.clone()).await;
        if let Ok((_, after)) = expected {
            assert_eq!(answer["status"], *after.proofs.last().unwrap());
            assert_eq!(answer["task"]["status"], after.status);
            if verdict == "reject" {
                assert_eq!(answer["task"]["attempts_remaining"], 3 - after.proofs.len());
            }
        }
    }

    /// A proof of the task and its attempt; or one that the task does not have.
    async fn some_proof(&mut self, task: usize) -> (String, Option<usize>) {
        let path = format!("{}/proofs?limit=100", self.path(task));
        let listed = self.get(self.owner(task), &path).await;
        let listed = listed["data"].as_array().unwrap();
        if listed.is_empty() || self.random.percent(5) {
            return ("0".repeat(32), None);
        }
        let chosen = match self.random.percent(85) {
            true => listed.last().unwrap(),
            false => &listed[self.random.below(listed.len())],
        };
        let attempt = chosen["attempt_number"].as_u64().unwrap() as usize;
        (chosen["id"].as_str().unwrap().to_owned(), Some(attempt))
    }

    pub async fn change_method(&mut self) {
        let account = self.random.below(self.accounts.len());
        let (good, method) = self.random.one_of(&METHODS);
        if good.is_none() && self.accounts[account].method.is_none() {
            return;
        }
        self.note(format!("account {account} is charged to {method:?}"));
        let path = "/v1/account/payment_method";
        let (verb, body) = match good {
            Some(_) => ("PUT", json!({ "payment_method": method }).to_string()),
            None => ("DELETE", String::new()),
        };
        let set = self
            .send(Who::Live(account), verb, path, &[], body.as_bytes())
            .await;
        assert!(set.status.is_success(), "{}", set.text);
        self.accounts[account].method = good;
    }

    /// A page of a list is what the model has there.
    pub async fn list(&mut self) {
        let everybody = self.everybody();
        let (account, test, who) = everybody[self.random.below(everybody.len())];
        let status = self
            .random
            .percent(60)
            .then(|| self.random.one_of(&STATUSES));
        let (limit, offset) = (self.random.between(1, 30), self.random.between(0, 10));
        self.note(format!("{who:?} lists {status:?}"));
        let filter = status.map_or(String::new(), |status| format!("&status={status}"));
        let path = format!("/v1/tasks?limit={limit}&offset={offset}{filter}");
        let page = self.get(who, &path).await;
        let own = self
            .tasks
            .iter()
            .filter(|task| (task.developer, task.test) == (account, test));
        let own: Vec<_> = own
            .filter(|task| status.is_none_or(|status| task.status == status))
            .map(|task| json!([task.id, task.status, task.budget]))
            .collect();
        let expected = own
            .iter()
            .rev()
            .skip(offset as usize)
            .take(limit as usize)
            .cloned();
        let shown = page["data"].as_array().unwrap().iter();
        let shown: Vec<_> = shown
            .map(|task| json!([task["id"], task["status"], task["budget_cents"]]))
            .collect();
        let meta = json!({"total": own.len(), "limit": limit, "offset": offset});
        assert_eq!((shown, &page["meta"]), (expected.collect(), &meta));
    }
}

/// A move that the model allows may be cut off and asked for again.
pub fn sure(task: usize, expected: &Expected) -> Option<Sure> {
    let (_, after) = expected.as_ref().ok()?;
    Some(Sure {
        task: Some(task),
        then: after.status,
    })
}
