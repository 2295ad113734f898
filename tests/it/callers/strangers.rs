//! How much a caller without a key may ask.

use futures_util::future::join_all;
use serde_json::json;

use crate::support::{Client, Command, Server, TestApp, exchange, on_both_engines};

on_both_engines!(
    strangers_are_limited_and_others_are_not,
    keys_of_a_suspended_account_count_like_none,
    wrong_keys_count_like_none,
    limits_can_be_turned_off,
);

/// Asks until it is enough, many at a time, since the quota refills meanwhile.
async fn use_up(client: &Client, path: &str) -> usize {
    let mut answered = 0;
    loop {
        let replies = join_all((0..100).map(|_| client.get(path))).await;
        answered += replies.iter().filter(|reply| reply.status != 429).count();
        if let Some(refused) = replies.into_iter().find(|reply| reply.status == 429) {
            assert!(refused.header("retry-after").parse::<u64>().unwrap() >= 1);
            refused.expect_error(429, "RATE_LIMITED");
            return answered;
        }
    }
}

async fn keys_of_a_suspended_account_count_like_none(app: TestApp) {
    let dev = app.developer().await;
    let suspend = format!("/v1/admin/accounts/{}/suspend", dev.account_id);
    let admin = app.admin().await;
    admin.post(&suspend, &json!({})).await.expect(200);
    let refused = dev.test.get("/v1/account").await;
    refused.expect_error(403, "ACCOUNT_SUSPENDED");
    let answered = use_up(&dev.test, "/v1/account").await;
    assert!((500..2_000).contains(&answered), "{answered}");
}

async fn strangers_are_limited_and_others_are_not(app: TestApp) {
    let (dev, worker, admin) = (
        app.developer().await,
        app.sign_up(&[]).await,
        app.admin().await,
    );
    let stranger = app.client();
    let answered = use_up(&stranger, "/nothing/here").await;
    assert!((599..2_000).contains(&answered), "{answered}");
    // A few come back every second; what is asked here at once is more.
    let sign_in = json!({"email": "a@example.com", "password": "not this one"});
    for path in [
        "/onboarding/done",
        "/docs/",
        "/openapi.json",
        "/files/x",
        "/v1/tasks",
        "/v1/worker",
        "/worker/nothing/here",
    ] {
        use_up(&stranger, path).await;
    }
    // What names no host is counted, too, although no route is found for it.
    let hostless = b"GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n";
    let answers = join_all((0..100).map(|_| exchange(app.address, hostless))).await;
    let refused = answers.iter().any(|it| it.starts_with("HTTP/1.1 429 "));
    assert!(refused, "{}", answers[0]);
    let replies = join_all((0..100).map(|_| stranger.post("/v1/workers/sessions", &sign_in))).await;
    assert!(replies.iter().any(|reply| reply.status == 429));
    for path in ["/healthz", "/readyz"] {
        let replies = join_all((0..700).map(|_| stranger.get(path))).await;
        // So many at once may find the database busy; that is no limit.
        let refused = replies.iter().find(|reply| reply.status == 429);
        assert!(refused.is_none(), "{path}: {refused:?}");
    }
    // The same address, with a key.
    dev.test.get("/v1/account").await.expect(200);
    worker.client.get("/v1/worker").await.expect(200);
    admin.get("/v1/admin/queue").await.expect(200);
}

async fn wrong_keys_count_like_none(app: TestApp) {
    let dev = app.developer().await;
    let guess = Client::new(
        app.address,
        Some("svc_live_00000000000000000000000000000000"),
    );
    let answered = use_up(&guess, "/v1/account").await;
    assert!((600..2_000).contains(&answered), "{answered}");
    for path in ["/v1/worker", "/v1/admin/queue"] {
        use_up(&guess, path).await;
    }
    dev.test.get("/v1/account").await.expect(200);
}

async fn limits_can_be_turned_off(app: TestApp) {
    let serve = [
        "--listen",
        "127.0.0.1:0",
        "--log",
        "warn",
        "--rate-limits",
        "off",
    ];
    let server = Server::spawn(Command::new(&serve).on(&app.database));
    let stranger = Client::new(server.address, None);
    for _ in 0..20 {
        let replies = join_all((0..100).map(|_| stranger.get("/nothing"))).await;
        assert!(replies.iter().all(|reply| reply.status == 404));
    }
}
