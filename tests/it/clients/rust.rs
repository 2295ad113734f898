//! The Rust library tells the stories.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use legwork_client::{
    AdvanceClock, Builder, Category, Client, CreateKey, CreateTask, Environment, Error,
    EventFilter, EventType, File, Location, Page, ProofType, PutWebhook, SimulateProof, Status,
    StreamOptions, TaskFilter, TaskSearch, Upload, Webhook,
};
use serde_json::{Value, json};

use super::fake::Fake;
use super::stories;
use crate::support::{TestApp, in_time, on_both_engines, photo, runtime};
use crate::webhooks::vectors;

on_both_engines!(a_task_is_taken_through_its_life);

fn builder(app: &TestApp, key: &str) -> Builder {
    Client::builder(key).base_url(&format!("http://{}/", app.address))
}

fn storefront() -> CreateTask {
    let place = Location::new("Brooklyn", "NY", 40.7163, -73.9595);
    CreateTask::new("Photograph a storefront", "With the opening hours in view.")
        .category(Category::Photography)
        .location(place)
        .budget_cents(2500)
}

fn code(error: &Error) -> String {
    error
        .code()
        .map(ToString::to_string)
        .unwrap_or_else(|| panic!("{error}"))
}

async fn a_task_is_taken_through_its_life(app: TestApp) {
    let developer = app.developer().await;
    let client = builder(&app, &developer.test_key).build().unwrap();
    let told = in_time(life(&client)).await;
    assert_eq!(told, stories::expected_of_a_life());
}

async fn life(client: &Client) -> Value {
    let tasks = client.tasks();
    let mut wanted = storefront();
    wanted.metadata = Some(json!({"order": "4711"}).as_object().unwrap().clone());
    let mine = client.with_idempotency_key("order-4711").tasks();
    let task = mine.create(&wanted).await.unwrap();
    let again = mine.create(&wanted).await.unwrap();
    let other = mine.create(&storefront()).await.unwrap_err();
    let wrong = storefront()
        .category(Category::Unknown("magic".to_owned()))
        .budget_cents(1);
    let invalid = match tasks.create(&wrong).await.unwrap_err() {
        Error::Api(refused) => refused.fields(),
        other => panic!("{other}"),
    };
    let mut invalid: Vec<_> = invalid.into_iter().map(|fault| fault.field).collect();
    invalid.sort();
    let unknown = tasks.get("../account").await.unwrap_err();
    let search = TaskSearch {
        metadata: Some([("order".to_owned(), "4711".to_owned())].into()),
        status: Some(vec![Status::Funded, Status::Posted]),
        ..Default::default()
    };
    let found = tasks.search(&search).take(10).await.unwrap();
    for _ in 0..24 {
        tasks.create(&storefront()).await.unwrap();
    }
    let filter = TaskFilter {
        limit: Some(10),
        ..Default::default()
    };
    let listed = tasks.list(&filter).take(100).await.unwrap();
    let first_page = tasks.list(&filter).next_page().await.unwrap().unwrap();
    let reviewed = review(client, &task.id).await;
    let history = tasks
        .history(
            &task.id,
            &Page {
                limit: Some(2),
                ..Default::default()
            },
        )
        .take(50)
        .await
        .unwrap();
    let batch = tasks.create_batch(&[storefront(), wrong]).await.unwrap();
    let bundle = tasks.bundle(&task.id).await.unwrap();
    let mut told = json!({
        "created": {"title": task.title, "status": task.status, "metadata": task.metadata},
        "same_key_same_task": task.id == again.id,
        "other_body": code(&other),
        "invalid": invalid,
        "not_found": code(&unknown),
        "found": found.len(),
        "listed": listed.len(),
        "first_page": first_page.len(),
        "history_ends": history.iter().find(|entry| entry.to == Status::Completed).unwrap().to,
        "batch": batch.data.iter().map(|item| item.status).collect::<Vec<_>>(),
        "bundle_is_zip": bundle.starts_with(b"PK"),
    });
    let parts = [
        quoted(client).await,
        reviewed,
        cancelled(client).await,
        account(client).await,
    ];
    for part in parts {
        told.as_object_mut()
            .unwrap()
            .extend(part.as_object().unwrap().clone());
    }
    told
}

