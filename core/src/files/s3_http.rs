//! Reaches S3 with the HTTP client and the TLS that the rest of the service uses.

use std::time::Duration;

use object_store::client::{ClientConfigKey, HttpClient, HttpConnector};
use object_store::{ClientOptions, Error};

use crate::tls;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The limit for sending a part and getting its response, and between two chunks of a response. A
/// response as a whole has no limit, because its reader may be slow.
const TIMEOUT: Duration = Duration::from_secs(20);

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
        Ok(HttpClient::new(client))
    }
}
