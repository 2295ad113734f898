//! Waiting for a task: a call that takes a while, or a task of the protocol for clients that have the extension
//! `io.modelcontextprotocol/tasks`. Of such a task nothing is kept: its id says what is waited for and since when. So every
//! server of a service can be asked about it, also after a restart.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, CallToolResult, CreateTaskResult, DetailedTask, GetTaskResult, JsonObject,
    Task, TaskPayload, TaskStatus,
};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::calls::{ATTENTION, Call, encoded};
use super::reach::{Answer, unanswered};
use super::refusals::{failed, is_not_found, is_passing, refused};
use crate::ambient::Clock;
use crate::domain::{Status, Timestamp};

/// Clients give up after a minute.
pub const LONGEST_WAIT_S: u64 = 50;
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How long after the end of a wait its last look may be answered.
const LAST_LOOK: Duration = Duration::from_secs(5);
/// People take a while.
const ASK_AGAIN_S: u64 = 300;
const ASK_AGAIN_AFTER_STOP_S: u64 = 5;
const UNDECIDED: &str = "The task is pending, and no worker sees it: a person must agree first. Show them the url in `approval` of the \
                         task. get_task shows it, too.";
const UNPAID: &str = "The task is pending, and no worker sees it: it is not paid for. get_task with include [\"payment\"] says more. A \
                      person pays on the task's page in the dashboard.";
const UNKNOWN: &str = "The task is pending, and no worker sees it: it is not paid for, or a person must agree first. Which of the \
                       two could not be read, perhaps because your key may not. The person you work for agrees or pays in the dashboard: under Approvals, or on the task's page.";
/// The simulated worker is quick, people are not.
const ASK_AGAIN_MS_IN_TEST: u64 = 1_000;
const ASK_AGAIN_MS: u64 = 30_000;

/// More than are asked about at a time after they were cancelled.
const MOST_STOPPED: usize = 1_000;

/// Looks until the wait is over, or its time is.
pub async fn wait(call: &Call<'_>) -> Answer {
    let until = named(call);
    let seconds = call.number("timeout_s").unwrap_or(LONGEST_WAIT_S);
    let (began, longest) = (Instant::now(), Duration::from_secs(seconds));
    let ends = began + longest;
    loop {
        let task = look(call, ends + LAST_LOOK).await?;
        if let Some(outcome) = outcome(&until, &task) {
            return Ok(outcome);
        }
        let now = Instant::now();
        if now >= ends {
            return not_yet(call, task, ASK_AGAIN_S).await;
        }
        if let Some(progress) = &call.progress {
            let message = format!("The task is {}.", task["status"].as_str().unwrap_or("?"));
            progress.tell(now - began, longest, message).await;
        }
        tokio::select! {
            () = tokio::time::sleep_until(ends.min(now + LOOK_EVERY)) => {}
            // The client asks another server, or this one when it is back.
            () = call.api.stopping() => return not_yet(call, task, ASK_AGAIN_AFTER_STOP_S).await,
        }
    }
}

/// The task, if the server tells of it until then.
async fn look(call: &Call<'_>, until: Instant) -> Answer {
    let path = call.of_task("");
    let looked = timeout_at(until, call.get(&path)).await;
    looked.unwrap_or_else(|_| Err(unanswered("the server")))
}

async fn not_yet(call: &Call<'_>, task: Value, ask_again_in_s: u64) -> Answer {
    let (task, is_all) = match call.look_for_approval(task.clone()).await {
        Ok(looked) => looked,
        // What is known is worth more than why the rest is not.
        Err(error) if is_passing(&error) => (task, false),
        Err(error) => return Err(error),
    };
    let mut told = json!({"reached": false, "task": task, "ask_again_in_s": ask_again_in_s});
    if task["status"] == Status::Pending.as_str() {
        told["message"] = json!(match task["approval"]["status"] == "waiting" {
            true => UNDECIDED,
            false if is_all => UNPAID,
            false => UNKNOWN,
        });
    }
    Ok(told)
}

fn named(call: &Call<'_>) -> Vec<Status> {
    let named = call.words("until").into_iter();
    named.filter_map(Status::parse).collect()
}

/// What a wait for these statuses has come to; none while it goes on. One that names none ends where the task does, or where
/// it waits for its developer. A status that only a newer server knows may lead anywhere.
fn outcome(until: &[Status], task: &Value) -> Option<Value> {
    let status = task["status"].as_str().and_then(Status::parse)?;
    let is_reached = match until {
        [] => status.is_final() || ATTENTION.contains(&status),
        named => named.contains(&status),
    };
    if is_reached {
        return Some(json!({"reached": true, "task": task}));
    }
    let can_come = until.is_empty() || until.iter().any(|wanted| status.can_become(*wanted));
    (!can_come).then(|| json!({"reached": false, "task": task, "message": in_vain(status)}))
}