/// Proof, a rejection, another proof, approval.
async fn review(client: &Client, id: &str) -> Value {
    let (tasks, proofs, helpers) = (client.tasks(), client.proofs(), client.test_helpers());
    helpers
        .advance_task(id, Some(Status::Assigned))
        .await
        .unwrap();
    let soon = Some(Duration::from_millis(50));
    let waiting = match tasks
        .wait_until(id, &[Status::Completed], soon)
        .await
        .unwrap_err()
    {
        Error::StillWaiting { status, .. } => status,
        other => panic!("{other}"),
    };
    helpers
        .advance_task(id, Some(Status::InProgress))
        .await
        .unwrap();
    let wanted = [Status::ProofSubmitted, Status::Completed];
    let position = SimulateProof {
        gps_latitude: Some(40.7163),
        gps_longitude: Some(-73.9595),
        types: None,
    };
    let (waited, sent) = tokio::join!(
        tasks.wait_until(id, &wanted, None),
        helpers.submit_proof(id, &position)
    );
    let proof = sent.unwrap().data.remove(0);
    let rejected = proofs.reject(id, &proof.id, "Too dark.").await.unwrap();
    let file = File {
        proof_type: ProofType::Photo,
        content_type: "image/jpeg".to_owned(),
        bytes: photo(stories::PHOTO),
    };
    let upload = Upload {
        gps_latitude: Some(40.7163),
        gps_longitude: Some(-73.9595),
        files: vec![file],
    };
    helpers.upload_proof(id, &upload).await.unwrap();
    let all = proofs.list(id, &Page::default()).take(10).await.unwrap();
    let second = all.iter().find(|proof| proof.attempt_number == 2).unwrap();
    let evidence = proofs.evidence(id, &second.id).await.unwrap();
    let bytes = proofs.download(second).await.unwrap();
    assert_eq!(evidence.proof_id, second.id);
    proofs.approve(id, &second.id).await.unwrap();
    let completed = tasks
        .wait_until(id, &[Status::Completed], None)
        .await
        .unwrap();
    let filter = EventFilter {
        task_id: Some(id.to_owned()),
        limit: Some(4),
        ..Default::default()
    };
    let mut events = client.events().list(&filter).take(50).await.unwrap();
    events.reverse();
    assert_eq!(
        events.last().unwrap().task().unwrap().status,
        Status::Completed
    );
    json!({
        "waited": waited.unwrap().status,
        "still_waiting": waiting,
        "rejected": rejected.rejection_reason,
        "uploaded": second.r#type,
        "downloaded_what_was_uploaded": bytes == photo(stories::PHOTO),
        "completed": completed.status,
        "events": events.iter().map(|event| event.event.as_str()).collect::<Vec<_>>(),
    })
}

async fn quoted(client: &Client) -> Value {
    let quote = client.quotes().create(&storefront()).await.unwrap();
    let first = client.tasks().redeem(&quote.id).await.unwrap();
    let second = client.tasks().redeem(&quote.id).await.unwrap();
    let unknown = client.quotes().get("0").await.unwrap_err();
    json!({
        "quoted": quote.worker_payout_cents,
        "redeemed_once": first.id == second.id,
        "quote_not_found": code(&unknown),
    })
}

async fn cancelled(client: &Client) -> Value {
    let tasks = client.tasks();
    let task = tasks.create(&storefront()).await.unwrap();
    let differs = tasks.cancel(&task.id, Some(1)).await.unwrap_err();
    let cancelled = tasks.cancel(&task.id, None).await.unwrap();
    let waited = tasks.wait_until(&task.id, &[Status::Completed], None).await;
    let over = matches!(&waited, Err(Error::TaskEnded { status }) if status == "cancelled");
    assert!(over, "{waited:?}");
    json!({"cancelled": cancelled.status, "refund_differs": code(&differs)})
}

