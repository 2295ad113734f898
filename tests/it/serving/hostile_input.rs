//! Requests that no honest client sends: a clean 4xx each, and the service goes on.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{TestApp, exchange, on_both_engines, storefront};

on_both_engines!(
    bodies_that_are_not_json_objects_are_refused,
    duplicate_keys_are_named,
    a_body_that_is_too_large_is_refused_and_the_sender_hears_it,
    a_half_sent_head_times_out,
    a_half_sent_body_times_out,
    strangers_who_do_not_finish_their_bodies_keep_out_no_account,
    broken_requests_get_a_clean_answer,
    hostile_text_is_only_text,
);

async fn bodies_that_are_not_json_objects_are_refused(app: TestApp) {
    let dev = app.developer().await;
    let deep_array = "[".repeat(60_000);
    let deep_object = "{\"a\":".repeat(40_000);
    let mut in_metadata = storefront().to_string();
    in_metadata.truncate(in_metadata.len() - 1);
    in_metadata.push_str(&format!(",\"metadata\":{}", "{\"a\":".repeat(1_000)));
    for body in [
        b"".as_slice(),
        b"null",
        b"[]",
        b"\"x\"",
        b"{",
        b"{}{}",
        b"{'a':1}",
        b"title=x",
        b"\xff\xfe",
        b"{\"title\":\"\xc3\x28\"}",
        b"{\"title\":\"\\ud800\"}",
        b"{\"budget_cents\":1e400}",
        b"{\"budget_cents\":NaN}",
        b"\xef\xbb\xbf{}",
        deep_array.as_bytes(),
        deep_object.as_bytes(),
        in_metadata.as_bytes(),
    ] {
        let reply = dev.test.send("POST", "/v1/tasks", &[], body.to_vec()).await;
        reply.expect_error(400, "VALIDATION_ERROR");
        let reply = dev
            .live
            .send("PATCH", "/v1/tasks/x", &[], body.to_vec())
            .await;
        reply.expect_error(400, "VALIDATION_ERROR");
    }
}

async fn duplicate_keys_are_named(app: TestApp) {
    let dev = app.developer().await;
    let text = storefront().to_string();
    let twice = text.replacen("{\"title\":", "{\"title\":\"first\",\"title\":", 1);
    let reply = dev.test.send("POST", "/v1/tasks", &[], twice).await;
    assert_eq!(reply.faulty_fields(), ["title"]);
    let twice = text.replacen("\"city\":", "\"city\":\"x\",\"city\":", 1);
    let reply = dev.test.send("POST", "/v1/tasks", &[], twice).await;
    assert_eq!(reply.faulty_fields(), ["location.city"]);
}

async fn a_body_that_is_too_large_is_refused_and_the_sender_hears_it(app: TestApp) {
    let dev = app.developer().await;
    for size in [256 * 1024 + 1, 400_000, 3_000_000] {
        let reply = dev
            .test
            .send("POST", "/v1/tasks", &[], vec![b' '; size])
            .await;
        reply.expect_error(413, "PAYLOAD_TOO_LARGE");
        let reply = app
            .client()
            .send("POST", "/v1/tasks", &[], vec![b' '; size])
            .await;
        reply.expect_error(401, "UNAUTHORIZED");
    }
    let mut padded = storefront().to_string().into_bytes();
    padded.resize(256 * 1024, b' ');
    dev.test
        .send("POST", "/v1/tasks", &[], padded)
        .await
        .expect(201);
}

async fn a_half_sent_head_times_out(app: TestApp) {
    let app = app.impatient().await;
    let answer = exchange(
        app.address,
        b"GET /v1/account HTTP/1.1\r\nhost: x\r\nauthor",
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer:?}");
    let silent = exchange(app.address, b"").await;
    assert_eq!(silent, "");
}

