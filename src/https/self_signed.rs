//! A certificate that we sign ourselves, for phones on the same network. It is kept in the data
//! folder, so that a phone has to accept it only once.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair};

use super::pair::Pair;
use super::{Certificates, Origin};
use crate::domain::Timestamp;

/// What a phone may get.
const CERTIFICATE: &str = "self-signed.pem";
/// What nobody else may get.
const KEY: &str = "self-signed.key";
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Phones refuse certificates that are valid for much more than a year.
const VALID_DAYS: u32 = 365;
/// With fewer days left, a new one is made at the next start.
const RENEW_DAYS: u64 = 30;

pub struct SelfSigned {
    pub certificates: Certificates,
    pub fingerprint: String,
}

/// The certificate in the data folder, or a new one if it is missing, ends soon, or lacks a name.
pub fn self_signed(folder: &Path, listen: IpAddr, now: Timestamp) -> Result<SelfSigned, String> {
    let names = names(listen);
    let pair = match kept(folder, &names, now) {
        Some(pair) => pair,
        None => create(folder, &names, now)
            .map_err(|reason| format!("{}: {reason}", folder.join(CERTIFICATE).display()))?,
    };
    let fingerprint = pair.fingerprint();
    let certificates = Certificates::none_yet(Origin::OurOwn);
    certificates.put(pair);
    Ok(SelfSigned {
        certificates,
        fingerprint,
    })
}

fn kept(folder: &Path, names: &[String], now: Timestamp) -> Option<Pair> {
    let read = |name| fs::read(folder.join(name)).ok();
    let pair = Pair::from_pem(&read(CERTIFICATE)?, &read(KEY)?).ok()?;
    let complete = names.iter().all(|name| pair.names.contains(name));
    let valid = pair.not_before <= now && pair.days_left(now) >= RENEW_DAYS;
    (complete && valid).then_some(pair)
}

/// The key is written first. If we are stopped in between, the two do not fit and are made anew.
fn create(folder: &Path, names: &[String], now: Timestamp) -> Result<Pair, String> {
    let (certificate, key) = make(names, now).map_err(|error| error.to_string())?;
    for (name, text) in [(KEY, &key), (CERTIFICATE, &certificate)] {
        write(&folder.join(name), text).map_err(|error| error.to_string())?;
    }
    let pair = Pair::from_pem(certificate.as_bytes(), key.as_bytes());
    pair.map_err(|error| error.to_string())
}

/// A certificate and its key, as PEM.
fn make(names: &[String], now: Timestamp) -> Result<(String, String), rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, "Legwork, self-signed");
    // Phones ask for this.
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let now = Duration::from_millis(u64::try_from(now.as_millis()).unwrap_or(0));
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    // The clock of a phone may be behind.
    params.not_before = epoch + now.saturating_sub(DAY);
    params.not_after = epoch + now + DAY * VALID_DAYS;
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok((certificate.pem(), key.serialize_pem()))
}

/// Only the owner can read it. It gets its name once it is complete.
fn write(file: &Path, text: &str) -> io::Result<()> {
    let unfinished = file.with_added_extension("new");
    let _ = fs::remove_file(&unfinished);
    let mut new = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&unfinished)?;
    new.write_all(text.as_bytes())?;
    new.sync_all()?;
    fs::rename(&unfinished, file)
}

/// Every name by which somebody on the same network may reach us.
fn names(listen: IpAddr) -> Vec<String> {
    let mut names = vec!["localhost".to_owned()];
    names.extend(["127.0.0.1", "::1"].map(str::to_owned));
    if listen.is_unspecified() {
        names.extend(local_addresses().iter().map(ToString::to_string));
    } else {
        names.push(listen.to_string());
    }
    names.extend(
        host_name()
            .into_iter()
            .flat_map(|host| match host.contains('.') {
                true => vec![host],
                false => vec![format!("{host}.local"), host],
            }),
    );
    let mut unique: Vec<String> = Vec::new();
    for name in names {
        if !unique.contains(&name) {
            unique.push(name);
        }
    }
    unique
}

/// The address under which others reach a server that listens there.
pub fn address_for_others(listen: IpAddr) -> IpAddr {
    match listen.is_unspecified() {
        true => local_addresses().first().copied().unwrap_or(listen),
        false => listen,
    }
}

/// The addresses from which this machine would call others. Connecting a UDP socket sends nothing;
/// the destinations are reserved for documentation.
fn local_addresses() -> Vec<IpAddr> {
    let ways: [(IpAddr, IpAddr); 2] = [
        (
            Ipv4Addr::UNSPECIFIED.into(),
            Ipv4Addr::new(192, 0, 2, 1).into(),
        ),
        (
            Ipv6Addr::UNSPECIFIED.into(),
            Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
        ),
    ];
    let source = |(from, to): (IpAddr, IpAddr)| {
        let socket = UdpSocket::bind((from, 0)).ok()?;
        socket.connect((to, 9)).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    ways.into_iter().filter_map(source).collect()
}

/// The name of this machine, if it can be part of a certificate.
fn host_name() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let host = text.trim().to_ascii_lowercase();
    let fits = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
    (!host.is_empty() && host.chars().all(fits)).then_some(host)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_794_700_000_000);
    const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn it_is_kept_for_its_owner_alone_until_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let fingerprint = |now| self_signed(folder.path(), LOCAL, now).unwrap().fingerprint;
        let first = fingerprint(NOW);
        assert_eq!(first.len(), 32 * 3 - 1);
        for name in [CERTIFICATE, KEY] {
            let file = fs::metadata(folder.path().join(name)).unwrap();
            assert_eq!(file.permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(fingerprint(NOW.plus(DAY * 334)), first);
        let second = fingerprint(NOW.plus(DAY * 336));
        assert_ne!(second, first);
        fs::write(folder.path().join(KEY), "nonsense").unwrap();
        assert_ne!(fingerprint(NOW.plus(DAY * 336)), second);
    }

    #[test]
    fn it_names_this_machine_and_the_address_that_it_listens_on() {
        let folder = tempfile::tempdir().unwrap();
        let named = |listen: &str| {
            let made = self_signed(folder.path(), listen.parse().unwrap(), NOW).unwrap();
            (
                made.certificates.current().unwrap().names.clone(),
                made.fingerprint,
            )
        };
        let (names, first) = named("127.0.0.1");
        for name in ["localhost", "127.0.0.1", "::1"] {
            assert!(names.iter().any(|found| found == name), "{name}");
        }
        let (names, second) = named("192.0.2.44");
        assert!(names.contains(&"192.0.2.44".to_owned()), "{names:?}");
        assert_ne!(first, second);
        // What is named already needs no new certificate.
        assert_eq!(named("127.0.0.1").1, second);
        assert_eq!(named("0.0.0.0").0.first().unwrap(), "localhost");
    }
}
