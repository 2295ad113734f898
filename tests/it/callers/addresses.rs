//! From which address a request counts.

use serde_json::json;

use crate::support::{Client, Command, PASSWORD, Reply, Server, TestApp, on_both_engines};

on_both_engines!(
    behind_a_trusted_proxy_each_client_counts_for_itself,
    headers_from_anybody_else_change_nothing,
    a_stranger_cannot_lock_a_worker_out,
    a_right_password_uses_up_no_attempt,
);

const SESSIONS: &str = "/v1/workers/sessions";

fn server(app: &TestApp, trusted: &str) -> (Server, Client) {
    let serve = ["--listen", "127.0.0.1:0", "--log", "warn"];
    let command = Command::new(&serve).on(&app.database);
    let server = Server::spawn(command.env("LEGWORK_TRUSTED_PROXIES", trusted));
    let client = Client::new(server.address, None);
    (server, client)
}

async fn sign_in(client: &Client, email: &str, password: &str, header: (&str, &str)) -> Reply {
    let body = json!({"email": email, "password": password});
    client.post_with(SESSIONS, &[header], &body).await
}

/// How many wrong passwords are looked at, for headers that differ from one to the next.
async fn wrong_attempts(
    client: &Client,
    email: &str,
    header: impl Fn(u32) -> (String, String),
) -> u32 {
    for attempt in 0..30 {
        let (name, value) = header(attempt);
        let reply = sign_in(client, email, "not this one", (&name, &value)).await;
        if reply.status == 429 {
            assert!(reply.header("retry-after").parse::<u32>().unwrap() > 0);
            reply.expect_error(429, "RATE_LIMITED");
            return attempt;
        }
        reply.expect_error(401, "INVALID_CREDENTIALS");
    }
    30
}

fn plain(value: &str) -> impl Fn(u32) -> (String, String) {
    move |_| ("x-forwarded-for".to_owned(), value.to_owned())
}

async fn behind_a_trusted_proxy_each_client_counts_for_itself(app: TestApp) {
    let (_server, client) = server(&app, "127.0.0.0/8, 10.0.0.0/8");
    let email = "grace@example.com";
    assert_eq!(
        wrong_attempts(&client, email, plain("198.51.100.7")).await,
        10
    );
    // Whatever the client itself claims is further left.
    let lies = |n| {
        (
            "X-Forwarded-For".to_owned(),
            format!("6.6.6.{n}, 198.51.100.7, 10.0.0.2"),
        )
    };
    assert_eq!(wrong_attempts(&client, email, lies).await, 0);
    let forwarded = |_| {
        (
            "Forwarded".to_owned(),
            "for=198.51.100.7;proto=https".to_owned(),
        )
    };
    assert_eq!(wrong_attempts(&client, email, forwarded).await, 0);
    assert_eq!(
        wrong_attempts(&client, email, plain("198.51.100.8")).await,
        10
    );
    // One subscriber has a whole /64.
    let one_of_64 = |n| {
        (
            "Forwarded".to_owned(),
            format!("for=\"[2001:db8::{n}]:4711\""),
        )
    };
    assert_eq!(wrong_attempts(&client, email, one_of_64).await, 10);
    assert_eq!(
        wrong_attempts(&client, email, plain("2001:db8:0:1::1")).await,
        10
    );
}

async fn headers_from_anybody_else_change_nothing(app: TestApp) {
    for trusted in ["", "10.0.0.0/8"] {
        let (_server, client) = server(&app, trusted);
        let email = "grace@example.com";
        let plain = |n| ("X-Forwarded-For".to_owned(), format!("198.51.100.{n}"));
        assert_eq!(wrong_attempts(&client, email, plain).await, 10);
        let forwarded = |n| ("Forwarded".to_owned(), format!("for=198.51.100.{n}"));
        assert_eq!(wrong_attempts(&client, email, forwarded).await, 0);
    }
}

async fn a_stranger_cannot_lock_a_worker_out(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let (_server, client) = server(&app, "127.0.0.1");
    let home = ("x-forwarded-for", "192.0.2.1");
    sign_in(&client, &worker.email, PASSWORD, home)
        .await
        .expect(201);
    let mut tried = 0;
    for stranger in 1..=11 {
        let address = format!("198.51.100.{stranger}");
        tried += wrong_attempts(&client, &worker.email, plain(&address)).await;
    }
    // One try comes back every nine seconds.
    assert!(
        (100..110).contains(&tried),
        "all strangers together: {tried}"
    );
    // Where the worker has signed in before, the door is open. Elsewhere it is not, for now.
    sign_in(&client, &worker.email, PASSWORD, home)
        .await
        .expect(201);
    wrong_attempts(&client, &worker.email, plain("192.0.2.2")).await;
    let elsewhere = ("x-forwarded-for", "192.0.2.3");
    let reply = sign_in(&client, &worker.email, PASSWORD, elsewhere).await;
    reply.expect_error(429, "RATE_LIMITED");
}

async fn a_right_password_uses_up_no_attempt(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let body = json!({"email": worker.email, "password": PASSWORD});
    for _ in 0..12 {
        app.client().post(SESSIONS, &body).await.expect(201);
    }
    let client = app.client();
    assert_eq!(wrong_attempts(&client, &worker.email, plain("")).await, 10);
    let reply = app.client().post(SESSIONS, &body).await;
    reply.expect_error(429, "RATE_LIMITED");
}
