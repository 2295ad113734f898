//! Reaches S3 with the HTTP client and the TLS that the rest of the service uses.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::Method;
use http_body_util::{BodyExt, Limited};
use object_store::client::{
    ClientConfigKey, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest,
    HttpResponse, HttpResponseBody, HttpService,
};
use object_store::{ClientOptions, Error};
use tokio::time::timeout;

use crate::tls;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The limit for sending a part and getting its response, and between two chunks of a response. A
/// response as a whole has no limit, because its reader may be slow.
const TIMEOUT: Duration = Duration::from_secs(20);

/// S3 puts the parts of a file together before it ends its response.
const ASSEMBLY_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a response may be that is no file: a list of a thousand keys.
const MAX_BYTES: usize = 4 << 20;

/// Creates clients with our TLS configuration. The library's own connector would use the default
/// TLS provider of the process, and fail if there is none.
#[derive(Debug)]
pub struct Connector {
    tls: rustls::ClientConfig,
}

impl Connector {
    pub fn new() -> Result<Self, String> {
        let tls = tls::client(tls::authorities(None)?)?;
        Ok(Self { tls })
    }
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let http_allowed = options.get_config_value(&ClientConfigKey::AllowHttp);
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(self.tls.clone())
            .https_only(http_allowed.as_deref() == Some("false"))
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(TIMEOUT)
            .user_agent(concat!("legwork/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|e| Error::Generic {
                store: "S3",
                source: Box::new(e),
            })?;
        Ok(HttpClient::new(Bounded(client)))
    }
}

/// The library reads every response whole that is no file, however long it is and takes.
#[derive(Debug)]
struct Bounded(reqwest::Client);

#[async_trait]
impl HttpService for Bounded {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let lists = |query: &str| query.contains("list-type=");
        let reads_a_file =
            request.method() == Method::GET && !request.uri().query().is_some_and(lists);
        let limit = match *request.method() {
            Method::POST => ASSEMBLY_TIMEOUT,
            _ => TIMEOUT,
        };
        let response = HttpService::call(&self.0, request).await?;
        if reads_a_file && response.status().is_success() {
            return Ok(response);
        }
        let (head, body) = response.into_parts();
        let whole = timeout(limit, Limited::new(body, MAX_BYTES).collect()).await;
        let body = match whole {
            Ok(Ok(whole)) => whole.to_bytes(),
            // The status has said it.
            _ if !head.status.is_success() => Bytes::new(),
            Ok(Err(error)) => return Err(HttpError::new_boxed(HttpErrorKind::Decode, error)),
            Err(late) => return Err(HttpError::new(HttpErrorKind::Timeout, late)),
        };
        Ok(HttpResponse::from_parts(head, HttpResponseBody::from(body)))
    }
}
