//! A copy of the database alone opens nothing.

use legwork::store::StoreError;
use serde_json::{Value, json};

use super::{text, webhook_secret};
use crate::support::{
    Client, Command, GOOD_CARD, PASSWORD, Server, TestApp, on_both_engines, storefront,
};

on_both_engines!(no_secret_is_in_the_database);

async fn no_secret_is_in_the_database(app: TestApp) {
    let mut secrets = vec![PASSWORD.to_owned()];
    live_a_rich_life(&app, &mut secrets).await;
    let server = Server::start(&app.database);
    serve(&server, &app, &mut secrets).await;
    assert_eq!(server.terminate(), Some(0));
    for name in ["file_urls", "mail_links", "vapid"] {
        let found = app.store.read(move |tx| tx.find_service_secret(name));
        let found: Result<_, StoreError> = found.await;
        secrets.push(found.unwrap().unwrap());
    }
    let keys = app.database.key_source().load().unwrap();
    secrets.extend(keys.iter().map(|key| key.to_base64()));
    let chain = "SELECT chain_keys FROM audit_head";
    let chain = app.database.column(chain).await.remove(0);
    let keyring = app.store.keyring().unwrap();
    let chain = keyring.open_sealed("audit_keys", &chain).unwrap();
    let chain: Value = serde_json::from_str(&chain).unwrap();
    secrets.push(text(&chain[0][1]));

    let everything = app.database.everything().await;
    assert!(everything.contains("Photograph a storefront"));
    assert!(everything.contains("sealed:v1:"));
    assert!(secrets.len() > 20, "{}", secrets.len());
    for secret in secrets {
        assert!(secret.len() > 16, "{secret}");
        assert!(!everything.contains(&secret), "{secret}");
        let random = random_part(&secret);
        assert!(random.len() > 16, "{secret}");
        assert!(!everything.contains(random), "{secret}");
    }
}

/// What stands after the words at the beginning. Secrets without such words are taken whole: in base64 an
/// underscore may stand anywhere.
fn random_part(secret: &str) -> &str {
    let has_words =
        secret.starts_with("svc_") || secret.starts_with("whsec_") || secret.contains("_secret_");
    match secret.rsplit_once('_') {
        Some((_, random)) if has_words => random,
        _ => secret,
    }
}

/// Collects everything that is handed out.
async fn live_a_rich_life(app: &TestApp, secrets: &mut Vec<String>) {
    let dev = app.developer().await;
    secrets.extend([dev.live_key.clone(), dev.test_key.clone()]);
    secrets.push(webhook_secret(&dev.live).await);
    let once = [("Idempotency-Key", "once")];
    let rotated = dev
        .live
        .send("POST", "/v1/account/webhook/rotate_secret", &once, "")
        .await;
    secrets.push(text(&rotated.expect(200)["webhook_secret"]));
    let named = json!({"name": "Nightly", "environment": "live"});
    let key = dev
        .live
        .post_with("/v1/account/keys", &once_more(), &named)
        .await;
    secrets.push(text(&key.expect(201)["key"]));
    for key in ["first", "second"] {
        let header = [("Idempotency-Key", key)];
        let task = dev
            .live
            .post_with("/v1/tasks", &header, &storefront())
            .await;
        let secret = text(&task.expect(201)["payment_client_secret"]);
        // The stored answer is sealed too, and the key that asked gets it again.
        let again = dev
            .live
            .post_with("/v1/tasks", &header, &storefront())
            .await;
        assert_eq!(text(&again.expect(201)["payment_client_secret"]), secret);
        assert_eq!(dev.live.pay(&secret, GOOD_CARD).await.status, 200);
        secrets.push(secret);
    }
    let (unpaid, secret) = dev.create_payable_task().await;
    secrets.push(secret);
    let payment = format!("{}/payment", crate::support::path(&unpaid));
    dev.live.get(&payment).await.expect(200);
    let worker = app.sign_up(&[]).await;
    let onboarding = worker
        .client
        .post("/v1/worker/payout_account", &json!({}))
        .await;
    let url = text(&onboarding.expect(201)["url"]);
    secrets.push(url.rsplit_once('/').unwrap().1.to_owned());
    worker.become_ready(app).await;
    app.jobs.drain().await.unwrap();
    let tasks = dev.live.get("/v1/tasks?status=posted").await.expect(200);
    let task = &tasks["data"][0];
    worker.begin(task).await;
    let proof = worker.prove(task, "seed").await;
    dev.review(task, &proof, "approve").await.expect(200);
    app.jobs.drain().await.unwrap();
    app.webhooks.drain().await.unwrap();
}

fn once_more() -> [(&'static str, &'static str); 1] {
    [("Idempotency-Key", "once more")]
}

/// What only the program itself does.
async fn serve(server: &Server, app: &TestApp, secrets: &mut Vec<String>) {
    for number in 0..4 {
        let email = format!("dump-{number}@example.com");
        let words = [
            "account", "create", "--email", &email, "--name", "Ada", "--json",
        ];
        let account = Command::new(&words).on(&app.database).succeed();
        let account: Value = serde_json::from_str(&account).unwrap();
        secrets.extend([text(&account["live_key"]), text(&account["test_key"])]);
    }
    let words = [
        "admin",
        "create-key",
        "--name",
        "Ada",
        "--role",
        "owner",
        "--json",
    ];
    let admin = Command::new(&words).on(&app.database).succeed();
    let admin: Value = serde_json::from_str(&admin).unwrap();
    secrets.push(text(&admin["key"]));
    let client = Client::new(server.address, None);
    let body = json!({"email": "dump@example.com", "password": PASSWORD, "name": "Grace"});
    let worker = client.post("/v1/workers", &body).await.expect(201);
    secrets.push(text(&worker["token"]));
}
