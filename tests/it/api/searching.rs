//! GET /v1/tasks/search

use std::time::Duration;

use legwork::maintenance::{Indexed, index_metadata};
use serde_json::{Value, json};

use crate::support::{Client, Developer, TestApp, on_both_engines, storefront};

on_both_engines!(
    tasks_are_found_by_metadata,
    tasks_are_found_by_words_category_status_and_time,
    an_item_is_that_of_the_list_with_more,
    pages_follow_each_other_and_show_each_task_once,
    a_search_that_skips_much_says_where_to_go_on,
    every_faulty_parameter_is_named,
    nobody_finds_what_is_not_theirs,
    older_tasks_are_indexed_in_the_background,
    a_task_without_metadata_writes_nothing_more,
);

async fn create(client: &Client, change: Value) -> Value {
    let mut body = storefront();
    for (field, value) in change.as_object().unwrap() {
        body[field] = value.clone();
    }
    client.post("/v1/tasks", &body).await.expect(201)
}

async fn search(client: &Client, query: &str) -> Value {
    let path = format!("/v1/tasks/search?{query}");
    client.get(&path).await.expect(200)
}

/// The titles of what is found on one page.
async fn titles(client: &Client, query: &str) -> Vec<String> {
    let page = search(client, query).await;
    let found = page["data"].as_array().unwrap().iter();
    found
        .map(|task| task["title"].as_str().unwrap().to_owned())
        .collect()
}

async fn tasks_are_found_by_metadata(app: TestApp) {
    let dev = app.developer().await;
    let metadata = [
        (
            "text",
            json!({"order": "4711", "customer": "Ada & Co", "paid": "true"}),
        ),
        (
            "number",
            json!({"order": 4711, "weight": 12.50, "deep": {"order": "4711"}}),
        ),
        (
            "boolean",
            json!({"paid": true, "order": "4712", "list": ["4711"]}),
        ),
        ("none", json!({})),
    ];
    for (title, metadata) in &metadata {
        create(&dev.test, json!({"title": title, "metadata": metadata})).await;
    }
    for (query, expected) in [
        ("metadata.order=4711", &["number", "text"][..]),
        ("metadata.order=4712", &["boolean"]),
        ("metadata.order=471", &[]),
        ("metadata.Order=4711", &[]),
        ("metadata.customer=Ada%20%26%20Co", &["text"]),
        ("metadata.weight=12.5", &["number"]),
        ("metadata.paid=true", &["boolean", "text"]),
        ("metadata.paid=true&metadata.order=4711", &["text"]),
        ("metadata.order=4711&metadata.paid=false", &[]),
        ("metadata.deep=4711", &[]),
        ("metadata.list=4711", &[]),
        ("metadata.order=4711&q=NUMBER", &["number"]),
        ("metadata.order=4711&status=cancelled", &[]),
        ("metadata.%27=%27", &[]),
    ] {
        assert_eq!(titles(&dev.test, query).await, expected, "{query}");
    }
}

async fn tasks_are_found_by_words_category_status_and_time(app: TestApp) {
    let dev = app.developer().await;
    let place = |address: &str, city: &str| {
        json!({"address": address, "city": city, "state": "NY",
            "latitude": 40.7163, "longitude": -73.9595})
    };
    let bridge =
        json!({"title": "Photograph the BRIDGE", "location": place("1 Main St", "Brooklyn")});
    let cafe = json!({"title": "Visit the Café", "category": "mystery_shopping",
        "location": place("240 Bedford Ave", "Albany")});
    create(&dev.test, bridge).await;
    app.advance(Duration::from_secs(60));
    let cafe = create(&dev.test, cafe).await;
    let cancel = format!("/v1/tasks/{}/cancel", cafe["id"].as_str().unwrap());
    dev.test.post(&cancel, &json!({})).await.expect(200);
    let [bridge, cafe] = ["Photograph the BRIDGE", "Visit the Café"];
    for (query, expected) in [
        ("", &[cafe, bridge][..]),
        ("q=bridge", &[bridge]),
        ("q=the", &[cafe, bridge]),
        ("q=CAF%C3%89", &[cafe]),
        ("q=bedford%20albany", &[cafe]),
        ("q=bedford%20brooklyn", &[]),
        ("q=ny", &[cafe, bridge]),
        ("q=%25", &[]),
        ("category=mystery_shopping", &[cafe]),
        ("category=delivery", &[]),
        ("status=cancelled", &[cafe]),
        ("status=funded,cancelled", &[cafe, bridge]),
        ("status=funded&status=cancelled", &[cafe, bridge]),
        ("status=posted", &[]),
        ("created_from=2025-11-15T12:01:00Z", &[cafe]),
        ("created_to=2025-11-15T12:00:59.999Z", &[bridge]),
        (
            "created_from=2025-11-15T12:00:00Z&created_to=2025-11-15T12:01:00Z",
            &[cafe, bridge],
        ),
        ("q=the&category=photography&status=funded", &[bridge]),
    ] {
        assert_eq!(titles(&dev.test, query).await, expected, "{query}");
    }
}

