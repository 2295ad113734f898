//! How the text of a setting becomes its value. A message says what would be right.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ipnet::IpNet;
use tracing_subscriber::filter::{LevelFilter, Targets};
use url::Url;

use crate::domain::{Secret, Tier};
use crate::settings::LogFormat;
use crate::store::Location;

pub fn folder(text: &str) -> Result<PathBuf, String> {
    if text.trim().is_empty() {
        return Err("must be a path".to_owned());
    }
    Ok(PathBuf::from(text))
}

pub fn address(text: &str) -> Result<SocketAddr, String> {
    let malformed = || format!("{text:?} is not an address such as 127.0.0.1:8080");
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let mut found = text.to_socket_addrs().map_err(|_| malformed())?;
    // A name may have several addresses. IPv4 comes first, for old clients.
    let (v4, v6): (Vec<_>, Vec<_>) = found
        .by_ref()
        .partition(|address| matches!(address.ip(), IpAddr::V4(_)));
    v4.into_iter().chain(v6).next().ok_or_else(malformed)
}

pub fn optional<T>(
    parse: impl Fn(&str) -> Result<T, String>,
) -> impl Fn(&str) -> Result<Option<T>, String> {
    move |text| match text {
        "" => Ok(None),
        text => parse(text).map(Some),
    }
}

pub fn connections(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..=1_000) => Ok(number),
        _ => Err("must be a whole number from 1 to 1000".to_owned()),
    }
}

pub fn database(url: &str, data: &Path, connections: usize) -> Result<Location, String> {
    if url == "sqlite" {
        let file = data.join("legwork.db");
        return Ok(Location::Sqlite { file });
    }
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        let url = url.to_owned();
        return Ok(Location::Postgres { url, connections });
    }
    // The URL may contain a password, so it is not repeated. An empty value is refused too: a
    // secret that is missing must not lead to an empty database.
    Err("must begin with postgres:// (leave it out for SQLite in the data folder)".to_owned())
}

/// A value that is not UTF-8 arrives with a mark in its place.
pub fn expect_utf8(text: &str) -> Result<(), String> {
    match text.contains(char::REPLACEMENT_CHARACTER) {
        true => Err("must be UTF-8".to_owned()),
        false => Ok(()),
    }
}

pub fn public_url(text: &str) -> Result<Option<String>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    if !text.starts_with("http://") && !text.starts_with("https://") {
        return Err(format!("{text:?} must begin with http:// or https://"));
    }
    // Paths are added to it as text, and pages, cookies and clients expect them at the root.
    let plain = |url: &Url| {
        url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
            && url.path().trim_matches('/').is_empty()
            && !text.contains(char::is_whitespace)
    };
    match Url::parse(text).ok().filter(plain) {
        Some(_) => Ok(Some(text.trim_end_matches('/').to_owned())),
        None => Err(format!(
            "{text:?} must be a URL such as https://legwork.example.com, without a user, a path, a query or a fragment"
        )),
    }
}

/// In the order of the attempts.
pub fn delays(text: &str) -> Result<Vec<Duration>, String> {
    const MAX_DELAYS: usize = 20;
    const WEEK: f64 = 7.0 * 24.0 * 60.0 * 60.0;
    let delay = |text: &str| {
        let seconds = text.trim().parse::<f64>().ok();
        let seconds = seconds.filter(|seconds| (0.0..=WEEK).contains(seconds));
        seconds.map(Duration::from_secs_f64)
    };
    let delays: Option<Vec<_>> = text.split(',').map(delay).collect();
    delays
        .filter(|delays| delays.len() <= MAX_DELAYS)
        .ok_or_else(|| {
            format!("{text:?} must be a comma-separated list of seconds, such as 60,480,3840")
        })
}

pub fn networks(text: &str) -> Result<Vec<IpNet>, String> {
    let network = |text: &str| {
        let text = text.trim();
        let address = |address: IpAddr| IpNet::from(address);
        let net = text.parse::<IpNet>().or_else(|_| text.parse().map(address));
        net.map_err(|_| format!("{text:?} is not a network such as 10.1.0.0/16"))
    };
    let parts = text.split(',').filter(|part| !part.trim().is_empty());
    parts.map(network).collect()
}

/// A whole number of hours or days, at most ten years.
pub fn span(text: &str, unit_seconds: u64) -> Result<Duration, String> {
    const MAX_SECONDS: u64 = 10 * 366 * 24 * 60 * 60;
    let seconds = text.parse::<u64>().ok();
    let seconds = seconds.and_then(|number| number.checked_mul(unit_seconds));
    let seconds = seconds.filter(|seconds| (1..=MAX_SECONDS).contains(seconds));
    seconds
        .map(Duration::from_secs)
        .ok_or_else(|| format!("{text:?} must be a whole number, at least 1"))
}

/// An external secret. It is only checked to be present, and never repeated.
pub fn secret(prefix: &'static str) -> impl Fn(&str) -> Result<Secret, String> {
    move |text| {
        let plain = text.chars().all(|c| c.is_ascii_graphic());
        if text.is_empty() || !plain {
            return Err(format!(
                "is required when payments is stripe; it begins with {prefix}"
            ));
        }
        Ok(Secret::presented(text))
    }
}

pub fn stripe_url(text: &str) -> Result<String, String> {
    public_url(text)?.ok_or_else(|| "must begin with http:// or https://".to_owned())
}

pub fn on_or_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        text => Err(format!("{text:?} must be on or off")),
    }
}

