//! The program as an operator meets it.

use serde_json::Value;

use crate::support::{Command, Database, Engine, Server, key_in, runtime, storefront};

const ENGINES: [Engine; 2] = [Engine::Sqlite, Engine::Postgres];

fn open_account(database: &Database, email: &str) -> Value {
    let arguments = [
        "account", "create", "--email", email, "--name", "Ada", "--tier", "pro", "--json",
    ];
    serde_json::from_str(&Command::new(&arguments).on(database).succeed()).unwrap()
}

#[test]
fn the_first_local_start_hands_out_keys_once() {
    for engine in ENGINES {
        let database = Database::create(engine);
        let server = Server::start(&database);
        let key = key_in(&server.greeting, "svc_test_");
        assert!(server.greeting.contains("developer@localhost"));
        assert!(server.greeting.contains("curl http://127.0.0.1:"));
        runtime().block_on(async {
            let account = server.client(&key).get("/v1/account").await.expect(200);
            assert_eq!(account["tier"], "growth");
            let live = key_in(&server.greeting, "svc_live_");
            server.client(&live).get("/v1/account").await.expect(200);
        });
        assert_eq!(server.terminate(), Some(0));
        let again = Server::start(&database);
        assert!(!again.greeting.contains("svc_"));
        runtime().block_on(async {
            again.client(&key).get("/v1/account").await.expect(200);
        });
    }
}

#[test]
fn the_data_folder_is_closed_to_others() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("deep").join("data");
    Command::new(&["migrate", "--data", data.to_str().unwrap()]).succeed();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&data) & 0o777, 0o700);
    assert_eq!(mode(&data.join("legwork.db")) & 0o777, 0o600);
}

#[test]
fn accounts_are_opened_listed_and_moved_to_another_tier() {
    for engine in ENGINES {
        let database = Database::create(engine);
        let server = Server::start(&database);
        let account = open_account(&database, "Ada@Example.com");
        assert_eq!(account["email"], "ada@example.com");
        assert_eq!(account["tier"], "pro");
        let key = account["test_key"].as_str().unwrap();
        assert!(
            account["live_key"]
                .as_str()
                .unwrap()
                .starts_with("svc_live_")
        );
        let list = Command::new(&["account", "list"]).on(&database).succeed();
        assert!(
            list.contains("ada@example.com") && !list.contains("svc_"),
            "{list}"
        );
        let list = Command::new(&["account", "list", "--json"])
            .on(&database)
            .succeed();
        assert_eq!(list.lines().count(), 2);
        let set = [
            "account",
            "set-tier",
            "ada@example.com",
            "--tier",
            "enterprise",
        ];
        Command::new(&set).on(&database).succeed();
        runtime().block_on(async {
            let seen = server.client(key).get("/v1/account").await.expect(200);
            assert_eq!(seen["tier"], "enterprise");
            let task = server.client(key).post("/v1/tasks", &storefront()).await;
            assert_eq!(task.expect(201)["platform_fee_cents"], 300);
        });
    }
}

#[test]
fn account_commands_refuse_what_is_wrong() {
    let database = Database::create(Engine::Sqlite);
    open_account(&database, "ada@example.com");
    for (arguments, expected) in [
        (
            &[
                "account",
                "create",
                "--email",
                "ADA@example.com",
                "--name",
                "Ada",
            ][..],
            "already exists",
        ),
        (
            &["account", "create", "--email", "ada", "--name", "Ada"],
            "--email must be",
        ),
        (
            &["account", "create", "--email", "a@b.c", "--name", " "],
            "--name must not be empty",
        ),
        (
            &[
                "account", "create", "--email", "a@b.c", "--name", "A", "--tier", "gold",
            ],
            "gold",
        ),
        (
            &["account", "set-tier", "nobody@x.org", "--tier", "pro"],
            "no account nobody@x.org",
        ),
    ] {
        let error = Command::new(arguments).on(&database).fail();
        assert!(
            error.contains(expected),
            "{error:?} does not say {expected:?}"
        );
    }
}