async fn an_item_is_that_of_the_list_with_more(app: TestApp) {
    let dev = app.developer().await;
    let deadline = "2025-11-20T18:00:00.000Z";
    let metadata = json!({"order": "4711", "deep": {"a": [1, 2.5, null]}});
    create(
        &dev.test,
        json!({"deadline": deadline, "metadata": metadata}),
    )
    .await;
    let page = search(&dev.test, "metadata.order=4711").await;
    assert_eq!(page["meta"], json!({"limit": 20, "next_cursor": null}));
    let mut expected = dev.test.get("/v1/tasks").await.expect(200)["data"][0].clone();
    expected["metadata"] = metadata;
    expected["deadline"] = deadline.into();
    expected["environment"] = "test".into();
    assert_eq!(page["data"], json!([expected]));
}

/// Reads all pages of a search; returns the titles on each.
async fn pages(client: &Client, query: &str) -> Vec<Vec<String>> {
    let (mut pages, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = search(client, &format!("{query}{cursor}")).await;
        let found = page["data"].as_array().unwrap().iter();
        let titles = found.map(|task| task["title"].as_str().unwrap().to_owned());
        pages.push(titles.collect());
        match page["meta"]["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return pages,
        }
    }
}

async fn pages_follow_each_other_and_show_each_task_once(app: TestApp) {
    let dev = app.developer().await;
    for number in 0..7 {
        let lot = if number % 2 == 0 { "even" } else { "odd" };
        let metadata = json!({"lot": lot, "all": 1});
        let task = json!({"title": format!("task {number}"), "metadata": metadata});
        create(&dev.test, task).await;
    }
    let names = |numbers: &[u8]| -> Vec<String> {
        numbers
            .iter()
            .map(|number| format!("task {number}"))
            .collect()
    };
    let two = [names(&[6, 5]), names(&[4, 3]), names(&[2, 1]), names(&[0])];
    assert_eq!(pages(&dev.test, "limit=2").await, two);
    assert_eq!(pages(&dev.test, "metadata.all=1&limit=2").await, two);
    let even = [names(&[6, 4]), names(&[2, 0])];
    assert_eq!(pages(&dev.test, "metadata.lot=even&limit=2").await, even);
    let both = "metadata.all=1&metadata.lot=even&limit=2";
    assert_eq!(pages(&dev.test, both).await, even);
    assert_eq!(pages(&dev.test, "q=5&limit=2").await, [names(&[5])]);
}

/// Copies the only task of a developer, so that there are many after it.
async fn copy_tasks(app: &TestApp, dev: &Developer, last: u64) {
    let columns = "description, category, required_skills, location_city, location_state,
        location_latitude, location_longitude, budget_cents, task_type, fee_percent, priority, status,
        status_since, proof_attempts, proof_types, metadata, created_at, updated_at, escrow_cents";
    let account = &dev.account_id;
    let copy = format!(
        "INSERT INTO tasks (id, account_id, environment, number, title, {columns})
        WITH RECURSIVE numbers (number) AS (
            SELECT CAST(2 AS BIGINT) UNION ALL SELECT number + 1 FROM numbers WHERE number < {last})
        SELECT 'f' || substr('{account}', 2, 25) || CAST(100000 + numbers.number AS TEXT),
            account_id, environment, numbers.number, 'hay', {columns}
        FROM tasks, numbers WHERE account_id = '{account}' AND tasks.number = 1"
    );
    app.database.execute(&copy).await;
}

