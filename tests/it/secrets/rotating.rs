//! `legwork secrets rotate` and `prune`, while the service runs.

use legwork::ambient::Clock;
use legwork::domain::Secret;
use legwork::seal::{KeySource, MasterKey};
use legwork::store::{Heartbeat, StoreError, UnlockError};
use legwork::usecases::{change_master_key, verify_audit};
use serde_json::json;

use super::{text, webhook_secret};
use crate::support::{Command, Database, Engine, Server, TestApp, key_in, on_both_engines};

const ENGINES: [Engine; 2] = [Engine::Sqlite, Engine::Postgres];

on_both_engines!(
    an_interrupted_rotation_loses_nothing,
    a_key_from_a_setting_is_rotated_with_both,
    an_old_key_never_seals_again,
    a_server_without_the_new_key_seals_nothing,
    prune_waits_for_servers_that_use_an_old_key,
    a_key_for_the_next_rotation_is_not_pruned,
    rotating_and_pruning_wait_for_each_other,
);

fn command(database: &Database, words: &[&str]) -> Command {
    Command::new(words).on(database)
}

/// The ids of the keys that secrets are sealed under.
async fn sealed_under(database: &Database) -> Vec<String> {
    let mut ids = Vec::new();
    for column in [
        "SELECT secret FROM webhook_endpoints",
        "SELECT client_secret FROM payments WHERE client_secret IS NOT NULL",
        "SELECT client_secret FROM sandbox_payments",
        "SELECT secret FROM service_secrets",
        "SELECT chain_keys FROM audit_head",
    ] {
        let sealed = database.column(column).await;
        ids.extend(
            sealed
                .iter()
                .map(|text| text.split(':').nth(2).unwrap().to_owned()),
        );
    }
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// As if the last rotation was an hour ago.
async fn let_an_hour_pass(database: &Database) {
    let earlier = "UPDATE master_keys SET seals_since = seals_since - 3600000";
    database.execute(earlier).await;
}

#[test]
fn a_running_server_goes_on_over_a_rotation() {
    for engine in ENGINES {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let database = Database::create(engine);
        let server = Server::start(&database);
        let [live, test] = ["svc_live_", "svc_test_"]
            .map(|prefix| server.client(&key_in(&server.greeting, prefix)));
        let push_key = "SELECT secret FROM service_secrets WHERE name = 'vapid'";
        runtime.block_on(async {
            let task = crate::support::storefront();
            let secret = webhook_secret(&live).await;
            let paid = live.post("/v1/tasks", &task).await.expect(201);
            let client_secret = text(&paid["payment_client_secret"]);
            let proved = test.post("/v1/tasks", &task).await.expect(201);
            let path = format!("/v1/test_helpers/tasks/{}/advance", text(&proved["id"]));
            let to = json!({"to": "proof_submitted"});
            test.post(&path, &to).await.expect(200);
            let proofs = format!("/v1/tasks/{}/proofs", text(&proved["id"]));
            let proofs = test.get(&proofs).await.expect(200);
            let url = text(&proofs["data"][0]["file_url"]);
            let (_, file) = url.split_once("/files/").unwrap();
            let file = format!("/files/{file}");
            let [old] = sealed_under(&database).await.try_into().unwrap();
            let told = command(&database, &["secrets", "rotate"]).succeed();
            assert!(told.contains("legwork secrets prune"), "{told}");
            // The running server reads what is sealed under a key that it has never seen.
            let [new] = sealed_under(&database).await.try_into().unwrap();
            assert_ne!(new, old);
            assert_eq!(webhook_secret(&live).await, secret);
            let page = live.get(&format!("/pay/{client_secret}")).await;
            assert_eq!(page.status, 200);
            assert_eq!(test.get(&file).await.status, 200);
            assert_eq!(database.key_source().load().unwrap().len(), 2);
            let too_early = command(&database, &["secrets", "prune"]).fail();
            assert!(too_early.contains("less than a minute ago"), "{too_early}");
            let_an_hour_pass(&database).await;
            let reported = "SELECT sealing_key FROM processes";
            let learns = async {
                while database.column(reported).await != [new.as_str()] {
                    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                }
            };
            let limit = std::time::Duration::from_secs(60);
            tokio::time::timeout(limit, learns).await.unwrap();
            command(&database, &["secrets", "prune"]).succeed();
            let held = database.key_source().load().unwrap();
            assert_eq!(held.iter().map(MasterKey::id).collect::<Vec<_>>(), [new]);
            assert_eq!(webhook_secret(&live).await, secret);
            command(&database, &["audit", "verify"]).succeed();
        });
        assert_eq!(server.terminate(), Some(0));
        drop(Server::start(&database));
        // Browsers have subscribed to the push key, so it is replaced only if that is wanted.
        runtime.block_on(async {
            let store = database.open().await;
            let vapid = || async {
                let found = store.read(|tx| tx.find_service_secret("vapid"));
                found
                    .await
                    .map_err(|error: StoreError| error.to_string())
                    .unwrap()
                    .unwrap()
            };
            let before = vapid().await;
            command(&database, &["secrets", "rotate"]).succeed();
            assert_eq!(vapid().await, before);
            let told = command(&database, &["secrets", "rotate", "--push-keys"]).succeed();
            assert!(told.contains("Restart all servers"), "{told}");
            assert_ne!(vapid().await, before);
            assert!(database.column(push_key).await[0].starts_with("sealed:v1:"));
        });
    }
}

async fn an_interrupted_rotation_loses_nothing(app: TestApp) {
    let dev = app.developer().await;
    let secret = webhook_secret(&dev.live).await;
    let task = dev.create_live_task().await;
    let signing = app
        .store
        .write(|tx| tx.service_secret("file_urls", "signs"));
    let signing: Result<_, StoreError> = signing.await;
    signing.unwrap();
    let [old] = sealed_under(&app.database).await.try_into().unwrap();
    // Killed after the new key was added to the file: it is used by the next run.
    let new = MasterKey::generate();
    let add = |keys: Vec<MasterKey>| [keys, vec![new.clone()]].concat();
    app.database.key_source().change(add).unwrap();
    assert_eq!(webhook_secret(&dev.live).await, secret);
    // Killed after the key was changed, before anything was sealed under it.
    let other = app.database.open().await;
    let (id, now) = (new.id(), app.clock.now());
    let by = legwork::domain::Actor::COMMAND_LINE;
    let change = move |tx: &mut legwork::store::Tx<'_>| change_master_key(tx, &id, &by, now);
    other.write(change).await.unwrap();
    assert_eq!(sealed_under(&app.database).await.len(), 2);
    assert_eq!(webhook_secret(&dev.live).await, secret);
    // A server that starts now seals under the new key, and reads both.
    let restarted = TestApp::start(&app.database).await;
    let again = restarted.developer().await;
    webhook_secret(&again.live).await;
    let payment = format!("{}/payment", crate::support::path(&task));
    let client = crate::support::Client::new(restarted.address, Some(&dev.live_key));
    client.get(&payment).await.expect(200);
    let_an_hour_pass(&app.database).await;
    command(&app.database, &["secrets", "prune"]).succeed();
    assert_eq!(sealed_under(&app.database).await, [new.id()]);
    assert_ne!(new.id(), old);
    assert_eq!(webhook_secret(&dev.live).await, secret);
    let lines = restarted.store.snapshot(verify_audit).await.unwrap();
    assert_eq!(lines.broken, None);
}

async fn a_key_from_a_setting_is_rotated_with_both(app: TestApp) {
    let dev = app.developer().await;
    let secret = webhook_secret(&dev.live).await;
    dev.create_live_task().await;
    let old = app.database.key_source().load().unwrap().remove(0);
    let file = app.database.folder.path().join("master.key");
    std::fs::remove_file(file).unwrap();
    let run =
        |words: &[&str], keys: &str| command(&app.database, words).env("LEGWORK_MASTER_KEY", keys);
    let (old, new) = (old.to_base64(), MasterKey::generate());
    let both = format!("{},{old}", new.to_base64());
    let refused = run(&["secrets", "rotate"], &old).fail();
    assert!(refused.contains("openssl rand"), "{refused}");
    run(&["secrets", "rotate"], &both).succeed();
    assert_eq!(sealed_under(&app.database).await, [new.id()]);
    let_an_hour_pass(&app.database).await;
    let told = run(&["secrets", "prune"], &both).succeed();
    assert!(
        told.contains("Remove all others from LEGWORK_MASTER_KEY"),
        "{told}"
    );
    run(&["audit", "verify"], &new.to_base64()).succeed();
    run(&["audit", "verify"], &old).fail();
    let given = Secret::presented(&new.to_base64());
    let given = KeySource::new(Some(&given), app.database.folder.path());
    let location = app.database.location();
    let opening = move || legwork::store::Store::open(&location).unwrap();
    let store = tokio::task::spawn_blocking(opening).await.unwrap();
    let store = store.unlock(given, app.clock.now()).await.unwrap();
    let restarted = TestApp::start_on(store, &app.database).await;
    let client = crate::support::Client::new(restarted.address, Some(&dev.live_key));
    assert_eq!(webhook_secret(&client).await, secret);
}

/// The ids of the keys in the file.
fn held(database: &Database) -> Vec<String> {
    let keys = database.key_source().load().unwrap();
    keys.iter().map(MasterKey::id).collect()
}

async fn an_old_key_never_seals_again(app: TestApp) {
    let database = &app.database;
    let old = database.key_source().load().unwrap().remove(0);
    command(database, &["secrets", "rotate"]).succeed();
    let_an_hour_pass(database).await;
    command(database, &["secrets", "prune"]).succeed();
    let [current] = held(database).try_into().unwrap();
    // An old copy of the file comes back, with the new key added to it.
    let add = |keys: Vec<MasterKey>| [vec![old.clone()], keys].concat();
    let both = database.key_source().change(add).unwrap();
    let both: Vec<_> = both.iter().map(MasterKey::to_base64).collect();
    let refused = command(database, &["secrets", "rotate"])
        .env("LEGWORK_MASTER_KEY", &both.join(","))
        .fail();
    assert!(refused.contains("has no new key"), "{refused}");
    command(database, &["secrets", "rotate"]).succeed();
    let [under] = sealed_under(database).await.try_into().unwrap();
    assert!(under != old.id() && under != current, "{under}");
    let (id, now) = (old.id(), app.clock.now());
    let by = legwork::domain::Actor::COMMAND_LINE;
    let change = move |tx: &mut legwork::store::Tx<'_>| change_master_key(tx, &id, &by, now);
    let refused = database.open().await.write(change).await;
    assert!(refused.is_err());
    let_an_hour_pass(database).await;
    command(database, &["secrets", "prune"]).succeed();
    assert_eq!(held(database), [under]);
}

async fn a_key_for_the_next_rotation_is_not_pruned(app: TestApp) {
    let database = &app.database;
    command(database, &["secrets", "rotate"]).succeed();
    let next = MasterKey::generate();
    let add = |keys: Vec<MasterKey>| [keys, vec![next.clone()]].concat();
    database.key_source().change(add).unwrap();
    let [current] = sealed_under(database).await.try_into().unwrap();
    let_an_hour_pass(database).await;
    command(database, &["secrets", "prune"]).succeed();
    assert_eq!(held(database), [current, next.id()]);
}

/// Whoever has the lock sees no change of the file.
async fn rotating_and_pruning_wait_for_each_other(app: TestApp) {
    let database = &app.database;
    command(database, &["secrets", "rotate"]).succeed();
    let_an_hour_pass(database).await;
    let before = held(database);
    let lock = database.key_source().lock().unwrap().unwrap();
    std::thread::scope(|scope| {
        let run = |word: &'static str| {
            scope.spawn(move || command(database, &["secrets", word]).output())
        };
        let runs = [run("rotate"), run("prune")];
        for _ in 0..3 {
            command(database, &["account", "list"]).succeed();
        }
        assert_eq!(held(database), before);
        drop(lock);
        for run in runs {
            run.join().unwrap();
        }
    });
    // In either order, the current key is in the file, and everything is sealed under it.
    let [under] = sealed_under(database).await.try_into().unwrap();
    assert!(held(database).contains(&under));
    command(database, &["account", "list"]).succeed();
}