async fn account(client: &Client) -> Value {
    let new = CreateKey {
        name: "Second".to_owned(),
        environment: Environment::Test,
        mandate: None,
    };
    let made = client.keys().create(&new).await.unwrap();
    let second = Client::builder(&made.key)
        .base_url(client.base_url())
        .build()
        .unwrap();
    let works =
        second.account().get().await.unwrap().id == client.account().get().await.unwrap().id;
    client.keys().revoke(&made.id, None).await.unwrap();
    let revoked = second.account().usage().await.unwrap_err();
    let usage = client.account().usage().await.unwrap();
    let webhook = PutWebhook {
        url: "http://plain.example".to_owned(),
        events: None,
    };
    let webhook = client.webhook().set(&webhook).await.unwrap_err();
    let ahead = AdvanceClock {
        advance_seconds: Some(3600),
        at: None,
    };
    let clock = client.test_helpers().advance_clock(&ahead).await.unwrap();
    json!({
        "usage": usage.tasks_this_month,
        "new_key_works": works,
        "revoked_key": code(&revoked),
        "webhook_error": code(&webhook),
        "clock_ahead": clock.ahead_seconds,
    })
}

#[test]
fn failures_are_overcome_or_told() {
    runtime().block_on(in_time(async {
        let (fake, address) = Fake::start().await;
        let builder = || Client::builder("svc_test_x").base_url(&format!("http://{address}"));
        let client = builder()
            .max_retries(4)
            .user_agent("shop/1.0")
            .build()
            .unwrap();
        let created = client.tasks().create(&storefront()).await.unwrap();
        let refused = match client
            .tasks()
            .list(&Default::default())
            .next()
            .await
            .unwrap_err()
        {
            Error::Api(refused) => *refused,
            other => panic!("{other}"),
        };
        let mut stream = client.events().stream(StreamOptions::default());
        let (mut numbers, mut unknown) = (Vec::new(), Value::Null);
        while numbers.len() < 9 {
            let event = stream.next().await.unwrap();
            if matches!(event.event, EventType::Unknown(_)) {
                unknown = json!(event.event);
            }
            numbers.push(event.number);
        }
        let hasty = builder()
            .timeout(Duration::from_millis(50))
            .max_retries(0)
            .build()
            .unwrap();
        let late = hasty.tasks().get("1").await.unwrap_err();
        let soon = Some(Duration::from_millis(50));
        let waited = client
            .tasks()
            .wait_until("1", &[Status::Funded], soon)
            .await;
        assert!(matches!(waited, Err(Error::Timeout { .. })), "{waited:?}");
        let nowhere = Client::builder("svc_test_x")
            .base_url("http://127.0.0.1:1")
            .max_retries(1)
            .build()
            .unwrap();
        let unreachable = nowhere.account().get().await.unwrap_err();
        let told = json!({
            "created": created.id,
            "refused": {"status": refused.status, "code": refused.code, "message": refused.message,
                "request_id": refused.request_id, "details": refused.details},
            "events": numbers,
            "unknown": unknown,
            "filled": stream.filled(),
            "timed_out": matches!(late, Error::Timeout { .. }),
            "unreachable": unreachable.is_unreachable(),
        });
        assert_eq!(told, stories::expected_of_failures());
        let agent = concat!("shop/1.0 legwork-rust/", env!("CARGO_PKG_VERSION"));
        stories::check_requests(&fake, agent);
    }));
}

#[test]
fn a_server_that_takes_its_time_is_told_once() {
    static TOLD: AtomicUsize = AtomicUsize::new(0);
    runtime().block_on(in_time(async {
        let (_, address) = Fake::start().await;
        let builder = Client::builder("svc_test_x").base_url(&format!("http://{address}"));
        let hasty = builder.timeout(Duration::from_millis(50)).max_retries(1);
        let told = |_: &str| {
            TOLD.fetch_add(1, Ordering::SeqCst);
        };
        let client = hasty.when_slow(Duration::ZERO, told).build().unwrap();
        let late = client.tasks().get("1").await.unwrap_err();
        assert!(matches!(late, Error::Timeout { .. }), "{late}");
        assert_eq!(TOLD.load(Ordering::SeqCst), 1);
    }));
}

