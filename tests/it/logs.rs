//! GET /v1/logs: what an account asked, for some days.

use std::time::Duration;

use futures_util::future::join_all;
use legwork::domain::accounts::request_log::LoggedRequest;
use legwork::domain::{AccountId, ApiKeyId, Environment, Owner, Tier};
use legwork::maintenance::{RequestLog, prune_request_log};
use legwork::store::{LogFilter, StoreError};
use serde_json::{Value, json};

use crate::mandates::{Limited, everything};
use crate::support::{Client, TestApp, on_both_engines, storefront};

on_both_engines!(
    an_account_sees_what_it_asked_and_nothing_else,
    what_is_too_much_is_dropped,
    of_what_the_rate_limit_refuses_few_are_kept,
    pages_of_several_servers_and_keys_are_one_list,
);

const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

async fn listed(client: &Client, query: &str) -> Vec<Value> {
    let page = client.get(&format!("/v1/logs{query}")).await.expect(200);
    page["data"].as_array().unwrap().clone()
}

fn asked(logged: &[Value]) -> Vec<String> {
    let line = |logged: &Value| {
        let text = |name: &str| logged[name].as_str().unwrap_or("-").to_owned();
        format!(
            "{} {} {} {}",
            text("method"),
            text("path"),
            logged["status"],
            text("code")
        )
    };
    logged.iter().map(line).collect()
}

async fn an_account_sees_what_it_asked_and_nothing_else(app: TestApp) {
    let (dev, other) = (app.developer().await, app.developer().await);
    let limited = Limited::in_test(&app, &dev, everything()).await;
    let named = [("x-request-id", "mine-1")];
    let created = dev
        .test
        .send("POST", "/v1/tasks", &named, storefront().to_string());
    let task = created.await.expect(201);
    let id = task["id"].as_str().unwrap();
    dev.test
        .post("/v1/tasks", &json!({"title": ""}))
        .await
        .expect(400);
    dev.test
        .get("/v1/tasks?status=posted&limit=1")
        .await
        .expect(200);
    limited
        .client
        .get(&format!("/v1/tasks/{id}"))
        .await
        .expect(200);
    // Those of the other environment, of others and of strangers are not there.
    dev.live.get("/v1/tasks").await.expect(200);
    other.test.get("/v1/account").await.expect(200);
    app.client().get("/v1/tasks").await.expect(401);

    let all = listed(&dev.test, "").await;
    let one = format!("GET /v1/tasks/{id} 200 -");
    let expected = [
        one.as_str(),
        "GET /v1/tasks 200 -",
        "POST /v1/tasks 400 VALIDATION_ERROR",
        "POST /v1/tasks 201 -",
    ];
    assert_eq!(asked(&all), expected);
    assert_eq!(all[3]["request_id"], "mine-1");
    assert_eq!(all[0]["key_id"], limited.id.as_str());
    assert!(
        all.iter()
            .all(|logged| logged["duration_us"].as_i64().unwrap() > 0)
    );
    // No bodies, queries or secrets.
    let text = json!(all).to_string();
    for secret in ["posted", "Photograph", "svc_", dev.test_key.as_str()] {
        assert!(!text.contains(secret), "{secret}");
    }

    // What was asked of the log is in it, too.
    let failed = listed(&dev.test, "?failed=true").await;
    assert_eq!(asked(&failed), ["POST /v1/tasks 400 VALIDATION_ERROR"]);
    let of_key = listed(&dev.test, &format!("?key_id={}", limited.id)).await;
    assert_eq!(asked(&of_key), [one.as_str()]);
    let page = dev.test.get("/v1/logs?limit=2").await.expect(200);
    assert_eq!(
        asked(page["data"].as_array().unwrap()),
        ["GET /v1/logs 200 -"; 2]
    );
    let next = page["meta"]["next_cursor"].as_str().unwrap();
    let rest = listed(&dev.test, &format!("?limit=5&cursor={next}")).await;
    assert_eq!(asked(&rest)[1..], expected);

    for query in [
        "?failed=yes",
        "?key_id=x",
        "?cursor=x",
        "?body=1",
        &format!("?failed=true&key_id={id}"),
    ] {
        dev.test.get(&format!("/v1/logs{query}")).await.expect(400);
    }
    assert_eq!(
        listed(&other.test, &format!("?key_id={}", limited.id)).await,
        [] as [Value; 0]
    );
    let denied = limited.client.get("/v1/logs").await.expect(403);
    assert_eq!(denied["error"]["code"], "PERMISSION_DENIED");

    let now = app.clock.now();
    prune_request_log(&app.store, WEEK, now).await.unwrap();
    assert!(listed(&dev.test, "").await.len() > 5);
    prune_request_log(&app.store, WEEK, now.plus(WEEK + Duration::from_secs(1)))
        .await
        .unwrap();
    assert!(listed(&dev.test, "").await.len() < 3, "old ones are gone");
}

