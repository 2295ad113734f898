//! Quotes: made, redeemed once, redeemed again, and too late.

use serde_json::{Value, json};

use super::APPROVAL_CENTS;
use crate::model::developers::{Wish, moment};
use crate::model::people::{Sure, Who};
use crate::model::task::{HOUR, Millis, Task};
use crate::model::world::World;

const GOOD_FOR: Millis = HOUR / 4;

pub struct Quoted {
    id: String,
    /// The key that asked. One with a mandate keeps the quote for itself.
    by: Who,
    wish: Wish,
    expires_at: Millis,
    /// What redeeming it answered.
    answer: Option<String>,
}

/// The account and environment of a key.
fn place(who: Who) -> Option<(usize, bool)> {
    match who {
        Who::Agent(account, test) => Some((account, test)),
        Who::Test(account) => Some((account, true)),
        Who::Live(account) => Some((account, false)),
        Who::Worker(_) | Who::Nobody => None,
    }
}

impl World {
    pub async fn make_quote(&mut self) {
        let (account, test, by) = self.some_key();
        self.note(format!("{by:?} asks for quote {}", self.quotes.len()));
        let wish = self.wish(account, test);
        let task = self.imagine(&wish, by);
        let reply = self.post(by, "/v1/quotes", &wish.body()).await;
        let full = self.this_month(account, test) >= self.accounts[account].tasks_limit();
        if !wish.is_valid() || full {
            let (status, code) = match full && wish.is_valid() {
                true => (403, "TASK_LIMIT_EXCEEDED"),
                false => (400, "VALIDATION_ERROR"),
            };
            reply.expect_error(status, code);
            return;
        }
        let quote = reply.expect(201);
        let expires_at = self.time_of(account, test) + GOOD_FOR;
        assert_eq!(quote["expires_at"], moment(expires_at), "{quote}");
        assert_eq!(quote["budget_cents"], task.budget, "{quote}");
        self.expect_verdict(&task, &quote["mandate"]);
        self.quotes.push(Quoted {
            id: quote["id"].as_str().unwrap().to_owned(),
            by,
            wish,
            expires_at,
            answer: None,
        });
    }

    /// What the mandate of the key says, and what is left of its limits.
    fn expect_verdict(&self, task: &Task, mandate: &Value) {
        if !task.limited {
            let unlimited = json!({"verdict": "allowed", "reasons": [], "left": null});
            assert_eq!(*mandate, unlimited);
            return;
        }
        let allowed = self.mandate_allows(task);
        let verdict = match allowed {
            false => "denied",
            true if task.budget > APPROVAL_CENTS => "approval_required",
            true => "allowed",
        };
        assert_eq!(mandate["verdict"], verdict, "{mandate}");
        let reasons = mandate["reasons"].as_array().unwrap();
        assert_eq!(reasons.is_empty(), verdict == "allowed", "{mandate}");
        self.expect_usage(task.developer, task.test, &mandate["left"]);
    }

    pub async fn redeem_quote(&mut self) {
        let quote = self.random.below(self.quotes.len());
        let who = match self.random.percent(80) {
            true => self.quotes[quote].by,
            false => self.some_key().2,
        };
        self.note(format!("{who:?} redeems quote {quote}"));
        let Quoted { by, wish, .. } = &self.quotes[quote];
        let task = self.imagine(wish, who);
        let bound = matches!(by, Who::Agent(..)) && *by != who;
        let hidden = place(*by) != place(who) || bound;
        let over = self.quotes[quote].expires_at <= task.created_at;
        let answered = self.quotes[quote].answer.clone();
        let expected = match &answered {
            _ if hidden => Err((404, "QUOTE_NOT_FOUND")),
            Some(_) => Ok(()),
            None if over => Err((410, "QUOTE_EXPIRED")),
            None => self.may_create(&task),
        };
        let sure = expected.is_ok().then_some(Sure {
            task: None,
            then: "",
        });
        let body = json!({"quote_id": self.quotes[quote].id});
        let reply = self.post_once(who, "/v1/tasks", &body, sure).await;
        match (expected, answered) {
            (Err((status, code)), _) => drop(reply.expect_error(status, code)),
            (Ok(()), Some(answer)) => {
                assert_eq!(reply.header("idempotent-replayed"), "true");
                assert_eq!(reply.text, answer);
            }
            (Ok(()), None) => {
                self.quotes[quote].answer = Some(reply.text.clone());
                self.created(task, &reply.expect(201)).await;
            }
        }
    }
}