/// As the others do with `serve_strange.py`.
#[test]
fn files_are_asked_for_again_and_waits_go_on_without_a_stream() {
    runtime().block_on(in_time(async {
        let (_server, url) = stories::strange_server();
        let at = |url: &str| Client::builder("svc_test_x\n").base_url(url);
        let client = at(&url).build().unwrap();
        let file = |mode: &str| format!("{url}/{mode}/v1/tasks/1?signature=s");
        assert_eq!(client.fetch(&file("shaky")).await.unwrap(), b"file");
        let moved = client.fetch(&file("moved")).await.unwrap_err();
        assert_eq!(code(&moved), "HTTP_302");
        let hasty = at(&url).max_retries(0).build().unwrap();
        let nowhere = hasty.fetch("http://127.0.0.1:1/file?signature=s").await;
        let said = nowhere.unwrap_err().to_string();
        assert!(!said.contains("signature"), "{said}");
        let nowhere = at("http://127.0.0.1:1").max_retries(0).build().unwrap();
        let path = "/v1/tasks/search?q=somebody";
        let said = nowhere.request("GET", path, None).await.unwrap_err();
        assert!(!said.to_string().contains("somebody"), "{said}");
        let crowded = at(&format!("{url}/crowded")).build().unwrap();
        let wanted = [Status::Assigned];
        let waited = crowded.tasks().wait_until("1", &wanted, None).await;
        let ended = matches!(&waited, Err(Error::TaskEnded { status }) if status == "cancelled");
        assert!(ended, "{waited:?}");
    }));
}

#[test]
fn webhooks_are_verified_by_both_schemes() {
    for vector in vectors::all() {
        for scheme in ["x-service-", "webhook-"] {
            let header = |name: &str| {
                let is_of_scheme = name.starts_with(scheme) || name == "webhook-id";
                let mut all = vector.headers.iter();
                let found = all.find(|(known, _)| is_of_scheme && known.eq_ignore_ascii_case(name));
                found.map(|(_, value)| value.clone())
            };
            let webhook = Webhook::new("whsec_b3RoZXI=").unwrap();
            let webhook = webhook.or(&vector.secret).unwrap();
            let verified = webhook.verify_at(header, vector.body.as_bytes(), vector.now);
            assert_eq!(
                verified.is_ok(),
                vector.valid,
                "{}: {verified:?}",
                vector.name
            );
            if let Ok(event) = verified {
                assert_eq!(event.id, vector.headers["webhook-id"]);
            }
        }
    }
}

/// Everybody could sign with the empty key, so nothing is verified with it.
#[test]
fn a_webhook_without_a_secret_is_not_made() {
    for secret in [
        "",
        " ",
        "whsec_",
        " whsec_\n",
        "whsec_not base64",
        "secret!",
    ] {
        let made = Webhook::new(secret);
        assert!(matches!(made, Err(Error::Setup(_))), "{secret:?}");
        let or = Webhook::new("whsec_b3RoZXI=").unwrap().or(secret);
        assert!(matches!(or, Err(Error::Setup(_))), "{secret:?}");
    }
    // Copied with the end of its line.
    let (signed, body) = (Webhook::new("whsec_b3RoZXI=\n").unwrap(), b"{}");
    let plain = Webhook::new("whsec_b3RoZXI=").unwrap();
    assert_eq!(signed.sign("1", 7, body), plain.sign("1", 7, body));
}

#[test]
fn a_client_that_cannot_work_is_not_made() {
    for (key, url) in [
        ("", "http://localhost"),
        ("a b", "http://localhost"),
        ("svc_test_x", "localhost:8080"),
        ("svc_test_x", "ftp://localhost"),
        ("svc_test_x", ""),
    ] {
        let made = Client::builder(key).base_url(url).build();
        assert!(matches!(made, Err(Error::Setup(_))), "{key:?} {url:?}");
    }
}

#[test]
fn the_first_task_of_the_readme_is_the_example() {
    let readme = include_str!("../../../client/README.md");
    let example = include_str!("../../../client/examples/first_task.rs");
    let (_, code) = example.split_once("\n\n").unwrap();
    assert!(readme.contains(&format!("```rust\n{code}```")), "{code}");
}