pub fn log_filter(text: &str) -> Result<Targets, String> {
    // A word alone is a level. The parser takes any other one for the name of a module.
    let is_level = |word: &str| !word.is_empty() && word.parse::<LevelFilter>().is_ok();
    if let Some(word) = text
        .split(',')
        .find(|part| !part.contains('=') && !is_level(part.trim()))
    {
        return Err(format!(
            "{word:?} is not a level: off, error, warn, info, debug or trace"
        ));
    }
    text.parse()
        .map_err(|e| format!("{text:?} is not a log filter: {e}"))
}

pub fn log_format(text: &str) -> Result<Option<LogFormat>, String> {
    match text {
        "" => Ok(None),
        "text" => Ok(Some(LogFormat::Text)),
        "json" => Ok(Some(LogFormat::Json)),
        text => Err(format!("{text:?} must be text or json")),
    }
}

/// Host names for certificates. Wildcards need a kind of challenge that we do not answer.
pub fn domains(text: &str) -> Result<Vec<String>, String> {
    let domain = |part: &str| {
        let name = part.trim().to_ascii_lowercase();
        let well_formed = name.len() <= 253
            && name.contains('.')
            && name.split('.').all(|label| {
                let inner = |c: char| c.is_ascii_alphanumeric() || c == '-';
                (1..=63).contains(&label.len()) && label.chars().all(inner)
            });
        let wrong = || format!("{part:?} is not a host name such as legwork.example.com");
        well_formed.then_some(name).ok_or_else(wrong)
    };
    let parts = text.split(',').filter(|part| !part.trim().is_empty());
    parts.map(domain).collect()
}

/// Origins as browsers send them. A page that others can change on its way could send anything, so plain
/// HTTP is for this machine alone.
pub fn origins(text: &str) -> Result<Vec<String>, String> {
    let origin = |part: &str| {
        let part = part.trim();
        let wrong = || {
            format!(
                "{part:?} is not an origin such as https://app.example.com: the scheme https (http for \
                 this machine), a host, and a port if it has one"
            )
        };
        let url = url::Url::parse(part).map_err(|_| wrong())?;
        let is_safe = url.scheme() == "https" || (url.scheme() == "http" && is_loopback(part));
        let origin = url.origin().ascii_serialization();
        // Nothing but the origin: no user, path, query or fragment. Browsers leave out the default port.
        let given = part.to_ascii_lowercase();
        let port = if url.scheme() == "https" {
            ":443"
        } else {
            ":80"
        };
        let given = given.strip_suffix(port).unwrap_or(&given);
        (is_safe && given == origin && !origin.contains('*'))
            .then_some(origin)
            .ok_or_else(wrong)
    };
    let parts = text.split(',').filter(|part| !part.trim().is_empty());
    parts.map(origin).collect()
}

/// Seconds, as a whole number within bounds.
pub fn seconds(bounds: RangeInclusive<u64>) -> impl Fn(&str) -> Result<Duration, String> {
    move |text| {
        let (least, most) = (bounds.start(), bounds.end());
        let seconds = text.parse().ok().filter(|number| bounds.contains(number));
        seconds
            .map(Duration::from_secs)
            .ok_or_else(|| format!("{text:?} must be a whole number from {least} to {most}"))
    }
}

/// How much may be open at once.
pub fn max_connections(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 16..=1_000_000) => Ok(number),
        _ => Err(format!(
            "{text:?} must be a whole number from 16 to 1000000"
        )),
    }
}

/// One number of gigabytes for each tier, in the order of the tiers.
pub fn gigabytes(text: &str) -> Result<[u64; Tier::ALL.len()], String> {
    const GIGABYTE: u64 = 1_000_000_000;
    let bytes = |text: &str| text.trim().parse::<u64>().ok()?.checked_mul(GIGABYTE);
    let quotas: Option<Vec<_>> = text.split(',').map(bytes).collect();
    let quotas = quotas.and_then(|quotas| quotas.try_into().ok());
    quotas.ok_or_else(|| {
        format!("{text:?} must be four whole numbers of gigabytes, such as 5,50,500,5000")
    })
}

/// Keys of 32 bytes in base64, such as `openssl rand -base64 32` prints, separated by commas. They
/// are never repeated.
pub fn master_key(text: &str) -> Result<Secret, String> {
    let is_key = |key: &str| matches!(STANDARD.decode(key.trim()), Ok(key) if key.len() == 32);
    if text.split(',').all(is_key) {
        Ok(Secret::presented(text))
    } else {
        Err("must be 32 bytes in base64, as `openssl rand -base64 32` prints".to_owned())
    }
}

/// Whole hours, also none.
pub fn hours(text: &str) -> Result<Duration, String> {
    match text {
        "0" => Ok(Duration::ZERO),
        text => span(text, 60 * 60)
            .map_err(|_| format!("{text:?} must be a whole number of hours, 0 or more")),
    }
}

pub fn cents(text: &str) -> Result<i64, String> {
    let cents = text.parse().ok().filter(|cents| *cents >= 0);
    cents.ok_or_else(|| format!("{text:?} must be a whole number of cents, 0 or more"))
}

pub fn https_url(text: &str) -> Result<String, String> {
    match text.strip_prefix("https://") {
        Some(rest) if !rest.is_empty() => Ok(text.to_owned()),
        _ => Err(format!("{text:?} must begin with https://")),
    }
}

/// Whether a URL leads to this machine alone.
pub fn is_loopback(url: &str) -> bool {
    let url = url::Url::parse(url).ok();
    match url.as_ref().and_then(url::Url::host) {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

/// 0 is none.
pub fn log_days(text: &str) -> Result<Option<Duration>, String> {
    match text.parse() {
        Ok(0) => Ok(None),
        Ok(days @ 1..=90) => Ok(Some(Duration::from_secs(days * 24 * 60 * 60))),
        _ => Err("must be a number of days from 0 to 90".to_owned()),
    }
}
