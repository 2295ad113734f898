//! GET /v1/tasks

use serde_json::{Value, json};

use crate::support::{TestApp, on_both_engines, path};

on_both_engines!(
    a_list_is_newest_first_and_paged,
    a_list_is_of_one_owner_and_one_environment,
    a_list_can_be_of_one_status,
    a_faulty_query_is_refused,
);

fn ids(list: &Value) -> Vec<&str> {
    let data = list["data"].as_array().unwrap();
    data.iter()
        .map(|task| task["id"].as_str().unwrap())
        .collect()
}

async fn a_list_is_newest_first_and_paged(app: TestApp) {
    let dev = app.developer().await;
    let empty = dev.test.get("/v1/tasks").await.expect(200);
    assert_eq!(
        empty,
        json!({"data": [], "meta": {"total": 0, "limit": 20, "offset": 0}})
    );
    let mut newest_first = Vec::new();
    for _ in 0..25 {
        newest_first.insert(
            0,
            dev.create_task().await["id"].as_str().unwrap().to_owned(),
        );
    }
    for (query, expected, meta) in [
        (
            "",
            &newest_first[..20],
            json!({"total": 25, "limit": 20, "offset": 0}),
        ),
        (
            "?offset=20",
            &newest_first[20..],
            json!({"total": 25, "limit": 20, "offset": 20}),
        ),
        (
            "?limit=3&offset=7",
            &newest_first[7..10],
            json!({"total": 25, "limit": 3, "offset": 7}),
        ),
        (
            "?limit=101",
            &newest_first[..],
            json!({"total": 25, "limit": 100, "offset": 0}),
        ),
        (
            "?offset=25",
            &[],
            json!({"total": 25, "limit": 20, "offset": 25}),
        ),
        (
            "?offset=9000000000",
            &[],
            json!({"total": 25, "limit": 20, "offset": 9_000_000_000i64}),
        ),
        (
            "?status=funded&limit=2&offset=23",
            &newest_first[23..],
            json!({"total": 25, "limit": 2, "offset": 23}),
        ),
        (
            "?status=funded&offset=99",
            &[],
            json!({"total": 25, "limit": 20, "offset": 99}),
        ),
    ] {
        let list = dev.test.get(&format!("/v1/tasks{query}")).await.expect(200);
        assert_eq!(ids(&list), expected, "{query}");
        assert_eq!(list["meta"], meta, "{query}");
    }
    let list = dev.test.get("/v1/tasks?limit=1").await.expect(200);
    let item = list["data"][0].as_object().unwrap();
    let fields: Vec<_> = item.keys().collect();
    assert_eq!(
        fields,
        [
            "id",
            "title",
            "status",
            "category",
            "budget_cents",
            "location_city",
            "location_state",
            "priority",
            "worker_id",
            "created_at",
            "updated_at"
        ]
    );
}

async fn a_list_is_of_one_owner_and_one_environment(app: TestApp) {
    let (dev, other) = (app.developer().await, app.developer().await);
    let test_task = dev.create_task().await;
    let live_task = dev.create_live_task().await;
    other.create_task().await;
    for (client, task) in [(&dev.test, test_task), (&dev.live, live_task)] {
        let list = client.get("/v1/tasks").await.expect(200);
        assert_eq!(ids(&list), [task["id"].as_str().unwrap()]);
        assert_eq!(list["meta"]["total"], 1);
    }
}

async fn a_list_can_be_of_one_status(app: TestApp) {
    let dev = app.developer().await;
    let first = dev.create_task().await;
    let second = dev.create_task().await;
    let cancel = format!("{}/cancel", path(&first));
    dev.test.post(&cancel, &json!({})).await.expect(200);
    for (status, expected) in [
        ("funded", vec![&second]),
        ("cancelled", vec![&first]),
        ("posted", vec![]),
    ] {
        let list = dev
            .test
            .get(&format!("/v1/tasks?status={status}"))
            .await
            .expect(200);
        let expected: Vec<_> = expected
            .iter()
            .map(|task| task["id"].as_str().unwrap())
            .collect();
        assert_eq!(ids(&list), expected, "{status}");
        assert_eq!(list["meta"]["total"], expected.len(), "{status}");
    }
    assert_eq!(
        dev.test.get("/v1/tasks").await.expect(200)["meta"]["total"],
        2
    );
}

async fn a_faulty_query_is_refused(app: TestApp) {
    let dev = app.developer().await;
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=-1", "limit"),
        ("limit=ten", "limit"),
        ("limit=1.5", "limit"),
        ("offset=-1", "offset"),
        ("offset=%00", "offset"),
        ("status=open", "status"),
        ("status=FUNDED", "status"),
        ("status=", "status"),
        ("stauts=funded", "stauts"),
    ] {
        let reply = dev.test.get(&format!("/v1/tasks?{query}")).await;
        assert_eq!(reply.faulty_fields(), [field], "{query}");
    }
}
