//! Answers that a client asks for and does not read.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::support::{TestApp, eventually, on_both_engines, storefront};

on_both_engines!(an_account_holds_few_answers_that_it_does_not_read);

/// A page of their events has more than a megabyte.
fn large_task() -> Value {
    let mut task = storefront();
    task["description"] = json!("\u{1f600}".repeat(2_000));
    let long = (0..20).map(|number| (format!("key_{number}"), json!("v".repeat(400))));
    task["metadata"] = Value::Object(long.collect());
    task
}

/// Asks, and reads the first line of the answer.
async fn ask(app: &TestApp, key: &str) -> (TcpStream, String) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4 << 10).unwrap();
    let mut stream = socket.connect(app.address).await.unwrap();
    let request = format!(
        "GET /v1/events?limit=100 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut line = vec![0; 12];
    stream.read_exact(&mut line).await.unwrap();
    (stream, String::from_utf8(line).unwrap())
}

async fn an_account_holds_few_answers_that_it_does_not_read(app: TestApp) {
    let (dev, other) = (app.developer().await, app.developer().await);
    for _ in 0..50 {
        dev.test.post("/v1/tasks", &large_task()).await.expect(201);
    }
    let mut held = Vec::new();
    let refused = loop {
        let (stream, line) = ask(&app, &dev.test_key).await;
        if line != "HTTP/1.1 200" {
            break line;
        }
        held.push(stream);
        assert!(held.len() < 10, "nothing bounds them");
    };
    assert_eq!(refused, "HTTP/1.1 429");
    other.test.get("/v1/events").await.expect(200);
    drop(held);
    let served = async || ask(&app, &dev.test_key).await.1 == "HTTP/1.1 200";
    eventually("what was not read is gone", served).await;
}
