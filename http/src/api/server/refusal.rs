//! The answer to a connection for which there is no place.

use std::sync::LazyLock;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::limits::ConnectionLimits;

/// How long a refused client has to read why.
const TELL_WITHIN: Duration = Duration::from_secs(1);
/// How much of its request is read meanwhile: closing a connection with something unread would
/// destroy the answer.
const MAX_READ: u64 = 16 * 1024;

static ANSWER: LazyLock<String> = LazyLock::new(|| {
    let body = r#"{"error":{"code":"UNAVAILABLE","message":"Too many connections are open. Retry later.","request_id":"none"}}"#;
    format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
});

/// Answers 503 and closes. When too many are being told already, or when the client expects a TLS
/// handshake, which costs more than the answer is worth, it only closes.
pub fn refuse(stream: TcpStream, limits: &ConnectionLimits, tls: bool) {
    let permit = limits.refusal().filter(|_| !tls);
    let Some(permit) = permit else {
        let _ = stream.set_zero_linger();
        return;
    };
    tokio::spawn(async move {
        let _ = tokio::time::timeout(TELL_WITHIN, tell(stream)).await;
        drop(permit);
    });
}

async fn tell(mut stream: TcpStream) -> std::io::Result<()> {
    stream.write_all(ANSWER.as_bytes()).await?;
    stream.shutdown().await?;
    let mut unread = stream.take(MAX_READ);
    tokio::io::copy(&mut unread, &mut tokio::io::sink()).await?;
    Ok(())
}
