//! How tools reach the API.

use async_trait::async_trait;
use legwork_client::{Client, Error};
use serde_json::{Value, json};

use crate::domain::AccountId;

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

/// A server somewhere, through the library.
#[derive(Clone)]
pub struct Remote {
    pub client: Client,
    pub is_test: bool,
}

#[async_trait]
impl Reach for Remote {
    async fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        self.client
            .request(method, path, body)
            .await
            .map_err(|error| match error {
                Error::Api(refused) => json!({
                    "code": refused.code, "message": refused.message,
                    "details": refused.details, "request_id": refused.request_id,
                }),
                error => json!({"code": "UNREACHABLE", "message": error.to_string()}),
            })
    }

    async fn file(&self, url: &str, most: usize) -> Option<Vec<u8>> {
        let bytes = self.client.fetch(url).await.ok()?;
        (bytes.len() <= most).then_some(bytes)
    }

    fn is_test(&self) -> bool {
        self.is_test
    }
}
