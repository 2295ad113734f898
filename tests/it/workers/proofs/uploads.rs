//! What is decided before an upload is read, and how much one sender may send.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::proving::{begun, files_in, no_files_left, only_files_left};
use crate::support::{Client, TestApp, exchange, on_both_engines, path, photo};

on_both_engines!(
    no_body_is_asked_for_that_cannot_be_used,
    a_repeat_is_answered_and_its_files_are_dropped,
    two_uploads_at_once_are_enough,
    the_simulated_worker_has_the_same_limit,
    a_day_has_room_for_so_much,
    what_was_not_sent_is_not_counted,
    a_sender_who_trickles_is_not_waited_for,
    a_worker_has_a_rate_limit,
);

pub fn proofs_of(task: &Value) -> String {
    format!("/v1/worker/tasks/{}/proofs", task["id"].as_str().unwrap())
}

/// The head of an upload whose sender waits until it is asked for the body.
fn waiting_head(client: &Client, path: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\nconnection: close\r\n\
         content-type: multipart/form-data; boundary=b\r\ncontent-length: {length}\r\n\
         expect: 100-continue\r\n\r\n",
        client.key()
    )
}

/// What a sender hears who does not send the body.
pub async fn announce(app: &TestApp, client: &Client, path: &str, length: usize) -> String {
    exchange(app.address, waiting_head(client, path, length).as_bytes()).await
}

async fn no_body_is_asked_for_that_cannot_be_used(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo"])).await;
    let (other, new) = (app.ready_worker().await, app.sign_up(&[]).await);
    let accepted = dev.create_paid_task().await;
    worker.act(&accepted, "accept").await.expect(200);
    let invented = format!("/v1/worker/tasks/{}/proofs", "0".repeat(32));
    let helper = |task: &Value| format!("/v1/test_helpers{}/proofs", &path(task)[3..]);
    let pending = dev.create_task().await;
    for (client, path, length, status, code) in [
        (&new.client, invented.clone(), 1_000, 404, "TASK_NOT_FOUND"),
        (&new.client, proofs_of(&task), 1_000, 404, "TASK_NOT_FOUND"),
        (
            &other.client,
            proofs_of(&task),
            1_000,
            404,
            "TASK_NOT_FOUND",
        ),
        (&worker.client, invented, 1_000, 404, "TASK_NOT_FOUND"),
        (
            &worker.client,
            proofs_of(&accepted),
            1_000,
            409,
            "INVALID_TASK_STATE",
        ),
        (
            &worker.client,
            proofs_of(&task),
            100_000_000,
            413,
            "FILE_TOO_LARGE",
        ),
        (
            &worker.client,
            "/v1/worker/verification".to_owned(),
            1_000,
            409,
            "INVALID_WORKER_STATE",
        ),
        (
            &new.client,
            "/v1/worker/verification".to_owned(),
            100_000_000,
            413,
            "FILE_TOO_LARGE",
        ),
        (&dev.live, helper(&task), 1_000, 403, "TEST_MODE_ONLY"),
        (&dev.test, helper(&task), 1_000, 404, "TASK_NOT_FOUND"),
        (
            &dev.test,
            helper(&pending),
            1_000,
            409,
            "INVALID_TASK_STATE",
        ),
    ] {
        let answer = announce(&app, client, &path, length).await;
        let expected = format!("HTTP/1.1 {status} ");
        assert!(answer.starts_with(&expected), "{path}: {answer}");
        assert!(answer.contains(code), "{path}: {answer}");
    }
    // One who sends it all the same gets the same answer, and nothing is kept.
    let large = vec![0; 1_000_000];
    let refused = other.send_proof(&task, &[("photo", &large)]).await;
    refused.expect_error(404, "TASK_NOT_FOUND");
    assert_eq!(files_in(&app), 0);
    // And what can be used is asked for.
    let mut asked = Waiting::begin(&app, &worker.client, &proofs_of(&task), 1_000).await;
    assert!(asked.hears().await.starts_with("HTTP/1.1 100 "));
}

/// An upload that has begun and goes no further.
struct Waiting(TcpStream);

impl Waiting {
    async fn begin(app: &TestApp, client: &Client, path: &str, length: usize) -> Self {
        let mut stream = TcpStream::connect(app.address).await.unwrap();
        let head = waiting_head(client, path, length);
        stream.write_all(head.as_bytes()).await.unwrap();
        Self(stream)
    }

