//! An account is suspended: who is refused, what is hidden, what goes on.

use std::time::Duration;

use legwork::domain::{AccountId, Action};
use legwork::usecases::UseCaseError;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{delete, found, id_of, ids, restore, suspend};
use crate::pages::Browser;
use crate::support::{Engine, TestApp, Worker, on_both_engines, path, storefront, tell};

on_both_engines!(
    keys_are_refused_while_it_lasts,
    posted_tasks_are_hidden_while_it_lasts,
    begun_tasks_go_on,
    what_comes_back_stays_hidden,
    bounties_are_not_announced,
    only_what_can_be_suspended_is,
    accepts_and_releases_that_race_are_decided,
);

const POSTED: &str = "SELECT id FROM tasks WHERE status = 'posted' AND environment = 'live'";
const SHOWN: &str = "SELECT task_id FROM posted_tasks";

async fn keys_are_refused_while_it_lasts(app: TestApp) {
    let dev = app.developer().await;
    let task = path(&dev.create_task().await);
    let suspended = suspend(&app, id_of(&dev)).await.unwrap();
    assert_eq!(suspended.status.as_str(), "suspended");
    for client in [&dev.test, &dev.live] {
        for path in ["/v1/account", "/v1/events", "/v1/events/stream", &task] {
            let refused = client.get(path).await;
            refused.expect_error(403, "ACCOUNT_SUSPENDED");
        }
        let refused = client.post("/v1/tasks", &storefront()).await;
        refused.expect_error(403, "ACCOUNT_SUSPENDED");
    }
    restore(&app, id_of(&dev)).await.unwrap();
    let account = dev.live.get("/v1/account").await.expect(200);
    assert_eq!(account["status"], "active");
    dev.test.get(&task).await.expect(200);
}

async fn posted_tasks_are_hidden_while_it_lasts(app: TestApp) {
    let (dev, other) = (app.developer().await, app.developer().await);
    let worker = app.ready_worker().await;
    let task = dev.create_paid_task().await;
    let others = other.create_paid_task().await;
    assert_eq!(found(&worker).await.len(), 2);
    suspend(&app, id_of(&dev)).await.unwrap();
    // At once, before anything has been hidden.
    let refused = worker.act(&task, "accept").await;
    refused.expect_error(404, "TASK_NOT_FOUND");
    app.jobs.drain().await.unwrap();
    assert_eq!(found(&worker).await, [others["id"].as_str().unwrap()]);
    let refused = worker.act(&task, "accept").await;
    refused.expect_error(404, "TASK_NOT_FOUND");
    restore(&app, id_of(&dev)).await.unwrap();
    app.jobs.drain().await.unwrap();
    assert_eq!(found(&worker).await.len(), 2);
    worker.act(&task, "accept").await.expect(200);
    // Suspended and restored before anything was done about it, and the other way round.
    suspend(&app, id_of(&other)).await.unwrap();
    restore(&app, id_of(&other)).await.unwrap();
    app.jobs.drain().await.unwrap();
    assert_eq!(found(&worker).await, [others["id"].as_str().unwrap()]);
    suspend(&app, id_of(&other)).await.unwrap();
    app.jobs.drain().await.unwrap();
    restore(&app, id_of(&other)).await.unwrap();
    suspend(&app, id_of(&other)).await.unwrap();
    app.jobs.drain().await.unwrap();
    assert_eq!(found(&worker).await, Vec::<String>::new());
}

async fn begun_tasks_go_on(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.ready_worker().await;
    let task = dev.create_paid_task().await;
    worker.act(&task, "accept").await.expect(200);
    suspend(&app, id_of(&dev)).await.unwrap();
    worker.act(&task, "start").await.expect(200);
    worker.prove(&task, "one").await;
    app.act(&dev, &task, &[Action::Approve]).await;
    app.jobs.drain().await.unwrap();
    let earnings = worker.client.get("/v1/worker/earnings").await.expect(200);
    assert_eq!(earnings["paid_cents"], 2100);
    TestApp::expect_settled(&app.verify().await);
}

async fn what_comes_back_stays_hidden(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.ready_worker().await;
    let task = dev.create_paid_task().await;
    worker.act(&task, "accept").await.expect(200);
    let (_, secret) = dev.create_payable_task().await;
    suspend(&app, id_of(&dev)).await.unwrap();
    app.jobs.drain().await.unwrap();
    worker.act(&task, "release").await.expect(200);
    // Paid for after all: posted, and not shown either.
    app.client().pay(&secret, crate::support::GOOD_CARD).await;
    app.jobs.drain().await.unwrap();
    assert_eq!(ids(&app, POSTED).await.len(), 2);
    assert_eq!(found(&worker).await, Vec::<String>::new());
    restore(&app, id_of(&dev)).await.unwrap();
    app.jobs.drain().await.unwrap();
    assert_eq!(found(&worker).await.len(), 2);
}

async fn bounties_are_not_announced(app: TestApp) {
    let dev = app.developer().await;
    app.ready_worker().await;
    let mut bounty = storefront();
    bounty["task_type"] = json!("bounty");
    let created = dev.live.post("/v1/tasks", &bounty).await.expect(201);
    suspend(&app, id_of(&dev)).await.unwrap();
    let secret = created["payment_client_secret"].as_str().unwrap();
    app.client().pay(secret, crate::support::GOOD_CARD).await;
    app.jobs.drain().await.unwrap();
    assert_eq!(ids(&app, POSTED).await.len(), 1);
    let told = "SELECT occasion FROM notices WHERE kind = 'bounty'";
    assert_eq!(ids(&app, told).await, Vec::<String>::new());
}