#[test]
fn a_wrong_setting_stops_the_start_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let here = || Command::new(&["serve"]).current_dir(folder.path());
    let error = here().env("LEGWORK_LISTEN", "nowhere").fail();
    assert!(error.contains("LEGWORK_LISTEN"), "{error}");
    let error = here().env("LEGWORK_LISTNE", "127.0.0.1:0").fail();
    assert!(error.contains("LEGWORK_LISTNE"), "{error}");
    let unreachable = "postgres://u:hunter2@127.0.0.1:1/x";
    let error = here().env("LEGWORK_DATABASE_URL", unreachable).fail();
    assert!(error.contains("LEGWORK_DATABASE_URL"), "{error}");
    assert!(!error.contains("hunter2"), "{error}");
    std::fs::write(
        folder.path().join("legwork.toml"),
        "rate_limits = \"sometimes\"\n",
    )
    .unwrap();
    let error = here().fail();
    assert!(error.contains("rate_limits (from legwork.toml)"), "{error}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let elsewhere = tempfile::tempdir().unwrap();
    let command = Command::new(&["serve", "--listen", &address]).current_dir(elsewhere.path());
    let error = command.fail();
    assert!(
        error.contains("LEGWORK_LISTEN") && error.contains(&address),
        "{error}"
    );
}

#[test]
fn doctor_says_whether_it_works() {
    for engine in ENGINES {
        let database = Database::create(engine);
        let report = Command::new(&["doctor"]).on(&database).succeed();
        assert!(report.contains("Everything works."), "{report}");
    }
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let nowhere = "postgres://u:hunter2@127.0.0.1:1/x";
    let output = Command::new(&["doctor", "--data", data, "--database-url", nowhere]).output();
    assert!(!output.status.success());
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(report.contains("FAIL database"), "{report}");
    assert!(!report.contains("hunter2"), "{report}");
}

#[test]
fn the_description_of_the_api_can_be_printed() {
    let printed = Command::new(&["openapi"]).succeed();
    assert_eq!(printed, include_str!("../../openapi.json"));
}

#[test]
fn output_that_cannot_be_written_is_told() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let full = full.unwrap();
    let mut command = Command::new(&["openapi"]);
    command.0.stdout(full);
    let error = command.fail();
    assert!(
        error.contains("standard output cannot be written: No space left"),
        "{error}"
    );
    // A reader that has gone is not an error.
    let mut command = Command::new(&["openapi"]);
    command.0.stdout(closed_pipe());
    let output = command.output();
    assert!(output.status.success() && output.stderr.is_empty());
}

fn closed_pipe() -> std::io::PipeWriter {
    let (_, writer) = std::io::pipe().unwrap();
    writer
}

/// What a check has found does not depend on who reads it.
#[test]
fn a_check_fails_although_nobody_reads_it() {
    let database = Database::create(Engine::Sqlite);
    open_account(&database, "ada@example.com");
    let expect = format!("1:{}", "0".repeat(64));
    let check = Command::new(&["audit", "verify", "--expect", &expect]);
    let mut check = check.on(&database);
    check.0.stdout(closed_pipe());
    assert_eq!(check.output().status.code(), Some(1));
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    for engine in ENGINES {
        let database = Database::create(engine);
        let mut key = String::new();
        let mut acknowledged = Vec::new();
        for round in 0..3 {
            let server = Server::start(&database);
            if round == 0 {
                key = key_in(&server.greeting, "svc_test_");
            }
            acknowledged.extend(runtime().block_on(write_until_killed(server, &key)));
        }
        let server = Server::start(&database);
        runtime().block_on(async {
            let client = server.client(&key);
            for id in &acknowledged {
                client.get(&format!("/v1/tasks/{id}")).await.expect(200);
            }
            // A write that was under way may have been kept too, but each is counted once.
            let list = client.get("/v1/tasks?limit=1").await.expect(200);
            let total = list["meta"]["total"].as_u64().unwrap() as usize;
            assert!(total >= acknowledged.len() && total <= acknowledged.len() + 3 * 16);
            let offset = total - 1;
            let last = client
                .get(&format!("/v1/tasks?offset={offset}"))
                .await
                .expect(200);
            assert_eq!(last["data"].as_array().unwrap().len(), 1);
        });
    }
}

