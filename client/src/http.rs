//! Requests: the key, time-outs, retries.

use std::sync::Arc;
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{Method, RequestBuilder, Response, Url};
use rustls::{ClientConfig, RootCertStore};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::Refusal;
use crate::{ApiError, Error, ErrorCode, Result, ambient};

/// Where a server listens on your own machine.
pub const DEFAULT_BASE_URL: &str = "http://127.0.0.1:8080";
/// Whoever is told to come back later than this decides for themselves.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(60);
const MOST_BYTES: usize = 1 << 29;

/// A client with an API key. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
    idempotency_key: Option<Arc<str>>,
}

struct Shared {
    http: reqwest::Client,
    base: String,
    key: String,
    timeout: Duration,
    max_retries: u32,
    slow: Option<Slow>,
}

/// After how long somebody is told that there is no answer yet, and how.
type Slow = (Duration, fn(&str));

/// How a client is made.
#[derive(Clone)]
pub struct Builder {
    key: String,
    base_url: String,
    timeout: Duration,
    max_retries: u32,
    slow: Option<Slow>,
    user_agent: String,
}

impl Builder {
    /// Where the service is [default: `http://127.0.0.1:8080`].
    pub fn base_url(self, base_url: &str) -> Self {
        let base_url = base_url.trim_end_matches('/').to_owned();
        Self { base_url, ..self }
    }

    /// For one try [default: 30 seconds].
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// How often a request is sent again [default: 3]. That happens after 408, 429 and 503, and when
    /// the connection fails. All tries of a POST carry the same Idempotency-Key, so that it takes
    /// effect once.
    pub fn max_retries(self, max_retries: u32) -> Self {
        Self {
            max_retries,
            ..self
        }
    }

    /// Calls this, once for each request, when there is no answer after so long: with the address of the server.
    pub fn when_slow(self, after: Duration, tell: fn(&str)) -> Self {
        let slow = Some((after, tell));
        Self { slow, ..self }
    }

    /// Names your program, before the name of this library.
    pub fn user_agent(self, program: &str) -> Self {
        let user_agent = format!("{program} {}", self.user_agent);
        Self { user_agent, ..self }
    }

    pub fn build(self) -> Result<Client> {
        let url = Url::parse(&self.base_url).ok();
        let scheme = url.as_ref().map(|url| url.scheme().to_owned());
        let is_encrypted = match scheme.as_deref() {
            Some("https") => true,
            Some("http") => false,
            _ => {
                return Err(Error::Setup(format!(
                    "{} is not a URL of a server",
                    self.base_url
                )));
            }
        };
        if self.key.is_empty() || !self.key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Error::Setup("the API key is empty, or not one".to_owned()));
        }
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls(is_encrypted)?)
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(self.timeout.min(Duration::from_secs(10)))
            .user_agent(self.user_agent)
            .build()
            .map_err(|error| Error::Setup(error.to_string()))?;
        let shared = Shared {
            http,
            base: self.base_url,
            key: self.key,
            timeout: self.timeout,
            max_retries: self.max_retries,
            slow: self.slow,
        };
        Ok(Client {
            shared: Arc::new(shared),
            idempotency_key: None,
        })
    }
}

/// The system's authorities are read only when they are needed.
fn tls(is_encrypted: bool) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    if is_encrypted {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Setup(error.to_string()))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// A request.
pub(crate) struct Call {
    method: Method,
    path: String,
    query: Vec<(String, String)>,
    body: Option<(String, Vec<u8>)>,
}

impl Call {
    /// Each `{…}` of the path is replaced by the next id.
    pub fn new(method: Method, path: &str, ids: &[&str]) -> Self {
        let mut ids = ids.iter();
        let parts = path.split('/').map(|part| match part.starts_with('{') {
            true => encoded(ids.next().copied().filter(|id| is_name(id)).unwrap_or("-")),
            false => part.to_owned(),
        });
        let path = parts.collect::<Vec<_>>().join("/");
        Self {
            method,
            path,
            query: Vec::new(),
            body: None,
        }
    }

    pub fn query(mut self, query: &impl Serialize) -> Self {
        let fields = serde_json::to_value(query).unwrap_or_default();
        for (name, value) in fields.as_object().into_iter().flatten() {
            match value {
                Value::Null => {}
                // `metadata` has a parameter for each key; several words are one.
                Value::Object(keys) => keys
                    .iter()
                    .for_each(|(key, value)| self.set(&format!("{name}.{key}"), &plain(value))),
                Value::Array(words) => {
                    let words: Vec<_> = words.iter().map(plain).collect();
                    self.set(name, &words.join(","));
                }
                other => self.set(name, &plain(other)),
            }
        }
        self
    }

