//! A certificate in files, which are read again when they change.

use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use super::expiry::ExpiryWarning;
use super::pair::{Pair, PairError};
use super::{Certificates, Origin};
use crate::ambient::Clock;
use crate::domain::Timestamp;
use crate::domain::sha256::Sha256;
use crate::settings::CertificateFiles;
use crate::shutdown::Shutdown;

/// A chain and a key take a few kilobytes.
const MAX_BYTES: u64 = 1 << 20;

/// Serves the certificate in two files, and looks for new ones.
pub struct CertificateWatch {
    files: CertificateFiles,
    certificates: Certificates,
    /// The host of the public URL.
    host: Option<String>,
    /// What the files held when they were last accepted or refused.
    judged: Contents,
    /// What was judged is not in use.
    is_refused: bool,
    /// What they held when we last looked.
    seen: Contents,
}

/// A hash of what was read, or why it could not be read.
type Contents = Result<[u8; 32], String>;

/// What became of files that have changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    Accepted,
    /// The old pair is still served.
    Refused(String),
}

struct Texts {
    chain: Vec<u8>,
    key: Vec<u8>,
}

/// The pair in the files, as `doctor` looks at it. The error names the setting and the file.
pub fn read_files(files: &CertificateFiles) -> Result<Pair, String> {
    texts(files).and_then(|texts| pair(files, &texts))
}

impl CertificateWatch {
    /// Reads the files. The error names the setting and the file.
    pub fn start(files: &CertificateFiles) -> Result<Self, String> {
        let texts = texts(files)?;
        let pair = pair(files, &texts)?;
        let certificates = Certificates::none_yet(Origin::Files);
        certificates.put(pair);
        Ok(Self {
            files: files.clone(),
            certificates,
            host: None,
            judged: Ok(texts.hash()),
            is_refused: false,
            seen: Ok(texts.hash()),
        })
    }

    /// A certificate for this host is not replaced by one for others alone.
    #[must_use]
    pub fn for_host(mut self, host: Option<String>) -> Self {
        self.host = host;
        self
    }

    pub fn certificates(&self) -> Certificates {
        self.certificates.clone()
    }

    /// Looks at the files at this interval until shutdown.
    pub async fn run(mut self, interval: Duration, clock: Clock, shutdown: Shutdown) {
        let mut expiry = ExpiryWarning::default();
        loop {
            expiry.warn(self.certificates.current().as_deref(), clock.now());
            tokio::select! {
                () = shutdown.started() => return,
                () = tokio::time::sleep(interval) => {}
            }
            let files = self.files.clone();
            // The files may be on a network that does not answer.
            let read = tokio::task::spawn_blocking(move || texts(&files)).await;
            let Ok(texts) = read else { continue };
            match self.take(texts, clock.now()) {
                Some(Change::Accepted) => {
                    expiry = ExpiryWarning::default();
                    self.tell();
                }
                Some(Change::Refused(reason)) => {
                    tracing::error!("the old certificate stays in use: {reason}");
                }
                None => {}
            }
        }
    }

    fn tell(&self) {
        if let Some(pair) = self.certificates.current() {
            let (names, until) = (pair.names.join(","), pair.not_after);
            tracing::info!(%names, %until, "a new certificate is in use");
        }
    }

    /// Judges what was read, if it is new. A pair that does not fit is refused only if it is still
    /// there at the next look: whoever replaces two files replaces one first.
    fn take(&mut self, texts: Result<Texts, String>, now: Timestamp) -> Option<Change> {
        let contents = match &texts {
            Ok(texts) => Ok(texts.hash()),
            Err(reason) => Err(reason.clone()),
        };
        if contents == self.judged && !(self.is_refused && self.current_fails(now)) {
            self.seen = contents;
            return None;
        }
        let settled = contents == self.seen;
        self.seen = contents.clone();
        let fit = texts.and_then(|texts| pair(&self.files, &texts));
        match fit.and_then(|pair| self.no_worse(pair, now)) {
            Ok(pair) => {
                self.certificates.put(pair);
                (self.judged, self.is_refused) = (contents, false);
                Some(Change::Accepted)
            }
            // It was told before.
            Err(_) if contents == self.judged => None,
            Err(reason) if settled => {
                (self.judged, self.is_refused) = (contents, true);
                Some(Change::Refused(reason))
            }
            Err(_) => None,
        }
    }

