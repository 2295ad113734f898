//! PATCH /v1/tasks/:id

use serde_json::{Value, json};

use crate::support::{TestApp, on_both_engines, path};

on_both_engines!(
    a_pending_task_can_be_reworded,
    null_clears_what_may_be_null,
    a_task_that_is_not_pending_cannot_be_updated,
    a_faulty_update_is_refused_before_anything_else,
    two_updates_at_once_do_not_undo_each_other,
);

const LATER: &str = "2025-11-15T13:00:00.000Z";

async fn a_pending_task_can_be_reworded(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_live_task().await;
    app.set_time(LATER);
    let change = json!({"title": "By daylight", "deadline": "2025-12-01T08:00:00+01:00"});
    let updated = dev.live.patch(&path(&task), &change).await.expect(200);
    let mut expected = task.clone();
    expected["title"] = "By daylight".into();
    expected["deadline"] = "2025-12-01T07:00:00.000Z".into();
    expected["updated_at"] = LATER.into();
    assert_eq!(updated, expected);
    assert_eq!(dev.live.get(&path(&task)).await.expect(200), expected);
    let unchanged = dev.live.patch(&path(&task), &json!({})).await.expect(200);
    assert_eq!(unchanged, expected);
}

async fn null_clears_what_may_be_null(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_live_task().await;
    let filled = json!({"instructions": "Ring twice", "deadline": "2025-12-01T08:00:00Z"});
    dev.live.patch(&path(&task), &filled).await.expect(200);
    let cleared = json!({"instructions": null, "deadline": null});
    let cleared = dev.live.patch(&path(&task), &cleared).await.expect(200);
    assert_eq!(cleared["instructions"], Value::Null);
    assert_eq!(cleared["deadline"], Value::Null);
    for field in ["title", "description"] {
        let reply = dev.live.patch(&path(&task), &json!({field: null})).await;
        assert_eq!(reply.faulty_fields(), [field]);
    }
}

async fn a_task_that_is_not_pending_cannot_be_updated(app: TestApp) {
    let dev = app.developer().await;
    let funded = dev.create_task().await;
    let reply = dev
        .test
        .patch(&path(&funded), &json!({"title": "New"}))
        .await;
    let reply = reply.expect_error(409, "INVALID_TASK_STATE");
    assert_eq!(
        reply.body["error"]["message"],
        "a task that is funded cannot be updated"
    );
    assert_eq!(dev.test.get(&path(&funded)).await.expect(200), funded);
}

async fn a_faulty_update_is_refused_before_anything_else(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_live_task().await;
    for (change, field) in [
        (json!({"title": ""}), "title"),
        (json!({"title": "x".repeat(201)}), "title"),
        (json!({"description": 1}), "description"),
        (json!({"deadline": "soon"}), "deadline"),
        (json!({"budget_cents": 700}), "budget_cents"),
        (json!({"status": "funded"}), "status"),
    ] {
        let reply = dev.live.patch(&path(&task), &change).await;
        assert_eq!(reply.faulty_fields(), [field]);
        let nowhere = "/v1/tasks/00000000000000000000000000000000";
        let reply = dev.live.patch(nowhere, &change).await;
        assert_eq!(
            reply.faulty_fields(),
            [field],
            "the body comes before existence"
        );
    }
    assert_eq!(dev.live.get(&path(&task)).await.expect(200), task);
}

async fn two_updates_at_once_do_not_undo_each_other(app: TestApp) {
    let dev = app.developer().await;
    for round in 0..20 {
        let task = dev.create_live_task().await;
        let path = path(&task);
        let (title, description) = (format!("Title {round}"), format!("Description {round}"));
        let (one, two) = (json!({"title": title}), json!({"description": description}));
        let (a, b) = tokio::join!(dev.live.patch(&path, &one), dev.live.patch(&path, &two));
        a.expect(200);
        b.expect(200);
        let both = dev.live.get(&path).await.expect(200);
        assert_eq!(both["title"], title);
        assert_eq!(both["description"], description);
    }
}
