//! A stream of events with a gap, and a list that does not fill it at once, or not at all.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use legwork_client::{Client, Error, EventStream, StreamOptions};
use serde_json::json;

use super::fake::event;
use crate::support::{in_time, runtime};

/// The first and the last event of an answer of the list; none is a failure.
type Answer = Option<(i64, i64)>;

/// The stream has event 4 and nothing else.
#[derive(Clone)]
struct Gapped {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    /// The `Last-Event-ID` of each connection to the stream.
    positions: Arc<Mutex<Vec<Option<String>>>>,
}

impl Gapped {
    async fn start(answers: &[Answer]) -> (Self, Client) {
        let gapped = Self {
            answers: Arc::new(Mutex::new(answers.iter().copied().collect())),
            positions: Arc::default(),
        };
        let router = Router::new()
            .route("/v1/events", get(list))
            .route("/v1/events/stream", get(stream))
            .with_state(gapped.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        let client = Client::builder("svc_test_x").base_url(&format!("http://{address}"));
        (gapped, client.build().unwrap())
    }
}

async fn list(State(gapped): State<Gapped>) -> Response {
    let answer = gapped.answers.lock().unwrap().pop_front();
    let Some((first, last)) = answer.expect("another look at the list") else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let data: Vec<_> = (first..=last).rev().map(event).collect();
    let page = json!({"data": data, "meta": {"limit": 100, "next_cursor": null}});
    page.to_string().into_response()
}

async fn stream(State(gapped): State<Gapped>, headers: HeaderMap) -> Response {
    let position = headers.get("last-event-id");
    let position = position.map(|id| id.to_str().unwrap().to_owned());
    gapped.positions.lock().unwrap().push(position);
    let text = format!("retry: 1000\n\ndata: {}\n\n", event(4));
    ([("content-type", "text/event-stream")], text).into_response()
}

async fn numbers(stream: &mut EventStream, count: usize) -> Vec<i64> {
    let mut numbers = Vec::new();
    while numbers.len() < count {
        numbers.push(stream.next().await.unwrap().number);
    }
    numbers
}

/// No event is given out before those that come before it, so none is passed over.
#[test]
fn a_gap_that_cannot_be_filled_yet_is_filled_later() {
    runtime().block_on(in_time(async {
        let answers = [Some((1, 1)), None, None, Some((1, 4))];
        let (gapped, client) = Gapped::start(&answers).await;
        let mut stream = client.events().stream(StreamOptions::default());
        assert_eq!(numbers(&mut stream, 3).await, [2, 3, 4]);
        let first = Some(format!("{:032x}", 1));
        let positions = gapped.positions.lock().unwrap();
        assert_eq!(*positions, [first.clone(), first.clone(), first]);
    }));
}

#[test]
fn a_stream_goes_on_after_what_is_no_longer_kept() {
    runtime().block_on(in_time(async {
        let (_, client) = Gapped::start(&[Some((1, 1)), Some((3, 4))]).await;
        let mut stream = client.events().stream(StreamOptions::default());
        let lost = stream.next().await.unwrap_err();
        assert!(
            matches!(
                lost,
                Error::EventsLost {
                    after: 1,
                    before: 3
                }
            ),
            "{lost}"
        );
        assert_eq!(numbers(&mut stream, 2).await, [3, 4]);
    }));
}

#[test]
fn a_stream_can_begin_with_the_first_event() {
    runtime().block_on(in_time(async {
        let (_, client) = Gapped::start(&[Some((1, 3))]).await;
        let from_start = StreamOptions {
            from_start: true,
            ..StreamOptions::default()
        };
        let mut stream = client.events().stream(from_start);
        assert_eq!(numbers(&mut stream, 4).await, [1, 2, 3, 4]);
    }));
}
