//! Who may do what: every route with every kind of caller. A route that the tables do not state fails.

mod mandates;
mod table;
mod world;

use std::collections::BTreeSet;

use legwork::api::admin_routes;
use legwork::domain::{AccountId, Actor, AdminRole};
use legwork::usecases;
use serde_json::{Value, json};

use crate::support::{Client, Developer, Reply, TestApp, on_both_engines};
use table::Answer::{self, No, Yes};
use table::{ADMINS, DEVELOPERS, OPEN, WORKERS};
use world::World;

on_both_engines!(
    callers_without_a_right_key_get_nothing_and_change_nothing,
    another_account_finds_nothing,
    the_other_environment_finds_nothing,
    the_owner_finds_everything,
    workers_reach_what_is_theirs,
    admins_do_what_their_role_allows,
    open_routes_take_everybody,
);

/// Every route that is described, as `GET /v1/tasks/{id}`.
fn described() -> BTreeSet<String> {
    let document: Value = serde_json::from_str(&legwork::api::openapi_document()).unwrap();
    let mut routes = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let methods = item.as_object().unwrap().keys();
        routes.extend(methods.map(|method| format!("{} {path}", method.to_uppercase())));
    }
    routes
}

/// Every route of the tables, with the scheme that its audience needs.
fn stated() -> Vec<(&'static str, &'static str)> {
    let developers = DEVELOPERS.iter().map(|row| (row.route, "developer_key"));
    let workers = WORKERS.iter().map(|row| (row.route, "worker_token"));
    let admins = ADMINS.iter().map(|row| (row.route, "admin_key"));
    let open = OPEN.iter().map(|(route, _)| (*route, "none"));
    developers
        .chain(workers)
        .chain(admins)
        .chain(open)
        .collect()
}

#[test]
fn every_route_has_a_stated_answer() {
    let stated: Vec<_> = stated()
        .into_iter()
        .map(|(route, _)| route.to_owned())
        .collect();
    let once: BTreeSet<_> = stated.iter().cloned().collect();
    assert_eq!(stated.len(), once.len(), "a route is stated twice");
    let missing: Vec<_> = described().difference(&once).cloned().collect();
    let gone: Vec<_> = once.difference(&described()).cloned().collect();
    assert!(missing.is_empty(), "state who may do this: {missing:#?}");
    assert!(gone.is_empty(), "no such routes: {gone:#?}");
}

#[test]
fn every_route_is_in_the_table_of_its_audience() {
    let document: Value = serde_json::from_str(&legwork::api::openapi_document()).unwrap();
    for (route, scheme) in stated() {
        let (method, path) = route.split_once(' ').unwrap();
        let operation = &document["paths"][path][method.to_lowercase()];
        let needed = operation["security"][0].as_object();
        let needed = needed.and_then(|schemes| schemes.keys().next());
        assert_eq!(needed.map_or("none", String::as_str), scheme, "{route}");
    }
    for route in admin_routes() {
        let name = format!("{} {}", route.method, route.path);
        let row = ADMINS.iter().find(|row| row.route == name).unwrap();
        assert_eq!(row.role, route.role, "{name}");
    }
}

#[track_caller]
fn check(who: &str, route: &str, reply: &Reply, expected: Answer) {
    let code = reply.body["error"]["code"].as_str();
    let what = format!("{who}: {route}: {} {}", reply.status, reply.text);
    match expected {
        Yes => {
            let allowed = reply.status.is_success() || reply.status == 409;
            assert!(allowed, "{what}");
        }
        // An answer to HEAD has no body to say why.
        No(expected) if route.starts_with("HEAD ") => {
            let status = match expected {
                "UNAUTHORIZED" => 401,
                "UPLOAD_NOT_FOUND" => 404,
                other => panic!("{what}: not {other}"),
            };
            assert_eq!(reply.status, status, "{what}");
        }
        No(expected) => assert_eq!(code, Some(expected), "{what}"),
    }
}

/// A server of one's own: strangers use up what an address may ask.
async fn elsewhere(world: &World, key: Option<&str>) -> (TestApp, Client) {
    let app = TestApp::start_on(world.app.store.clone(), &world.app.database).await;
    let client = Client::new(app.address, key);
    (app, client)
}

async fn callers_without_a_right_key_get_nothing_and_change_nothing(app: TestApp) {
    let world = World::build(&app).await;
    let (deleted, suspended) = (app.developer().await, app.developer().await);
    let before = world.state().await;
    let revoked = revoked_keys(&app, &world.dev).await;
    delete(&app, &deleted).await;
    let admin = app.admin().await;
    let suspend = format!("/v1/admin/accounts/{}/suspend", suspended.account_id);
    admin.post(&suspend, &json!({})).await.expect(200);
    let unknown = format!("svc_live_{}", "0".repeat(64));
    let mut callers = vec![
        ("nobody", None, ""),
        ("a wrong key", Some(unknown.as_str()), ""),
        ("a key that is none", Some("sesame"), ""),
        ("a deleted account", Some(deleted.live_key.as_str()), ""),
        (
            "a suspended account",
            Some(suspended.live_key.as_str()),
            "developer_key",
        ),
        (
            "a developer",
            Some(world.dev.live_key.as_str()),
            "developer_key",
        ),
        (
            "a developer in test",
            Some(world.dev.test_key.as_str()),
            "developer_key",
        ),
        ("a worker", Some(world.holder.client.key()), "worker_token"),
        ("an admin", Some(admin.key()), "admin_key"),
    ];
    callers.extend(
        revoked
            .iter()
            .map(|(who, key)| (*who, Some(key.as_str()), "")),
    );
    for (who, key, own) in callers {
        let (_server, client) = elsewhere(&world, key).await;
        for (route, scheme) in stated() {
            let code = match who {
                // Who is right here is the subject of other tests.
                _ if scheme == "none" => continue,
                "a suspended account" if scheme == own => "ACCOUNT_SUSPENDED",
                _ if scheme == own => continue,
                _ => "UNAUTHORIZED",
            };
            let reply = world.send(&client, route).await;
            check(who, route, &reply, No(code));
            for private in world.private() {
                assert!(
                    !reply.text.contains(private),
                    "{who}: {route}: {}",
                    reply.text
                );
            }
        }
    }
    assert_eq!(world.state().await, before);
}

