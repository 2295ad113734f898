//! `legwork doctor` finds what would be found too late otherwise.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;

use crate::support::{Command, Database, Engine};

/// Answers every line of every connection with what the script says.
fn peer(
    greeting: &'static str,
    answer: impl Fn(&str) -> &'static str + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream: TcpStream = stream.unwrap();
            let _ = stream.write_all(greeting.as_bytes());
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            for line in lines.map_while(Result::ok) {
                let _ = stream.write_all(answer(&line).as_bytes());
            }
        }
    });
    address
}

fn smtp(sign_in: &'static str) -> SocketAddr {
    peer("220 mail.example\r\n", move |line| match line.get(..4) {
        Some("EHLO") => "250-mail.example\r\n250 AUTH PLAIN\r\n",
        Some("AUTH") => sign_in,
        Some("QUIT") => "221 bye\r\n",
        _ => "503 no mail was to be sent\r\n",
    })
}

/// Answers at the end of each request's head.
fn stripe(response: &'static str) -> SocketAddr {
    peer("", move |line| if line.is_empty() { response } else { "" })
}

fn doctor(database: &Database, settings: &[(&str, &str)]) -> (bool, String) {
    let mut command = Command::new(&["doctor", "--listen", "127.0.0.1:0"]).on(database);
    for (variable, value) in settings {
        command = command.env(variable, value);
    }
    let output = command.output();
    (
        output.status.success(),
        String::from_utf8(output.stdout).unwrap(),
    )
}

#[track_caller]
fn assert_says(report: &str, line: &str) {
    assert!(
        report.lines().any(|one| one.trim().starts_with(line)),
        "{line}\n{report}"
    );
}

fn is_empty(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let mut paths = entries.map(|entry| entry.path());
    paths.all(|path| path.is_dir() && is_empty(&path))
}

#[test]
fn files_are_stored_read_and_deleted() {
    let database = Database::create(Engine::Sqlite);
    let (works, report) = doctor(&database, &[]);
    assert!(works, "{report}");
    assert_says(&report, "ok   files: a file was stored, read and deleted");
    let folder = database.folder.path().join("files");
    assert!(is_empty(&folder), "nothing is left behind");
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(&folder, "in the way").unwrap();
    let (works, report) = doctor(&database, &[]);
    assert!(!works);
    assert_says(&report, "FAIL files:");
}

#[test]
fn a_bucket_that_does_not_answer_is_found() {
    let database = Database::create(Engine::Sqlite);
    let settings = [
        ("LEGWORK_FILES_URL", "s3://bucket"),
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:1"),
        ("AWS_ACCESS_KEY_ID", "id"),
        ("AWS_SECRET_ACCESS_KEY", "hunter2"),
        ("AWS_REGION", "us-east-1"),
    ];
    let (works, report) = doctor(&database, &settings);
    assert!(!works);
    assert_says(&report, "FAIL files:");
    assert!(!report.contains("hunter2"));
}

#[test]
fn postgres_has_room_and_tells_the_same_time() {
    let database = Database::create(Engine::Postgres);
    let (works, report) = doctor(&database, &[]);
    assert!(works, "{report}");
    assert_says(&report, "ok   database connections: 1 x ");
    assert_says(&report, "ok   clock: ");
    let many = [("LEGWORK_DATABASE_CONNECTIONS", "1000")];
    let (works, report) = doctor(&database, &many);
    assert!(!works);
    assert_says(&report, "FAIL database connections: 1 x 1000");
    let database = Database::create(Engine::Sqlite);
    assert!(
        !doctor(&database, &[]).1.contains("clock"),
        "SQLite has no server"
    );
}

#[test]
fn the_mail_server_must_let_us_in() {
    let database = Database::create(Engine::Sqlite);
    for (sign_in, works) in [("235 welcome\r\n", true), ("535 wrong password\r\n", false)] {
        let url = format!("smtp://ada:hunter2@{}", smtp(sign_in));
        let from = "Legwork <hello@example.com>";
        let settings = [
            ("LEGWORK_SMTP_URL", url.as_str()),
            ("LEGWORK_MAIL_FROM", from),
        ];
        let (worked, report) = doctor(&database, &settings);
        assert_eq!(worked, works, "{report}");
        assert_says(&report, if works { "ok   mail:" } else { "FAIL mail:" });
        assert!(!report.contains("hunter2"));
    }
}

#[test]
fn stripe_must_take_the_key() {
    let database = Database::create(Engine::Sqlite);
    let good = "HTTP/1.1 200 OK\r\ncontent-length: 29\r\n\r\n{\"data\":[],\"has_more\":false}\n";
    let bad = "HTTP/1.1 401 No\r\ncontent-length: 56\r\n\r\n{\"error\":{\"type\":\"x\",\"message\":\"Invalid API Key\"}}      ";
    for (response, works) in [(good, true), (bad, false)] {
        let url = format!("http://{}", stripe(response));
        let settings = [
            ("LEGWORK_PAYMENTS", "stripe"),
            ("LEGWORK_STRIPE_KEY", "sk_test_hunter2"),
            ("LEGWORK_STRIPE_WEBHOOK_SECRET", "whsec_hunter2"),
            ("LEGWORK_STRIPE_URL", url.as_str()),
        ];
        let (worked, report) = doctor(&database, &settings);
        assert_eq!(worked, works, "{report}");
        assert_says(
            &report,
            if works {
                "ok   payments:"
            } else {
                "FAIL payments:"
            },
        );
        assert!(!report.contains("hunter2"));
    }
}

#[test]
fn a_proxy_that_is_not_trusted_is_a_hint() {
    let database = Database::create(Engine::Sqlite);
    let public = ("LEGWORK_PUBLIC_URL", "https://legwork.example.com");
    let (_, report) = doctor(&database, &[public]);
    assert_says(&report, "hint LEGWORK_TRUSTED_PROXIES is not set");
    let trusted = ("LEGWORK_TRUSTED_PROXIES", "127.0.0.1/32");
    let (_, report) = doctor(&database, &[public, trusted]);
    assert!(!report.contains("hint"), "{report}");
    let (_, report) = doctor(&database, &[]);
    assert!(!report.contains("hint"), "{report}");
}