fn in_vain(status: Status) -> String {
    let why = match status.is_final() {
        true => format!("The task is over: it is {status}"),
        false => format!("The task is {status}, and what you wait for can no longer come"),
    };
    format!("{why}. Waiting again is useless.")
}

/// Waits that somebody has cancelled: the one thing that is kept of waits, in the memory of the server that was told. The
/// oldest are forgotten.
#[derive(Default)]
pub struct Stopped(Mutex<VecDeque<String>>);

impl Stopped {
    fn add(&self, id: String) {
        let mut ids = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !ids.contains(&id) {
            ids.push_back(id);
        }
        if ids.len() > MOST_STOPPED {
            ids.pop_front();
        }
    }

    fn has(&self, id: &String) -> bool {
        let ids = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ids.contains(id)
    }
}

pub struct Wait {
    task: String,
    until: Vec<Status>,
    since: i64,
}

impl Wait {
    /// Begins to wait, unless there is nothing to wait for.
    pub async fn begin(call: &Call<'_>) -> CallToolResponse {
        let wait = Self {
            task: call.text("task_id").to_owned(),
            until: named(call),
            since: Clock::system().now().as_millis(),
        };
        match wait.look(call).await {
            Ok(Err(status)) => {
                CallToolResponse::Task(CreateTaskResult::new(wait.told(call, &status)))
            }
            Ok(Ok(outcome)) => CallToolResult::structured(outcome).into(),
            Err(error) => refused(&error).into(),
        }
    }

    pub fn parse(id: &str) -> Result<Self, ErrorData> {
        let parts: Vec<_> = id.split('.').collect();
        let ["wait", since, task, until] = parts[..] else {
            return Err(unknown());
        };
        let until = u32::from_str_radix(until, 16).map_err(|_| unknown())?;
        let since = since.parse().ok().filter(|since| *since >= 0);
        let is_named = |(place, _): &(usize, _)| until & (1 << place) != 0;
        let named = Status::ALL.iter().enumerate().filter(is_named);
        Ok(Self {
            task: task.to_owned(),
            until: named.map(|(_, status)| *status).collect(),
            since: since.ok_or_else(unknown)?,
        })
    }

    fn id(&self) -> String {
        let places = Status::ALL.iter().enumerate();
        let until = places
            .filter(|(_, status)| self.until.contains(status))
            .fold(0_u32, |until, (place, _)| until | 1 << place);
        format!("wait.{}.{}.{until:x}", self.since, self.task)
    }

    /// How far it is. A server that is busy or away for a moment does not end it.
    pub async fn state(&self, call: &Call<'_>, stopped: &Stopped) -> GetTaskResult {
        let (told, payload) = match self.look(call).await {
            Err(error) if !is_passing(&error) => (self.told(call, ""), completed(&refused(&error))),
            _ if stopped.has(&self.id()) => (self.told(call, ""), TaskPayload::Cancelled),
            Ok(Ok(outcome)) => {
                let result = CallToolResult::structured(outcome);
                (self.told(call, ""), completed(&result))
            }
            Ok(Err(status)) => (self.told(call, &status), TaskPayload::Working),
            Err(_) => (self.told(call, ""), TaskPayload::Working),
        };
        GetTaskResult::new(DetailedTask::new(told, payload))
    }

    /// Ends it, for whoever may see the task. What is over stays as it ended.
    pub async fn cancel(&self, call: &Call<'_>, stopped: &Stopped) -> Result<(), ErrorData> {
        match self.look(call).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) => {
                stopped.add(self.id());
                Ok(())
            }
            Err(error) if is_not_found(&error) => Err(unknown()),
            Err(error) => Err(failed(&error)),
        }
    }

    /// What it has come to, else the status of the task.
    async fn look(&self, call: &Call<'_>) -> Result<Result<Value, String>, Value> {
        let task = call
            .get(&format!("/v1/tasks/{}", encoded(&self.task)))
            .await?;
        let status = task["status"].as_str().unwrap_or_default().to_owned();
        Ok(outcome(&self.until, &task).ok_or(status))
    }

    fn told(&self, call: &Call<'_>, status: &str) -> Task {
        let (since, now) = (Timestamp::from_millis(self.since), Clock::system().now());
        let again = match call.api.is_test() {
            true => ASK_AGAIN_MS_IN_TEST,
            false => ASK_AGAIN_MS,
        };
        let working = TaskStatus::Working;
        let told = Task::new(self.id(), working, since.to_string(), now.to_string())
            .with_poll_interval_ms(again);
        match status {
            "" => told,
            "pending" => {
                told.with_status_message("The task is pending: get_task says what it waits for.")
            }
            status => told.with_status_message(format!("The task is {status}.")),
        }
    }
}

fn unknown() -> ErrorData {
    ErrorData::invalid_params("there is no such task", None)
}

