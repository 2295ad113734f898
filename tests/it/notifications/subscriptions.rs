//! Push subscriptions live as long as the session that made them.

use std::time::Duration;

use legwork::maintenance::prune;
use serde_json::{Value, json};

use crate::support::{
    Developer, PASSWORD, Receiver, Reply, TestApp, Worker, browser_keys, on_both_engines,
};

on_both_engines!(
    a_subscription_ends_with_its_session,
    what_ends_all_sessions_ends_all_subscriptions,
    what_waits_is_not_sent_to_whoever_signed_out,
    what_waits_is_not_sent_to_a_session_that_expired,
    one_of_no_known_session_ends_with_the_next_password,
    a_browser_goes_on_with_the_next_sign_in,
    one_that_races_with_a_change_of_password_is_not_kept,
    the_oldest_of_too_many_goes,
);

const NEW: &str = "staple battery horse";
const SUBSCRIPTIONS: &str = "/v1/worker/push_subscriptions";

struct World {
    app: TestApp,
    receiver: Receiver,
    dev: Developer,
    worker: Worker,
}

impl World {
    /// A worker with a browser that gets messages.
    async fn new(app: TestApp) -> Self {
        let (app, receiver) = app.with_receiver().await;
        let (dev, worker) = (app.developer().await, app.ready_worker().await);
        let world = Self {
            app,
            receiver,
            dev,
            worker,
        };
        world.subscribe(&world.worker, "/own").await.expect(201);
        world
    }

    async fn subscribe(&self, session: &Worker, path: &str) -> Reply {
        let body = json!({"endpoint": self.receiver.url(path), "keys": browser_keys()});
        session.client.post(SUBSCRIPTIONS, &body).await
    }

    /// Another session of the worker, with a browser of its own.
    async fn stolen(&self) -> Worker {
        let session = self.worker.signed_in_again(&self.app).await;
        self.subscribe(&session, "/stolen").await.expect(201);
        session
    }

    /// The browsers that the server knows.
    async fn known(&self) -> Vec<String> {
        let all = "SELECT endpoint FROM push_subscriptions ORDER BY endpoint";
        let endpoints = self.app.database.column(all).await;
        let path = |url: &String| url[url.rfind('/').unwrap()..].to_owned();
        endpoints.iter().map(path).collect()
    }

    /// Has the worker told of something, and returns which browsers it reached.
    async fn told(&self, session: &Worker) -> Vec<String> {
        let before = self.receiver.received().len();
        let task = self.dev.create_paid_task().await;
        session.act(&task, "accept").await.expect(200);
        let sent = self.sent_since(before).await;
        // There is room for the next one.
        session.act(&task, "release").await.expect(200);
        sent
    }

    async fn sent_since(&self, before: usize) -> Vec<String> {
        // A worker has a few on their way at a time. The others come seconds later.
        while self.app.jobs.drain().await.unwrap() > 0 {
            self.app.advance(Duration::from_secs(5));
        }
        let sent = self.receiver.received();
        let mut paths: Vec<_> = sent[before..]
            .iter()
            .map(|sent| sent.path.clone())
            .collect();
        paths.sort_unstable();
        paths
    }

    async fn change_password(&self, from: &str, to: &str) {
        let body = json!({"current_password": from, "password": to}).to_string();
        let path = "/v1/worker/password";
        let changed = self.worker.client.send("PUT", path, &[], body).await;
        changed.expect(200);
    }

    async fn quiet(&self, from: &str, to: &str) {
        let body = json!({"quiet_from": from, "quiet_to": to}).to_string();
        let path = "/v1/worker/push_settings";
        let set = self.worker.client.send("PUT", path, &[], body).await;
        set.expect(200);
    }
}

async fn a_subscription_ends_with_its_session(app: TestApp) {
    let world = World::new(app).await;
    let worker = &world.worker;
    for way in ["signed out", "revoked", "password"] {
        let stolen = world.stolen().await;
        assert_eq!(world.told(worker).await, ["/own", "/stolen"], "{way}");
        match way {
            "signed out" => {
                stolen.client.delete("/v1/worker/session").await.expect(200);
            }
            "revoked" => {
                let sessions = stolen.client.get("/v1/worker/sessions").await.expect(200);
                let mut sessions = sessions["data"].as_array().unwrap().iter();
                let own = sessions.find(|session| session["current"] == true).unwrap();
                let path = format!("/v1/worker/sessions/{}", own["id"].as_str().unwrap());
                worker.client.delete(&path).await.expect(200);
            }
            _ => {
                let before = world.receiver.received().len();
                world.change_password(PASSWORD, NEW).await;
                // Whoever has to change it because of somebody else does not tell them.
                assert_eq!(world.sent_since(before).await, ["/own"]);
            }
        }
        assert_eq!(world.known().await, ["/own"], "{way}");
        assert_eq!(world.told(worker).await, ["/own"], "{way}");
    }
}

