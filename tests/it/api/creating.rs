//! POST /v1/tasks and GET /v1/tasks/:id

use legwork::domain::Tier;
use serde_json::{Value, json};

use crate::support::{TestApp, on_both_engines, path, storefront};

on_both_engines!(
    a_test_task_is_funded_at_once,
    a_live_task_is_pending,
    what_was_given_is_what_is_answered,
    the_fee_follows_tier_and_type,
    the_bounds_are_part_of_the_range,
    each_faulty_field_is_named,
    all_faults_are_told_at_once,
    a_deadline_is_answered_in_one_form,
    null_is_the_same_as_left_out,
    a_task_of_somebody_else_is_not_found,
    a_malformed_id_is_not_found,
);

/// The fields of a task, to the letter.
const FIELDS: [&str; 29] = [
    "id",
    "developer_id",
    "title",
    "description",
    "instructions",
    "category",
    "required_skills",
    "location_address",
    "location_city",
    "location_state",
    "location_latitude",
    "location_longitude",
    "budget_cents",
    "platform_fee_cents",
    "worker_payout_cents",
    "priority",
    "status",
    "environment",
    "worker_id",
    "deadline",
    "max_proof_attempts",
    "proof_types",
    "metadata",
    "assigned_at",
    "started_at",
    "completed_at",
    "cancelled_at",
    "created_at",
    "updated_at",
];

fn fields(object: &Value) -> Vec<&String> {
    object.as_object().unwrap().keys().collect()
}

async fn a_test_task_is_funded_at_once(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_task().await;
    assert_eq!(fields(&task), FIELDS);
    assert_eq!(task["id"].as_str().unwrap().len(), 32);
    assert_eq!(task["developer_id"], dev.account_id.as_str());
    assert_eq!(task["status"], "funded");
    assert_eq!(task["environment"], "test");
    assert_eq!(task["priority"], "normal");
    assert_eq!(task["max_proof_attempts"], 3);
    assert_eq!(task["proof_types"], json!(["photo"]));
    assert_eq!(task["required_skills"], json!([]));
    assert_eq!(task["metadata"], json!({}));
    assert_eq!(task["created_at"], TestApp::NOON);
    assert_eq!(task["updated_at"], TestApp::NOON);
    for absent in [
        "instructions",
        "location_address",
        "worker_id",
        "deadline",
        "assigned_at",
    ] {
        assert_eq!(task[absent], Value::Null, "{absent}");
    }
    assert_eq!(dev.test.get(&path(&task)).await.expect(200), task);
}

async fn a_live_task_is_pending(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_live_task().await;
    assert_eq!(task["status"], "pending");
    assert_eq!(task["environment"], "live");
    assert_eq!(dev.live.get(&path(&task)).await.expect(200), task);
}

async fn what_was_given_is_what_is_answered(app: TestApp) {
    let dev = app.developer().await;
    let asked = json!({
        "title": "Měření šířky výlohy 📐",
        "description": "Line one\nline two\t\"quoted\" \\ back",
        "instructions": "Ring twice. Code 4711.",
        "category": "retail_audit",
        "required_skills": ["spanish_speaking", "price_checking"],
        "location": {"address": "240 Bedford Ave", "city": "São Paulo", "state": "ny",
            "latitude": -33.865_143_999_999_996, "longitude": 151.209_900_000_000_02},
        "budget_cents": 12_345,
        "priority": "urgent",
        "proof_types": ["signature", "photo"],
        "metadata": {"order": "4711", "nested": {"b": [1, 2.5, null, true], "a": "\u{0}"}, "": -1},
    });
    let reply = dev.test.post("/v1/tasks", &asked).await;
    let task = reply.expect(201);
    for same in [
        "title",
        "description",
        "instructions",
        "category",
        "required_skills",
        "budget_cents",
        "priority",
        "proof_types",
        "metadata",
    ] {
        assert_eq!(task[same], asked[same], "{same}");
    }
    assert_eq!(task["location_address"], "240 Bedford Ave");
    assert_eq!(task["location_city"], "São Paulo");
    assert_eq!(task["location_state"], "NY");
    assert_eq!(task["location_latitude"], asked["location"]["latitude"]);
    assert_eq!(task["location_longitude"], asked["location"]["longitude"]);
    assert_eq!(dev.test.get(&path(&task)).await.expect(200), task);
}

async fn the_fee_follows_tier_and_type(app: TestApp) {
    for (tier, task_type, budget, fee) in [
        (Tier::Free, "standard", 5_000, 800),
        (Tier::Free, "bounty", 5_000, 1_000),
        (Tier::Pro, "standard", 503, 80),
        (Tier::Pro, "standard", 504, 81),
        (Tier::Enterprise, "standard", 5_000, 600),
        (Tier::Enterprise, "bounty", 5_000, 600),
    ] {
        let dev = app.developer_on(tier).await;
        let mut asked = storefront();
        asked["task_type"] = task_type.into();
        asked["budget_cents"] = budget.into();
        let task = dev.test.post("/v1/tasks", &asked).await.expect(201);
        assert_eq!(
            task["platform_fee_cents"], fee,
            "{tier} {task_type} {budget}"
        );
        assert_eq!(task["worker_payout_cents"], budget - fee);
    }
}