    /// Refuses a pair that clients would not take where they take the current one.
    fn no_worse(&self, pair: Pair, now: Timestamp) -> Result<Pair, String> {
        let host = self.host.as_deref();
        let Some(fault) = pair.fault(host, now) else {
            return Ok(pair);
        };
        match self.current_fails(now) {
            true => Ok(pair),
            false => Err(of_certificate(&self.files, fault)),
        }
    }

    fn current_fails(&self, now: Timestamp) -> bool {
        let (current, host) = (self.certificates.current(), self.host.as_deref());
        current.is_none_or(|current| current.fault(host, now).is_some())
    }
}

impl Texts {
    fn hash(&self) -> [u8; 32] {
        let chain = Sha256::digest(&self.chain);
        let key = Sha256::digest(&self.key);
        Sha256::new().with(chain).with(key).finish()
    }
}

fn texts(files: &CertificateFiles) -> Result<Texts, String> {
    Ok(Texts {
        chain: read(&files.certificate).map_err(|e| of_certificate(files, e))?,
        key: read(&files.key).map_err(|e| of_key(files, e))?,
    })
}

fn pair(files: &CertificateFiles, texts: &Texts) -> Result<Pair, String> {
    Pair::from_pem(&texts.chain, &texts.key).map_err(|error| match &error {
        PairError::Certificate(_) => of_certificate(files, error),
        PairError::Key(_) => of_key(files, error),
    })
}

fn of_certificate(files: &CertificateFiles, reason: impl std::fmt::Display) -> String {
    format!(
        "LEGWORK_TLS_CERT: {}: {reason}",
        files.certificate.display()
    )
}

fn of_key(files: &CertificateFiles, reason: impl std::fmt::Display) -> String {
    format!("LEGWORK_TLS_KEY: {}: {reason}", files.key.display())
}

