//! Forms that no honest client sends: refused as they come, and nothing of them is kept.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{TestApp, Worker, on_both_engines};
use crate::workers::proofs::proving::{begun, files_in, no_files_left};

on_both_engines!(
    what_never_ends_is_refused,
    ten_thousand_parts_are_too_many,
    a_body_is_as_large_as_the_task_needs,
);

const PART: &str = "--b\r\nContent-Disposition: form-data; name=\"photo\"\r\n\r\n";
/// How much of a refused body is read before the answer, and what fits into sockets.
const MAX_TAKEN: usize = 40 << 20;

fn head(path: &str, worker: &Worker) -> String {
    let key = worker.client.key();
    format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\
         content-type: multipart/form-data; boundary=b\r\ntransfer-encoding: chunked\r\n\r\n"
    )
}

/// Sends a beginning and then the same again and again, until there is an answer. Returns the answer
/// and how much was sent.
async fn send_endlessly(app: &TestApp, head: &str, begin: &str, again: &str) -> (String, usize) {
    let mut stream = TcpStream::connect(app.address).await.unwrap();
    let (mut reading, mut writing) = stream.split();
    writing.write_all(head.as_bytes()).await.unwrap();
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
    let again = chunk(&again.repeat(16_384 / again.len()));
    let mut sent = 0;
    let write = async {
        if !begin.is_empty() {
            writing.write_all(chunk(begin).as_bytes()).await.unwrap();
        }
        // Ends with an error when the server has closed the connection.
        while sent < MAX_TAKEN && writing.write_all(again.as_bytes()).await.is_ok() {
            sent += again.len();
        }
        std::future::pending::<()>().await;
    };
    let mut answer = vec![0; 4_096];
    let read = async {
        let length = reading.read(&mut answer).await.unwrap_or(0);
        String::from_utf8_lossy(&answer[..length]).into_owned()
    };
    let answer = tokio::select! {
        answer = read => answer,
        () = write => String::new(),
        () = tokio::time::sleep(Duration::from_secs(60)) => panic!("no answer"),
    };
    (answer, sent)
}

async fn what_never_ends_is_refused(app: TestApp) {
    let (_, worker, task) = begun(&app, json!(["photo"])).await;
    let submit = format!("/v1/worker/tasks/{}/proofs", task["id"].as_str().unwrap());
    let documents = "/v1/worker/verification";
    let other = app.sign_up(&[]).await;
    for (path, worker) in [(submit.as_str(), &worker), (documents, &other)] {
        let part = format!("\r\n{PART}x");
        for (what, begin, again) in [
            ("too long", "--b\r\nX-Long: ", "a"),
            ("too long", "--b\r\n", "X: y\r\n"),
            ("does not begin", "", "preamble "),
            ("does not begin", "", "\r\n--"),
            ("more than 32 parts", "", &part),
            ("goes on", "--b--\r\n", "\r\n--b--"),
        ] {
            let (answer, sent) = send_endlessly(&app, &head(path, worker), begin, again).await;
            assert!(answer.starts_with("HTTP/1.1 400 "), "{what}: {answer}");
            assert!(answer.contains(what), "{what}: {answer}");
            assert!(sent < MAX_TAKEN, "{what}: {sent}");
            no_files_left(&app).await;
        }
    }
    // In the content of a file there is no end but that of the body.
    for again in ["x", "\r\n--", "\r\n--c", "\r"] {
        let (answer, _) = send_endlessly(&app, &head(&submit, &worker), PART, again).await;
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
        assert!(answer.contains("FILE_TOO_LARGE"), "{answer}");
        no_files_left(&app).await;
    }
    worker.prove(&task, "good").await;
}

async fn ten_thousand_parts_are_too_many(app: TestApp) {
    let (_, worker, task) = begun(&app, json!(["photo"])).await;
    let many: Vec<(&str, &[u8])> = vec![("extra", b"x"); 10_000];
    let refused = worker.send_proof(&task, &many).await;
    assert_eq!(refused.faulty_fields(), ["body"]);
    let fewer = worker.send_proof(&task, &many[..32]).await;
    assert_eq!(fewer.faulty_fields().len(), 32);
    assert_eq!(files_in(&app), 0);
}

/// A task that asks for a signature takes no film, under any name.
async fn a_body_is_as_large_as_the_task_needs(app: TestApp) {
    let (_, worker, task) = begun(&app, json!(["signature"])).await;
    let submit = format!("/v1/worker/tasks/{}/proofs", task["id"].as_str().unwrap());
    for name in ["video", "other"] {
        let part = PART.replace("photo", name);
        let (answer, sent) = send_endlessly(&app, &head(&submit, &worker), &part, "x").await;
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
        assert!(answer.contains("FILE_TOO_LARGE"), "{answer}");
        assert!(sent < MAX_TAKEN, "{sent}");
    }
    let announced = head(&submit, &worker).replace(
        "transfer-encoding: chunked",
        "content-length: 2000000\r\nexpect: 100-continue\r\nconnection: close",
    );
    let answer = crate::support::exchange(app.address, announced.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    let film = vec![0; 100_000];
    let refused = worker.send_proof(&task, &[("video", &film)]).await;
    assert_eq!(refused.faulty_fields(), ["video"]);
    assert_eq!(files_in(&app), 0);
}