    /// Sets a parameter of the query, once.
    pub fn set(&mut self, name: &str, value: &str) {
        self.query.retain(|(known, _)| known != name);
        self.query.push((name.to_owned(), value.to_owned()));
    }

    pub fn body(self, body: &impl Serialize) -> Self {
        let json = serde_json::to_vec(body).unwrap_or_default();
        self.raw_body("application/json".to_owned(), json)
    }

    pub fn raw_body(mut self, content_type: String, bytes: Vec<u8>) -> Self {
        self.body = Some((content_type, bytes));
        self
    }

    /// A body of these fields, without those that are null.
    pub fn fields(self, fields: &[(&str, Value)]) -> Self {
        let given = fields.iter().filter(|(_, value)| !value.is_null());
        let given: serde_json::Map<_, _> = given
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        self.body(&given)
    }
}

/// "" and ".." would lead to another path. No object has such an id.
fn is_name(id: &str) -> bool {
    !id.trim_matches('.').is_empty()
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

impl Client {
    pub fn builder(key: &str) -> Builder {
        Builder {
            key: key.trim().to_owned(),
            base_url: DEFAULT_BASE_URL.to_owned(),
            timeout: Duration::from_secs(30),
            max_retries: 3,
            slow: None,
            user_agent: concat!("legwork-rust/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }

    /// The same client, whose POSTs carry your own Idempotency-Key. Use it for one request: the
    /// server then knows a repeat of it, even after your program was restarted.
    pub fn with_idempotency_key(&self, key: &str) -> Self {
        let idempotency_key = Some(Arc::from(key));
        Self {
            shared: self.shared.clone(),
            idempotency_key,
        }
    }

    pub(crate) fn max_retries(&self) -> u32 {
        self.shared.max_retries
    }

    /// Sends a request that has no method of its own here. The path has its query, and ids in it are encoded.
    pub async fn request(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|error| Error::Setup(error.to_string()))?;
        let mut call = Call::new(method, path, &[]);
        if let Some(body) = body {
            call = call.body(body);
        }
        self.json(call).await
    }

    /// Where the service is.
    pub fn base_url(&self) -> &str {
        &self.shared.base
    }

    pub(crate) async fn json<T: DeserializeOwned>(&self, call: Call) -> Result<T> {
        self.decode(&self.bytes(&call).await?)
    }

    pub(crate) fn decode<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T> {
        serde_json::from_slice(bytes).map_err(|error| Error::Answer {
            url: self.shared.base.clone(),
            reason: error.to_string(),
        })
    }

    /// Tells if it takes long.
    pub(crate) async fn bytes(&self, call: &Call) -> Result<Vec<u8>> {
        let mut answered = std::pin::pin!(self.tried(call));
        if let Some((after, tell)) = self.shared.slow {
            match tokio::time::timeout(after, answered.as_mut()).await {
                Ok(answer) => return answer,
                Err(_) => tell(&self.shared.base),
            }
        }
        answered.await
    }

    /// Sends a request until it is answered, refused for good, or tried often enough.
    async fn tried(&self, call: &Call) -> Result<Vec<u8>> {
        let key = match (&call.method, &self.idempotency_key) {
            (&Method::POST, Some(key)) => Some(key.to_string()),
            (&Method::POST, None) => Some(ambient::random_name()?),
            _ => None,
        };
        let mut tried = 0;
        loop {
            match self.attempt(call, key.as_deref()).await {
                Ok(bytes) => return Ok(bytes),
                Err(error) => self.before_next(&mut tried, error).await?,
            }
        }
    }

    /// Pauses before the next try. If there is none, it is the error.
    async fn before_next(&self, tried: &mut u32, error: Error) -> Result<()> {
        match pause(&error, *tried).filter(|_| *tried < self.shared.max_retries) {
            Some(pause) => tokio::time::sleep(pause).await,
            None => return Err(error),
        }
        *tried += 1;
        Ok(())
    }

    async fn attempt(&self, call: &Call, key: Option<&str>) -> Result<Vec<u8>> {
        let mut request = self.prepared(call).timeout(self.shared.timeout);
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        let url = self.url(&call.path);
        let answer = self.accepted(request, place(&url)).await?;
        read(answer, place(&url), MOST_BYTES).await
    }

    /// Opens an answer that has no end. It is not tried again.
    pub(crate) async fn open(&self, call: &Call, headers: HeaderMap) -> Result<Response> {
        let request = self
            .prepared(call)
            .header(ACCEPT, "text/event-stream")
            .headers(headers);
        let opened = self.accepted(request, &self.shared.base);
        match tokio::time::timeout(self.shared.timeout, opened).await {
            Ok(opened) => opened,
            Err(_) => Err(Error::Timeout {
                url: self.shared.base.clone(),
            }),
        }
    }

    /// Reads a file by its signed URL. The key is not sent: the URL may lead to another host.
    pub async fn fetch(&self, url: &str) -> Result<Vec<u8>> {
        self.fetch_up_to(url, MOST_BYTES).await
    }

    /// The same, and an error if the file has more bytes than this.
    pub async fn fetch_up_to(&self, url: &str, most: usize) -> Result<Vec<u8>> {
        let mut tried = 0;
        loop {
            match self.fetch_once(url, most).await {
                Ok(bytes) => return Ok(bytes),
                Err(error) => self.before_next(&mut tried, error).await?,
            }
        }
    }

    async fn fetch_once(&self, url: &str, most: usize) -> Result<Vec<u8>> {
        let request = self.shared.http.get(url).timeout(self.shared.timeout * 4);
        read(self.accepted(request, place(url)).await?, place(url), most).await
    }

    fn prepared(&self, call: &Call) -> RequestBuilder {
        let mut url = self.url(&call.path);
        for (index, (name, value)) in call.query.iter().enumerate() {
            url.push(if index == 0 { '?' } else { '&' });
            url.push_str(&format!("{}={}", encoded(name), encoded(value)));
        }
        let bearer = format!("Bearer {}", self.shared.key);
        let request = self.shared.http.request(call.method.clone(), url);
        let request = request.header(AUTHORIZATION, bearer);
        match &call.body {
            Some((content_type, bytes)) => request
                .header(CONTENT_TYPE, content_type.as_str())
                .body(bytes.clone()),
            None => request,
        }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.shared.base)
    }

    async fn accepted(&self, request: RequestBuilder, url: &str) -> Result<Response> {
        let answer = request.send().await.map_err(|error| failed(&error, url))?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let body = read(answer, url, MOST_BYTES).await?;
        Err(Error::Api(Box::new(refusal(status, &headers, &body))))
    }
}

/// A URL for messages. Without the query: it has what somebody searches for, and the signature of a file.
fn place(url: &str) -> &str {
    url.split_once('?').map_or(url, |(place, _)| place)
}

async fn read(mut answer: Response, url: &str, most: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| failed(&error, url))? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > most {
            let reason = "the answer is too large".to_owned();
            return Err(Error::Answer {
                url: url.to_owned(),
                reason,
            });
        }
    }
    Ok(bytes)
}

