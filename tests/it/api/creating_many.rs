//! POST /v1/tasks/batch

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::future::join_all;
use legwork::ambient::Clock;
use legwork::domain::Tier;
use serde_json::{Value, json};

use crate::support::{
    Client, Command, Database, Engine, InjectedFault, Reply, Server, TestApp, on_both_engines,
    runtime, storefront, until,
};

on_both_engines!(
    each_is_created_or_refused_by_itself,
    tasks_are_numbered_in_the_order_of_the_batch,
    a_batch_that_is_no_list_of_tasks_is_refused,
    a_repeat_tells_the_same_and_creates_nothing,
    a_key_belongs_to_one_request,
    a_repeat_finishes_what_was_begun,
    all_of_a_batch_is_forgotten_together,
    the_same_batch_at_once_is_done_once,
    two_servers_do_a_batch_once,
    live_tasks_are_charged_or_paid_for_by_hand,
    a_batch_counts_as_many_requests_as_it_has_tasks,
);

const PATH: &str = "/v1/tasks/batch";

fn batch(tasks: usize) -> Value {
    let task = |number| {
        let mut task = storefront();
        task["metadata"] = json!({"number": number});
        task
    };
    json!({"tasks": (0..tasks).map(task).collect::<Vec<_>>()})
}

async fn send(client: &Client, key: &str, body: &Value) -> Reply {
    let headers = [("idempotency-key", key)];
    client.post_with(PATH, &headers, body).await
}

fn is_replayed(reply: &Reply) -> bool {
    reply.headers.contains_key("idempotent-replayed")
}

/// The status of each, all of which have either a task or an error.
fn statuses(answer: &Value) -> Vec<u64> {
    let items = answer["data"].as_array().unwrap().iter();
    let status = |item: &Value| {
        let has = [item["task"].is_object(), item["error"].is_object()];
        let status = item["status"].as_u64().unwrap();
        assert_eq!(has, [status == 201, status != 201], "{item}");
        assert_eq!(item.as_object().unwrap().len(), 2);
        status
    };
    items.map(status).collect()
}

fn ids(answer: &Value) -> Vec<String> {
    let items = answer["data"].as_array().unwrap().iter();
    let ids = items.filter_map(|item| item["task"]["id"].as_str().map(str::to_owned));
    ids.collect()
}

async fn total(client: &Client) -> Value {
    client.get("/v1/tasks").await.expect(200)["meta"]["total"].take()
}

async fn each_is_created_or_refused_by_itself(app: TestApp) {
    let dev = app.developer().await;
    let mut body = batch(5);
    body["tasks"][1]["title"] = Value::Null;
    body["tasks"][1]["location"]["latitude"] = json!(91);
    body["tasks"][3] = json!("a task");
    let headers = [("x-request-id", "many")];
    let answer = dev.test.post_with(PATH, &headers, &body).await.expect(200);
    assert_eq!(statuses(&answer), [201, 400, 201, 400, 201]);
    for number in [0, 2, 4] {
        let task = &answer["data"][number]["task"];
        assert_eq!(task["metadata"]["number"], number);
        let path = format!("/v1/tasks/{}", task["id"].as_str().unwrap());
        assert_eq!(dev.test.get(&path).await.expect(200), *task);
    }
    let alone = dev.test.post("/v1/tasks", &body["tasks"][1]).await;
    let alone = alone.expect_error(400, "VALIDATION_ERROR").body;
    let error = &answer["data"][1]["error"];
    for field in ["code", "message", "details"] {
        assert_eq!(error[field], alone["error"][field]);
    }
    assert_eq!(error["request_id"], "many");
    assert_eq!(
        answer["data"][3]["error"]["message"],
        "body must be a JSON object"
    );
    assert_eq!(total(&dev.test).await, 3);
    let usage = dev.test.get("/v1/account/usage").await.expect(200);
    assert_eq!(usage["tasks_this_month"], 3);
}

