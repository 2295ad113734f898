//! `legwork account suspend|restore|delete` and `legwork worker ...`, as an operator types them.

use std::io::Write;

use serde_json::{Value, json};

use crate::support::{Client, Command, Database, Engine, Server, runtime, storefront};

const ENGINES: [Engine; 2] = [Engine::Sqlite, Engine::Postgres];

fn run(database: &Database, arguments: &[&str]) -> String {
    Command::new(arguments).on(database).succeed()
}

fn refused(database: &Database, arguments: &[&str]) -> String {
    Command::new(arguments).on(database).fail()
}

#[test]
fn accounts_are_suspended_restored_and_deleted() {
    for engine in ENGINES {
        let database = Database::create(engine);
        let server = Server::start(&database);
        let create = [
            "account",
            "create",
            "--email",
            "ada@example.com",
            "--name",
            "Ada",
            "--json",
        ];
        let account: Value = serde_json::from_str(&run(&database, &create)).unwrap();
        let id = account["id"].as_str().unwrap();
        let client = server.client(account["test_key"].as_str().unwrap());
        let said = run(&database, &["account", "suspend", "Ada@Example.com"]);
        assert_eq!(said.trim(), "Ada@Example.com is now suspended.");
        let said = refused(&database, &["account", "suspend", id]);
        assert!(
            said.contains("an account that is suspended cannot be suspended"),
            "{said}"
        );
        runtime().block_on(async {
            let refused = client.get("/v1/account").await;
            refused.expect_error(403, "ACCOUNT_SUSPENDED");
            run(&database, &["account", "restore", id]);
            let task = client.post("/v1/tasks", &storefront()).await.expect(201);
            let said = refused_to_delete(&database, id);
            assert!(
                said.contains("the account still has 1 open tasks"),
                "{said}"
            );
            let cancel = format!("/v1/tasks/{}/cancel", task["id"].as_str().unwrap());
            client.post(&cancel, &json!({})).await.expect(200);
            run(&database, &["account", "delete", id, "--yes"]);
            client
                .get("/v1/account")
                .await
                .expect_error(401, "UNAUTHORIZED");
        });
        let list = run(&database, &["account", "list"]);
        assert!(list.contains(&format!("deleted-{id}@invalid")), "{list}");
        let said = refused(&database, &["account", "restore", "ada@example.com"]);
        assert!(
            said.contains("there is no account ada@example.com"),
            "{said}"
        );
        run(&database, &create);
    }
}

fn refused_to_delete(database: &Database, id: &str) -> String {
    refused(database, &["account", "delete", id, "--yes"])
}

async fn sign_up(server: &Server, email: &str) -> Value {
    let body = json!({"email": email, "password": "correct horse battery", "name": "Grace"});
    let client = Client::new(server.address, None);
    client.post("/v1/workers", &body).await.expect(201)["worker"].clone()
}

#[test]
fn workers_are_listed_and_decided_on() {
    for engine in ENGINES {
        let database = Database::create(engine);
        let server = Server::start(&database);
        let (grace, joan) = runtime().block_on(async {
            let grace = sign_up(&server, "grace@example.com").await;
            (grace, sign_up(&server, "joan@example.com").await)
        });
        let said = run(&database, &["worker", "verify", "Grace@example.com"]);
        assert_eq!(said.trim(), "grace@example.com is now verified.");
        let list = run(&database, &["worker", "list"]);
        assert_eq!(list.lines().count(), 3, "{list}");
        let list = run(
            &database,
            &["worker", "list", "--status", "verified", "--json"],
        );
        let listed: Value = serde_json::from_str(list.trim()).unwrap();
        assert_eq!(listed["id"], grace["id"]);
        assert_eq!(listed["status"], "verified");
        assert!(!list.contains("password"), "{list}");
        let joan = joan["id"].as_str().unwrap();
        let said = refused(&database, &["worker", "refuse", joan]);
        assert!(
            said.contains("a worker who is unverified cannot be refused"),
            "{said}"
        );
        for (decision, status) in [("suspend", "suspended"), ("restore", "unverified")] {
            let said = run(&database, &["worker", decision, joan]);
            assert_eq!(said.trim(), format!("joan@example.com is now {status}."));
        }
        // Without a terminal to ask on, it has to be meant.
        let said = refused(&database, &["worker", "delete", "joan@example.com"]);
        assert!(said.contains("--yes"), "{said}");
        let said = run(
            &database,
            &["worker", "delete", "joan@example.com", "--yes"],
        );
        assert_eq!(said.trim(), "joan@example.com is now deleted.");
        let list = run(&database, &["worker", "list"]);
        assert!(!list.contains("joan@example.com"), "{list}");
        let said = refused(&database, &["worker", "suspend", "nobody@example.com"]);
        assert!(
            said.contains("there is no worker nobody@example.com"),
            "{said}"
        );
        let none = "0".repeat(32);
        let said = refused(&database, &["worker", "verify", &none]);
        assert!(said.contains("there is no worker"), "{said}");
        refused(&database, &["worker", "list", "--status", "lazy"]);
    }
}