async fn only_what_can_be_suspended_is(app: TestApp) {
    let dev = id_of(&app.developer().await);
    let refusal = restore(&app, dev).await.unwrap_err().to_string();
    assert_eq!(refusal, "an account that is active cannot be restored");
    suspend(&app, dev).await.unwrap();
    let refused = suspend(&app, dev).await;
    assert!(matches!(
        refused,
        Err(UseCaseError::InvalidAccountState { .. })
    ));
    // A suspended account can be deleted, and then nothing else.
    delete(&app, dev).await.unwrap();
    for refused in [suspend(&app, dev).await, restore(&app, dev).await] {
        assert!(matches!(
            refused,
            Err(UseCaseError::InvalidAccountState { .. })
        ));
    }
    let nobody = AccountId::new(app.clock.now(), &legwork::ambient::random());
    for refused in [suspend(&app, nobody).await, delete(&app, nobody).await] {
        assert!(matches!(refused, Err(UseCaseError::AccountNotFound)));
    }
}

/// On two servers. Whoever wins: what is shown in the end is what is posted, or nothing.
async fn accepts_and_releases_that_race_are_decided(app: TestApp) {
    let dev = app.developer().await;
    let second = TestApp::start(&app.database).await;
    let (taker, giver): (Worker, Worker) = (app.ready_worker().await, second.ready_worker().await);
    for round in 0..25 {
        let (wanted, given) = (dev.create_paid_task().await, dev.create_paid_task().await);
        giver.act(&given, "accept").await.expect(200);
        let (accepted, released, suspended) = tokio::join!(
            taker.act(&wanted, "accept"),
            giver.act(&given, "release"),
            suspend(&app, id_of(&dev)),
        );
        suspended.unwrap();
        released.expect(200);
        let taken = accepted.status == 200;
        if !taken {
            accepted.expect_error(404, "TASK_NOT_FOUND");
        }
        second.jobs.drain().await.unwrap();
        assert_eq!(ids(&app, SHOWN).await, Vec::<String>::new(), "{round}");
        let late = taker.act(&given, "accept").await;
        late.expect_error(404, "TASK_NOT_FOUND");
        restore(&second, id_of(&dev)).await.unwrap();
        app.jobs.drain().await.unwrap();
        let posted = ids(&app, POSTED).await;
        assert_eq!(ids(&app, SHOWN).await, posted, "{round}");
        assert_eq!(
            posted.contains(&wanted["id"].as_str().unwrap().to_owned()),
            !taken
        );
        if taken {
            taker.act(&wanted, "release").await.expect(200);
        }
    }
    assert_eq!(app.verify().await.differences, Vec::<String>::new());
}

/// A stream that leaves out all that happens ends as well, when its key is looked at again.
#[test]
fn a_busy_stream_ends() {
    tell(Engine::Sqlite, async |app| {
        let dev = app.developer().await;
        let task = dev.create_paid_task().await;
        let impatient = app.impatient().await;
        let mut stream = TcpStream::connect(impatient.address).await.unwrap();
        let key = &dev.live_key;
        let request = format!(
            "GET /v1/events/stream?type=task.expired HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut greeting = String::new();
        while !greeting.contains("retry:") {
            greeting.push_str(&read(&mut stream).await);
        }
        suspend(&app, id_of(&dev)).await.unwrap();
        let worker = app.worker();
        let mut heard = String::new();
        loop {
            let moves = [Action::Accept { worker }, Action::Release];
            app.act(&dev, &task, &moves).await;
            match read(&mut stream).await {
                end if end.is_empty() => break,
                piece => heard.push_str(&piece),
            }
        }
        assert!(!heard.contains("event:"), "{heard}");
    });
}

/// The one that a page of the dashboard listens to, too.
#[test]
fn the_stream_of_a_page_ends() {
    tell(Engine::Sqlite, async |app| {
        let impatient = app.impatient().await;
        let browser = Browser::signed_up(&impatient, "ada@example.com").await;
        let account = app.database.column("SELECT id FROM accounts").await;
        let [account] = &account[..] else {
            panic!("{account:?}");
        };
        let mut stream = TcpStream::connect(impatient.address).await.unwrap();
        let cookie = browser.cookie.unwrap();
        let path = "/dashboard/test/events/stream";
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\ncookie: {cookie}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut heard = String::new();
        while !heard.contains("retry:") {
            heard.push_str(&read(&mut stream).await);
        }
        let account = AccountId::parse(account).unwrap();
        suspend(&app, account).await.unwrap();
        while !heard.ends_with("\r\n0\r\n\r\n") {
            heard.push_str(&read(&mut stream).await);
            assert!(heard.len() < 10_000, "it goes on");
        }
    });
}

async fn read(stream: &mut TcpStream) -> String {
    let mut bytes = vec![0; 65_536];
    let read = tokio::time::timeout(Duration::from_secs(30), stream.read(&mut bytes));
    let length = read.await.unwrap().unwrap();
    String::from_utf8_lossy(&bytes[..length]).into_owned()
}
