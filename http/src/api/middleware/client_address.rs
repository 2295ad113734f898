//! Who a request came from. A proxy says for whom it forwards, and only trusted proxies are believed:
//! anybody can send such a header.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv6Addr};

use axum::extract::{FromRequestParts, Request};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use ipnet::IpNet;

use crate::api::App;
use crate::api::server::Peer;
use crate::limits::ClientAddress;

const X_FORWARDED_FOR: &str = "x-forwarded-for";
const FORWARDED: &str = "forwarded";
/// No request passes more proxies than this. It bounds the work that a long header makes.
const MAX_HOPS: usize = 32;

/// The peer's address, or the one for which trusted proxies say that they forwarded.
pub fn client_of(request: &Request, trusted: &[IpNet]) -> ClientAddress {
    match request.extensions().get::<Peer>() {
        Some(peer) => behind_proxies(peer.0.ip(), request.headers(), trusted).into(),
        None => ClientAddress::UNKNOWN,
    }
}

/// What `middleware/edge` has put on a request.
pub fn noted_on(request: &Request) -> ClientAddress {
    let noted = request.extensions().get::<ClientAddress>().copied();
    noted.unwrap_or(ClientAddress::UNKNOWN)
}

impl FromRequestParts<App> for ClientAddress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Infallible> {
        let found = parts.extensions.get::<Self>().copied();
        Ok(found.unwrap_or(Self::UNKNOWN))
    }
}

/// Walks from the peer towards the client, as long as trusted proxies vouch for the next address.
/// The first address that is not trusted is the client's. What is no address ends the walk at the
/// last good one.
///
/// With both headers, `X-Forwarded-For` counts: it is the one that proxies set unless told
/// otherwise, and a proxy that sets it lets the client's own `Forwarded` pass.
fn behind_proxies(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|net| net.contains(&address));
    let mut last = peer.to_canonical();
    if !is_trusted(last) {
        return last;
    }
    let is_plain = headers.contains_key(X_FORWARDED_FOR);
    let name = if is_plain { X_FORWARDED_FOR } else { FORWARDED };
    let lines = headers.get_all(name).iter().rev();
    let entries = lines.flat_map(|line| FromTheRight(Some(line.as_bytes())));
    for entry in entries.take(MAX_HOPS) {
        let address = if is_plain {
            plain_entry(entry)
        } else {
            forwarded_entry(entry)
        };
        match address {
            Some(address) => last = address,
            // A list may have empty entries; they say nothing.
            None if entry.trim_ascii().is_empty() => continue,
            None => break,
        }
        if !is_trusted(last) {
            break;
        }
    }
    last
}

/// The entries of a list, last first: a client can break what it sends itself, which is on the left,
/// but not what the proxies have added. Commas in quoted strings separate nothing.
struct FromTheRight<'a>(Option<&'a [u8]>);

impl<'a> Iterator for FromTheRight<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let list = self.0?;
        let mut quoted = false;
        for (at, byte) in list.iter().enumerate().rev() {
            match byte {
                b'"' if !(quoted && is_escaped(list, at)) => quoted = !quoted,
                b',' if !quoted => {
                    self.0 = Some(&list[..at]);
                    return Some(&list[at + 1..]);
                }
                _ => {}
            }
        }
        self.0 = None;
        Some(list)
    }
}

/// Whether an odd number of backslashes stands before this byte.
fn is_escaped(list: &[u8], at: usize) -> bool {
    let before = list[..at].iter().rev();
    before.take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// An entry of X-Forwarded-For: an address, sometimes with a port.
fn plain_entry(entry: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(entry.trim_ascii()).ok()?;
    match text.parse::<Ipv6Addr>() {
        Ok(bare) => Some(IpAddr::V6(bare).to_canonical()),
        Err(_) => node(text),
    }
}

/// An element of Forwarded (RFC 7239): its `for` parameter. `unknown` and obfuscated identifiers are
/// no addresses.
fn forwarded_entry(entry: &[u8]) -> Option<IpAddr> {
    let mut rest = entry;
    let mut found = None;
    loop {
        rest = rest.trim_ascii();
        let (name, after) = token(rest)?;
        let (value, after) = value(after.strip_prefix(b"=")?)?;
        if name.eq_ignore_ascii_case(b"for") && found.replace(value).is_some() {
            return None;
        }
        rest = after.trim_ascii();
        match rest.split_first() {
            None => break,
            Some((b';', after)) => rest = after,
            Some(_) => return None,
        }
    }
    node(std::str::from_utf8(&found?).ok()?)
}

fn token(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    let end = text.iter().position(|byte| !is_token(byte));
    let (token, rest) = text.split_at(end.unwrap_or(text.len()));
    (!token.is_empty()).then_some((token, rest))
}

/// A token or a quoted string, and what follows it.
fn value(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let Some(quoted) = text.strip_prefix(b"\"") else {
        return token(text).map(|(token, rest)| (token.to_owned(), rest));
    };
    let mut value = Vec::new();
    let mut bytes = quoted.iter().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return Some((value, &quoted[at + 1..])),
            b'\\' => value.push(*bytes.next()?.1),
            byte => value.push(*byte),
        }
    }
    None
}

/// `192.0.2.1`, `192.0.2.1:80`, `[2001:db8::1]` or `[2001:db8::1]:80`.
fn node(text: &str) -> Option<IpAddr> {
    let (address, port) = match text.strip_prefix('[') {
        Some(bracketed) => {
            let (address, port) = bracketed.split_once(']')?;
            (IpAddr::V6(address.parse().ok()?), port)
        }
        None => {
            let end = text.find(':').unwrap_or(text.len());
            (IpAddr::V4(text[..end].parse().ok()?), &text[end..])
        }
    };
    let well_formed = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
    well_formed.then(|| address.to_canonical())
}

/// A number, or an obfuscated port: `_` and a name.
fn is_port(text: &str) -> bool {
    let obfuscated = text.strip_prefix('_').is_some_and(|name| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        !name.is_empty() && name.chars().all(plain)
    });
    obfuscated || (1..=5).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests;