async fn what_is_too_much_is_dropped(app: TestApp) {
    const MOST: usize = 10_000;
    let (now, random) = (app.clock.now(), || legwork::ambient::random());
    let owner = Owner {
        account: AccountId::new(now, &random()),
        environment: Environment::Test,
    };
    let (log, key) = (RequestLog::new(Some(WEEK)), ApiKeyId::new(now, &random()));
    for _ in 0..MOST + 5 {
        log.note(|| LoggedRequest {
            id: log.next_id(now),
            owner,
            key,
            method: "GET".to_owned(),
            path: "/v1/tasks".to_owned(),
            status: 200,
            code: None,
            duration_us: 1,
            request_id: "x".to_owned(),
            created_at: now,
        });
    }
    log.flush(&app.store).await.unwrap();
    let kept = app.store.snapshot(move |tx| {
        Ok::<_, StoreError>(
            tx.logged_requests(owner, LogFilter::All, None, 20_000)?
                .len(),
        )
    });
    assert_eq!(kept.await.unwrap(), MOST);
    let metrics = app.client().get("/metrics").await;
    assert!(
        metrics.text.contains("legwork_request_log_dropped_total"),
        "{}",
        metrics.text
    );
    assert!(!RequestLog::new(None).is_on());
}

async fn of_what_the_rate_limit_refuses_few_are_kept(app: TestApp) {
    let dev = app.developer_on(Tier::Free).await;
    let mut refused = 0;
    while refused < 300 {
        let replies = join_all((0..100).map(|_| dev.test.get("/v1/account"))).await;
        refused += replies.iter().filter(|reply| reply.status == 429).count();
    }
    app.app.request_log.flush(&app.store).await.unwrap();
    let owner = Owner {
        account: AccountId::parse(&dev.account_id).unwrap(),
        environment: Environment::Test,
    };
    let listed = app
        .store
        .snapshot(move |tx| tx.logged_requests(owner, LogFilter::All, None, 20_000))
        .await
        .unwrap();
    let (kept, answered): (Vec<_>, Vec<_>) = listed.iter().partition(|one| one.status == 429);
    // One a second, and nobody is as slow as to refuse 300 in 100 seconds.
    assert!((1..100).contains(&kept.len()), "{}", kept.len());
    assert!(answered.len() >= 600, "{}", answered.len());
}

/// Two servers, three keys and half a minute, written in portions: the list is as if each request had a row.
async fn pages_of_several_servers_and_keys_are_one_list(app: TestApp) {
    let start = app.clock.now();
    let random = || legwork::ambient::random();
    let owner = Owner {
        account: AccountId::new(start, &random()),
        environment: Environment::Test,
    };
    let keys = [1, 2, 3].map(|_| ApiKeyId::new(start, &random()));
    let servers = [RequestLog::new(Some(WEEK)), RequestLog::new(Some(WEEK))];
    let mut all = Vec::new();
    for number in 0..900_u64 {
        let at = start.plus(Duration::from_millis(number * 35));
        let server = &servers[number as usize % 2];
        let logged = LoggedRequest {
            id: server.next_id(at),
            owner,
            key: keys[number as usize * 7 % 3],
            method: "GET".to_owned(),
            path: format!("/v1/tasks/\"{number}\"\\"),
            status: if number % 10 == 0 { 404 } else { 200 },
            code: (number % 10 == 0).then(|| "TASK_NOT_FOUND".to_owned()),
            duration_us: number as i64,
            request_id: format!("tab\t{number}"),
            created_at: at,
        };
        server.note(|| logged.clone());
        all.push(logged);
        if number % 150 == 149 {
            server.flush(&app.store).await.unwrap();
        }
    }
    for server in &servers {
        server.flush(&app.store).await.unwrap();
    }
    all.sort_by_key(|logged| std::cmp::Reverse(logged.id));
    for filter in [LogFilter::All, LogFilter::Failed, LogFilter::OfKey(keys[1])] {
        let wanted = |logged: &&LoggedRequest| match filter {
            LogFilter::All => true,
            LogFilter::Failed => logged.status == 404,
            LogFilter::OfKey(key) => logged.key == key,
        };
        let expected: Vec<_> = all.iter().filter(wanted).cloned().collect();
        for limit in [7, 100, 1_000] {
            let (mut listed, mut cursor) = (Vec::new(), None);
            loop {
                let read = app
                    .store
                    .snapshot(move |tx| tx.logged_requests(owner, filter, cursor, limit));
                let page = read.await.unwrap();
                let Some(last) = page.last() else { break };
                cursor = Some(last.id);
                assert!(page.len() as i64 <= limit);
                listed.extend(page);
            }
            assert_eq!(listed, expected, "{filter:?} by {limit}");
        }
    }
    // A row has many of them.
    let rows = app.database.column("SELECT id FROM request_log").await;
    assert!(rows.len() < 100, "{} rows", rows.len());
}
