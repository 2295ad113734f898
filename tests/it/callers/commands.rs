//! What a command changes, the server that runs sees at the next request.

use serde_json::Value;

use crate::support::{Client, Command, Server, TestApp, on_both_engines};

on_both_engines!(
    a_key_made_by_a_command_works_at_once,
    what_a_command_revokes_stops_at_once,
    a_suspension_by_a_command_counts_at_once,
);

const TIMES: usize = 40;

fn run(app: &TestApp, arguments: &[&str]) -> String {
    Command::new(arguments).on(&app.database).succeed()
}

fn made(app: &TestApp, arguments: &[&str]) -> Value {
    serde_json::from_str(&run(app, arguments)).unwrap()
}

/// Keeps the server's readers busy, so that each of them has a snapshot.
async fn keep_reading(address: std::net::SocketAddr, key: String) {
    let client = Client::new(address, Some(&key));
    loop {
        client.get("/v1/admin/jobs").await;
    }
}

struct Running {
    server: Server,
    readers: Vec<tokio::task::JoinHandle<()>>,
}

impl Running {
    fn start(app: &TestApp) -> Self {
        let serve = [
            "--listen",
            "127.0.0.1:0",
            "--log",
            "error",
            "--rate-limits",
            "off",
        ];
        let server = Server::spawn(Command::new(&serve).on(&app.database));
        let busy = made(app, &["admin", "create-key", "--name", "Busy", "--json"]);
        let key = busy["key"].as_str().unwrap();
        let reading = |_| tokio::spawn(keep_reading(server.address, key.to_owned()));
        let readers = (0..4).map(reading).collect();
        Self { server, readers }
    }

    fn client(&self, key: &Value) -> Client {
        Client::new(self.server.address, key.as_str())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.readers.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

async fn a_key_made_by_a_command_works_at_once(app: TestApp) {
    let running = Running::start(&app);
    for n in 0..TIMES {
        let email = format!("{n}@example.com");
        let create = [
            "account", "create", "--email", &email, "--name", "Ada", "--json",
        ];
        let account = made(&app, &create);
        for key in ["live_key", "test_key"] {
            running
                .client(&account[key])
                .get("/v1/account")
                .await
                .expect(200);
        }
    }
}

async fn what_a_command_revokes_stops_at_once(app: TestApp) {
    let running = Running::start(&app);
    for n in 0..TIMES {
        let create = ["admin", "create-key", "--name", "Vera", "--json"];
        let key = made(&app, &create);
        let client = running.client(&key["key"]);
        client.get("/v1/admin/audit").await.expect(200);
        run(&app, &["admin", "revoke-key", key["id"].as_str().unwrap()]);
        let reply = client.get("/v1/admin/audit").await;
        assert_eq!(reply.status, 401, "in round {n}: {}", reply.text);
    }
}

async fn a_suspension_by_a_command_counts_at_once(app: TestApp) {
    app.set_time_to_now();
    let running = Running::start(&app);
    let (dev, mut worker) = (app.developer().await, app.sign_up(&[]).await);
    let client = running.client(&Value::from(dev.test_key.as_str()));
    for _ in 0..TIMES / 4 {
        client.get("/v1/account").await.expect(200);
        run(&app, &["account", "suspend", &dev.account_id]);
        client
            .get("/v1/account")
            .await
            .expect_error(403, "ACCOUNT_SUSPENDED");
        run(&app, &["account", "restore", &dev.account_id]);
        let own = running.client(&Value::from(worker.client.key()));
        own.get("/v1/worker").await.expect(200);
        run(&app, &["worker", "suspend", &worker.id]);
        let signed_out = own.get("/v1/worker").await;
        signed_out.expect_error(401, "UNAUTHORIZED");
        run(&app, &["worker", "restore", &worker.id]);
        worker = worker.signed_in_again(&app).await;
    }
}