/// Keys that were right once.
async fn revoked_keys(app: &TestApp, dev: &Developer) -> Vec<(&'static str, String)> {
    let new = json!({"name": "Old", "environment": "live"});
    let key = dev.live.post("/v1/account/keys", &new).await.expect(201);
    let path = format!("/v1/account/keys/{}", key["id"].as_str().unwrap());
    dev.live.delete(&path).await.expect(200);
    let worker = app.sign_up(&[]).await;
    worker.client.delete("/v1/worker/session").await.expect(200);
    let admin = app.admin().await;
    let prefix = &admin.key()[..20];
    let revoke = format!("UPDATE admin_keys SET revoked_at = 1 WHERE key_prefix = '{prefix}'");
    app.database.execute(&revoke).await;
    vec![
        ("a revoked API key", key["key"].as_str().unwrap().to_owned()),
        ("a signed-out worker", worker.client.key().to_owned()),
        ("a revoked admin key", admin.key().to_owned()),
    ]
}

async fn delete(app: &TestApp, dev: &Developer) {
    let (id, now) = (AccountId::parse(&dev.account_id).unwrap(), app.clock.now());
    app.store
        .write(move |tx| usecases::delete_account(tx, id, &Actor::COMMAND_LINE, now))
        .await
        .unwrap();
}

/// The key that a route of developers needs, or that of the other environment.
fn key_for<'a>(dev: &'a Developer, route: &str, other_environment: bool) -> &'a Client {
    if route.contains("/v1/test_helpers") != other_environment {
        &dev.test
    } else {
        &dev.live
    }
}

async fn another_account_finds_nothing(app: TestApp) {
    let world = World::build(&app).await;
    let other = app.developer().await;
    let before = world.state().await;
    for row in DEVELOPERS {
        let client = key_for(&other, row.route, false);
        let reply = world.send(client, row.route).await;
        check("another account", row.route, &reply, row.other_account);
        for private in world.private() {
            assert!(
                !reply.text.contains(private),
                "{}: {}",
                row.route,
                reply.text
            );
        }
    }
    assert_eq!(world.state().await, before);
}

async fn the_other_environment_finds_nothing(app: TestApp) {
    let world = World::build(&app).await;
    let tasks = async || {
        let (live, test) = (&world.dev.live, &world.dev.test);
        [
            live.get("/v1/tasks").await.expect(200),
            test.get("/v1/tasks").await.expect(200),
        ]
    };
    let before = tasks().await;
    for row in DEVELOPERS {
        let client = key_for(&world.dev, row.route, true);
        let reply = world.send(client, row.route).await;
        check(
            "the other environment",
            row.route,
            &reply,
            row.other_environment,
        );
    }
    let after = tasks().await;
    assert_eq!(after[0], before[0], "a test key changed live tasks");
    // The test key has created a test task of its own, and one more in a batch.
    assert_eq!(after[1]["meta"]["total"], 3);
}

async fn the_owner_finds_everything(app: TestApp) {
    let world = World::build(&app).await;
    for row in DEVELOPERS {
        let client = key_for(&world.dev, row.route, false);
        let reply = world.send(client, row.route).await;
        check("the owner", row.route, &reply, row.own);
    }
}

async fn workers_reach_what_is_theirs(app: TestApp) {
    let world = World::build(&app).await;
    let other = app.ready_worker().await;
    let before = world.state().await;
    for row in WORKERS {
        let reply = world.send(&other.client, row.route).await;
        check("another worker", row.route, &reply, row.other);
    }
    assert_eq!(world.state().await, before);
    // On a world of its own, since a suspension gives tasks to others.
    let mut second = World::build(&app).await;
    let suspend = format!("/v1/admin/workers/{}/suspend", second.holder.id);
    app.admin()
        .await
        .post(&suspend, &json!({}))
        .await
        .expect(200);
    second.holder = second.holder.signed_in_again(&app).await;
    for row in WORKERS {
        let reply = second.send(&second.holder.client, row.route).await;
        check("a suspended worker", row.route, &reply, row.suspended);
    }
    for row in WORKERS {
        let reply = world.send(&world.holder.client, row.route).await;
        check("the holder", row.route, &reply, row.holder);
    }
}

async fn admins_do_what_their_role_allows(app: TestApp) {
    let world = World::build(&app).await;
    for role in AdminRole::ALL {
        let admin = app.admin_with(*role).await;
        for row in ADMINS {
            let expected = match role.may(row.role) {
                true => row.answer,
                false => No("FORBIDDEN"),
            };
            let reply = world.send(&admin, row.route).await;
            check(role.as_str(), row.route, &reply, expected);
        }
    }
}

async fn open_routes_take_everybody(app: TestApp) {
    let world = World::build(&app).await;
    let (worker, admin) = (&world.holder.client, app.admin().await);
    for client in [&app.client(), &world.dev.live, worker, &admin] {
        for (route, expected) in OPEN {
            let reply = world.send(client, route).await;
            check("anybody", route, &reply, *expected);
        }
    }
}