    async fn hears(&mut self) -> String {
        let mut answer = vec![0; 4_096];
        let length = self.0.read(&mut answer).await.unwrap();
        String::from_utf8_lossy(&answer[..length]).into_owned()
    }
}

async fn a_repeat_is_answered_and_its_files_are_dropped(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo"])).await;
    let photo = photo("again");
    let named = |id: &'static [u8]| -> [(&str, &[u8]); 4] {
        [
            ("photo", &photo),
            ("gps_latitude", b"40.7163"),
            ("gps_longitude", b"-73.9595"),
            ("submission_id", id),
        ]
    };
    let first = worker.send_proof(&task, &named(b"1")).await.expect(201);
    let files = files_in(&app);
    let again = worker.send_proof(&task, &named(b"1")).await.expect(201);
    assert_eq!(first["data"][0]["id"], again["data"][0]["id"]);
    let late = worker.send_proof(&task, &named(b"2")).await;
    late.expect_error(409, "INVALID_TASK_STATE");
    dev.review(&task, &first["data"][0], "reject")
        .await
        .expect(200);
    let again = worker.send_proof(&task, &named(b"1")).await.expect(201);
    assert_eq!(first["data"][0]["id"], again["data"][0]["id"]);
    only_files_left(&app, files).await;
}

/// Sends until the answer is not 429 any more: the server notices in a moment that a sender is gone.
async fn until_there_is_room(send: impl AsyncFn() -> crate::support::Reply) -> Value {
    let trying = async {
        loop {
            let reply = send().await;
            if reply.status != 429 {
                return reply.expect(201);
            }
        }
    };
    let long = Duration::from_secs(30);
    tokio::time::timeout(long, trying).await.expect("no room")
}

async fn two_uploads_at_once_are_enough(app: TestApp) {
    let (_, worker, task) = begun(&app, json!(["photo"])).await;
    let (_, other, others) = begun(&app, json!(["photo"])).await;
    let mut first = Waiting::begin(&app, &worker.client, &proofs_of(&task), 1_000).await;
    let mut second = Waiting::begin(&app, &worker.client, &proofs_of(&task), 1_000).await;
    for upload in [&mut first, &mut second] {
        assert!(upload.hears().await.starts_with("HTTP/1.1 100 "));
    }
    let third = announce(&app, &worker.client, &proofs_of(&task), 1_000).await;
    assert!(third.starts_with("HTTP/1.1 429 "), "{third}");
    assert!(third.contains("retry-after: 5"), "{third}");
    assert!(third.contains("2 uploads are in progress"), "{third}");
    other.prove(&others, "free").await;
    drop(first);
    let photo = photo("free");
    let parts: [(&str, &[u8]); 3] = [
        ("photo", &photo),
        ("gps_latitude", b"40.7163"),
        ("gps_longitude", b"-73.9595"),
    ];
    until_there_is_room(async || worker.send_proof(&task, &parts).await).await;
    drop(second);
}

async fn the_simulated_worker_has_the_same_limit(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_task().await;
    let advance = format!("/v1/test_helpers{}/advance", &path(&task)[3..]);
    let to = json!({"to": "in_progress"});
    dev.test.post(&advance, &to).await.expect(200);
    let submit = format!("/v1/test_helpers{}/proofs", &path(&task)[3..]);
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut upload = Waiting::begin(&app, &dev.test, &submit, 1_000).await;
        assert!(upload.hears().await.starts_with("HTTP/1.1 100 "));
        open.push(upload);
    }
    let photo = photo("own");
    let parts: [(&str, &[u8]); 3] = [
        ("photo", &photo),
        ("gps_latitude", b"40.7163"),
        ("gps_longitude", b"-73.9595"),
    ];
    let refused = dev.test.send_form(&submit, &parts).await;
    assert_eq!(
        refused
            .expect_error(429, "RATE_LIMITED")
            .header("retry-after"),
        "5"
    );
    drop(open);
    until_there_is_room(async || dev.test.send_form(&submit, &parts).await).await;
}

async fn bytes_today(app: &TestApp) -> i64 {
    let sql = "SELECT CAST(bytes AS TEXT) FROM worker_uploads";
    let found = app.database.column(sql).await;
    found.first().map_or(0, |bytes| bytes.parse().unwrap())
}

