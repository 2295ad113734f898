//! A plain HTTP client, and raw sockets for what no client would send.

use std::net::SocketAddr;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[derive(Clone)]
pub struct Client {
    hyper: HyperClient<HttpConnector, Full<Bytes>>,
    address: SocketAddr,
    key: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Value,
    pub text: String,
    /// The body as it came.
    pub bytes: Bytes,
}

impl Client {
    pub fn new(address: SocketAddr, key: Option<&str>) -> Self {
        Self {
            hyper: HyperClient::builder(TokioExecutor::new())
                // Sooner than the server, which closes idle connections.
                .pool_idle_timeout(Duration::from_secs(5))
                .build_http(),
            address,
            key: key.map(str::to_owned),
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn key(&self) -> &str {
        self.key.as_deref().unwrap()
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], "").await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Reply {
        self.send("POST", path, &[], body.to_string()).await
    }

    pub async fn post_with(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> Reply {
        self.send("POST", path, headers, body.to_string()).await
    }

    pub async fn patch(&self, path: &str, body: &Value) -> Reply {
        self.send("PATCH", path, &[], body.to_string()).await
    }

    /// Fills in the sandbox's payment page.
    pub async fn pay(&self, client_secret: &str, card: &str) -> Reply {
        let form = [("content-type", "application/x-www-form-urlencoded")];
        let path = format!("/pay/{client_secret}");
        self.send("POST", &path, &form, format!("card={card}"))
            .await
    }

    /// Sends a form: texts and files by name.
    pub async fn send_form(&self, path: &str, parts: &[(&str, &[u8])]) -> Reply {
        self.send_form_with(path, &[], parts).await
    }

    pub async fn send_form_with(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        parts: &[(&str, &[u8])],
    ) -> Reply {
        let mut body = Vec::new();
        for (name, content) in parts {
            let head = format!(
                "--boundary\r\nContent-Disposition: form-data; name=\"{name}\"{}\r\n\r\n",
                if content.len() > 100 {
                    "; filename=\"../../etc/passwd\""
                } else {
                    ""
                }
            );
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(content);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"--boundary--\r\n");
        let mut form = headers.to_vec();
        form.push(("content-type", "multipart/form-data; boundary=boundary"));
        self.send("POST", path, &form, body).await
    }

    pub async fn delete(&self, path: &str) -> Reply {
        self.send("DELETE", path, &[], "").await
    }

    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Reply {
        let mut request = Request::builder()
            .method(Method::from_bytes(method.as_bytes()).unwrap())
            .uri(format!("http://{}{path}", self.address));
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body.into())).unwrap();
        self.exchange(request).await.unwrap()
    }

    /// Like `post`, but none when the server is gone before it has answered.
    pub async fn try_post(&self, path: &str, body: &Value) -> Option<Reply> {
        self.try_post_with(path, &[], body).await
    }

    pub async fn try_post_with(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Option<Reply> {
        let mut request = Request::post(format!("http://{}{path}", self.address))
            .header("authorization", format!("Bearer {}", self.key.as_deref()?));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body.to_string().into())).unwrap();
        self.exchange(request).await
    }

    /// GET, without the body of an answer that succeeds: it may never end.
    pub async fn head_of(&self, path: &str) -> Reply {
        let uri = format!("http://{}{path}", self.address);
        let mut request = Request::get(uri);
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let request = request.body(Full::new(Bytes::new())).unwrap();
        let response = self.hyper.request(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let mut bytes = Bytes::new();
        if !parts.status.is_success() {
            bytes = body.collect().await.unwrap().to_bytes();
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Reply {
            status: parts.status,
            headers: parts.headers,
            body: serde_json::from_str(&text).unwrap_or(Value::Null),
            text,
            bytes,
        }
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> Option<Reply> {
        let response = self.hyper.request(request).await.ok()?;
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.ok()?.to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Some(Reply {
            status: parts.status,
            headers: parts.headers,
            body: serde_json::from_str(&text).unwrap_or(Value::Null),
            text,
            bytes,
        })
    }
}

impl Reply {
    /// The body of an answer that must have this status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.body
    }

    /// Asserts an error of this status and code.
    #[track_caller]
    pub fn expect_error(self, status: u16, code: &str) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        assert_eq!(self.body["error"]["code"], code, "{}", self.text);
        self
    }

    /// The fields that a VALIDATION_ERROR names, in order.
    #[track_caller]
    pub fn faulty_fields(self) -> Vec<String> {
        let reply = self.expect_error(400, "VALIDATION_ERROR");
        let details = reply.body["error"]["details"].as_array().unwrap();
        let field = |fault: &Value| fault["field"].as_str().unwrap().to_owned();
        details.iter().map(field).collect()
    }

    #[track_caller]
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .unwrap_or_else(|| panic!("no {name} header"))
            .to_str()
            .unwrap()
    }
}

/// Writes raw bytes to a new connection and returns all that comes back until it is closed.
pub async fn exchange(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    // A reset after the answer is as good as an end.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}
