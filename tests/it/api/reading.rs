//! Reading one task: nobody gets what is not theirs, nor what it was before.

use futures_util::future::{join, join_all};
use serde_json::json;

use crate::support::{Client, Developer, TestApp, eventually, on_both_engines, path};

on_both_engines!(
    a_task_is_shown_to_its_owner_alone,
    a_revoked_key_is_refused_at_once,
    an_account_that_is_gone_reads_no_task,
    each_of_many_readers_gets_its_own_answer,
    what_is_read_again_and_again_is_as_it_was_last_changed,
    a_parameter_that_nothing_takes_is_refused,
);

fn unknown_key(app: &TestApp) -> Client {
    let key = format!("svc_test_{}", "0".repeat(64));
    Client::new(app.address, Some(&key))
}

async fn a_task_is_shown_to_its_owner_alone(app: TestApp) {
    let (dev, other) = (app.developer().await, app.developer().await);
    let task = dev.create_task().await;
    let unknown = format!("/v1/tasks/{}", "0".repeat(32));
    assert_eq!(dev.test.get(&path(&task)).await.expect(200), task);
    for (client, path) in [
        (&other.test, path(&task)),
        (&dev.live, path(&task)),
        (&dev.test, unknown),
        (&dev.test, "/v1/tasks/nope".to_owned()),
    ] {
        let reply = client.get(&path).await;
        reply.expect_error(404, "TASK_NOT_FOUND");
    }
    for path in [path(&task).as_str(), "/v1/tasks/nope"] {
        for client in [app.client(), unknown_key(&app)] {
            client.get(path).await.expect_error(401, "UNAUTHORIZED");
        }
    }
}

async fn a_revoked_key_is_refused_at_once(app: TestApp) {
    let dev = app.developer().await;
    let path = path(&dev.create_task().await);
    for _ in 0..20 {
        let body = json!({ "name": "short-lived", "environment": "test" });
        let made = dev.live.post("/v1/account/keys", &body).await.expect(201);
        let client = Client::new(app.address, Some(made["key"].as_str().unwrap()));
        // Others read with the same key up to the last moment.
        for reply in join_all((0..8).map(|_| client.get(&path))).await {
            reply.expect(200);
        }
        let revoke = format!("/v1/account/keys/{}", made["id"].as_str().unwrap());
        dev.live.delete(&revoke).await.expect(200);
        for reply in join_all((0..8).map(|_| client.get(&path))).await {
            reply.expect_error(401, "UNAUTHORIZED");
        }
    }
}

async fn an_account_that_is_gone_reads_no_task(app: TestApp) {
    for (status, answer) in [
        ("suspended", (403, "ACCOUNT_SUSPENDED")),
        ("deleted", (401, "UNAUTHORIZED")),
    ] {
        let dev = app.developer().await;
        let path = path(&dev.create_task().await);
        dev.test.get(&path).await.expect(200);
        let account = &dev.account_id;
        let put = format!("UPDATE accounts SET status = '{status}' WHERE id = '{account}'");
        app.database.execute(&put).await;
        // SQLite sees what another program has written a few milliseconds later.
        let seen = async || dev.test.get(&path).await.status == answer.0;
        eventually("the account is gone", seen).await;
        for path in [path.as_str(), "/v1/tasks/nope"] {
            let reply = dev.test.get(path).await;
            reply.expect_error(answer.0, answer.1);
        }
    }
}

async fn each_of_many_readers_gets_its_own_answer(app: TestApp) {
    let developers = join_all((0..4).map(|_| app.developer())).await;
    let tasks = join_all(developers.iter().map(Developer::create_task)).await;
    let stranger = unknown_key(&app);
    for _ in 0..5 {
        let asked = (0..120).map(async |n: usize| {
            let (dev, task) = (&developers[n % 4], &tasks[n / 4 % 4]);
            if n % 10 == 9 {
                let reply = stranger.get(&path(task)).await;
                reply.expect_error(401, "UNAUTHORIZED");
                return;
            }
            let reply = dev.test.get(&path(task)).await;
            if n % 4 == n / 4 % 4 {
                assert_eq!(&reply.expect(200), task);
            } else {
                reply.expect_error(404, "TASK_NOT_FOUND");
            }
        });
        join_all(asked).await;
    }
}

/// A task that is asked for often may be kept, until it changes.
async fn what_is_read_again_and_again_is_as_it_was_last_changed(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_live_task().await;
    let path = path(&task);
    let read = || async { dev.live.get(&path).await.expect(200) };
    for n in 0..30 {
        let change = json!({"title": format!("Photo {n}"), "deadline": (n % 2 == 0).then_some("2025-12-01T08:00:00Z")});
        let change = dev.live.patch(&path, &change);
        let (changed, _) = join(change, join_all((0..8).map(|_| read()))).await;
        let changed = changed.expect(200);
        assert_eq!(changed["title"], format!("Photo {n}"));
        for now in join_all((0..4).map(|_| read())).await {
            assert_eq!(now, changed);
        }
    }
    let cancel = format!("{path}/cancel");
    dev.live.post(&cancel, &json!({})).await.expect(200);
    for _ in 0..3 {
        assert_eq!(read().await["status"], "cancelled");
    }
    let other = app.developer().await;
    other
        .live
        .get(&path)
        .await
        .expect_error(404, "TASK_NOT_FOUND");
}

/// It may be meant for the body: `expected_refund_cents` protects money.
async fn a_parameter_that_nothing_takes_is_refused(app: TestApp) {
    let dev = app.developer().await;
    let task = path(&dev.create_task().await);
    let cancel = format!("{task}/cancel?expected_refund_cents=1");
    let stray = dev.test.post(&cancel, &json!({})).await;
    assert_eq!(stray.faulty_fields(), ["expected_refund_cents"]);
    for path in [
        &format!("{task}?a=1"),
        "/v1/account?a=1",
        "/v1/account/usage?a",
    ] {
        let stray = dev.test.get(path).await;
        stray.expect_error(400, "VALIDATION_ERROR");
        app.client()
            .get(path)
            .await
            .expect_error(401, "UNAUTHORIZED");
    }
    assert_eq!(
        dev.test.get(&format!("{task}?")).await.expect(200)["status"],
        "funded"
    );
}
