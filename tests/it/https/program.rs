//! The program itself serves HTTPS.

use sha2::{Digest, Sha256};

use super::Visitor;
use super::pebble::Place;
use crate::support::{Command, Database, Engine, Server, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_self_signed_server_prints_the_fingerprint_of_what_it_serves() {
    let database = Database::create(Engine::Sqlite);
    let start = || {
        let arguments = ["serve", "--self-signed", "--listen", "127.0.0.1:0"];
        Server::spawn(Command::new(&arguments).on(&database))
    };
    let server = start();
    let file = database.folder.path().join("self-signed.pem");
    let visitor = Visitor::trusting(&std::fs::read_to_string(file).unwrap());
    let asked = visitor.ask_health(server.address, "localhost").await;
    let (certificate, response) = asked.unwrap();
    assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
    let digest = Sha256::digest(&certificate);
    let fingerprint: Vec<_> = digest.iter().map(|byte| format!("{byte:02X}")).collect();
    let fingerprint = fingerprint.join(":");
    assert!(
        server.greeting.contains(&fingerprint),
        "{}",
        server.greeting
    );
    let url = format!("https://{}/docs", server.address);
    assert!(server.greeting.contains(&url), "{}", server.greeting);
    // The next start keeps what phones have accepted.
    assert_eq!(server.terminate(), Some(0));
    let server = start();
    assert!(
        server.greeting.contains(&fingerprint),
        "{}",
        server.greeting
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_gets_a_certificate_by_itself_and_doctor_tells() {
    let place = Place::new();
    let _authority = place.start().await;
    let database = Database::create(Engine::Sqlite);
    let (listen, directory) = (place.door().to_string(), place.directory());
    let run = |command: &str| {
        let domains = "legwork.example,www.legwork.example";
        let settings = [
            "--acme-domains",
            domains,
            "--acme-directory",
            &directory,
            "--allow-sandbox",
            "on",
        ];
        let arguments: Vec<_> = [command, "--listen", &listen]
            .into_iter()
            .chain(settings)
            .collect();
        let trusted = place.authority_file();
        Command::new(&arguments)
            .on(&database)
            .env("SSL_CERT_FILE", trusted.to_str().unwrap())
    };
    let said = run("doctor").succeed();
    assert!(
        said.contains("ok   HTTPS: no certificate for legwork.example"),
        "{said}"
    );
    let server = Server::spawn(run("serve"));
    assert!(
        server.greeting.contains("https://legwork.example/docs"),
        "{}",
        server.greeting
    );
    let visitor = place.visitor().await;
    let (_, response) = until("the server has a certificate", || async {
        visitor
            .ask_health(server.address, "www.legwork.example")
            .await
            .ok()
    })
    .await;
    assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
    let said = run("doctor").succeed();
    assert!(
        said.contains("ok   HTTPS: a certificate for legwork.example, www.legwork.example, "),
        "{said}"
    );
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn a_self_signed_server_takes_no_other_certificate() {
    let database = Database::create(Engine::Sqlite);
    let domains = ["--acme-domains", "legwork.example", "--allow-sandbox", "on"];
    let arguments = ["serve", "--self-signed", "--listen", "127.0.0.1:0"];
    let arguments: Vec<_> = arguments.into_iter().chain(domains).collect();
    let error = Command::new(&arguments).on(&database).fail();
    assert!(
        error.contains("--self-signed cannot be combined"),
        "{error}"
    );
}
