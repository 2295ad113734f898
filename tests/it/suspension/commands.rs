//! `legwork account suspend|restore|delete` and `legwork worker ...`, as an operator types them.

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
            run(&database, &["account", "delete", id]);
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
    refused(database, &["account", "delete", id])
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