/// Sixteen writers; the server is killed in the middle of it. Returns what it acknowledged.
async fn write_until_killed(server: Server, key: &str) -> Vec<String> {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    let written = Arc::new(AtomicUsize::new(0));
    let writers: Vec<_> = (0..16)
        .map(|_| {
            let (client, written) = (server.client(key), written.clone());
            tokio::spawn(async move {
                let mut ids = Vec::new();
                while let Some(reply) = client.try_post("/v1/tasks", &storefront()).await {
                    ids.push(reply.expect(201)["id"].as_str().unwrap().to_owned());
                    written.fetch_add(1, Ordering::SeqCst);
                }
                ids
            })
        })
        .collect();
    while written.load(Ordering::SeqCst) < 100 {
        tokio::task::yield_now().await;
    }
    server.kill();
    let mut ids = Vec::new();
    for writer in writers {
        ids.extend(writer.await.unwrap());
    }
    ids
}

#[test]
fn requests_in_flight_finish_when_the_service_stops() {
    let database = Database::create(Engine::Sqlite);
    let server = Server::start(&database);
    let key = key_in(&server.greeting, "svc_test_");
    let address = server.address;
    runtime().block_on(async move {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let body = storefront().to_string();
        let (head, rest) = body.split_at(10);
        let request = format!(
            "POST /v1/tasks HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\
             content-length: {}\r\n\r\n{head}",
            body.len()
        );
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        // A second request shows that the first has been taken on.
        server.client(&key).get("/v1/account").await.expect(200);
        let stopping = tokio::task::spawn_blocking(move || server.terminate());
        while tokio::net::TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
        stream.write_all(rest.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
        assert_eq!(stopping.await.unwrap(), Some(0));
    });
}

#[test]
fn secrets_stay_out_of_the_log() {
    let database = Database::create(Engine::Sqlite);
    let log = database.folder.path().join("log");
    let mut command = Command::new(&["--listen", "127.0.0.1:0", "--log", "trace"]).on(&database);
    command.0.stderr(std::fs::File::create(&log).unwrap());
    let server = Server::spawn(command);
    let key = key_in(&server.greeting, "svc_test_");
    runtime().block_on(async {
        let client = server.client(&key);
        let new = serde_json::json!({"name": "x", "environment": "live"});
        let made = client.post("/v1/account/keys", &new).await.expect(201);
        client.get("/v1/tasks/nope").await;
        assert_eq!(server.terminate(), Some(0));
        let log = std::fs::read_to_string(&log).unwrap();
        assert!(log.contains("\"route\":\"/v1/account/keys\"") && log.contains("request_id"));
        assert!(!log.contains(&key));
        assert!(!log.contains(made["key"].as_str().unwrap()));
    });
}

#[test]
fn traces_go_to_the_collector_that_the_environment_names() {
    use std::sync::mpsc;
    let database = Database::create(Engine::Sqlite);
    let runtime = runtime();
    let (received, receive) = mpsc::channel();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"));
    let listener = listener.unwrap();
    let collector = format!("http://{}", listener.local_addr().unwrap());
    let sink =
        axum::Router::new().fallback(move |uri: axum::http::Uri, body: axum::body::Bytes| {
            let received = received.clone();
            async move { received.send((uri.path().to_owned(), body)).unwrap() }
        });
    runtime.spawn(async { axum::serve(listener, sink).await });
    let command = Command::new(&["--listen", "127.0.0.1:0", "--log", "warn"]).on(&database);
    let server = Server::spawn(command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector));
    let key = key_in(&server.greeting, "svc_test_");
    let trace_id: [u8; 16] = *b"a trace of mine!";
    let hex = trace_id.map(|byte| format!("{byte:02x}")).concat();
    let parent = format!("00-{hex}-00f067aa0ba902b7-01");
    runtime.block_on(async {
        let headers = [("traceparent", parent.as_str())];
        let reply = server
            .client(&key)
            .send("GET", "/v1/account", &headers, "")
            .await;
        reply.expect(200);
    });
    assert_eq!(server.terminate(), Some(0));
    let (path, body) = receive.recv().unwrap();
    assert_eq!(path, "/v1/traces");
    let contains = |part: &[u8]| body.windows(part.len()).any(|window| window == part);
    assert!(contains(b"legwork"));
    assert!(contains(b"GET /v1/account"));
    assert!(contains(&trace_id), "not part of the caller's trace");
    assert!(!contains(key.as_bytes()));
}
