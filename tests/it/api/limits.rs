//! Tasks a month and requests a minute.

use futures_util::future::join_all;
use legwork::domain::{AdminRole, Tier};
use serde_json::json;

use crate::support::{Reply, TestApp, in_time, on_both_engines, path, storefront};

on_both_engines!(
    the_monthly_limit_is_exact_under_concurrency,
    a_new_month_starts_from_nothing,
    the_rate_limit_is_told_and_kept,
    the_rate_limit_of_an_admin_key_is_told,
);

async fn the_monthly_limit_is_exact_under_concurrency(app: TestApp) {
    let dev = app.developer_on(Tier::Free).await;
    let task = storefront();
    // Sent again, if the machine is so slow that the server takes them for too many.
    let create = async |number: usize| {
        let key = number.to_string();
        loop {
            let headers = [("idempotency-key", key.as_str())];
            let reply = dev.test.post_with("/v1/tasks", &headers, &task).await;
            if reply.status != 503 {
                return reply;
            }
        }
    };
    let replies = in_time(join_all((0..130).map(create))).await;
    let created = replies.iter().filter(|reply| reply.status == 201).count();
    assert_eq!(created, 100);
    for reply in replies.into_iter().filter(|reply| reply.status != 201) {
        reply.expect_error(403, "TASK_LIMIT_EXCEEDED");
    }
    let list = dev.test.get("/v1/tasks?limit=1").await.expect(200);
    assert_eq!(list["meta"]["total"], 100);
    let usage = dev.test.get("/v1/account/usage").await.expect(200);
    assert_eq!(usage["tasks_this_month"], 100);
    assert_eq!(usage["tasks_limit"], 100);
    // The other environment has a limit of its own.
    dev.create_live_task().await;
}

async fn a_new_month_starts_from_nothing(app: TestApp) {
    let dev = app.developer_on(Tier::Free).await;
    app.set_time("2025-11-30T23:59:59.999Z");
    let first = dev.create_task().await;
    let cancel = format!("{}/cancel", path(&first));
    dev.test.post(&cancel, &json!({})).await.expect(200);
    let full = "UPDATE task_totals SET month_tasks = 99 WHERE environment = 'test'";
    app.database.execute(full).await;
    dev.create_task().await;
    let reply = dev.test.post("/v1/tasks", &storefront()).await;
    reply.expect_error(403, "TASK_LIMIT_EXCEEDED");
    app.set_time("2025-12-01T00:00:00.000Z");
    let account = dev.test.get("/v1/account").await.expect(200);
    assert_eq!(account["tasks_this_month"], 0);
    dev.create_task().await;
    let account = dev.test.get("/v1/account").await.expect(200);
    assert_eq!(account["tasks_this_month"], 1);
}

async fn the_rate_limit_is_told_and_kept(app: TestApp) {
    let (dev, other) = (app.developer_on(Tier::Free).await, app.developer().await);
    let reply = dev.test.get("/v1/account").await;
    assert_eq!(reply.header("ratelimit-policy"), "\"default\";q=600;w=60");
    assert!(
        reply
            .header("ratelimit")
            .starts_with("\"default\";r=599;t=")
    );
    // The quota refills while we ask, so we ask until it is used up, many at a time.
    let refused = loop {
        let replies = join_all((0..100).map(|_| dev.live.get("/v1/account"))).await;
        if let Some(refused) = replies.into_iter().find(|reply| reply.status == 429) {
            break refused;
        }
    };
    let refused = refused.expect_error(429, "RATE_LIMITED");
    assert!(refused.header("retry-after").parse::<u64>().unwrap() >= 1);
    assert!(refused.header("ratelimit").starts_with("\"default\";r=0;"));
    let faulty = other.test.get("/v1/tasks?limit=0").await;
    assert!(
        faulty
            .header("ratelimit")
            .starts_with("\"default\";r=2999;")
    );
}

async fn the_rate_limit_of_an_admin_key_is_told(app: TestApp) {
    let (viewer, other) = (
        app.admin_with(AdminRole::Viewer).await,
        app.admin_with(AdminRole::Viewer).await,
    );
    let left = |reply: &Reply| {
        assert_eq!(reply.header("ratelimit-policy"), "\"default\";q=12000;w=60");
        let status = reply.header("ratelimit").to_owned();
        let left = status.strip_prefix("\"default\";r=").unwrap();
        left.split(';').next().unwrap().parse::<u32>().unwrap()
    };
    let listed = viewer.get("/v1/admin/accounts").await;
    assert!(listed.status == 200 && left(&listed) == 11_999);
    let missing = viewer.get("/v1/admin/accounts/none").await;
    assert!(missing.status == 404 && left(&missing) < 12_000);
    let denied = viewer.post("/v1/admin/keys", &json!({})).await;
    assert!(denied.status == 403 && left(&denied) < 12_000);
    assert_eq!(left(&other.get("/v1/admin/accounts").await), 11_999);
}
