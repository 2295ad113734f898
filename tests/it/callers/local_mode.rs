//! What local mode allows, and where it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::support::{Client, Command, Server, TestApp, on_both_engines};

on_both_engines!(
    a_public_url_ends_local_mode,
    the_sandbox_on_a_public_url_must_be_wanted,
    pages_say_that_no_money_moves,
    a_test_delivery_tells_no_open_port_from_a_closed_one,
);

const PUBLIC: [&str; 4] = [
    "--public-url",
    "https://legwork.example.com",
    "--allow-sandbox",
    "on",
];
const BANNER: &str = "<p class=\"banner\" role=\"note\">sandbox: no money moves</p>";

fn serve(app: &TestApp, more: &[&str]) -> Server {
    let serve = [&["--listen", "127.0.0.1:0", "--log", "error"], more].concat();
    Server::spawn(Command::new(&serve).on(&app.database))
}

/// A port that takes connections and says something that is not TLS.
async fn chatty_port() -> (u16, Arc<AtomicUsize>) {
    use tokio::io::AsyncWriteExt;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let taken = Arc::new(AtomicUsize::new(0));
    let count = taken.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            let _ = stream.write_all(b"220 mail.example.com ESMTP\r\n").await;
        }
    });
    (port, taken)
}

/// A port that nothing listens on.
async fn closed_port() -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap().port()
}

async fn put_webhook(client: &Client, port: u16) -> crate::support::Reply {
    let body = json!({"url": format!("https://127.0.0.1:{port}/")});
    client
        .send("PUT", "/v1/account/webhook", &[], body.to_string())
        .await
}

async fn test_delivery(client: &Client) -> Value {
    let test = "/v1/account/webhook/test";
    client.post(test, &json!({})).await.expect(200)
}

async fn a_public_url_ends_local_mode(app: TestApp) {
    let dev = app.developer().await;
    let (port, taken) = chatty_port().await;
    // Set while the service was local.
    put_webhook(&dev.test, port).await.expect(200);
    let server = serve(&app, &PUBLIC);
    let client = server.client(&dev.test_key);
    let sent = test_delivery(&client).await;
    assert_eq!(sent["delivered"], false);
    let error = sent["error"].as_str().unwrap();
    assert!(error.contains("not public"), "{error}");
    assert_eq!(taken.load(Ordering::SeqCst), 0, "it was called");
    assert_eq!(put_webhook(&client, port).await.faulty_fields(), ["url"]);
    let metrics = Client::new(server.address, None).get("/metrics").await;
    metrics.expect_error(404, "NOT_FOUND");

    let local = serve(&app, &["--public-url", "http://localhost:8080"]);
    test_delivery(&local.client(&dev.test_key)).await;
    assert_eq!(taken.load(Ordering::SeqCst), 1);
    let metrics = Client::new(local.address, None).get("/metrics").await;
    assert_eq!(metrics.status, 200);
}

async fn the_sandbox_on_a_public_url_must_be_wanted(app: TestApp) {
    let refused = Command::new(&["serve", "--listen", "127.0.0.1:0"]).on(&app.database);
    let refused = refused.env("LEGWORK_PUBLIC_URL", "https://legwork.example.com");
    let message = refused.fail();
    assert!(message.contains("LEGWORK_ALLOW_SANDBOX=on"), "{message}");
    assert!(message.contains("LEGWORK_PAYMENTS=stripe"), "{message}");
    let server = serve(&app, &PUBLIC);
    assert!(
        !server.greeting.contains("svc_live_"),
        "{}",
        server.greeting
    );
    assert!(
        server.greeting.contains("legwork account create"),
        "{}",
        server.greeting
    );
}

async fn pages_say_that_no_money_moves(app: TestApp) {
    app.set_time_to_now();
    let dev = app.developer().await;
    let (_, secret) = dev.create_payable_task().await;
    let worker = app.sign_up(&[]).await;
    let account = worker
        .client
        .post("/v1/worker/payout_account", &json!({}))
        .await
        .expect(201);
    let (_, link) = account["url"]
        .as_str()
        .unwrap()
        .split_once("/onboarding/")
        .unwrap();
    let pages = [
        format!("/pay/{secret}"),
        "/pay/none".to_owned(),
        format!("/onboarding/{link}"),
        "/onboarding/done".to_owned(),
        "/onboarding/expired".to_owned(),
    ];
    let (public, local) = (serve(&app, &PUBLIC), serve(&app, &[]));
    for page in pages {
        let shown = Client::new(public.address, None).get(&page).await;
        assert!(shown.text.contains(BANNER), "{page}: {}", shown.text);
        let shown = Client::new(local.address, None).get(&page).await;
        assert!(
            shown.text.contains("<html") && !shown.text.contains(BANNER),
            "{page}"
        );
    }
    let paid = Client::new(public.address, None)
        .pay(&secret, crate::support::GOOD_CARD)
        .await;
    assert!(paid.text.contains("Thank you") && paid.text.contains(BANNER));
}

async fn a_test_delivery_tells_no_open_port_from_a_closed_one(app: TestApp) {
    let dev = app.developer().await;
    let (open, taken) = chatty_port().await;
    let closed = closed_port().await;
    let private = [&PUBLIC[..], &["--webhook-allow-nets", "127.0.0.0/8"]].concat();
    let (public, local) = (serve(&app, &private), serve(&app, &[]));
    let mut told = Vec::new();
    for server in [&public, &local] {
        let client = server.client(&dev.test_key);
        for port in [open, closed] {
            put_webhook(&client, port).await.expect(200);
            told.push(test_delivery(&client).await["error"].clone());
        }
    }
    assert_eq!(taken.load(Ordering::SeqCst), 2);
    assert_eq!(told[0], told[1]);
    assert_ne!(
        told[2], told[3],
        "on their own machine, developers are told more"
    );
}
