//! GET /v1/events/stream

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;

use super::all_events;
use crate::mandates::Limited;
use crate::support::{Client, TestApp, on_both_engines};

on_both_engines!(
    events_come_as_they_happen,
    a_stream_goes_on_where_it_broke_off,
    events_of_another_process_come_too,
    a_stream_can_be_narrowed,
    what_no_stream_may_be_is_refused,
    a_stream_ends_when_its_key_may_no_longer_read,
    nothing_is_sent_that_happened_after_the_key_was_stopped,
);

/// A stream that is read line by line, as it comes.
struct Stream {
    lines: Lines<BufReader<TcpStream>>,
}

/// One event of a stream.
#[derive(Debug, Default)]
struct Piece {
    id: String,
    event: String,
    data: Value,
}

impl Stream {
    async fn open(client: &Client, address: std::net::SocketAddr, rest: &str) -> Self {
        let mut socket = TcpStream::connect(address).await.unwrap();
        let (query, headers) = rest.split_once('\n').unwrap_or((rest, ""));
        let request = format!(
            "GET /v1/events/stream{query} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n{headers}\r\n",
            client.key()
        );
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut stream = Self {
            lines: BufReader::new(socket).lines(),
        };
        assert_eq!(stream.line().await, "HTTP/1.1 200 OK");
        let mut head = String::new();
        loop {
            let line = stream.line().await;
            if line.starts_with("retry:") {
                break;
            }
            head.push_str(&line);
        }
        assert!(head.contains("content-type: text/event-stream"), "{head}");
        stream
    }

    async fn line(&mut self) -> String {
        let next = self.lines.next_line();
        let line = tokio::time::timeout(Duration::from_secs(20), next).await;
        line.unwrap().unwrap().unwrap()
    }

    /// Reads on to the end, an empty chunk, with no event before it.
    async fn end(&mut self) {
        let read = async {
            loop {
                let line = self.line().await;
                if line == "0" {
                    break;
                }
                assert!(!line.starts_with("id:"), "{line}");
            }
        };
        let ended = tokio::time::timeout(Duration::from_secs(20), read).await;
        assert!(ended.is_ok(), "the stream goes on");
    }

    async fn next(&mut self) -> Piece {
        let mut piece = Piece::default();
        loop {
            let line = self.line().await;
            match line.split_once(": ") {
                Some(("id", id)) => piece.id = id.to_owned(),
                Some(("event", event)) => piece.event = event.to_owned(),
                Some(("data", data)) => {
                    piece.data = serde_json::from_str(data).unwrap();
                    return piece;
                }
                // Sizes of chunks, empty lines, comments.
                _ => {}
            }
        }
    }
}

async fn events_come_as_they_happen(app: TestApp) {
    let dev = app.developer().await;
    dev.create_task().await;
    let mut stream = Stream::open(&dev.test, app.address, "").await;
    dev.create_task().await;
    for number in [3, 4] {
        let piece = stream.next().await;
        let events = all_events(&dev.test).await;
        let event = &events[number - 1];
        assert_eq!(piece.data, *event, "as in the list");
        assert_eq!(piece.id, event["id"]);
        assert_eq!(piece.event, event["event"]);
    }
    dev.live
        .post("/v1/tasks", &crate::support::storefront())
        .await
        .expect(201);
    dev.create_task().await;
    assert_eq!(
        stream.next().await.data["number"],
        5,
        "nothing of the other environment"
    );
}

async fn a_stream_goes_on_where_it_broke_off(app: TestApp) {
    let dev = app.developer().await;
    for _ in 0..120 {
        dev.create_task().await;
    }
    let events = all_events(&dev.test).await;
    let seen = events[4]["id"].as_str().unwrap();
    let rest = format!("\nlast-event-id: {seen}\r\n");
    let mut stream = Stream::open(&dev.test, app.address, &rest).await;
    for number in 6..=240 {
        assert_eq!(stream.next().await.data["number"], number);
    }
}

