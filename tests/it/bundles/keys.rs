//! The keys: one for all servers, published for good, rotated and replaced.

use std::time::Duration;

use legwork::ambient;
use legwork::domain::Actor;
use legwork::domain::proofs::bundles::BundleKey;
use legwork::usecases;
use serde_json::{Value, json};

use super::{bundle, completed, published, verify};
use crate::support::archive::unzip;
use crate::support::{TestApp, on_both_engines};

on_both_engines!(
    servers_that_start_together_have_one_key,
    a_rotated_key_stays_published_and_its_bundles_stay_right,
    a_key_that_was_lost_with_the_master_key_is_replaced,
    the_private_key_is_sealed,
);

async fn make(app: &TestApp) -> BundleKey {
    let (seed, now) = (ambient::random::<32>(), app.clock.now());
    let made = app
        .store
        .write(move |tx| usecases::make_bundle_key(tx, &seed, now).map(|signer| signer.key));
    made.await.unwrap()
}

async fn rotate(app: &TestApp) -> BundleKey {
    let (seed, now) = (ambient::random::<32>(), app.clock.now());
    let by = Actor::COMMAND_LINE;
    let rotated = app
        .store
        .write(move |tx| usecases::rotate_bundle_key(tx, &seed, &by, now));
    rotated.await.unwrap()
}

async fn keys(app: &TestApp) -> Vec<Value> {
    let keys: Value = serde_json::from_str(&published(app).await).unwrap();
    keys["keys"].as_array().unwrap().clone()
}

async fn servers_that_start_together_have_one_key(app: TestApp) {
    let second = TestApp::start(&app.database).await;
    let (here, there) = tokio::join!(make(&app), make(&second));
    assert_eq!(here, there);
    assert_eq!(keys(&app).await.len(), 1);
    assert_eq!(make(&app).await, here, "it stays");
}

async fn a_rotated_key_stays_published_and_its_bundles_stay_right(app: TestApp) {
    let (dev, task) = completed(&app).await;
    let old = bundle(&dev.live, &task).await;
    let before = published(&app).await;
    app.advance(Duration::from_secs(24 * 60 * 60));
    let key = rotate(&app).await;
    let new = bundle(&dev.live, &task).await;
    let after = published(&app).await;
    let known = keys(&app).await;
    assert_eq!(known[0]["id"], json!(key.id));
    assert_eq!(known[0]["retired_at"], Value::Null);
    assert_eq!(known[1]["retired_at"], known[0]["created_at"]);
    verify(&old, &after).unwrap();
    assert_eq!(verify(&new, &after).unwrap().key_id, key.id);
    // Keys from before do not know the new one.
    verify(&old, &before).unwrap();
    assert!(verify(&new, &before).is_err());
    // A retired key signs nothing new, whoever has it.
    let mut retired: Value = serde_json::from_str(&after).unwrap();
    retired["keys"][0]["retired_at"] = json!("2025-11-16T00:00:00.000Z");
    let refused = verify(&new, &retired.to_string()).unwrap_err().to_string();
    assert!(refused.contains("when its key did not sign"), "{refused}");
    let audit = "/v1/admin/audit?action=bundle_key.rotated";
    let lines = app.admin().await.get(audit).await.expect(200);
    assert_eq!(lines["data"][0]["subject_id"], json!(key.id));
}

async fn a_key_that_was_lost_with_the_master_key_is_replaced(app: TestApp) {
    let (dev, task) = completed(&app).await;
    let old = bundle(&dev.live, &task).await;
    // What a reset of the secrets does with it.
    app.database
        .execute("DELETE FROM service_secrets WHERE name LIKE 'bundle_key:%'")
        .await;
    let new = bundle(&dev.live, &task).await;
    let known = keys(&app).await;
    assert_eq!(known.len(), 2);
    let retired = known.iter().filter(|key| !key["retired_at"].is_null());
    assert_eq!(retired.count(), 1);
    for bytes in [old, new] {
        verify(&bytes, &published(&app).await).unwrap();
    }
}

async fn the_private_key_is_sealed(app: TestApp) {
    make(&app).await;
    let secret = "SELECT secret FROM service_secrets WHERE name LIKE 'bundle_key:%'";
    let stored = app.database.column(secret).await;
    assert_eq!(stored.len(), 1);
    assert!(stored[0].starts_with("sealed:v1:"), "{}", stored[0]);
    rotate(&app).await;
    // Of a retired key, nothing secret is kept.
    assert_eq!(app.database.column(secret).await.len(), 1);
    let (dev, task) = completed(&app).await;
    let entries = unzip(&bundle(&dev.live, &task).await);
    assert!(entries.contains_key("SHA256SUMS.sig"));
}
