//! Certificates in files, and our own.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use legwork::ambient::Clock;
use legwork::https::{CHALLENGE_PROTOCOL, CertificateWatch, self_signed};
use legwork::settings::CertificateFiles;
use legwork::shutdown::Shutdown;
use rustls::ProtocolVersion;

use super::{Door, Visitor};
use crate::support::{Command, Database, Engine, until};

static TLS12_ONLY: [&rustls::SupportedProtocolVersion; 1] = [&rustls::version::TLS12];

struct Files {
    _folder: tempfile::TempDir,
    settings: CertificateFiles,
}

impl Files {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = CertificateFiles {
            certificate: folder.path().join("cert.pem"),
            key: folder.path().join("key.pem"),
        };
        Self {
            _folder: folder,
            settings,
        }
    }

    /// Writes a new pair; returns the certificate.
    fn put(&self, names: &[&str]) -> String {
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        std::fs::write(&self.settings.certificate, made.cert.pem()).unwrap();
        std::fs::write(&self.settings.key, made.signing_key.serialize_pem()).unwrap();
        made.cert.pem()
    }

    fn arguments(&self) -> [&str; 4] {
        let path = |path: &'_ std::path::PathBuf| path.to_str().unwrap().to_owned().leak() as &str;
        [
            "--tls-cert",
            path(&self.settings.certificate),
            "--tls-key",
            path(&self.settings.key),
        ]
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handshake_gets_the_certificate_for_its_names_only() {
    let files = Files::new();
    let certificate = files.put(&["a.example", "*.b.example", "127.0.0.1"]);
    let watch = CertificateWatch::start(&files.settings).unwrap();
    let door = Door::open(&watch.certificates(), "127.0.0.1:0".parse().unwrap()).await;
    let visitor = Visitor::trusting(&certificate);
    for name in ["a.example", "A.Example", "x.b.example", "127.0.0.1"] {
        let visit = visitor.visit(door.address, name).await.unwrap();
        assert_eq!(visit.protocol.as_deref(), Some(&b"h2"[..]), "{name}");
        assert_eq!(visit.version, ProtocolVersion::TLSv1_3);
    }
    let error = visitor.visit(door.address, "c.example").await.unwrap_err();
    assert!(error.contains("AccessDenied"), "{error}");
    let old = visitor.speaking(&TLS12_ONLY);
    let visit = old.visit(door.address, "a.example").await.unwrap();
    assert_eq!(visit.version, ProtocolVersion::TLSv1_2);
    let plain = visitor.offering(&[b"http/1.1"]);
    let visit = plain.visit(door.address, "a.example").await.unwrap();
    assert_eq!(visit.protocol.as_deref(), Some(&b"http/1.1"[..]));
    // Files answer no challenges.
    let authority = visitor.offering(&[CHALLENGE_PROTOCOL]);
    let error = authority
        .visit(door.address, "a.example")
        .await
        .unwrap_err();
    assert!(error.contains("AccessDenied"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_pair_is_served_without_a_restart() {
    let files = Files::new();
    let old = files.put(&["a.example"]);
    let watch = CertificateWatch::start(&files.settings).unwrap();
    let door = Door::open(&watch.certificates(), "127.0.0.1:0".parse().unwrap()).await;
    let shutdown = Shutdown::default();
    let interval = Duration::from_millis(20);
    let running = tokio::spawn(watch.run(interval, Clock::system(), shutdown.clone()));
    let (address, visitor) = (door.address, Visitor::trusting(&old));
    visitor.visit(address, "a.example").await.unwrap();
    let visitor = Visitor::trusting(&files.put(&["a.example"]));
    until("the new certificate is served", || async {
        visitor.visit(address, "a.example").await.ok()
    })
    .await;
    shutdown.start();
    running.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_self_signed_certificate_serves_every_name() {
    let folder = tempfile::tempdir().unwrap();
    let now = Clock::system().now();
    let made = self_signed(folder.path(), "127.0.0.1".parse().unwrap(), now).unwrap();
    let door = Door::open(&made.certificates, "127.0.0.1:0".parse().unwrap()).await;
    let file = |name| folder.path().join(name);
    let mode = file("self-signed.key")
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let certificate = std::fs::read_to_string(file("self-signed.pem")).unwrap();
    let visitor = Visitor::trusting(&certificate);
    visitor.visit(door.address, "localhost").await.unwrap();
    visitor.visit(door.address, "127.0.0.1").await.unwrap();
    // The handshake goes on; it is the client that does not find the name.
    let error = visitor.visit(door.address, "other.example").await;
    let error = error.unwrap_err();
    assert!(error.contains("not valid for name"), "{error}");
}

#[test]
fn a_broken_pair_stops_the_start_and_doctor_tells() {
    let files = Files::new();
    let database = Database::create(Engine::Sqlite);
    files.put(&["a.example"]);
    let run = |command: &str| {
        let arguments: Vec<_> = [command, "--listen", "127.0.0.1:0"]
            .into_iter()
            .chain(files.arguments())
            .collect();
        Command::new(&arguments).on(&database)
    };
    let said = run("doctor").succeed();
    assert!(said.contains("ok   HTTPS: "), "{said}");
    assert!(said.contains("a.example"), "{said}");
    let other = rcgen::KeyPair::generate().unwrap().serialize_pem();
    std::fs::write(&files.settings.key, other).unwrap();
    let error = run("serve").fail();
    assert!(error.contains("LEGWORK_TLS_KEY"), "{error}");
    assert!(
        error.contains("does not belong to the certificate"),
        "{error}"
    );
    let doctor = run("doctor").output();
    let said = String::from_utf8(doctor.stdout).unwrap();
    assert!(
        !doctor.status.success() && said.contains("FAIL HTTPS: LEGWORK_TLS_KEY"),
        "{said}"
    );
    std::fs::remove_file(&files.settings.certificate).unwrap();
    let error = run("serve").fail();
    assert!(error.contains("LEGWORK_TLS_CERT"), "{error}");
}