async fn a_search_that_skips_much_says_where_to_go_on(app: TestApp) {
    let dev = app.developer().await;
    create(
        &dev.test,
        json!({"title": "needle", "metadata": {"order": "1"}}),
    )
    .await;
    copy_tasks(&app, &dev, 4_500).await;
    let found = pages(&dev.test, "q=needle").await;
    let none: Vec<String> = Vec::new();
    assert_eq!(found, [none.clone(), none, vec!["needle".to_owned()]]);
    // The index leads to it at once.
    let found = pages(&dev.test, "metadata.order=1&q=needle").await;
    assert_eq!(found, [["needle"]]);
}

async fn every_faulty_parameter_is_named(app: TestApp) {
    let dev = app.developer().await;
    let query = "q=&category=x&status=open&created_from=now&created_to=x&metadata.=1&limit=0\
        &cursor=x&offset=1";
    let reply = dev.test.get(&format!("/v1/tasks/search?{query}")).await;
    let expected = [
        "q",
        "category",
        "status",
        "created_from",
        "created_to",
        "metadata.",
        "cursor",
        "limit",
        "offset",
    ];
    assert_eq!(reply.faulty_fields(), expected);
}

async fn nobody_finds_what_is_not_theirs(app: TestApp) {
    let (dev, other) = (app.developer().await, app.developer().await);
    create(&dev.test, json!({"metadata": {"order": "4711"}})).await;
    for client in [&dev.live, &other.test] {
        for query in ["", "metadata.order=4711", "q=storefront"] {
            assert_eq!(search(client, query).await["data"], json!([]), "{query}");
        }
    }
    let stranger = app.client().get("/v1/tasks/search").await;
    stranger.expect_error(401, "UNAUTHORIZED");
}

async fn older_tasks_are_indexed_in_the_background(app: TestApp) {
    let dev = app.developer().await;
    let find = async || titles(&dev.test, "metadata.order=4711").await.len();
    for _ in 0..3 {
        create(&dev.test, json!({"metadata": {"order": "4711"}})).await;
    }
    let forget = [
        "DELETE FROM task_metadata",
        "INSERT INTO metadata_backfill (id, last_task) VALUES (1, '')",
    ];
    for statement in forget {
        app.database.execute(statement).await;
    }
    assert_eq!(find().await, 0);
    let index = async || index_metadata(&app.store, app.clock.now()).await.unwrap();
    assert_eq!(index().await, Indexed::Some);
    assert_eq!(find().await, 3);
    assert_eq!(index().await, Indexed::ForNow);
    assert_eq!(index().await, Indexed::ForNow);
    // An older program has created one in the meantime.
    create(&dev.test, json!({"metadata": {"order": "4711"}})).await;
    let last = "DELETE FROM task_metadata WHERE number = 4";
    app.database.execute(last).await;
    app.advance(Duration::from_secs(24 * 60 * 60));
    assert_eq!(index().await, Indexed::Some);
    assert_eq!(index().await, Indexed::All);
    assert_eq!(index().await, Indexed::All);
    assert_eq!(find().await, 4);
}

async fn a_task_without_metadata_writes_nothing_more(app: TestApp) {
    let dev = app.developer().await;
    create(&dev.test, json!({})).await;
    create(
        &dev.test,
        json!({"metadata": {"none": null, "deep": {"a": 1}}}),
    )
    .await;
    let rows = "SELECT key FROM task_metadata";
    assert_eq!(app.database.column(rows).await, Vec::<String>::new());
    create(
        &dev.test,
        json!({"metadata": {"order": "4711", "none": null}}),
    )
    .await;
    assert_eq!(app.database.column(rows).await, ["order"]);
}
