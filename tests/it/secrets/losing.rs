//! How to go on after the master key is lost.

use legwork::domain::Actor;
use legwork::store::{Store, Tx};
use legwork::usecases::record_reset;

use super::webhook_secret;
use crate::support::{Command, Server, TestApp, on_both_engines, path};

on_both_engines!(
    after_the_key_is_lost_the_service_goes_on,
    a_reset_is_recorded_wherever_it_is_interrupted,
);

async fn after_the_key_is_lost_the_service_goes_on(app: TestApp) {
    app.set_time_to_now();
    let dev = app.developer().await;
    let secret = webhook_secret(&dev.live).await;
    let paid = dev.create_paid_task().await;
    let unpaid = dev.create_live_task().await;
    let worker = app.sign_up(&[]).await;
    worker.onboard(&app).await;
    drop(Server::start(&app.database));
    let command = |words: &[&str]| Command::new(words).on(&app.database);
    let nothing = command(&["secrets", "reset", "--yes"]).succeed();
    assert!(nothing.contains("Nothing was changed"), "{nothing}");
    std::fs::remove_file(app.database.folder.path().join("master.key")).unwrap();
    command(&["account", "list"]).fail();
    let unconfirmed = command(&["secrets", "reset"]).fail();
    assert!(unconfirmed.contains("--yes"), "{unconfirmed}");
    let told = command(&["secrets", "reset", "--yes"]).succeed();
    assert!(told.contains("1 webhook secrets"), "{told}");

    let server = Server::start(&app.database);
    let live = server.client(&dev.live_key);
    // Nobody but the developer gets the new secret.
    let new = webhook_secret(&live).await;
    assert_ne!(new, secret);
    assert_eq!(webhook_secret(&live).await, new);
    // Money that has moved is not touched; what was not paid cannot be paid, and is cancelled.
    live.get(&path(&paid)).await.expect(200);
    let payment = live.get(&format!("{}/payment", path(&unpaid))).await;
    let payment = payment.expect(200);
    assert!(payment["payment_client_secret"].is_null(), "{payment}");
    for task in [&paid, &unpaid] {
        let cancel = format!("{}/cancel", path(task));
        live.send("POST", &cancel, &[], "").await.expect(200);
    }
    let created = live.post("/v1/tasks", &crate::support::storefront()).await;
    assert!(created.expect(201)["payment_client_secret"].is_string());
    let verified = command(&["audit", "verify"]).succeed();
    assert!(
        verified.contains("are lost: only their numbers were checked"),
        "{verified}"
    );
    assert!(verified.contains("The audit log is correct."), "{verified}");
}

async fn a_reset_is_recorded_wherever_it_is_interrupted(app: TestApp) {
    let dev = app.developer().await;
    webhook_secret(&dev.live).await;
    std::fs::remove_file(app.database.folder.path().join("master.key")).unwrap();
    let (location, now) = (app.database.location(), app.clock.now());
    let opening = tokio::task::spawn_blocking(move || Store::open(&location).unwrap());
    let record = move |tx: &mut Tx<'_>| record_reset(tx, &Actor::COMMAND_LINE, now);
    let store = opening.await.unwrap();
    let reset = store.reset_keys(app.database.key_source(), now, record);
    let (_, is_another) = reset.await.unwrap();
    assert!(is_another);
    // Killed here, before anything was replaced: the new key is in use, and the log says so.
    let recorded = "SELECT action FROM audit_log WHERE action = 'secrets.reset'";
    assert_eq!(app.database.column(recorded).await.len(), 1);
    let again = || Command::new(&["secrets", "reset", "--yes"]).on(&app.database);
    let told = again().succeed();
    assert!(told.contains("1 webhook secrets"), "{told}");
    assert_eq!(app.database.column(recorded).await.len(), 2);
    let told = again().succeed();
    assert!(told.contains("Nothing was changed"), "{told}");
    assert_eq!(app.database.column(recorded).await.len(), 2);
    Command::new(&["audit", "verify"])
        .on(&app.database)
        .succeed();
}
