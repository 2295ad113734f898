//! HTTP/2 by hand, for what no library would send.

use legwork::api::Serving;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::support::{Edge, Tls, in_time};

pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;

pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;

/// Names of settings.
pub const MAX_STREAMS: u16 = 3;
pub const INITIAL_WINDOW: u16 = 4;
pub const MAX_HEADER_LIST: u16 = 6;

/// `GET /` of `https://x`, as a block of headers.
pub const GET: &[u8] = b"\x82\x87\x84\x41\x01x";

#[derive(Debug)]
pub struct Frame {
    pub kind: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

impl Frame {
    /// The code of a RST_STREAM, or of a GOAWAY.
    pub fn error_code(&self) -> u32 {
        let from = if self.kind == GOAWAY { 4 } else { 0 };
        u32::from_be_bytes(self.payload[from..from + 4].try_into().unwrap())
    }
}

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

pub fn setting(name: u16, value: u32) -> Vec<u8> {
    let mut setting = name.to_be_bytes().to_vec();
    setting.extend(value.to_be_bytes());
    setting
}

/// A whole request without a body.
pub fn request(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_STREAM | END_HEADERS, stream, GET)
}

pub struct Raw(TlsStream<TcpStream>);

impl Raw {
    /// Starts to speak HTTP/2, with these settings.
    pub async fn open(tls: &Tls, edge: &Edge, settings: &[u8]) -> Self {
        let mut raw = Self(tls.connect(edge.address, &["h2"]).await);
        let mut start = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        start.extend(frame(SETTINGS, 0, 0, settings));
        raw.send(&start).await.unwrap();
        raw
    }

    pub async fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.write_all(bytes).await?;
        self.0.flush().await
    }

    /// The next frame; none when the connection is closed.
    pub async fn next(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        in_time(self.0.read_exact(&mut head)).await.ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        in_time(self.0.read_exact(&mut payload)).await.ok()?;
        Some(Frame {
            kind: head[3],
            stream: u32::from_be_bytes(head[5..9].try_into().unwrap()),
            payload,
        })
    }

    /// The next frame of this kind.
    #[track_caller]
    pub fn until(&mut self, kind: u8) -> impl Future<Output = Frame> {
        let at = std::panic::Location::caller();
        async move {
            loop {
                let frame = self.next().await;
                let frame = frame.unwrap_or_else(|| panic!("closed before {kind}: {at}"));
                if frame.kind == kind {
                    return frame;
                }
            }
        }
    }
}

/// Puts TLS before a server.
pub fn over(tls: &Tls) -> impl FnOnce(&mut Serving) {
    let config = tls.server.clone();
    move |serving| serving.tls = Some(config)
}
