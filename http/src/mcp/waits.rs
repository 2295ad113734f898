//! A wait as a task of the protocol, for clients that have the extension `io.modelcontextprotocol/tasks`. Nothing is kept of
//! it: its id says what is waited for and since when. So every server of a service can be asked about it, also after a restart.

use legwork_client::Status;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, CallToolResult, CreateTaskResult, DetailedTask, GetTaskResult, JsonObject,
    Task, TaskPayload, TaskStatus,
};
use serde_json::{Value, json};

use super::calls::{Call, has_reached};
use super::refusals::refused;
use crate::ambient::Clock;
use crate::domain::Timestamp;

/// The simulated worker is quick, people are not.
const ASK_AGAIN_MS_IN_TEST: u64 = 1_000;
const ASK_AGAIN_MS: u64 = 30_000;

pub struct Wait {
    task: String,
    until: Vec<&'static str>,
    since: i64,
}

impl Wait {
    /// Begins to wait, unless there is nothing to wait for.
    pub async fn begin(call: &Call<'_>) -> CallToolResponse {
        let named = call.words("until");
        let is_named = |status: &&&str| named.contains(*status);
        let wait = Self {
            task: call.text("task_id").to_owned(),
            until: Status::ALL.iter().filter(is_named).copied().collect(),
            since: Clock::system().now().as_millis(),
        };
        match wait.look(call).await {
            Ok(Err(status)) => {
                CallToolResponse::Task(CreateTaskResult::new(wait.told(call, &status)))
            }
            Ok(Ok(task)) => CallToolResult::structured(reached(&task)).into(),
            Err(error) => refused(&error).into(),
        }
    }

    pub fn parse(id: &str) -> Result<Self, ErrorData> {
        let unknown = || ErrorData::invalid_params("there is no such task", None);
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
    pub async fn state(&self, call: &Call<'_>) -> GetTaskResult {
        let (told, payload) = match self.look(call).await {
            Ok(Ok(task)) => {
                let result = CallToolResult::structured(reached(&task));
                (self.told(call, ""), completed(&result))
            }
            Ok(Err(status)) => (self.told(call, &status), TaskPayload::Working),
            Err(error) if is_passing(&error) => (self.told(call, ""), TaskPayload::Working),
            Err(error) => (self.told(call, ""), completed(&refused(&error))),
        };
        GetTaskResult::new(DetailedTask::new(told, payload))
    }

    /// The task if it is where it should be, else its status.
    async fn look(&self, call: &Call<'_>) -> Result<Result<Value, String>, Value> {
        let path = format!("/v1/tasks/{}", super::calls::encoded(&self.task));
        let task = call.get(&path).await?;
        let status = task["status"].as_str().unwrap_or_default().to_owned();
        Ok(match has_reached(&self.until, &status) {
            true => Ok(task),
            false => Err(status),
        })
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
            status => told.with_status_message(format!("The task is {status}.")),
        }
    }
}

fn reached(task: &Value) -> Value {
    json!({"reached": true, "task": task})
}

fn completed(result: &CallToolResult) -> TaskPayload {
    let result = match serde_json::to_value(result) {
        Ok(Value::Object(result)) => result,
        _ => JsonObject::new(),
    };
    TaskPayload::Completed { result }
}

fn is_passing(error: &Value) -> bool {
    matches!(
        error["code"].as_str(),
        Some("RATE_LIMITED" | "UNAVAILABLE" | "UNREACHABLE")
    )
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
}
