//! Databases of an older program, which stored secrets as they are.

use legwork::ambient::Clock;
use legwork::store::{Store, StoreError};
use legwork::usecases::{seal_plain_texts, verify_audit};

use super::webhook_secret;
use crate::support::{TestApp, on_both_engines};

on_both_engines!(
    what_an_older_program_wrote_is_sealed,
    servers_seal_together,
    nothing_is_sealed_while_an_older_program_runs,
    a_sealed_secret_opens_only_in_its_row,
);

/// Every column that holds a secret.
const COLUMNS: [(&str, &str); 8] = [
    ("webhook_endpoints", "secret"),
    ("webhook_endpoints", "old_secret"),
    ("webhook_endpoints", "old_secret_2"),
    ("webhook_endpoints", "old_secret_3"),
    ("payments", "client_secret"),
    ("sandbox_payments", "client_secret"),
    ("sandbox_payout_accounts", "link_secret"),
    ("service_secrets", "secret"),
];

async fn stored(app: &TestApp) -> Vec<String> {
    let mut all = Vec::new();
    for (table, column) in COLUMNS {
        let sql = format!("SELECT {column} FROM {table} WHERE {column} IS NOT NULL");
        let texts = app.database.column(&sql).await;
        assert!(!texts.is_empty(), "{table}.{column}");
        all.extend(texts);
    }
    all
}

/// Writes secrets of every kind as an older program did.
async fn write_plain(app: &TestApp, rows: usize) {
    let locked = {
        let location = app.database.location();
        let opening = tokio::task::spawn_blocking(move || Store::open(&location));
        opening.await.unwrap().unwrap()
    };
    locked
        .write(|tx| tx.service_secret("file_urls", "plain-signing-secret"))
        .await
        .map(drop)
        .map_err(|error: StoreError| error.to_string())
        .unwrap();
    for row in 0..rows {
        let id = format!("acct_{row:05}");
        let add = format!(
            "INSERT INTO sandbox_payout_accounts (payout_account_id, link_secret, ready, created_at)
             VALUES ('{id}', '{id}_secret_plain', 0, 0)"
        );
        app.database.execute(&add).await;
    }
}

async fn seal_all(store: &Store) -> usize {
    let mut batches = 1;
    while store.write(seal_plain_texts).await.unwrap() {
        batches += 1;
    }
    batches
}

async fn what_an_older_program_wrote_is_sealed(app: TestApp) {
    let dev = app.developer().await;
    let first = webhook_secret(&dev.live).await;
    let rotate = "/v1/account/webhook/rotate_secret";
    for _ in 0..3 {
        dev.live.send("POST", rotate, &[], "").await.expect(200);
    }
    let secret = webhook_secret(&dev.live).await;
    let (_, client_secret) = dev.create_payable_task().await;
    write_plain(&app, 450).await;
    let (id, _) = client_secret.split_once("_secret_").unwrap();
    for plain in [
        // The older program made no links.
        "DELETE FROM service_secrets WHERE name = 'mail_links'".to_owned(),
        format!(
            "UPDATE webhook_endpoints SET secret = '{secret}', old_secret = '{first}',
                old_secret_2 = '{first}', old_secret_3 = '{first}'"
        ),
        format!("UPDATE payments SET client_secret = '{client_secret}'"),
        format!(
            "UPDATE sandbox_payments SET client_secret = '{client_secret}' WHERE payment_id = '{id}'"
        ),
    ] {
        app.database.execute(&plain).await;
    }
    assert!(
        stored(&app)
            .await
            .iter()
            .all(|text| !text.starts_with("sealed:v1:"))
    );
    // Both forms are read.
    assert_eq!(webhook_secret(&dev.live).await, secret);
    assert_eq!(seal_all(&app.store).await, 3);
    assert!(
        stored(&app)
            .await
            .iter()
            .all(|text| text.starts_with("sealed:v1:"))
    );
    assert_eq!(webhook_secret(&dev.live).await, secret);
    let page = app.client().get(&format!("/pay/{client_secret}")).await;
    assert_eq!(page.status, 200);
    let name = "file_urls";
    let signing = app.store.read(move |tx| tx.find_service_secret(name));
    let signing: Result<_, StoreError> = signing.await;
    assert_eq!(signing.unwrap().as_deref(), Some("plain-signing-secret"));
    // Once more changes nothing.
    let before = stored(&app).await;
    assert_eq!(seal_all(&app.store).await, 1);
    assert_eq!(stored(&app).await, before);
}

async fn servers_seal_together(app: TestApp) {
    let other = app.database.open().await;
    write_plain(&app, 450).await;
    tokio::join!(seal_all(&app.store), seal_all(&other));
    let links = "SELECT link_secret FROM sandbox_payout_accounts";
    let links = app.database.column(links).await;
    assert_eq!(links.len(), 450);
    assert!(links.iter().all(|text| text.starts_with("sealed:v1:")));
    let opened = app.store.read(|tx| tx.sandbox_payout_account("acct_00449"));
    let opened: Result<_, StoreError> = opened.await;
    assert_eq!(
        opened.unwrap().unwrap().link_secret,
        "acct_00449_secret_plain"
    );
}

async fn nothing_is_sealed_while_an_older_program_runs(app: TestApp) {
    // As it is right after the migration, while another server has not been replaced yet.
    for old in [
        "DELETE FROM master_keys",
        "UPDATE audit_head SET chain_keys = NULL",
        "INSERT INTO processes (id, alive_until) VALUES ('older', 9000000000000)",
    ] {
        app.database.execute(old).await;
    }
    app.database.forget_audit_start();
    let app = TestApp::start(&app.database).await;
    let dev = app.developer().await;
    let secret = webhook_secret(&dev.live).await;
    let stored = "SELECT secret FROM webhook_endpoints";
    assert_eq!(app.database.column(stored).await, [secret.as_str()]);
    let lines = app.store.snapshot(verify_audit).await.unwrap();
    assert_eq!((lines.broken, lines.keys.first_keyed()), (None, None));

    app.database.execute("DELETE FROM processes").await;
    app.store.refresh_keys(Clock::system().now()).await.unwrap();
    seal_all(&app.store).await;
    let sealed = app.database.column(stored).await;
    assert!(sealed[0].starts_with("sealed:v1:"), "{sealed:?}");
    assert_eq!(webhook_secret(&dev.live).await, secret);
    // Lines from before have plain hashes. Later ones are keyed.
    let lines = app.store.snapshot(verify_audit).await.unwrap();
    let expected = (3, None, Some(3));
    assert_eq!(
        (lines.head.number, lines.broken, lines.keys.first_keyed()),
        expected
    );
}

async fn a_sealed_secret_opens_only_in_its_row(app: TestApp) {
    let (one, other) = (app.developer().await, app.developer().await);
    webhook_secret(&one.live).await;
    webhook_secret(&other.live).await;
    let copy = format!(
        "UPDATE webhook_endpoints SET secret = (SELECT secret FROM webhook_endpoints
            WHERE account_id = '{}') WHERE account_id = '{}'",
        one.account_id, other.account_id
    );
    app.database.execute(&copy).await;
    other.live.get("/v1/account/webhook").await.expect(500);
    one.live.get("/v1/account/webhook").await.expect(200);
}