async fn the_bounds_are_part_of_the_range(app: TestApp) {
    let dev = app.developer().await;
    for (field, value) in [
        ("title", json!("é".repeat(200))),
        ("title", json!("x")),
        ("description", json!("🏠".repeat(2_000))),
        ("instructions", json!("x".repeat(5_000))),
        ("instructions", json!("")),
        ("budget_cents", json!(500)),
        ("budget_cents", json!(99_999_999)),
        ("location.latitude", json!(90)),
        ("location.latitude", json!(-90.0)),
        ("location.longitude", json!(180)),
        ("location.longitude", json!(-180)),
        ("location.state", json!("zz")),
        ("proof_types", json!(["photo", "video", "signature"])),
        ("required_skills", json!([])),
        ("metadata", json!({"k": "x".repeat(16 * 1024 - 8)})),
    ] {
        let reply = dev.create_with(field, value).await;
        assert_eq!(reply.status, 201, "{field}: {}", reply.text);
    }
}

async fn each_faulty_field_is_named(app: TestApp) {
    let dev = app.developer().await;
    for (field, value) in [
        ("title", json!("")),
        ("title", json!(" \u{2003}\n")),
        ("title", json!("x".repeat(201))),
        ("title", json!("a\u{0}b")),
        ("title", json!(5)),
        ("title", json!(null)),
        ("description", json!("x".repeat(2_001))),
        ("description", json!(["x"])),
        ("instructions", json!("x".repeat(5_001))),
        ("category", json!("gardening")),
        ("category", json!("Photography")),
        ("budget_cents", json!(499)),
        ("budget_cents", json!(100_000_000)),
        ("budget_cents", json!(500.0)),
        ("budget_cents", json!(500.5)),
        ("budget_cents", json!("500")),
        ("budget_cents", json!(-500)),
        ("budget_cents", json!(u64::MAX)),
        ("priority", json!("high")),
        ("task_type", json!("enterprise")),
        ("deadline", json!("tomorrow")),
        ("deadline", json!("2025-11-20")),
        ("deadline", json!(1_763_200_000)),
        ("proof_types", json!([])),
        ("proof_types", json!(["photo", "photo"])),
        ("proof_types", json!("photo")),
        ("metadata", json!([])),
        ("metadata", json!("x")),
        ("metadata", json!({"k": "x".repeat(16 * 1024)})),
        ("location", json!("Brooklyn")),
        ("location.city", json!("  ")),
        ("location.state", json!("New York")),
        ("location.state", json!("N1")),
        ("location.latitude", json!(90.000_001)),
        ("location.latitude", json!("40.7")),
        ("location.longitude", json!(-180.5)),
        ("location.longitude", json!(null)),
        ("location.zip", json!("11211")),
        ("budget", json!(500)),
    ] {
        let reply = dev.create_with(field, value.clone()).await;
        let shown = value.to_string().chars().take(30).collect::<String>();
        assert_eq!(reply.faulty_fields(), [field], "{shown}");
    }
    let reply = dev
        .create_with("required_skills", json!(["driving", "flying", 7]))
        .await;
    assert_eq!(
        reply.faulty_fields(),
        ["required_skills[1]", "required_skills[2]"]
    );
    let total = dev.test.get("/v1/tasks").await.expect(200)["meta"]["total"].clone();
    assert_eq!(total, 0, "a refused task was kept");
}

async fn all_faults_are_told_at_once(app: TestApp) {
    let dev = app.developer().await;
    let reply = dev
        .test
        .post(
            "/v1/tasks",
            &json!({"title": "", "budget_cents": 1, "location": {"latitude": 91}, "extra": 1}),
        )
        .await;
    assert_eq!(
        reply.faulty_fields(),
        [
            "title",
            "description",
            "category",
            "location.city",
            "location.state",
            "location.latitude",
            "location.longitude",
            "budget_cents",
            "extra"
        ]
    );
}

async fn a_deadline_is_answered_in_one_form(app: TestApp) {
    let dev = app.developer().await;
    for (given, answered) in [
        ("2025-12-24T18:00:00Z", "2025-12-24T18:00:00.000Z"),
        ("2025-12-24T18:00:00", "2025-12-24T18:00:00.000Z"),
        ("2025-12-24T18:00:00.5-05:00", "2025-12-24T23:00:00.500Z"),
        ("1999-01-01T00:00:00Z", "1999-01-01T00:00:00.000Z"),
    ] {
        let task = dev.create_with("deadline", json!(given)).await.expect(201);
        assert_eq!(task["deadline"], answered, "{given}");
    }
}

async fn null_is_the_same_as_left_out(app: TestApp) {
    let dev = app.developer().await;
    for field in [
        "instructions",
        "required_skills",
        "priority",
        "deadline",
        "proof_types",
        "metadata",
        "task_type",
        "location.address",
    ] {
        dev.create_with(field, Value::Null).await.expect(201);
    }
}

async fn a_task_of_somebody_else_is_not_found(app: TestApp) {
    let (dev, other) = (app.developer().await, app.developer().await);
    let task = dev.create_task().await;
    let path = path(&task);
    for stranger in [&other.test, &other.live, &dev.live] {
        stranger
            .get(&path)
            .await
            .expect_error(404, "TASK_NOT_FOUND");
        let reply = stranger.patch(&path, &json!({"title": "mine"})).await;
        reply.expect_error(404, "TASK_NOT_FOUND");
        let reply = stranger.post(&format!("{path}/cancel"), &json!({})).await;
        reply.expect_error(404, "TASK_NOT_FOUND");
    }
    assert_eq!(dev.test.get(&path).await.expect(200), task);
}

async fn a_malformed_id_is_not_found(app: TestApp) {
    let dev = app.developer().await;
    let upper = dev.create_task().await["id"]
        .as_str()
        .unwrap()
        .to_uppercase();
    for id in [
        "x",
        "%00",
        "%FF%FE",
        "..%2F..%2Fetc",
        "019a",
        &upper,
        "%F0%9F%8F%A0",
    ] {
        let reply = dev.test.get(&format!("/v1/tasks/{id}")).await;
        reply.expect_error(404, "TASK_NOT_FOUND");
    }
}