/// Two services on one database; what one writes, the other tells.
async fn events_of_another_process_come_too(app: TestApp) {
    let dev = app.developer().await;
    let other = TestApp::start(&app.database).await;
    let mut stream = Stream::open(&dev.test, other.address, "").await;
    let task = dev.create_task().await;
    let piece = stream.next().await;
    assert_eq!(piece.data["data"]["id"], task["id"]);
}

async fn a_stream_ends_when_its_key_may_no_longer_read(app: TestApp) {
    let dev = app.developer().await;
    for change in [
        json!({"permissions": ["read"], "paused": true}),
        json!({"permissions": ["create"]}),
    ] {
        let reads = json!({"permissions": ["read"]});
        let agent = Limited::in_test(&app, &dev, reads).await;
        let mut stream = Stream::open(&agent.client, app.address, "").await;
        let body = change.to_string();
        let changed = dev.live.send("PUT", &agent.path(), &[], body).await;
        changed.expect(200);
        stream.end().await;
    }
}

async fn nothing_is_sent_that_happened_after_the_key_was_stopped(app: TestApp) {
    let dev = app.developer().await;
    let reads = json!({"permissions": ["read"]});
    let changes = [
        Some(json!({"permissions": ["read"], "paused": true})),
        Some(json!({"permissions": ["create"]})),
        None,
    ];
    for change in changes {
        let agent = Limited::in_test(&app, &dev, reads.clone()).await;
        let mut stream = Stream::open(&agent.client, app.address, "").await;
        dev.create_task().await;
        assert_eq!(stream.next().await.event, "task.created");
        assert_eq!(stream.next().await.event, "task.funded");
        let stopped = match change {
            Some(limits) => {
                let limits = limits.to_string();
                dev.live.send("PUT", &agent.path(), &[], limits).await
            }
            None => {
                let key = format!("/v1/account/keys/{}", agent.id);
                dev.live.delete(&key).await
            }
        };
        stopped.expect(200);
        dev.create_task().await;
        stream.end().await;
    }
}

async fn a_stream_can_be_narrowed(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_task().await;
    let query = format!(
        "?type=task.cancelled&task_id={}",
        task["id"].as_str().unwrap()
    );
    let mut stream = Stream::open(&dev.test, app.address, &query).await;
    for task in [dev.create_task().await, task.clone()] {
        let cancel = format!("{}/cancel", crate::support::path(&task));
        dev.test.post(&cancel, &json!({})).await.expect(200);
    }
    let piece = stream.next().await;
    assert_eq!(
        (piece.event.as_str(), &piece.data["data"]["id"]),
        ("task.cancelled", &task["id"])
    );
}

async fn what_no_stream_may_be_is_refused(app: TestApp) {
    let dev = app.developer().await;
    let path = "/v1/events/stream";
    app.client()
        .get(path)
        .await
        .expect_error(401, "UNAUTHORIZED");
    let faulty = dev.test.get(&format!("{path}?limit=1&type=x")).await;
    assert_eq!(faulty.faulty_fields(), ["type", "limit"]);
    dev.create_task().await;
    let of_test = all_events(&dev.test).await[0]["id"].clone();
    let of_test = of_test.as_str().unwrap();
    let unknown = "0".repeat(32);
    for (client, id) in [
        (&dev.test, "7"),
        (&dev.test, ""),
        (&dev.test, unknown.as_str()),
        (&dev.live, of_test),
    ] {
        let wrong = client.send("GET", path, &[("last-event-id", id)], "").await;
        assert_eq!(wrong.faulty_fields(), ["Last-Event-ID"], "{id}");
    }
    let mut open = Vec::new();
    for _ in 0..20 {
        open.push(Stream::open(&dev.test, app.address, "").await);
    }
    dev.test.get(path).await.expect_error(429, "RATE_LIMITED");
    let other = app.developer().await;
    open.push(Stream::open(&other.test, app.address, "").await);
}
