//! For whom passkeys are made: a site, by its name.

use std::net::IpAddr;

/// The site as browsers know it. A passkey works nowhere else, so it cannot be phished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelyingParty {
    /// The name without a port, such as `legwork.example.com`.
    pub id: String,
    /// Such as `https://legwork.example.com`.
    pub origin: String,
}

impl RelyingParty {
    /// Of the URL where the service is reached. Browsers make passkeys for names with HTTPS alone, and for
    /// `localhost`, which also stands for the addresses of this machine. None for anything else.
    pub fn of(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let authority = rest.split(['/', '?', '#']).next()?.to_ascii_lowercase();
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
            _ => (authority.as_str(), ""),
        };
        let id = name_of(host)?;
        let default = match scheme {
            "https" => "443",
            "http" if id == "localhost" => "80",
            _ => return None,
        };
        let port = match port {
            port if port.is_empty() || port == default => String::new(),
            port => format!(":{port}"),
        };
        Some(Self {
            origin: format!("{scheme}://{id}{port}"),
            id: id.to_owned(),
        })
    }
}

fn name_of(host: &str) -> Option<&str> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse::<IpAddr>() {
        let is_own = address.is_loopback() || address.is_unspecified();
        return is_own.then_some("localhost");
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    (!host.is_empty() && host.bytes().all(plain)).then_some(host)
}