async fn a_day_has_room_for_so_much(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo"])).await;
    let proof = worker.prove(&task, "1").await;
    dev.review(&task, &proof, "reject").await.expect(200);
    let counted = bytes_today(&app).await;
    assert!(counted > photo("1").len() as i64, "{counted}");
    let full = "UPDATE worker_uploads SET bytes = 4999999990";
    app.database.execute(full).await;
    let photo = photo("2");
    let refused = worker.send_proof(&task, &[("photo", &photo)]).await;
    let refused = refused.expect_error(429, "RATE_LIMITED");
    // It is noon.
    assert_eq!(refused.header("retry-after"), "43200");
    let answer = announce(&app, &worker.client, &proofs_of(&task), 1_000).await;
    assert!(answer.starts_with("HTTP/1.1 429 "), "{answer}");
    app.set_time("2025-11-16T00:00:00.000Z");
    worker.prove(&task, "2").await;
    // Yesterday is forgotten after another day.
    app.set_time("2025-11-17T12:00:00.000Z");
    let now = app.clock.now();
    legwork::maintenance::prune(&app.store, now).await.unwrap();
    let days = "SELECT CAST(day AS TEXT) FROM worker_uploads";
    assert_eq!(app.database.column(days).await.len(), 1);
}

/// A connection that breaks is counted with what has arrived.
async fn what_was_not_sent_is_not_counted(app: TestApp) {
    let (_, worker, task) = begun(&app, json!(["photo"])).await;
    let mut upload = Waiting::begin(&app, &worker.client, &proofs_of(&task), 5_000_000).await;
    assert!(upload.hears().await.starts_with("HTTP/1.1 100 "));
    assert_eq!(bytes_today(&app).await, 5_000_000, "it is reserved");
    upload.0.write_all(b"--b\r\n").await.unwrap();
    drop(upload);
    let given_back = async {
        while bytes_today(&app).await > 5 {
            tokio::task::yield_now().await;
        }
    };
    let long = Duration::from_secs(30);
    tokio::time::timeout(long, given_back)
        .await
        .expect("it is not given back");
    no_files_left(&app).await;
}

async fn a_sender_who_trickles_is_not_waited_for(app: TestApp) {
    let (_, worker, task) = begun(&app, json!(["photo"])).await;
    let app = app.impatient().await;
    let mut upload = Waiting::begin(&app, &worker.client, &proofs_of(&task), 1_000_000).await;
    assert!(upload.hears().await.starts_with("HTTP/1.1 100 "));
    let (mut reading, mut writing) = upload.0.split();
    let trickle = async {
        let head = b"--b\r\nContent-Disposition: form-data; name=\"photo\"\r\n\r\n";
        writing.write_all(head).await.unwrap();
        let mut pause = tokio::time::interval(Duration::from_millis(20));
        while writing.write_all(b"x").await.is_ok() {
            pause.tick().await;
        }
        std::future::pending::<()>().await;
    };
    let mut answer = vec![0; 4_096];
    let length = tokio::select! {
        read = reading.read(&mut answer) => read.unwrap(),
        () = trickle => 0,
        () = tokio::time::sleep(Duration::from_secs(60)) => panic!("it is waited for"),
    };
    let answer = String::from_utf8_lossy(&answer[..length]);
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.contains("REQUEST_TIMEOUT"), "{answer}");
    no_files_left(&app).await;
}

async fn a_worker_has_a_rate_limit(app: TestApp) {
    let (worker, other) = (app.sign_up(&[]).await, app.sign_up(&[]).await);
    let reply = worker.client.get("/v1/worker").await;
    assert_eq!(reply.header("ratelimit-policy"), "\"default\";q=600;w=60");
    // The quota refills while we ask, so we ask until it is used up, many at a time.
    let refused = loop {
        let replies = join_all((0..100).map(|_| worker.client.get("/v1/worker"))).await;
        if let Some(refused) = replies.into_iter().find(|reply| reply.status == 429) {
            break refused;
        }
    };
    let refused = refused.expect_error(429, "RATE_LIMITED");
    assert!(refused.header("retry-after").parse::<u64>().unwrap() >= 1);
    assert!(refused.header("ratelimit").starts_with("\"default\";r=0;"));
    other.client.get("/v1/worker").await.expect(200);
}
