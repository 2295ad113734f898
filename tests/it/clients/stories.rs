//! What every library is asked to do, and what must come of it.

use std::io::Write;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::fake::Fake;
use crate::support::{peer, photo};

/// What a library says after it has met the failing server.
pub fn expected_of_failures() -> Value {
    json!({
        "created": format!("{:032x}", 1),
        "refused": {"status": 429, "code": "TOO_MANY_MOONS", "message": "Try another planet.",
            "request_id": "req-7", "details": {"moons": 1}},
        "events": [2, 3, 4, 5, 6, 7, 8, 9, 10],
        "unknown": "task.teleported",
        "filled": 5,
        "timed_out": true,
        "unreachable": true,
    })
}

/// What the failing server must have seen.
pub fn check_requests(fake: &Fake, agent: &str) {
    let asked = fake.asked();
    assert_eq!(asked.keys.len(), 5);
    let first = &asked.keys[0];
    assert!(first.len() >= 16, "{first}");
    assert!(
        asked.keys.iter().all(|key| key == first),
        "one key over all tries"
    );
    let agents = &asked.agents;
    assert!(agents.iter().all(|told| told == agent), "{agents:?}");
    // It begins after the newest event, goes on after the last one, and asks without one when that is lost.
    let id = |number: i64| Some(format!("{number:032x}"));
    let positions = [id(1), id(5), id(6), None, id(9)];
    assert_eq!(asked.positions[..5], positions);
}

/// What a library says of `serve_strange.py`: of waits for some seconds, and of answers that are not Legwork's.
pub fn expected_of_strange_servers() -> Value {
    let others = [["not an answer"; 4]; 8];
    let refusing = [302, 401, 403, 404, 502, 503].map(|status| {
        let told = format!("not an answer, but {status}");
        // Only what passes is asked for again.
        json!([told, if status == 503 { 2 } else { 1 }, told])
    });
    json!({
        "waits": {
            "quiet": "still posted",
            "hanging": "timed out",
            "dripping": "timed out",
            "busy": "UNAVAILABLE",
            "stuck": "still posted",
            "silent": "still posted",
            "closing": "still posted",
            "ended": "ended completed: the task is completed and can no longer become assigned",
            "ending": "ended cancelled: the task is cancelled and can no longer become assigned",
            "crowded": "ended cancelled: the task is cancelled and can no longer become assigned",
        },
        // A look, where the events are, the stream, another look: then nothing while nothing happens.
        "requests": {"quiet": 4, "busy": 1, "ended": 1},
        "closing_is_not_hurried": true,
        // A file is asked for again, nobody is sent elsewhere for it, and its signature is in no message.
        "files": ["no error", "not an answer, but 302", "hidden"],
        "page": "not an answer",
        "refusing": refusing,
        "others": others,
        "secrets": [false, false, false, false, false, false, true, true],
        "long_timestamp": "refused",
    })
}

/// What a library says after a task was taken through its life on the running server.
pub fn expected_of_a_life() -> Value {
    json!({
        "created": {"title": "Photograph a storefront", "status": "funded", "metadata": {"order": "4711"}},
        "same_key_same_task": true,
        "other_body": "IDEMPOTENCY_MISMATCH",
        "invalid": ["budget_cents", "category"],
        "not_found": "TASK_NOT_FOUND",
        "quoted": 2100,
        "redeemed_once": true,
        "quote_not_found": "QUOTE_NOT_FOUND",
        "found": 1,
        "listed": 25,
        "first_page": 10,
        "waited": "proof_submitted",
        "still_waiting": "assigned",
        "rejected": "Too dark.",
        "uploaded": "photo",
        "downloaded_what_was_uploaded": true,
        "completed": "completed",
        "history_ends": "completed",
        "events": ["task.created", "task.funded", "task.posted", "task.assigned", "task.started",
            "task.proof_submitted", "task.proof_rejected", "task.proof_submitted", "task.completed"],
        "cancelled": "cancelled",
        "refund_differs": "REFUND_DIFFERS",
        "usage": 28,
        "new_key_works": true,
        "revoked_key": "UNAUTHORIZED",
        "webhook_error": "VALIDATION_ERROR",
        "clock_ahead": 3600,
        "batch": [201, 400],
        "bundle_is_zip": true,
    })
}

/// A photo that a library uploads and must get back.
pub const PHOTO: &str = "clients";

pub fn photo_file() -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(&photo(PHOTO)).unwrap();
    file
}

/// A server that is slow, silent or not Legwork, and its URL. It ends when it is dropped.
pub fn strange_server() -> (peer::Peer, String) {
    let mut server = peer::Peer::start(&mut peer::python("clients/serve_strange.py"));
    let url = format!("http://127.0.0.1:{}", server.port());
    (server, url)
}

/// What a program prints, which must succeed.
#[track_caller]
pub fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?}:\n{printed}\n{problem}"
    );
    printed
}

/// What a story tells, as JSON. The server of the test goes on meanwhile.
pub async fn told_by(mut command: Command) -> Value {
    let told = tokio::task::spawn_blocking(move || output(&mut command));
    serde_json::from_str(&told.await.unwrap()).unwrap()
}
