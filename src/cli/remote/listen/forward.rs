//! The program on your machine that gets the events.

use std::time::Duration;

use legwork_client::{Event, Webhook};
use serde_json::json;

use crate::cli::remote::failure::Failed;
use crate::cli::tell;
use crate::tls;

/// Like the server's own deliveries.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// An endpoint that does not take an event gets it so often.
const ATTEMPTS: u32 = 3;

/// What became of an event, in words.
pub enum Delivered {
    Taken(String),
    GivenUp(String),
}

/// The local endpoint.
pub struct Forward {
    http: reqwest::Client,
    url: reqwest::Url,
    webhook: Webhook,
}

impl Forward {
    pub fn to(url: &str, secret: &str) -> Result<Self, Failed> {
        let wrong = || {
            Failed::usage(format!(
                "--forward-to takes a URL such as http://localhost:3000/webhooks, not {url}"
            ))
        };
        let url = reqwest::Url::parse(url).map_err(|_| wrong())?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(wrong());
        }
        let roots = tls::authorities(None)
            .and_then(tls::client)
            .map_err(Failed::Refused)?;
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(roots)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .timeout(ANSWER_WITHIN)
            .user_agent(concat!("legwork-listen/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| Failed::Refused(error.to_string()))?;
        Ok(Self {
            http,
            url,
            webhook: Webhook::new(secret)?,
        })
    }

    /// One event at a time, so they arrive in order. A program that does not run is waited for, so none is lost while you
    /// restart it. One that answers with an error, or not at all, gets it again, then the next one.
    pub async fn deliver(&self, event: &Event) -> Delivered {
        let body = json!({"event": event.event, "data": event.data}).to_string();
        let (mut refused, mut unreachable) = (0, 0_u32);
        loop {
            let outcome = match self.send(event, &body).await {
                Ok(status) if (200..300).contains(&status) => {
                    return Delivered::Taken(format!("-> {status}"));
                }
                Ok(status) => {
                    refused += 1;
                    format!("-> {status}")
                }
                Err(error) if !error.is_connect() => {
                    refused += 1;
                    format!("-> no answer: {}", cause(&error))
                }
                Err(error) => {
                    if unreachable == 0 {
                        tell(format_args!(
                            "{} cannot be reached ({}). Events wait until it can.",
                            self.url,
                            cause(&error)
                        ));
                    }
                    unreachable += 1;
                    String::new()
                }
            };
            if refused == ATTEMPTS {
                let given_up = format!("{outcome} (given up after {ATTEMPTS} attempts)");
                return Delivered::GivenUp(given_up);
            }
            let pause = Duration::from_millis(100 << (refused + unreachable).min(5));
            tokio::time::sleep(pause).await;
        }
    }

    async fn send(&self, event: &Event, body: &str) -> reqwest::Result<u16> {
        let mut request = self
            .http
            .post(self.url.clone())
            .header("content-type", "application/json");
        for (name, value) in self.webhook.sign_now(&event.id, body.as_bytes()).0 {
            request = request.header(name, value);
        }
        let answer = request.body(body.to_owned()).send().await?;
        Ok(answer.status().as_u16())
    }
}

/// The innermost cause says most.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