/// What a person at a terminal types. The exit status, and all that is on the screen.
fn at_a_terminal(database: &Database, arguments: &[&str], typed: &str) -> (bool, String) {
    let command = Command::new(arguments).on(database).0;
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words = words.map(|word| format!("'{}'", word.to_str().unwrap()));
    let line = words.collect::<Vec<_>>().join(" ");
    let mut terminal = std::process::Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = terminal.stdin.take().unwrap();
    input.write_all(typed.as_bytes()).unwrap();
    let output = terminal.wait_with_output().unwrap();
    let screen = String::from_utf8(output.stdout).unwrap();
    (output.status.success(), screen)
}

#[test]
fn deleting_an_account_needs_a_yes() {
    for engine in ENGINES {
        let database = Database::create(engine);
        let email = "ada@example.com";
        let create = ["account", "create", "--email", email, "--name", "Ada"];
        run(&database, &create);
        let delete = ["account", "delete", email];
        let said = refused(&database, &delete);
        assert!(said.contains("--yes"), "{said}");
        for typed in ["no\n", "y\n", "\n", "\u{4}"] {
            let (deleted, screen) = at_a_terminal(&database, &delete, typed);
            assert!(!deleted && screen.contains("Delete ada@example.com?"));
            assert!(screen.contains("nothing was deleted"), "{screen}");
        }
        assert!(run(&database, &["account", "list"]).contains(email));
        let (deleted, screen) = at_a_terminal(&database, &delete, "yes\n");
        assert!(deleted && screen.contains("is now deleted"), "{screen}");
    }
}

#[test]
fn commands_that_need_a_database_create_none() {
    const COMMANDS: [&[&str]; 15] = [
        &["worker", "list"],
        &["worker", "verify", "a@example.com"],
        &["account", "list"],
        &["account", "set-tier", "a@example.com", "--tier", "pro"],
        &["account", "suspend", "a@example.com"],
        &["account", "delete", "a@example.com", "--yes"],
        &["admin", "list-keys"],
        &["audit", "verify"],
        &["ledger", "verify"],
        &["ledger", "export", "--csv"],
        &["report", "--month", "2025-11"],
        &["job", "list"],
        &["secrets", "rotate"],
        &["secrets", "reset", "--yes"],
        &["sandbox", "down"],
    ];
    for engine in ENGINES {
        let database = Database::create(engine);
        let typo = database.folder.path().join("a/typo");
        let run = |arguments: &[&str]| {
            let mut command = Command::new(arguments);
            command.0.arg("--data").arg(&typo);
            if let Some(url) = database.url() {
                command.0.arg("--database-url").arg(url);
            }
            command
        };
        for arguments in COMMANDS {
            let said = run(arguments).fail();
            assert_eq!(said.trim().lines().count(), 1, "{arguments:?}: {said}");
            assert!(said.contains("there is no Legwork database"), "{said}");
        }
        assert!(run(&["doctor"]).succeed().contains("Everything works."));
        assert!(!typo.parent().unwrap().exists());
        run(&["migrate"]).succeed();
        assert!(typo.exists());
        run(&["account", "list"]).succeed();
    }
}
