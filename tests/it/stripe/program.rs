//! The real program, told by its settings to work with Stripe.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;

use crate::support::{Command, Engine, Server, TestApp, on_both_engines, path, storefront, tell};

use super::adapter::{self, Adapter};
use super::{WEBHOOK_SECRET, until_shown};

on_both_engines!(a_task_is_paid_for_and_no_log_holds_a_secret);

#[test]
fn stripe_is_reached_by_tls_and_only_with_a_certificate_that_the_system_trusts() {
    tell(Engine::Sqlite, tls_is_spoken_with_whom_the_system_trusts);
}

fn legwork(arguments: &[&str], app: &TestApp, stripe: &Adapter) -> Command {
    Command::new(arguments)
        .on(&app.database)
        .env("LEGWORK_PAYMENTS", "stripe")
        .env("LEGWORK_STRIPE_KEY", adapter::KEY)
        .env("LEGWORK_STRIPE_WEBHOOK_SECRET", WEBHOOK_SECRET)
        .env("LEGWORK_STRIPE_URL", &format!("http://{}", stripe.address))
}

fn start(app: &TestApp, stripe: &Adapter, log: &Path) -> Server {
    let arguments = ["--listen", "127.0.0.1:0", "--log", "trace"];
    let mut command = legwork(&arguments, app, stripe);
    command.0.stderr(File::create(log).unwrap());
    Server::spawn(command)
}

async fn a_task_is_paid_for_and_no_log_holds_a_secret(app: TestApp) {
    let stripe = Adapter::start().await;
    let log = app.database.folder.path().join("log");
    let server = start(&app, &stripe, &log);
    let hook = format!("http://{}/hooks/stripe", server.address);
    stripe.send_notices_to(&hook, WEBHOOK_SECRET).await;
    let live = server.client(&app.developer().await.live_key);
    let task = live.post("/v1/tasks", &storefront()).await.expect(201);
    let client_secret = task["payment_client_secret"].as_str().unwrap();
    stripe.pay(client_secret, "pm_card_visa").await;
    until_shown(&live, &path(&task), "status", &"posted".into()).await;

    // The job of a cancelled task is worked on by the program itself.
    let cancel = format!("{}/cancel", path(&task));
    live.send("POST", &cancel, &[], "").await.expect(200);
    let payment = format!("{}/payment", path(&task));
    until_shown(&live, &payment, "refunded_cents", &2500.into()).await;

    let verified = legwork(&["ledger", "verify"], &app, &stripe).succeed();
    assert!(verified.contains("The ledger is correct."), "{verified}");
    assert!(!verified.contains("not compared"), "{verified}");
    // Without the settings of the service, nobody asks Stripe.
    let verified = Command::new(&["ledger", "verify"]).on(&app.database);
    let verified = verified.succeed();
    let said = "which were not compared with it: 1";
    assert!(verified.contains(said), "{verified}");
    assert_eq!(server.terminate(), Some(0));
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("TRACE"), "nothing was logged");
    for secret in [adapter::KEY, WEBHOOK_SECRET, client_secret] {
        assert!(!log.contains(secret), "the log holds {secret}");
    }
    stripe.expect_as_documented();
}

/// A certificate for localhost, the authority that signed it, and one that did not.
const CERTIFICATES: &str = r#"set -e
for ca in ca other; do
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
        -subj "/CN=Throw-away CA" -keyout $ca.key -out $ca.pem
done
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=localhost" \
    -keyout server.key -out server.csr
echo subjectAltName=DNS:localhost >extensions
openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
    -extfile extensions -out server.pem
"#;

/// Reads a request to its end; tells whether there was one.
fn read_request(stream: &mut impl Read) -> bool {
    let mut request = String::new();
    let mut byte = [0];
    while !request.ends_with("\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => request.push(char::from(byte[0])),
            _ => return false,
        }
    }
    let (_, length) = request.split_once("content-length: ").unwrap();
    let length = length.lines().next().unwrap().parse().unwrap();
    stream.read_exact(&mut vec![0; length]).is_ok()
}

/// Answers every request over TLS with the same payment; returns its port.
fn payment_over_tls(folder: &Path) -> u16 {
    let made = std::process::Command::new("sh")
        .args(["-c", CERTIFICATES])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let certificate = CertificateDer::from_pem_file(folder.join("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(folder.join("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = rustls::ServerConnection::new(config.clone()).unwrap();
            let mut stream = rustls::StreamOwned::new(connection, stream.unwrap());
            if !read_request(&mut stream) {
                // Who does not trust the certificate hangs up.
                continue;
            }
            let body = json!({
                "id": "pi_1", "object": "payment_intent", "client_secret": "pi_1_secret_2",
                "status": "requires_payment_method", "amount": 2500, "created": 1,
            });
            let body = body.to_string();
            let length = body.len();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close");
            let _ = write!(stream, "{head}\r\n\r\n{body}");
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
    });
    port
}

async fn tls_is_spoken_with_whom_the_system_trusts(app: TestApp) {
    let stripe = Adapter::start().await;
    let folder = tempfile::tempdir().unwrap();
    let port = payment_over_tls(folder.path());
    let url = format!("https://localhost:{port}");
    let key = app.developer().await.live_key;
    for (authority, trusted) in [("ca.pem", true), ("other.pem", false)] {
        let mut command = legwork(&["--listen", "127.0.0.1:0", "--log", "warn"], &app, &stripe);
        command.0.env("LEGWORK_STRIPE_URL", &url);
        command
            .0
            .env("SSL_CERT_FILE", folder.path().join(authority));
        let server = Server::spawn(command);
        let created = server.client(&key).post("/v1/tasks", &storefront()).await;
        if trusted {
            let task = created.expect(201);
            assert_eq!(task["payment_client_secret"], "pi_1_secret_2");
        } else {
            created.expect_error(503, "PAYMENT_UNAVAILABLE");
        }
    }
}
