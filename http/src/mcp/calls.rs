//! What each tool does.

use std::sync::LazyLock;
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rmcp::model::{JsonObject, ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use serde_json::{Value, json};

use super::reach::{Answer, Reach};
use super::refusals::is_not_found;
use crate::domain::Status;

/// Where a task waits for its developer.
pub const ATTENTION: [Status; 2] = [Status::ProofSubmitted, Status::Disputed];
/// The longest page of the API.
const MOST_AT_ONCE: u64 = 100;

pub struct Call<'a> {
    pub api: &'a dyn Reach,
    pub given: &'a JsonObject,
    pub progress: Option<Progress>,
}

/// Whom to tell how far a call is.
pub struct Progress {
    pub peer: Peer<RoleServer>,
    pub token: ProgressToken,
}

impl Progress {
    /// A client that does not listen loses nothing.
    pub async fn tell(&self, done: Duration, of: Duration, message: String) {
        let told = ProgressNotificationParam::new(self.token.clone(), done.as_secs_f64())
            .with_total(of.as_secs_f64())
            .with_message(message);
        let _ = self.peer.notify_progress(told).await;
    }
}

static NO_ARGUMENTS: LazyLock<JsonObject> = LazyLock::new(JsonObject::new);

impl<'a> Call<'a> {
    /// For what is asked of the server otherwise than by a tool.
    pub fn of_no_tool(api: &'a dyn Reach) -> Self {
        Self {
            api,
            given: &NO_ARGUMENTS,
            progress: None,
        }
    }
}