fn refusal(status: u16, headers: &HeaderMap, body: &[u8]) -> ApiError {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let retry_after = header(RETRY_AFTER.as_str()).and_then(|value| value.trim().parse().ok());
    match serde_json::from_slice::<Refusal>(body) {
        Ok(Refusal { error }) => ApiError {
            status,
            code: error.code,
            message: error.message,
            request_id: error.request_id,
            details: error.details.unwrap_or_default(),
            retry_after,
        },
        // A proxy before the server, or another program.
        Err(_) => ApiError {
            status,
            code: ErrorCode::Unknown(format!("HTTP_{status}")),
            message: format!("the server answered {status}"),
            request_id: header("x-request-id").unwrap_or_default().to_owned(),
            details: Value::Null,
            retry_after,
        },
    }
}

fn failed(error: &reqwest::Error, url: &str) -> Error {
    let url = url.to_owned();
    if error.is_timeout() {
        return Error::Timeout { url };
    }
    Error::Network {
        url,
        reason: cause(error),
    }
}

/// The last cause says most: "Connection refused".
pub(crate) fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// How long to wait before the next try; none if another would end the same way.
fn pause(error: &Error, tried: u32) -> Option<Duration> {
    let asked = match error {
        Error::Network { .. } | Error::Timeout { .. } => None,
        Error::Api(refused) => {
            // The first try is still at work.
            let is_early = refused.code == ErrorCode::IdempotencyInFlight;
            let is_passing = matches!(refused.status, 408 | 429 | 503);
            (is_passing || is_early).then_some(refused.retry_after)?
        }
        _ => return None,
    };
    let jitter = ambient::random_share();
    let pause = match asked {
        Some(seconds) => Duration::from_secs(seconds) + Duration::from_millis(250).mul_f64(jitter),
        None => backoff(tried).mul_f64(0.5 + jitter / 2.0),
    };
    (pause < LONGEST_WAIT).then_some(pause)
}

pub(crate) fn backoff(tried: u32) -> Duration {
    Duration::from_millis(500 << tried.min(4))
}
