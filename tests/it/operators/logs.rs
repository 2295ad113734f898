//! The log of the program: who asked, from where and how much, and what is wrong with endpoints.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use legwork::domain::AdminRole;
use serde_json::{Value, json};

use crate::support::{
    Client, Command, Database, Engine, Receiver, Response, Server, TestApp, eventually, runtime,
    storefront,
};

/// A server that logs JSON into a file.
struct Logged {
    server: Server,
    file: PathBuf,
}

impl Logged {
    fn start(database: &Database, more: &[(&str, &str)]) -> Self {
        let file = database.folder.path().join("log");
        let arguments = ["--listen", "127.0.0.1:0", "--log-format", "json"];
        let mut command = Command::new(&arguments).on(database);
        for (variable, value) in more {
            command = command.env(variable, value);
        }
        command.0.stderr(File::create(&file).unwrap());
        let server = Server::spawn(command);
        Self { server, file }
    }

    fn lines(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.file).unwrap();
        // The last line may be half written.
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        lines.collect()
    }

    /// Lines are written after the answer.
    async fn of_request(&self, id: &str) -> Value {
        let found = || {
            let lines = self.lines().into_iter();
            let found: Vec<_> = lines.filter(|line| line["request_id"] == id).collect();
            found
        };
        eventually("the line of a request", async || !found().is_empty()).await;
        let mut found = found();
        assert_eq!(found.len(), 1, "{id}");
        found.remove(0)
    }

    fn client(&self, of: &Client) -> Client {
        self.server.client(of.key())
    }
}

#[test]
fn a_request_is_logged_with_who_sent_it() {
    runtime().block_on(async {
        let database = Arc::new(Database::migrated(Engine::Sqlite));
        let app = TestApp::start(&database).await;
        app.set_time_to_now();
        let (dev, worker) = (app.developer().await, app.sign_up(&[]).await);
        let viewer = app.admin_with(AdminRole::Viewer).await;
        let logged = Logged::start(&database, &[]);

        let body = storefront().to_string();
        let id = |id| [("x-request-id", id)];
        let developer = logged.client(&dev.test);
        let by_developer = id("by-developer");
        let sent = developer.send("POST", "/v1/tasks", &by_developer, body.clone());
        let answer = sent.await;
        let line = logged.of_request("by-developer").await;
        assert_eq!(line["account"], dev.account_id);
        assert_eq!(line["key"], dev.test_key[..20]);
        assert_eq!(line["client"], "127.0.0.1");
        assert_eq!(line["bytes_in"], body.len());
        assert_eq!(line["bytes_out"], answer.text.len());
        assert_eq!(line["target"], "legwork::api::edge");
        assert!(line.get("worker").is_none() && line.get("admin").is_none());

        let client = logged.client(&worker.client);
        client
            .send("GET", "/v1/worker", &id("by-worker"), "")
            .await
            .expect(200);
        let line = logged.of_request("by-worker").await;
        assert_eq!(line["worker"], worker.id);
        assert_eq!(line["key"], worker.client.key()[..20]);
        assert_eq!(line["bytes_in"], 0);

        // Known even if the role is too low.
        let client = logged.client(&viewer);
        let path = "/v1/admin/queue/00000000000000000000000000000000/claim";
        let refused = client.send("POST", path, &id("by-admin"), "").await;
        assert_eq!(refused.status, 403);
        let line = logged.of_request("by-admin").await;
        assert_eq!(line["admin"].as_str().unwrap().len(), 32);
        assert_eq!(line["key"], viewer.key()[..20]);
    });
}

/// Whoever is past the limit may send as fast as the line allows, and does not fill the disk.
#[test]
fn of_what_the_rate_limit_refuses_the_log_has_few_lines() {
    runtime().block_on(async {
        let database = Arc::new(Database::migrated(Engine::Sqlite));
        let app = TestApp::start(&database).await;
        app.set_time_to_now();
        let dev = app.developer().await;
        let logged = Logged::start(&database, &[]);
        let stranger = Client::new(logged.server.address, None);
        let mut refused = 0;
        while refused < 300 {
            let replies = join_all((0..100).map(|_| stranger.get("/v1/tasks"))).await;
            refused += replies.iter().filter(|reply| reply.status == 429).count();
        }
        let last = [("x-request-id", "last")];
        let sent = logged.client(&dev.test);
        sent.send("GET", "/v1/tasks", &last, "").await.expect(200);
        logged.of_request("last").await;
        let told = || {
            let lines = logged.lines();
            let refused = lines.iter().filter(|line| line["status"] == 429);
            let left_out = |line: &Value| line["left_out"].as_u64().unwrap_or(0);
            (
                refused.clone().count(),
                refused.map(left_out).sum::<u64>() as usize,
            )
        };
        let (of_refused, _) = told();
        assert!((1..100).contains(&of_refused), "{of_refused} of {refused}");
        // The first line of the next second tells of all before it.
        let refused = AtomicUsize::new(refused);
        eventually("all are told", async || {
            // While the lines were read, attempts have come back: only one that is refused has a line that tells.
            while stranger.get("/v1/tasks").await.status != 429 {}
            let refused = refused.fetch_add(1, Ordering::Relaxed) + 1;
            let (of_refused, left_out) = told();
            of_refused + left_out == refused
        })
        .await;
    });
}

