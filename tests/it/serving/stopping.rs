//! The program at its limits, and when it is told to stop.

use crate::support::{Command, Database, Engine, Server, exchange, in_time};

fn signal(server: &Server, name: &str) {
    let pid = server.pid().to_string();
    let sent = std::process::Command::new("kill")
        .args([name, &pid])
        .status();
    assert!(sent.unwrap().success());
}

fn serve(database: &Database, settings: &[&str]) -> Server {
    let command = Command::new(&["--listen", "127.0.0.1:0", "--log", "warn"]);
    let mut command = command.on(database);
    command.0.args(settings);
    Server::spawn(command)
}

async fn get(server: &Server, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    exchange(server.address, request.as_bytes()).await
}

/// The program under a limit of open files, as `ulimit` sets it.
fn with_open_files(limit: &str, command: Command) -> Command {
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &format!("ulimit {limit}; exec \"$0\" \"$@\"")]);
    shell
        .arg(command.0.get_program())
        .args(command.0.get_args());
    for (variable, value) in command.0.get_envs() {
        match value {
            Some(value) => shell.env(variable, value),
            None => shell.env_remove(variable),
        };
    }
    Command(shell)
}

#[tokio::test]
async fn while_it_drains_the_server_is_not_ready_but_serves() {
    let database = Database::create(Engine::Sqlite);
    let server = serve(&database, &["--drain-seconds", "300"]);
    assert!(get(&server, "/readyz").await.starts_with("HTTP/1.1 200 "));
    signal(&server, "-TERM");
    let unready = async { while !get(&server, "/readyz").await.starts_with("HTTP/1.1 503 ") {} };
    in_time(unready).await;
    let served = get(&server, "/healthz").await;
    assert!(served.starts_with("HTTP/1.1 200 "), "{served}");
    // A second signal ends the wait.
    let stopping = tokio::task::spawn_blocking(move || server.terminate());
    assert_eq!(in_time(stopping).await.unwrap(), Some(0));
}

#[tokio::test]
async fn signals_that_end_other_programs_do_not_end_the_server() {
    let database = Database::create(Engine::Sqlite);
    let server = serve(&database, &[]);
    assert!(get(&server, "/readyz").await.starts_with("HTTP/1.1 200 "));
    for name in ["-HUP", "-XFSZ"] {
        signal(&server, name);
        let served = get(&server, "/healthz").await;
        assert!(served.starts_with("HTTP/1.1 200 "), "{name}: {served}");
    }
    let stopping = tokio::task::spawn_blocking(move || server.terminate());
    assert_eq!(in_time(stopping).await.unwrap(), Some(0));
}