fn read(file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut file = std::fs::File::open(file)?.take(MAX_BYTES + 1);
    if file.read_to_end(&mut bytes)? as u64 > MAX_BYTES {
        return Err(io::Error::other("is larger than 1 MiB"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(#[allow(dead_code)] tempfile::TempDir, CertificateFiles);

    impl Folder {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let files = CertificateFiles {
                certificate: folder.path().join("cert.pem"),
                key: folder.path().join("key.pem"),
            };
            Self(folder, files)
        }

        fn put(&self, certificate: Option<&str>, key: Option<&str>) {
            for (file, text) in [(&self.1.certificate, certificate), (&self.1.key, key)] {
                if let Some(text) = text {
                    std::fs::write(file, text).unwrap();
                }
            }
        }
    }

    fn made(name: &str) -> (String, String) {
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    fn look(watch: &mut CertificateWatch) -> Option<Change> {
        let read = texts(&watch.files);
        watch.take(read, Clock::system().now())
    }

    fn served(watch: &CertificateWatch) -> Vec<String> {
        watch.certificates.current().unwrap().names.clone()
    }

    #[test]
    fn the_start_fails_with_the_setting_and_the_file() {
        let folder = Folder::new();
        let (certificate, key) = made("a.example");
        let failure = || CertificateWatch::start(&folder.1).err().unwrap();
        assert!(failure().starts_with("LEGWORK_TLS_CERT: "), "{}", failure());
        assert!(failure().contains("cert.pem"), "{}", failure());
        folder.put(Some(&certificate), None);
        assert!(failure().starts_with("LEGWORK_TLS_KEY: "), "{}", failure());
        folder.put(None, Some(&made("a.example").1));
        assert!(failure().contains("does not belong"), "{}", failure());
        folder.put(Some("nonsense"), Some(&key));
        assert!(failure().starts_with("LEGWORK_TLS_CERT: "), "{}", failure());
        folder.put(Some(&"x".repeat(2 << 20)), None);
        assert!(failure().contains("larger than 1 MiB"), "{}", failure());
        folder.put(Some(&certificate), None);
        CertificateWatch::start(&folder.1).unwrap();
    }

    #[test]
    fn a_new_pair_is_served_and_one_file_may_come_before_the_other() {
        let (folder, (old, new)) = (Folder::new(), (made("old.example"), made("new.example")));
        folder.put(Some(&old.0), Some(&old.1));
        let mut watch = CertificateWatch::start(&folder.1).unwrap();
        assert_eq!(look(&mut watch), None);
        folder.put(Some(&new.0), None);
        assert_eq!(look(&mut watch), None);
        assert_eq!(served(&watch), ["old.example"]);
        folder.put(None, Some(&new.1));
        assert_eq!(look(&mut watch), Some(Change::Accepted));
        assert_eq!(served(&watch), ["new.example"]);
        assert_eq!(look(&mut watch), None);
    }

    #[test]
    fn a_broken_pair_is_refused_once_and_the_old_one_stays() {
        let (folder, (old, new)) = (Folder::new(), (made("old.example"), made("new.example")));
        folder.put(Some(&old.0), Some(&old.1));
        let mut watch = CertificateWatch::start(&folder.1).unwrap();
        let mut refused = |reason: &str| {
            assert_eq!(look(&mut watch), None, "{reason}");
            match look(&mut watch) {
                Some(Change::Refused(said)) => assert!(said.contains(reason), "{said}"),
                other => panic!("{reason}: {other:?}"),
            }
            assert_eq!(look(&mut watch), None, "{reason}");
            assert_eq!(served(&watch), ["old.example"]);
        };
        folder.put(Some(&new.0), None);
        refused("does not belong");
        folder.put(Some("half a file"), None);
        refused("LEGWORK_TLS_CERT");
        std::fs::remove_file(&folder.1.certificate).unwrap();
        refused("No such file");
        folder.put(Some(&new.0), Some(&new.1));
        assert_eq!(look(&mut watch), Some(Change::Accepted));
        assert_eq!(served(&watch), ["new.example"]);
    }

    fn made_of(names: &[&str], until: i32) -> (String, String) {
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        let mut wanted = rcgen::CertificateParams::new(names).unwrap();
        wanted.not_after = rcgen::date_time_ymd(until, 1, 1);
        let key = rcgen::KeyPair::generate().unwrap();
        let made = wanted.self_signed(&key).unwrap();
        (made.pem(), key.serialize_pem())
    }

    #[test]
    fn a_pair_that_clients_would_not_take_does_not_replace_a_good_one() {
        let host = Some("a.example".to_owned());
        for (names, until, reason) in [
            (&[][..], 4000, "has no names"),
            (&["a.example"], 2001, "has expired"),
            (&["b.example"], 4000, "is not for a.example"),
        ] {
            let (folder, good) = (Folder::new(), made_of(&["a.example"], 4000));
            folder.put(Some(&good.0), Some(&good.1));
            let watch = CertificateWatch::start(&folder.1).unwrap();
            let mut watch = watch.for_host(host.clone());
            let bad = made_of(names, until);
            folder.put(Some(&bad.0), Some(&bad.1));
            assert_eq!(look(&mut watch), None, "{reason}");
            match look(&mut watch) {
                Some(Change::Refused(said)) => assert!(said.contains(reason), "{said}"),
                other => panic!("{reason}: {other:?}"),
            }
            assert_eq!(served(&watch), ["a.example"]);
        }
    }
}