async fn tasks_are_numbered_in_the_order_of_the_batch(app: TestApp) {
    let dev = app.developer().await;
    let answer = dev.test.post(PATH, &batch(100)).await.expect(200);
    assert_eq!(statuses(&answer), [201; 100]);
    let listed = dev.test.get("/v1/tasks?limit=100").await.expect(200);
    let listed = listed["data"].as_array().unwrap().iter().rev();
    let listed: Vec<_> = listed.map(|task| task["id"].as_str().unwrap()).collect();
    assert_eq!(ids(&answer), listed);
}

async fn a_batch_that_is_no_list_of_tasks_is_refused(app: TestApp) {
    let dev = app.developer().await;
    for (body, field) in [
        (json!({}), "tasks"),
        (json!({"tasks": null}), "tasks"),
        (json!({"tasks": storefront()}), "tasks"),
        (json!({"tasks": []}), "tasks"),
        (batch(101), "tasks"),
        (json!({"tasks": [storefront()], "mode": "all"}), "mode"),
    ] {
        let reply = dev.test.post(PATH, &body).await;
        assert_eq!(reply.faulty_fields(), [field]);
    }
    let twice = r#"{"tasks": [{"title": "a", "title": "b"}]}"#;
    let reply = dev.test.send("POST", PATH, &[], twice).await;
    assert_eq!(reply.faulty_fields(), ["tasks[0].title"]);
    assert_eq!(total(&dev.test).await, 0);
}

async fn a_repeat_tells_the_same_and_creates_nothing(app: TestApp) {
    let dev = app.developer().await;
    let mut body = batch(20);
    body["tasks"][7]["budget_cents"] = json!(1);
    let first = send(&dev.test, "a", &body).await;
    assert!(!is_replayed(&first));
    let again = send(&dev.test, "a", &body).await;
    assert!(is_replayed(&again));
    assert_eq!(ids(&again.body), ids(&first.body));
    assert_eq!(statuses(&again.body), statuses(&first.body));
    assert_eq!(total(&dev.test).await, 19);
    // Without a key, each batch is new.
    dev.test.post(PATH, &body).await.expect(200);
    assert_eq!(total(&dev.test).await, 38);
}

async fn a_key_belongs_to_one_request(app: TestApp) {
    let dev = app.developer().await;
    let (one, other) = (batch(3), batch(4));
    send(&dev.test, "a", &one).await.expect(200);
    let mismatch = |reply: Reply| drop(reply.expect_error(422, "IDEMPOTENCY_MISMATCH"));
    mismatch(send(&dev.test, "a", &other).await);
    let headers = [("idempotency-key", "a")];
    mismatch(
        dev.test
            .post_with("/v1/tasks", &headers, &storefront())
            .await,
    );
    let headers = [("idempotency-key", "b")];
    let single = dev
        .test
        .post_with("/v1/tasks", &headers, &storefront())
        .await;
    single.expect(201);
    mismatch(send(&dev.test, "b", &one).await);
    assert_eq!(total(&dev.test).await, 4);
    // A batch of which nothing was created leaves its key free.
    let none = json!({"tasks": [{}, {}]});
    let refused = send(&dev.test, "c", &none).await;
    assert_eq!(statuses(&refused.body), [400, 400]);
    let other = send(&dev.test, "c", &other).await;
    assert_eq!(statuses(&other.expect(200)), [201; 4]);
    // The same key in another environment is another one.
    let live = send(&dev.live, "a", &one).await;
    assert!(!is_replayed(&live));
}

/// A developer of whose batch of 100 only the first 40 fit into the month.
async fn begun(app: &TestApp, body: &Value) -> (Client, Vec<String>) {
    let dev = app.developer_on(Tier::Free).await;
    dev.test.post(PATH, &batch(60)).await.expect(200);
    let first = send(&dev.test, "a", body).await.expect(200);
    let mut expected = vec![201; 40];
    expected.resize(100, 403);
    assert_eq!(statuses(&first), expected);
    let code = &first["data"][99]["error"]["code"];
    assert_eq!(code, "TASK_LIMIT_EXCEEDED");
    let upgrade = "UPDATE accounts SET tier = 'growth'";
    app.database.execute(upgrade).await;
    (dev.test, ids(&first))
}