impl Call<'_> {
    pub fn text(&self, name: &str) -> &str {
        self.given
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    pub fn flag(&self, name: &str) -> bool {
        self.given
            .get(name)
            .and_then(Value::as_bool)
            .unwrap_or_default()
    }

    /// A whole number that is not negative; 50.0 is one too.
    pub fn number(&self, name: &str) -> Option<u64> {
        let given = self.given.get(name)?;
        given
            .as_u64()
            .or_else(|| given.as_f64().map(|number| number as u64))
    }

    pub fn words(&self, name: &str) -> Vec<&str> {
        let given = self.given.get(name).and_then(Value::as_array);
        given
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }

    pub fn of_task(&self, rest: &str) -> String {
        format!("/v1/tasks/{}{rest}", encoded(self.text("task_id")))
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.api.call("GET", path, None).await
    }

    pub async fn quote_task(&self) -> Answer {
        let mut task = Value::Object(self.given.clone());
        if let Some(cents) = self.given.get("budget_cents") {
            task["budget_cents"] = integer(cents);
        }
        self.api.call("POST", "/v1/quotes", Some(&task)).await
    }

    /// A task that waits for a person's approval says where that person agrees. The answer to a quote stays as it was first:
    /// once somebody has decided, the task is read anew by a key that may.
    pub async fn create_task(&self) -> Answer {
        let quote = json!({"quote_id": self.text("quote_id")});
        let task = self.api.call("POST", "/v1/tasks", Some(&quote)).await?;
        let mut task = self.with_approval(task).await?;
        let is_decided = !matches!(task["approval"]["status"].as_str(), None | Some("waiting"));
        if is_decided && let Some(mut read) = self.if_allowed(&path_of(&task)).await? {
            read["approval"] = task["approval"].take();
            task = read;
        }
        Ok(task)
    }

    /// The task, with the approval that it waits for or has waited for, if it is still pending and there is one.
    pub async fn with_approval(&self, task: Value) -> Answer {
        Ok(self.look_for_approval(task).await?.0)
    }

    /// The same, and whether it is known that there is no other: a key may not be allowed to read approvals.
    pub async fn look_for_approval(&self, mut task: Value) -> Result<(Value, bool), Value> {
        if task["status"] != Status::Pending.as_str() {
            return Ok((task, true));
        }
        match self.get(&format!("{}/approval", path_of(&task))).await {
            Ok(approval) => task["approval"] = approval,
            Err(error) if is_denied(&error) => return Ok((task, false)),
            Err(error) if is_not_found(&error) => {}
            Err(error) => return Err(error),
        }
        Ok((task, true))
    }

    /// What is there and may be read. Other failures are told: the same call again answers the same.
    async fn if_allowed(&self, path: &str) -> Result<Option<Value>, Value> {
        match self.get(path).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if is_denied(&error) || is_not_found(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub async fn get_task(&self) -> Answer {
        let task = self.get(&self.of_task("")).await?;
        let mut told = json!({"task": self.with_approval(task).await?});
        for part in self.words("include") {
            told[part] = match part {
                "payment" => self.get(&self.of_task("/payment")).await?,
                "history" => {
                    // Reasons may be a worker's words.
                    told["untrusted"] = json!(true);
                    self.get(&self.of_task("/history?limit=100")).await?["data"].take()
                }
                "ledger" => self.get(&self.of_task("/ledger?limit=100")).await?["data"].take(),
                _ => continue,
            };
        }
        Ok(told)
    }

    pub async fn list_tasks(&self) -> Answer {
        let (limit, offset) = (self.number("limit"), self.number("offset"));
        let (limit, offset) = (limit.unwrap_or(20), offset.unwrap_or(0));
        let status = self.text("status");
        let waits = |status: &str| ATTENTION.iter().any(|waiting| waiting.as_str() == status);
        match (self.flag("needs_attention"), status) {
            (true, "") => self.waiting_for_developer(limit, offset).await,
            (true, status) if !waits(status) => Ok(page(&[], 0, (limit, offset))),
            (_, status) => self.listed(status, limit, offset).await,
        }
    }

    async fn listed(&self, status: &str, limit: u64, offset: u64) -> Answer {
        let status = match status {
            "" => String::new(),
            status => format!("&status={}", encoded(status)),
        };
        self.get(&format!("/v1/tasks?limit={limit}&offset={offset}{status}"))
            .await
    }

    /// The search finds several statuses in one order, but knows no offset and no total.
    async fn waiting_for_developer(&self, limit: u64, offset: u64) -> Answer {
        let mut total = 0;
        for status in ATTENTION {
            let counted = self.listed(status.as_str(), 1, 0).await?;
            total += counted["meta"]["total"].as_u64().unwrap_or_default();
        }
        let end = offset.saturating_add(limit).min(total);
        let (mut found, mut cursor) = (Vec::new(), String::new());
        let statuses = ATTENTION.map(Status::as_str).join(",");
        while offset < end && (found.len() as u64) < end {
            let path = format!("/v1/tasks/search?status={statuses}&limit={MOST_AT_ONCE}{cursor}");
            let mut part = self.get(&path).await?;
            if let Value::Array(tasks) = part["data"].take() {
                found.extend(tasks);
            }
            match part["meta"]["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={}", encoded(next)),
                None => break,
            }
        }
        let found = found.into_iter().skip(offset as usize);
        let found: Vec<_> = found.take(limit as usize).collect();
        Ok(page(&found, total, (limit, offset)))
    }

    pub async fn review_proof(&self) -> Answer {
        let decision = self.text("decision");
        let path = self.of_task(&format!(
            "/proofs/{}/{}",
            encoded(self.text("proof_id")),
            encoded(decision)
        ));
        let body = match decision {
            "approve" => None,
            _ => Some(json!({"reason": self.text("reason")})),
        };
        self.api.call("POST", &path, body.as_ref()).await
    }

    pub async fn cancel_task(&self) -> Answer {
        let expected = self.given.get("expected_refund_cents").map(integer);
        let expected = json!({"expected_refund_cents": expected});
        self.api
            .call("POST", &self.of_task("/cancel"), Some(&expected))
            .await
    }

    pub async fn get_mandate(&self) -> Answer {
        match self.get("/v1/mandate").await {
            Ok(mandate) => Ok(json!({"limited": true, "mandate": mandate})),
            Err(error) if error["code"] == "MANDATE_NOT_FOUND" => Ok(json!({"limited": false})),
            Err(error) => Err(error),
        }
    }

    pub async fn advance_test_task(&self) -> Answer {
        let body = match self.text("to") {
            "" => json!({}),
            status => json!({"to": status}),
        };
        let path = format!(
            "/v1/test_helpers/tasks/{}/advance",
            encoded(self.text("task_id"))
        );
        self.api.call("POST", &path, Some(&body)).await
    }
}

fn is_denied(error: &Value) -> bool {
    error["code"] == "PERMISSION_DENIED"
}

fn path_of(task: &Value) -> String {
    let id = task["id"].as_str().unwrap_or_default();
    format!("/v1/tasks/{}", encoded(id))
}

/// As the API writes a list of tasks.
fn page(tasks: &[Value], total: u64, (limit, offset): (u64, u64)) -> Value {
    json!({"data": tasks, "meta": {"total": total, "limit": limit, "offset": offset}})
}

/// Many clients send every number as a float, and to a JSON schema 2500.0 is an integer.
fn integer(given: &Value) -> Value {
    let whole = given.as_f64().filter(|number| number.fract() == 0.0);
    // What a float holds exactly.
    match whole.filter(|number| given.is_f64() && number.abs() < 9e15) {
        Some(number) => json!(number as i64),
        None => given.clone(),
    }
}

pub fn encoded(text: &str) -> String {
    // "." and ".." would lead to another path.
    match text.trim_matches('.') {
        "" => "-".to_owned(),
        _ => utf8_percent_encode(text, NON_ALPHANUMERIC).to_string(),
    }
}
