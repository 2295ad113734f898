//! What each tool does.

use std::time::Duration;

use legwork_client::Status;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rmcp::model::{JsonObject, ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use serde_json::{Value, json};

use super::reach::{Answer, Reach};

/// Where a task ends, or waits for its developer.
const SETTLED: [Status; 6] = [
    Status::ProofSubmitted,
    Status::Completed,
    Status::Cancelled,
    Status::Expired,
    Status::Refunded,
    Status::Disputed,
];
/// Clients give up after a minute.
const LONGEST_WAIT_S: u64 = 50;
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// People take a while.
const ASK_AGAIN_S: u64 = 300;

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
    async fn tell(&self, done: Duration, of: Duration, message: String) {
        let told = ProgressNotificationParam::new(self.token.clone(), done.as_secs_f64())
            .with_total(of.as_secs_f64())
            .with_message(message);
        let _ = self.peer.notify_progress(told).await;
    }
}

impl Call<'_> {
    pub fn text(&self, name: &str) -> &str {
        self.given
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    fn flag(&self, name: &str) -> bool {
        self.given
            .get(name)
            .and_then(Value::as_bool)
            .unwrap_or_default()
    }

    pub fn words(&self, name: &str) -> Vec<&str> {
        let given = self.given.get(name).and_then(Value::as_array);
        given
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }

    fn of_task(&self, rest: &str) -> String {
        format!("/v1/tasks/{}{rest}", encoded(self.text("task_id")))
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.api.call("GET", path, None).await
    }

    pub async fn quote_task(&self) -> Answer {
        let task = Value::Object(self.given.clone());
        self.api.call("POST", "/v1/quotes", Some(&task)).await
    }

    /// A task that waits for a person's approval says where that person agrees. The answer to a quote stays as it was first:
    /// once somebody has decided, the task is read anew.
    pub async fn create_task(&self) -> Answer {
        let quote = json!({"quote_id": self.text("quote_id")});
        let mut task = self.api.call("POST", "/v1/tasks", Some(&quote)).await?;
        if task["status"] == "pending" {
            let id = task["id"].as_str().unwrap_or_default();
            let path = format!("/v1/tasks/{}", encoded(id));
            if let Ok(approval) = self.get(&format!("{path}/approval")).await {
                if approval["status"] != "waiting" {
                    task = self.get(&path).await?;
                }
                task["approval"] = approval;
            }
        }
        Ok(task)
    }

    pub async fn wait_for_task(&self) -> Answer {
        let until = self.words("until");
        let seconds = self
            .given
            .get("timeout_s")
            .and_then(Value::as_u64)
            .unwrap_or(LONGEST_WAIT_S);
        let began = tokio::time::Instant::now();
        let longest = Duration::from_secs(seconds.min(LONGEST_WAIT_S));
        let ends = began + longest;
        loop {
            let task = self.get(&self.of_task("")).await?;
            let reached = has_reached(&until, task["status"].as_str().unwrap_or_default());
            let now = tokio::time::Instant::now();
            if reached {
                return Ok(json!({"reached": true, "task": task}));
            }
            if now >= ends {
                return Ok(json!({"reached": false, "task": task, "ask_again_in_s": ASK_AGAIN_S}));
            }
            if let Some(progress) = &self.progress {
                let message = format!("The task is {}.", task["status"].as_str().unwrap_or("?"));
                progress.tell(now - began, longest, message).await;
            }
            tokio::time::sleep_until(ends.min(now + LOOK_EVERY)).await;
        }
    }

    pub async fn get_task(&self) -> Answer {
        let mut told = json!({"task": self.get(&self.of_task("")).await?});
        for part in self.words("include") {
            told[part] = match part {
                "payment" => self.get(&self.of_task("/payment")).await?,
                "history" => self.get(&self.of_task("/history?limit=100")).await?["data"].take(),
                "ledger" => self.get(&self.of_task("/ledger?limit=100")).await?["data"].take(),
                _ => continue,
            };
        }
        Ok(told)
    }

    pub async fn list_tasks(&self) -> Answer {
        let number = |name: &str, usual: u64| {
            self.given
                .get(name)
                .and_then(Value::as_u64)
                .unwrap_or(usual)
        };
        let (limit, offset) = (number("limit", 20), number("offset", 0));
        if self.flag("needs_attention") {
            let path = format!("/v1/tasks/search?status=proof_submitted,disputed&limit={limit}");
            return self.get(&path).await;
        }
        let status = match self.text("status") {
            "" => String::new(),
            status => format!("&status={}", encoded(status)),
        };
        self.get(&format!("/v1/tasks?limit={limit}&offset={offset}{status}"))
            .await
    }

    pub async fn review_proof(&self) -> Answer {
        let decision = self.text("decision");
        let path = self.of_task(&format!(
            "/proofs/{}/{}",
            encoded(self.text("proof_id")),
            encoded(decision)
        ));
        match decision {
            "reject" => {
                self.api
                    .call("POST", &path, Some(&json!({"reason": self.text("reason")})))
                    .await
            }
            "approve" => self.api.call("POST", &path, None).await,
            _ => Err(
                json!({"code": "VALIDATION_ERROR", "message": "decision must be approve or reject"}),
            ),
        }
    }

    pub async fn cancel_task(&self) -> Answer {
        let expected = json!({"expected_refund_cents": self.given.get("expected_refund_cents")});
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

/// Whether a wait is over; one that names no statuses ends where the task does, or where it waits for its developer.
pub fn has_reached(until: &[&str], status: &str) -> bool {
    match until.is_empty() {
        true => SETTLED.iter().any(|settled| settled.as_str() == status),
        false => until.contains(&status),
    }
}

pub fn encoded(text: &str) -> String {
    // "." and ".." would lead to another path.
    match text.trim_matches('.') {
        "" => "-".to_owned(),
        _ => utf8_percent_encode(text, NON_ALPHANUMERIC).to_string(),
    }
}