fn completed(result: &CallToolResult) -> TaskPayload {
    let result = match serde_json::to_value(result) {
        Ok(Value::Object(result)) => result,
        _ => JsonObject::new(),
    };
    TaskPayload::Completed { result }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_were_written_and_others_refused() {
        let wait = Wait {
            task: "019a8762".to_owned(),
            until: vec![Status::ALL[0], Status::ALL[3]],
            since: 1_763_208_000_000,
        };
        let read = Wait::parse(&wait.id()).ok().map(|read| read.id());
        assert_eq!(read, Some("wait.1763208000000.019a8762.9".to_owned()));
        let others = [
            "",
            "wait",
            "wait.1.x",
            "wait.1.x.9.9",
            "wait.1.x.g",
            "wait.1.x.123456789",
            "wait.-62167219200001.x.9",
            "wait.9223372036854775808.x.9",
        ];
        for id in others {
            assert!(Wait::parse(id).is_err(), "{id}");
        }
    }

    #[test]
    fn a_wait_goes_on_only_while_what_it_is_for_can_come() {
        let ends = |until: &[Status], status: &str| {
            let outcome = outcome(until, &json!({"status": status}));
            outcome.map(|outcome| outcome["reached"] == true)
        };
        use Status::{Cancelled, Completed, Funded};
        for (until, status, expected) in [
            (&[][..], "funded", None),
            (&[], "disputed", Some(true)),
            (&[], "expired", Some(true)),
            (&[Completed], "in_progress", None),
            (&[Completed], "cancelled", Some(false)),
            (&[Completed, Cancelled], "cancelled", Some(true)),
            (&[Funded], "in_progress", Some(false)),
            (&[Funded], "of a newer server", None),
        ] {
            assert_eq!(ends(until, status), expected, "{until:?} {status}");
        }
    }

    #[test]
    fn the_oldest_cancelled_waits_are_forgotten() {
        let stopped = Stopped::default();
        for number in 0..=MOST_STOPPED {
            stopped.add(number.to_string());
        }
        assert!(!stopped.has(&"0".to_owned()));
        assert!(stopped.has(&"1".to_owned()) && stopped.has(&MOST_STOPPED.to_string()));
    }

    /// A server that takes calls and answers none.
    struct Mute;

    #[async_trait::async_trait]
    impl super::super::Reach for Mute {
        async fn call(&self, _: &str, _: &str, _: Option<&Value>) -> Answer {
            std::future::pending().await
        }

        async fn file(&self, _: &str, _: usize) -> Option<Vec<u8>> {
            None
        }

        fn is_test(&self) -> bool {
            true
        }
    }

    #[tokio::test]
    async fn a_look_ends_although_the_server_does_not_answer() {
        let looked = look(&Call::of_no_tool(&Mute), Instant::now()).await;
        let told = looked.unwrap_err();
        assert_eq!(told["code"], "UNREACHABLE", "{told}");
        assert_eq!(told["message"], "the server does not answer");
    }

    /// A server that is about to stop, with one task, and the status of its approval, or why it is not told.
    struct Stopping(&'static str, &'static str);

    #[async_trait::async_trait]
    impl super::super::Reach for Stopping {
        async fn call(&self, _: &str, path: &str, _: Option<&Value>) -> Answer {
            match (path.ends_with("/approval"), self.1) {
                (false, _) => Ok(json!({"status": self.0})),
                (true, "") => Err(json!({"code": "APPROVAL_NOT_FOUND"})),
                (true, code) if code == code.to_uppercase() => Err(json!({"code": code})),
                (true, status) => Ok(json!({"status": status})),
            }
        }

        async fn file(&self, _: &str, _: usize) -> Option<Vec<u8>> {
            None
        }

        fn is_test(&self) -> bool {
            true
        }

        async fn stopping(&self) {}
    }

    #[tokio::test]
    async fn a_wait_ends_when_the_server_stops() {
        for (status, approval, message) in [
            ("posted", "", None),
            ("pending", "", Some(UNPAID)),
            ("pending", "approved", Some(UNPAID)),
            ("pending", "waiting", Some(UNDECIDED)),
            // There may be one.
            ("pending", "PERMISSION_DENIED", Some(UNKNOWN)),
            ("pending", "UNAVAILABLE", Some(UNKNOWN)),
        ] {
            let server = Stopping(status, approval);
            let told = wait(&Call::of_no_tool(&server)).await.unwrap();
            assert_eq!(told["reached"], false);
            assert_eq!(told["ask_again_in_s"], ASK_AGAIN_AFTER_STOP_S);
            assert_eq!(told["message"].as_str(), message, "{told}");
            let shown = told["task"]["approval"]["status"].as_str();
            let is_told = approval == approval.to_lowercase();
            assert_eq!(
                shown.unwrap_or_default(),
                if is_told { approval } else { "" }
            );
        }
    }
}
