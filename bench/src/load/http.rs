//! A minimal HTTP/1.1 client: requests are built once as bytes, responses are read by their length.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::Result;

pub fn get(path: &str, key: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n\r\n").into()
}

pub fn post(path: &str, key: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into()
}

/// Where the response in a buffer ends, once its head is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub status: u16,
    pub body_starts: usize,
    pub ends: usize,
}

/// Parses the head of a response. `None` while it is incomplete. The server always sends
/// `content-length`; without it, the body counts as empty.
pub fn head(buffer: &[u8]) -> Option<Head> {
    let body_starts = find(buffer, b"\r\n\r\n")? + 4;
    let status = buffer.get(9..12).map_or(0, number) as u16;
    let head = &buffer[..body_starts];
    let length = find(head, b"content-length: ").map_or(0, |at| {
        let digits = &head[at + b"content-length: ".len()..];
        number(digits)
    });
    Some(Head {
        status,
        body_starts,
        ends: body_starts + length,
    })
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|w| w == needle)
}

fn number(text: &[u8]) -> usize {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0'))
}

/// One request on its own connection, for setup and checks, not for measurements.
pub fn fetch(address: SocketAddr, request: &[u8]) -> Result<(u16, String)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    stream.write_all(request)?;
    let mut buffer = Vec::new();
    let mut chunk = [0; 16 * 1024];
    loop {
        if let Some(head) = head(&buffer).filter(|head| buffer.len() >= head.ends) {
            let body = String::from_utf8_lossy(&buffer[head.body_starts..head.ends]);
            return Ok((head.status, body.into_owned()));
        }
        let read = stream.read(&mut chunk)?;
        if read == 0 {
            return Err("the server closed the connection".into());
        }
        buffer.extend_from_slice(&chunk[..read]);
    }
}

/// Like `fetch`, but fails on any status other than the expected one.
pub fn fetch_json(address: SocketAddr, request: &[u8], expected: u16) -> Result<Value> {
    let (status, body) = fetch(address, request)?;
    if status != expected {
        return Err(format!("{status} instead of {expected}: {body}").into());
    }
    Ok(serde_json::from_str(&body)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_ends_where_its_length_says() {
        let answer = b"HTTP/1.1 201 Created\r\ncontent-length: 12\r\nx: y\r\n\r\nhello, world";
        let head = head(answer).unwrap();
        assert_eq!((head.status, head.ends), (201, answer.len()));
        assert_eq!(&answer[head.body_starts..], b"hello, world");
        assert_eq!(super::head(&answer[..40]), None);
    }
}