async fn what_ends_all_sessions_ends_all_subscriptions(app: TestApp) {
    let world = World::new(app).await;
    world.stolen().await;
    let admin = world.app.admin().await;
    let of_worker = |action: &str| format!("/v1/admin/workers/{}/{action}", world.worker.id);
    let link = admin.post(&of_worker("reset_link"), &json!({})).await;
    let link = link.expect(201);
    let (_, token) = link["url"].as_str().unwrap().rsplit_once('/').unwrap();
    let body = json!({"token": token, "password": PASSWORD});
    let confirm = "/v1/workers/password_reset/confirm";
    let before = world.receiver.received().len();
    let reset = world.app.client().post(confirm, &body).await;
    reset.expect(200);
    assert_eq!(world.known().await, Vec::<String>::new());
    let session = world.worker.signed_in_again(&world.app).await;
    assert_eq!(world.told(&session).await, Vec::<String>::new());

    world.subscribe(&session, "/again").await.expect(201);
    let suspended = admin.post(&of_worker("suspend"), &json!({})).await;
    suspended.expect(200);
    assert_eq!(world.known().await, Vec::<String>::new());
    assert_eq!(world.sent_since(before).await, Vec::<String>::new());
}

async fn what_waits_is_not_sent_to_whoever_signed_out(app: TestApp) {
    let world = World::new(app).await;
    let stolen = world.stolen().await;
    // It is noon.
    world.quiet("11:00", "12:30").await;
    assert_eq!(world.told(&world.worker).await, Vec::<String>::new());
    let signed_out = stolen.client.delete("/v1/worker/session").await;
    signed_out.expect(200);
    world.app.advance(Duration::from_secs(31 * 60));
    assert_eq!(world.sent_since(0).await, ["/own"]);
}

async fn what_waits_is_not_sent_to_a_session_that_expired(app: TestApp) {
    let world = World::new(app).await;
    world.quiet("11:00", "12:30").await;
    world
        .app
        .advance(Duration::from_secs((30 * 24 - 1) * 60 * 60));
    let session = world.worker.signed_in_again(&world.app).await;
    world.subscribe(&session, "/later").await.expect(201);
    world.app.advance(Duration::from_secs(59 * 60));
    assert_eq!(world.told(&session).await, Vec::<String>::new());
    world.app.advance(Duration::from_secs(32 * 60));
    assert_eq!(world.sent_since(0).await, ["/later"]);
    assert_eq!(world.known().await, ["/later", "/own"]);
    let now = world.app.clock.now();
    prune(&world.app.store, now).await.unwrap();
    assert_eq!(world.known().await, ["/later"]);
}

/// From before subscriptions belonged to sessions.
async fn one_of_no_known_session_ends_with_the_next_password(app: TestApp) {
    let world = World::new(app).await;
    let stolen = world.stolen().await;
    let forget = "UPDATE push_subscriptions SET token_hash = NULL WHERE endpoint LIKE '%/stolen'";
    world.app.database.execute(forget).await;
    stolen.client.delete("/v1/worker/session").await.expect(200);
    assert_eq!(world.told(&world.worker).await, ["/own", "/stolen"]);
    world.change_password(PASSWORD, NEW).await;
    assert_eq!(world.known().await, ["/own"]);
}

async fn a_browser_goes_on_with_the_next_sign_in(app: TestApp) {
    let world = World::new(app).await;
    let session = world.worker.signed_in_again(&world.app).await;
    let id = |reply: Value| reply["id"].clone();
    let before = world.subscribe(&world.worker, "/own").await;
    let again = world.subscribe(&session, "/own").await;
    assert_eq!(id(before.expect(201)), id(again.expect(201)));
    let signed_out = world.worker.client.delete("/v1/worker/session").await;
    signed_out.expect(200);
    assert_eq!(world.told(&session).await, ["/own"]);
}

async fn one_that_races_with_a_change_of_password_is_not_kept(app: TestApp) {
    let world = World::new(app).await;
    let mut passwords = [PASSWORD, NEW];
    for round in 0..4 {
        let [old, new] = passwords;
        let body = json!({"email": world.worker.email, "password": old});
        let signed_in = world.app.client().post("/v1/workers/sessions", &body).await;
        let signed_in = signed_in.expect(201);
        let stolen = Worker {
            client: crate::support::Client::new(world.app.address, signed_in["token"].as_str()),
            ..world.worker.clone()
        };
        let (subscribed, ()) = tokio::join!(
            world.subscribe(&stolen, "/stolen"),
            world.change_password(old, new),
        );
        let status = subscribed.status.as_u16();
        assert!([201, 401].contains(&status), "{}", subscribed.text);
        assert_eq!(world.known().await, ["/own"], "{round}");
        passwords.reverse();
    }
}

async fn the_oldest_of_too_many_goes(app: TestApp) {
    let world = World::new(app).await;
    let (other, worker) = (world.app.sign_up(&[]).await, &world.worker);
    world.subscribe(&other, "/other").await.expect(201);
    let mut paths = vec!["/own".to_owned()];
    for number in 10..31 {
        world.app.advance(Duration::from_millis(1));
        paths.push(format!("/{number}"));
        let stored = world.subscribe(worker, &paths[paths.len() - 1]).await;
        stored.expect(201);
    }
    // The first two are gone, and the one of somebody else is not.
    let newest = paths.split_off(2);
    assert_eq!(world.told(worker).await, newest);
    assert_eq!(
        world.known().await,
        [newest, vec!["/other".to_owned()]].concat()
    );
}