async fn a_repeat_finishes_what_was_begun(app: TestApp) {
    let body = batch(100);
    let (client, first) = begun(&app, &body).await;
    let second = send(&client, "a", &body).await;
    assert!(!is_replayed(&second));
    let second = second.expect(200);
    assert_eq!(statuses(&second), [201; 100]);
    assert_eq!(ids(&second)[..40], first);
    let third = send(&client, "a", &body).await;
    assert!(is_replayed(&third));
    assert_eq!(third.expect(200), second);
    assert_eq!(total(&client).await, 160);
}

async fn all_of_a_batch_is_forgotten_together(app: TestApp) {
    let body = batch(100);
    let (client, first) = begun(&app, &body).await;
    app.set_time("2025-11-16T11:59:59.999Z");
    let second = send(&client, "a", &body).await.expect(200);
    assert_eq!(ids(&second)[..40], first);
    // A day after the first: what was created a moment ago is new again, too.
    app.set_time("2025-11-16T12:00:00.000Z");
    let third = send(&client, "a", &body).await.expect(200);
    let (second, third) = (ids(&second), ids(&third));
    let known: HashSet<_> = second.iter().collect();
    assert_eq!(third.iter().filter(|id| known.contains(id)).count(), 0);
    let again = send(&client, "a", &body).await;
    assert!(is_replayed(&again));
    assert_eq!(ids(&again.body), third);
    assert_eq!(total(&client).await, 60 + 200);
}

async fn the_same_batch_at_once_is_done_once(app: TestApp) {
    let dev = app.developer().await;
    let body = batch(50);
    let replies = join_all((0..6).map(|_| send(&dev.test, "a", &body))).await;
    let mut told = HashSet::new();
    for reply in replies {
        match reply.status.as_u16() {
            200 => _ = told.insert(ids(&reply.body)),
            _ => drop(reply.expect_error(409, "IDEMPOTENCY_IN_FLIGHT")),
        }
    }
    assert_eq!(told.len(), 1);
    assert_eq!(total(&dev.test).await, 50);
}

async fn two_servers_do_a_batch_once(app: TestApp) {
    let second = TestApp::start(&app.database).await;
    let dev = app.developer().await;
    let elsewhere = Client::new(second.address, Some(&dev.test_key));
    let body = batch(40);
    for round in 0..3 {
        let key = format!("round {round}");
        let (here, there) =
            tokio::join!(send(&dev.test, &key, &body), send(&elsewhere, &key, &body));
        let (here, there) = (here.expect(200), there.expect(200));
        assert_eq!(statuses(&here), [201; 40]);
        assert_eq!(here, there);
    }
    assert_eq!(total(&dev.test).await, 120);
    // With another body under the same key, one of them is refused as a whole.
    let other = batch(39);
    let (here, there) = tokio::join!(send(&dev.test, "b", &body), send(&elsewhere, "b", &other));
    let mut answered = [here.status.as_u16(), there.status.as_u16()];
    answered.sort_unstable();
    assert_eq!(answered, [200, 422]);
    let created = if here.status == 200 { 40 } else { 39 };
    assert_eq!(total(&dev.test).await, 120 + created);
}

async fn live_tasks_are_charged_or_paid_for_by_hand(app: TestApp) {
    let dev = app.developer().await;
    let body = batch(12);
    let first = send(&dev.live, "a", &body).await.expect(200);
    let secret = |item: &Value| item["task"]["payment_client_secret"].clone();
    let secrets = |answer: &Value| {
        let items = answer["data"].as_array().unwrap().iter();
        items.map(secret).collect::<HashSet<_>>()
    };
    assert_eq!(secrets(&first).len(), 12);
    let again = send(&dev.live, "a", &body).await.expect(200);
    assert_eq!(secrets(&again), secrets(&first));
    let stored = "SELECT response_body FROM idempotency_keys";
    let stored = app.database.column(stored).await.concat();
    assert!(!stored.contains("payment_client_secret"));
    // With a default method, no answer has a secret, and a job charges each.
    dev.charge_to("pm_card_visa").await;
    let charged = dev.live.post(PATH, &body).await.expect(200);
    assert_eq!(secrets(&charged), HashSet::from([Value::Null]));
    app.jobs.drain().await.unwrap();
    let posted = dev.live.get("/v1/tasks?status=posted").await.expect(200);
    assert_eq!(posted["meta"]["total"], 12);
}