async fn a_half_sent_body_times_out(app: TestApp) {
    let app = app.impatient().await;
    let dev = app.developer().await;
    let head = format!(
        "POST /v1/tasks HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n",
        dev.test_key
    );
    for body in [
        "content-length: 500\r\n\r\n{\"title\":",
        "transfer-encoding: chunked\r\n\r\n5\r\n{\"ti",
    ] {
        let answer = exchange(app.address, format!("{head}{body}").as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer:?}");
        assert!(answer.contains("REQUEST_TIMEOUT"), "{answer:?}");
    }
    // A sender that goes away half-way leaves nothing behind.
    let mut stream = TcpStream::connect(app.address).await.unwrap();
    let cut = format!("{head}content-length: 500\r\n\r\n{{\"title\":");
    stream.write_all(cut.as_bytes()).await.unwrap();
    drop(stream);
    assert_eq!(
        dev.test.get("/v1/tasks").await.expect(200)["meta"]["total"],
        0
    );
}

async fn strangers_who_do_not_finish_their_bodies_keep_out_no_account(app: TestApp) {
    const LARGEST: usize = 256 * 1024;
    let dev = app.developer().await;
    let head = format!(
        "POST /v1/workers/sessions HTTP/1.1\r\nhost: x\r\ncontent-length: {LARGEST}\r\n\r\n"
    );
    let mut unfinished = Vec::new();
    let path = "/v1/workers/sessions";
    let stranger = app.client();
    // The server may not have read all of them yet, and one that comes while the stranger asks is refused itself. So
    // there is one more for each time that it asks. Strangers may ask more often than this.
    let mut refused = false;
    for _ in 0..200 {
        let mut stream = TcpStream::connect(app.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&vec![b' '; LARGEST - 1]).await.unwrap();
        unfinished.push(stream);
        let reply = stranger.send("POST", path, &[], vec![b' '; LARGEST]).await;
        refused |= reply.status == 429;
        if refused {
            reply.expect_error(429, "RATE_LIMITED");
            break;
        }
    }
    assert!(refused);
    stranger
        .send("POST", path, &[], vec![b' '; 1024])
        .await
        .expect_error(400, "VALIDATION_ERROR");
    let mut padded = storefront().to_string().into_bytes();
    padded.resize(LARGEST, b' ');
    dev.test
        .send("POST", "/v1/tasks", &[], padded)
        .await
        .expect(201);
}

async fn broken_requests_get_a_clean_answer(app: TestApp) {
    for bytes in [
        b"\0\0\0\0\r\n\r\n".as_slice(),
        b"GET\r\n\r\n",
        b"GET /\0 HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nbad header\r\n\r\n",
        b"POST /v1/tasks HTTP/1.1\r\nhost: x\r\ncontent-length: abc\r\n\r\n",
        b"POST /v1/tasks HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
    ] {
        let answer = exchange(app.address, bytes).await;
        assert!(answer.starts_with("HTTP/1.1 4"), "{bytes:?}: {answer:?}");
    }
    let many = "x: y\r\n".repeat(200);
    let answer = exchange(
        app.address,
        format!("GET / HTTP/1.1\r\n{many}\r\n").as_bytes(),
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer:?}");
    // Many who send large heads at once must not add up.
    for (length, status) in [(15_000, 200), (17_000, 431)] {
        let long = "x".repeat(length);
        let head =
            format!("GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx: {long}\r\n\r\n");
        let answer = exchange(app.address, head.as_bytes()).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{length}: {answer:?}"
        );
    }
    let mut stream = TcpStream::connect(app.address).await.unwrap();
    stream
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    let mut answer = [0; 12];
    let read = tokio::time::timeout(Duration::from_secs(5), stream.read_exact(&mut answer)).await;
    read.unwrap().unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
}

async fn hostile_text_is_only_text(app: TestApp) {
    let dev = app.developer().await;
    for text in [
        "'; DROP TABLE tasks; --",
        "?1 $1 %s {} ${x}",
        "<script>alert(1)</script>",
        "\u{202e}reversed\u{feff}",
        "\\u0000 \\ \" ' `",
    ] {
        let task = dev.create_with("title", text.into()).await.expect(201);
        assert_eq!(task["title"], text);
        let list = dev.test.get("/v1/tasks?limit=1").await.expect(200);
        assert_eq!(list["data"][0]["title"], text);
    }
}