#[test]
fn after_the_drain_phase_the_server_stops() {
    let database = Database::create(Engine::Sqlite);
    let server = serve(&database, &["--drain-seconds", "1"]);
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn the_server_takes_all_the_open_files_that_it_may() {
    let database = Database::create(Engine::Sqlite);
    let command = Command::new(&["--listen", "127.0.0.1:0", "--log", "warn"]).on(&database);
    let server = Server::spawn(with_open_files("-Sn 256", command));
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let mut numbers = line.unwrap()["Max open files".len()..].split_whitespace();
    let (soft, hard) = (numbers.next().unwrap(), numbers.next().unwrap());
    assert_eq!(soft, hard);
    assert_ne!(soft, "256");
}

#[test]
fn doctor_says_whether_the_open_files_are_enough() {
    let database = Database::create(Engine::Sqlite);
    let doctor = || Command::new(&["doctor"]).on(&database);
    let wanting = |connections: &str| {
        let mut doctor = doctor();
        doctor.0.args(["--max-connections", connections]);
        with_open_files("-n 3000", doctor)
    };
    let output = wanting("10000").output();
    let report = String::from_utf8(output.stdout).unwrap();
    let told = "open files: up to 3000, enough for 1976 connections, not for 10000";
    assert!(report.contains(&format!("FAIL {told}")), "{report}");
    assert!(!output.status.success());
    // What nobody asked for is no fault.
    let report = with_open_files("-n 3000", doctor()).succeed();
    assert!(report.contains(&format!("ok   {told}")), "{report}");
    let report = wanting("1000").succeed();
    let told = "ok   open files: up to 3000, enough for 1000 connections";
    assert!(report.contains(told), "{report}");
}

#[tokio::test]
async fn a_public_https_url_binds_browsers_and_plain_http_is_sent_there() {
    let database = Database::create(Engine::Sqlite);
    let settings = [
        "--public-url",
        "https://legwork.example.com",
        "--allow-sandbox",
        "on",
        "--redirect-listen",
        "127.0.0.1:0",
    ];
    let server = serve(&database, &settings);
    for path in ["/healthz", "/nowhere", "/docs/"] {
        let answer = get(&server, path).await;
        let header = "\r\nstrict-transport-security: max-age=31536000\r\n";
        assert!(answer.contains(header), "{answer}");
    }
    let said = server.greeting.lines().find_map(|line| {
        let line = line.strip_prefix("Plain HTTP on ")?;
        line.split_whitespace().next()
    });
    let plain = said.expect(&server.greeting).parse().unwrap();
    for (method, host) in [("GET", "legwork.example.com"), ("POST", "evil.example")] {
        let request = format!("{method} /v1/tasks?a=b HTTP/1.1\r\nhost: {host}\r\n");
        let request = format!("{request}connection: close\r\n\r\n");
        let answer = exchange(plain, request.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 308 "), "{answer}");
        let location = "\r\nlocation: https://legwork.example.com/v1/tasks?a=b\r\n";
        assert!(answer.contains(location), "{answer}");
        assert!(!answer.contains("strict-transport-security"), "{answer}");
    }
}

#[tokio::test]
async fn without_a_public_https_url_there_is_nothing_to_be_sent_to() {
    let database = Database::create(Engine::Sqlite);
    let server = serve(&database, &[]);
    let answer = get(&server, "/healthz").await;
    assert!(!answer.contains("strict-transport-security"), "{answer}");
    let settings = [
        "--listen",
        "127.0.0.1:0",
        "--redirect-listen",
        "127.0.0.1:0",
    ];
    let told = Command::new(&settings).on(&database).fail();
    assert!(told.contains("LEGWORK_REDIRECT_LISTEN"), "{told}");
    assert!(told.contains("https://"), "{told}");
}

/// Where a log goes that cannot be written.
#[derive(Clone, Copy, Debug)]
enum Log {
    FullDisk,
    ReaderGone,
    /// The reader hangs: the pipe is full after some hundred lines.
    ReaderHangs,
}

#[tokio::test]
async fn a_log_that_cannot_be_written_costs_nothing_else() {
    for log in [Log::FullDisk, Log::ReaderGone, Log::ReaderHangs] {
        let database = Database::create(Engine::Sqlite);
        let command = Command::new(&["--listen", "127.0.0.1:0", "--log", "info"]);
        let mut command = command.on(&database);
        let to = match log {
            Log::FullDisk => std::fs::File::create("/dev/full").unwrap().into(),
            Log::ReaderGone | Log::ReaderHangs => std::process::Stdio::piped(),
        };
        command.0.stderr(to);
        let mut server = Server::spawn(command);
        if matches!(log, Log::ReaderGone) {
            server.close_log();
        }
        let asking = async {
            for _ in 0..600 {
                let answer = get(&server, "/healthz").await;
                assert!(answer.starts_with("HTTP/1.1 200 "), "{log:?}: {answer}");
            }
        };
        in_time(asking).await;
        let stopping = tokio::task::spawn_blocking(move || server.terminate());
        assert_eq!(in_time(stopping).await.unwrap(), Some(0), "{log:?}");
    }
}
