//! A server that fails as real ones do, so that it can be seen what a library makes of it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};

/// What was asked, and how often.
#[derive(Default)]
pub struct Asked {
    /// The Idempotency-Key of each try to create a task.
    pub keys: Vec<String>,
    /// The User-Agent of each.
    pub agents: Vec<String>,
    /// The `Last-Event-ID` of each connection to the stream.
    pub positions: Vec<Option<String>>,
    refused: u32,
}

#[derive(Clone, Default)]
pub struct Fake {
    asked: Arc<Mutex<Asked>>,
}

impl Fake {
    pub async fn start() -> (Self, SocketAddr) {
        let fake = Self::default();
        let router = Router::new()
            .route("/v1/tasks", post(create).get(refuse))
            .route("/v1/tasks/{id}", get(never))
            .route("/v1/events", get(list))
            .route("/v1/events/stream", get(stream))
            .with_state(fake.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        (fake, address)
    }

    pub fn asked(&self) -> std::sync::MutexGuard<'_, Asked> {
        self.asked.lock().unwrap()
    }
}

/// Busy, then too fast, then the first try is still at work, then a broken connection; the fifth succeeds.
async fn create(State(fake): State<Fake>, headers: HeaderMap) -> Response {
    let text = |name| {
        headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    };
    let mut asked = fake.asked();
    asked.keys.push(text("idempotency-key").to_owned());
    asked.agents.push(text("user-agent").to_owned());
    let soon = [("retry-after", "0")];
    match asked.keys.len() {
        1 => (StatusCode::SERVICE_UNAVAILABLE, soon, "<h1>Busy</h1>").into_response(),
        2 => (StatusCode::TOO_MANY_REQUESTS, soon, problem("RATE_LIMITED")).into_response(),
        3 => (StatusCode::CONFLICT, soon, problem("IDEMPOTENCY_IN_FLIGHT")).into_response(),
        4 => broken("{"),
        _ => (StatusCode::CREATED, task(1, "pending").to_string()).into_response(),
    }
}

/// Ends in the middle.
fn broken(start: &'static str) -> Response {
    let pieces = [Ok(start), Err(std::io::Error::other("cut"))];
    Body::from_stream(futures_util::stream::iter(pieces)).into_response()
}

/// Come back much later, with a code and a detail that nobody knows.
async fn refuse(State(fake): State<Fake>) -> Response {
    fake.asked().refused += 1;
    let count = fake.asked().refused;
    let body = json!({"error": {"code": "TOO_MANY_MOONS", "message": "Try another planet.",
        "details": {"moons": count}, "request_id": "req-7", "planet": "Jupiter"}});
    let later = [("retry-after", "3600")];
    (StatusCode::TOO_MANY_REQUESTS, later, body.to_string()).into_response()
}

async fn never(Path(_): Path<String>) -> Response {
    std::future::pending().await
}

fn problem(code: &str) -> String {
    json!({"error": {"code": code, "message": "Not now.", "request_id": "req-1"}}).to_string()
}

fn task(number: i64, status: &str) -> Value {
    json!({"id": format!("{number:032x}"), "developer_id": "0".repeat(32), "title": "T", "description": "D",
        "instructions": null, "category": "photography", "required_skills": [], "location_address": null,
        "location_city": "Brooklyn", "location_state": "NY", "location_latitude": 40.7,
        "location_longitude": -73.9, "budget_cents": 2500, "platform_fee_cents": 400,
        "worker_payout_cents": 2100, "priority": "normal", "status": status, "environment": "test",
        "worker_id": null, "deadline": null, "max_proof_attempts": 3, "proof_types": ["photo"],
        "metadata": {}, "assigned_at": null, "started_at": null, "completed_at": null,
        "cancelled_at": null, "created_at": "2025-11-15T12:00:00.000Z",
        "updated_at": "2025-11-15T12:00:00.000Z", "mood": "cheerful"})
}

/// Number 6 is of a type that nobody knows.
pub fn event(number: i64) -> Value {
    let name = if number == 6 {
        "task.teleported"
    } else {
        "task.funded"
    };
    json!({"id": format!("{number:032x}"), "number": number, "event": name, "data": task(number, "funded"),
        "created_at": "2025-11-15T12:00:00.000Z", "colour": "green"})
}

/// Events 1 to 9, newest first, two to a page. At the beginning there is none but the first.
async fn list(State(fake): State<Fake>, Query(query): Query<Vec<(String, String)>>) -> String {
    let cursor = query.iter().find(|(name, _)| name == "cursor");
    let newest = match (cursor, fake.asked().positions.is_empty()) {
        (Some((_, cursor)), _) => cursor.parse().unwrap(),
        (None, true) => 1,
        (None, false) => 9,
    };
    let oldest = (newest - 1).max(1);
    let data: Vec<_> = (oldest..=newest).rev().map(event).collect();
    let next = (oldest > 1).then(|| (oldest - 1).to_string());
    json!({"data": data, "meta": {"limit": 2, "next_cursor": next}}).to_string()
}

/// The first connection loses events and repeats one, the second breaks in the middle of an event, the
/// third no longer knows the position, and the fourth has the last event.
async fn stream(State(fake): State<Fake>, headers: HeaderMap) -> Response {
    let position = headers
        .get("last-event-id")
        .map(|id| id.to_str().unwrap().to_owned());
    let connection = {
        let mut asked = fake.asked();
        asked.positions.push(position);
        asked.positions.len()
    };
    let piece = |number| format!("id: {number}\nevent: x\ndata: {}\n\n", event(number));
    let text = match connection {
        1 => format!("retry: 1\n\n:\n\n{}{}{}", piece(2), piece(5), piece(5)),
        2 => format!("{}{}", piece(6), &piece(7)[..40]),
        3 => {
            let body = problem("VALIDATION_ERROR");
            return (StatusCode::BAD_REQUEST, body).into_response();
        }
        4 => String::new(),
        _ => piece(10),
    };
    ([("content-type", "text/event-stream")], text).into_response()
}