/// A server whose copy of the file has no new key, while another one rotates.
async fn a_server_without_the_new_key_seals_nothing(app: TestApp) {
    let database = &app.database;
    let dev = app.developer().await;
    let file = database.folder.path().join("master.key");
    let old = std::fs::read_to_string(&file).unwrap();
    command(database, &["secrets", "rotate"]).succeed();
    let both = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, old).unwrap();
    let refused = app.store.refresh_keys(app.clock.now()).await.unwrap_err();
    assert!(matches!(refused, UnlockError::WrongKey { .. }), "{refused}");
    let body = json!({"url": "https://127.0.0.1:9/hook"}).to_string();
    let set = || {
        dev.live
            .send("PUT", "/v1/account/webhook", &[], body.clone())
    };
    assert_eq!(set().await.status, 503);
    let stored = "SELECT secret FROM webhook_endpoints";
    assert!(database.column(stored).await.is_empty());
    // Once the key is there, no restart is needed.
    std::fs::write(&file, both).unwrap();
    set().await.expect(200);
    assert_eq!(sealed_under(database).await.len(), 1);
}

async fn prune_waits_for_servers_that_use_an_old_key(app: TestApp) {
    let database = &app.database;
    let beat = || {
        let (now, store) = (Clock::system().now(), app.store.clone());
        let heartbeat = Heartbeat {
            process: "server".to_owned(),
            alive_until: now.plus(std::time::Duration::from_secs(3600)),
        };
        async move {
            let beaten = store.write(move |tx| tx.beat(&heartbeat)).await;
            beaten
                .map_err(|error: StoreError| error.to_string())
                .unwrap();
        }
    };
    command(database, &["secrets", "rotate"]).succeed();
    let_an_hour_pass(database).await;
    beat().await;
    let refused = command(database, &["secrets", "prune"]).fail();
    assert!(refused.contains("does not seal under the key"), "{refused}");
    assert_eq!(held(database).len(), 2);
    app.store.refresh_keys(app.clock.now()).await.unwrap();
    beat().await;
    command(database, &["secrets", "prune"]).succeed();
    assert_eq!(held(database).len(), 1);
}
