//! How tools reach the API.

use std::time::Duration;

use async_trait::async_trait;
use legwork_client::{Client, Error};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::domain::AccountId;

/// Clients give up after a minute. By then they should have heard that the server does not answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(55);

/// The API with somebody's key.
#[async_trait]
pub trait Reach: Send + Sync {
    /// The path has its query, and ids in it are encoded.
    async fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Answer;

    /// The bytes of a file by its signed URL; none if it cannot be had, or is larger than this.
    async fn file(&self, url: &str, most: usize) -> Option<Vec<u8>>;

    fn is_test(&self) -> bool;

    /// Whose key it is, if this server knows.
    fn account(&self) -> Option<AccountId> {
        None
    }

    /// Waits until the server that is called here stops. One somewhere else is not known to.
    async fn stopping(&self) {
        std::future::pending().await
    }
}

/// What the API said, or its `error` object.
pub type Answer = Result<Value, Value>;

/// What is told of a server that does not answer.
pub fn unanswered(server: &str) -> Value {
    json!({"code": "UNREACHABLE", "message": format!("{server} does not answer")})
}

/// A server somewhere, through the library, for one request of an agent: all calls of it end in time, tries and pauses
/// included.
pub struct Remote {
    client: Client,
    is_test: bool,
    ends: Instant,
}

impl Remote {
    pub fn new(client: Client, is_test: bool) -> Self {
        let ends = Instant::now() + ANSWER_WITHIN;
        Self {
            client,
            is_test,
            ends,
        }
    }
}

#[async_trait]
impl Reach for Remote {
    async fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let request = self.client.request(method, path, body);
        let Ok(answer) = timeout_at(self.ends, request).await else {
            return Err(unanswered(self.client.base_url()));
        };
        answer.map_err(|error| match error {
            Error::Api(refused) => json!({
                "code": refused.code, "message": refused.message,
                "details": refused.details, "request_id": refused.request_id,
            }),
            error => json!({"code": "UNREACHABLE", "message": error.to_string()}),
        })
    }

    async fn file(&self, url: &str, most: usize) -> Option<Vec<u8>> {
        let fetched = timeout_at(self.ends, self.client.fetch_up_to(url, most)).await;
        fetched.ok()?.ok()
    }

    fn is_test(&self) -> bool {
        self.is_test
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_that_takes_connections_and_says_nothing_is_told_in_time() {
        let mute = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", mute.local_addr().unwrap());
        let client = Client::builder("svc_test_x").base_url(&url).build();
        let mut remote = Remote::new(client.unwrap(), true);
        // The time is over.
        remote.ends = Instant::now();
        let told = remote.call("GET", "/v1/mandate", None).await.unwrap_err();
        assert_eq!(told["code"], "UNREACHABLE");
        assert_eq!(told["message"], format!("{url} does not answer"));
        assert_eq!(remote.file(&format!("{url}/file"), 1).await, None);
    }
}