/// A key that is not one of ours may be somebody else's secret.
#[test]
fn no_key_reaches_the_log() {
    runtime().block_on(async {
        let database = Arc::new(Database::migrated(Engine::Sqlite));
        let app = TestApp::start(&database).await;
        app.set_time_to_now();
        let (dev, worker) = (app.developer().await, app.sign_up(&[]).await);
        let logged = Logged::start(&database, &[]);
        let foreign = "sk_live_0123456789abcdef0123456789";
        let id = [("x-request-id", "by-a-stranger")];
        let stranger = logged.server.client(foreign);
        assert_eq!(stranger.send("GET", "/v1/tasks", &id, "").await.status, 401);
        logged.client(&dev.test).get("/v1/tasks").await.expect(200);
        logged
            .client(&worker.client)
            .get("/v1/worker")
            .await
            .expect(200);
        let words = [
            "account",
            "create",
            "--email",
            "ada@example.com",
            "--name",
            "Ada",
        ];
        Command::new(&words).on(&database).succeed();
        let words = ["account", "invite", "--email", "ada@example.com"];
        let invited = Command::new(&words).on(&database).succeed();
        let (_, token) = invited.lines().next().unwrap().rsplit_once('/').unwrap();
        let link = format!("/invite/{token}");
        assert_eq!(stranger.get(&link).await.status, 200);
        assert_eq!(stranger.send("POST", &link, &[], "").await.status, 400);
        let line = logged.of_request("by-a-stranger").await;
        assert!(line.get("key").is_none() && line.get("account").is_none());
        let log = std::fs::read_to_string(&logged.file).unwrap();
        for secret in [foreign, &dev.test_key, worker.client.key(), token] {
            assert!(!log.contains(&secret[..21]), "{log}");
        }
    });
}

#[test]
fn an_endpoint_is_in_the_log_when_it_begins_to_fail_and_when_it_recovers() {
    runtime().block_on(async {
        let database = Arc::new(Database::migrated(Engine::Sqlite));
        let app = TestApp::start(&database).await;
        let dev = app.developer().await;
        let receiver = Receiver::start().await;
        receiver.answer(|_| Response::status(500));
        let authority = receiver.ca_file.to_str().unwrap();
        let logged = Logged::start(
            &database,
            &[
                ("LEGWORK_WEBHOOK_CA_FILE", authority),
                (
                    "LEGWORK_WEBHOOK_RETRY_SECONDS",
                    "0.05,0.05,0.05,0.05,0.05,0.05",
                ),
            ],
        );
        let client = logged.client(&dev.test);
        let hook = json!({"url": receiver.url("/hook?secret=hidden")}).to_string();
        let set = client.send("PUT", "/v1/account/webhook", &[], hook).await;
        set.expect(200);
        for (round, healthy) in [false, true, false, true].into_iter().enumerate() {
            let status = if healthy { 200 } else { 500 };
            // What is under way still gets the answer of the round before.
            if !healthy {
                eventually("all is delivered", async || {
                    let pending = "/v1/account/webhook/deliveries?status=pending";
                    client.get(pending).await.expect(200)["meta"]["total"] == 0
                })
                .await;
            }
            receiver.answer(move |_| Response::status(status));
            client.post("/v1/tasks", &storefront()).await.expect(201);
            if !healthy {
                // More attempts than one: only the first of them is told.
                receiver.until(receiver.received().len() + 4).await;
            }
            eventually("the change is told", async || told(&logged).len() > round).await;
        }
        let lines = told(&logged);
        let begins = "WARN webhook endpoint begins to fail 500";
        let again = "WARN webhook endpoint works again null";
        assert_eq!(lines, [begins, again, begins, again]);
        let log = std::fs::read_to_string(&logged.file).unwrap();
        assert!(log.contains(&dev.account_id) && !log.contains("hidden"));
    });
}

/// What the log says about endpoints.
fn told(logged: &Logged) -> Vec<String> {
    let lines = logged.lines().into_iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let about = lines.filter(|line| text(&line["message"]).contains("endpoint"));
    about
        .map(|line| {
            let (level, message) = (text(&line["level"]), text(&line["message"]));
            format!("{level} {message} {}", line["status"])
        })
        .collect()
}