async fn a_batch_counts_as_many_requests_as_it_has_tasks(app: TestApp) {
    let dev = app.developer_on(Tier::Free).await;
    let nothing = json!({"tasks": vec![json!({}); 100]});
    let left = |reply: &Reply| {
        let told = reply.header("ratelimit");
        let left = told.split_once("r=").unwrap().1.split_once(';').unwrap().0;
        left.parse::<u32>().unwrap()
    };
    let first = dev.test.post(PATH, &nothing).await;
    assert!((500..=510).contains(&left(&first)), "{}", left(&first));
    for _ in 0..4 {
        assert_eq!(statuses(&dev.test.post(PATH, &nothing).await.body)[0], 400);
    }
    // Fewer than 100 are left, or a few more that have come back meanwhile.
    let mut refused = None;
    for _ in 0..3 {
        let reply = dev.test.post(PATH, &batch(100)).await;
        if reply.status == 429 {
            refused = Some(reply);
        }
    }
    let refused = refused.expect("the quota was used up");
    assert!(refused.header("retry-after").parse::<u32>().unwrap() >= 1);
    assert_eq!(refused.body["error"]["code"], "RATE_LIMITED");
}

/// Those that could not be prepared are told one by one, and a repeat creates them. If nothing works,
/// the request as a whole is told.
#[test]
fn a_processor_that_is_down_fails_what_needs_it() {
    runtime().block_on(async {
        let database = Arc::new(Database::migrated(Engine::Sqlite));
        let (app, flaky) = TestApp::start_flaky(&database).await;
        let dev = app.developer().await;
        flaky.set(InjectedFault::Down);
        let down = send(&dev.live, "a", &batch(10)).await;
        down.expect_error(503, "PAYMENT_UNAVAILABLE");
        let mut body = batch(10);
        body["tasks"][4] = json!({});
        let down = send(&dev.live, "a", &body).await.expect(200);
        let mut expected = [503; 10];
        expected[4] = 400;
        assert_eq!(statuses(&down), expected);
        assert_eq!(total(&dev.live).await, 0);
        flaky.set(InjectedFault::None);
        let up = send(&dev.live, "a", &body).await.expect(200);
        assert_eq!(ids(&up).len(), 9);
    });
}

#[test]
fn a_batch_is_finished_after_a_kill_on_sqlite() {
    kill_in_the_middle(Engine::Sqlite);
}

#[test]
fn a_batch_is_finished_after_a_kill_on_postgres() {
    kill_in_the_middle(Engine::Postgres);
}

/// The server is killed while it works on a batch; whoever got no answer asks the next one.
fn kill_in_the_middle(engine: Engine) {
    runtime().block_on(async {
        let database = Arc::new(Database::migrated(engine));
        let app = TestApp::start(&database).await;
        app.clock.move_to(Clock::system().now());
        let dev = app.developer_on(Tier::Enterprise).await;
        let spawn = || {
            let listen = ["--listen", "127.0.0.1:0", "--log", "off"];
            Server::spawn(Command::new(&listen).on(&database))
        };
        let body = batch(100);
        for round in 1..=3 {
            let key = format!("round {round}");
            let server = spawn();
            let client = server.client(&dev.test_key);
            let sent = {
                let (key, body) = (key.clone(), body.clone());
                tokio::spawn(async move {
                    let headers = [("idempotency-key", key.as_str())];
                    client.try_post_with(PATH, &headers, &body).await
                })
            };
            let before = (round - 1) * 100;
            until("the first tasks", async || {
                let count = database.column("SELECT id FROM tasks").await.len();
                (count > before).then_some(())
            })
            .await;
            server.kill();
            sent.await.unwrap();
            let server = spawn();
            let reply = send(&server.client(&dev.test_key), &key, &body).await;
            let answer = reply.expect(200);
            assert_eq!(statuses(&answer), [201; 100]);
            let distinct: HashSet<_> = ids(&answer).into_iter().collect();
            assert_eq!(distinct.len(), 100);
            assert_eq!(total(&dev.test).await, round * 100);
        }
        let report = app.verify().await;
        assert_eq!(report.differences, Vec::<String>::new());
    });
}
