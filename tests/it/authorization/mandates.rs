//! Keys with a mandate: every route of developers with every permission alone, and with keys that may do
//! nothing any more.

use std::collections::BTreeMap;

use legwork::api::developer_routes;
use legwork::domain::accounts::mandate::{Needs, Permission};
use serde_json::{Value, json};

use super::table::Answer::{self, No};
use super::table::DEVELOPERS;
use super::world::World;
use super::{check, described};
use crate::support::{Client, Developer, TestApp, on_both_engines};

on_both_engines!(
    a_permission_opens_its_routes_and_no_others,
    a_key_that_was_stopped_does_nothing,
    a_limited_key_of_another_account_finds_nothing,
);

const READ_OR_CREATE: [Permission; 2] = [Permission::Read, Permission::Create];

/// What each route needs of a key, by its name.
fn needs() -> BTreeMap<String, Needs> {
    let routes = developer_routes().into_iter();
    routes
        .map(|route| (format!("{} {}", route.method, route.path), route.needs))
        .collect()
}

#[test]
fn every_route_of_developers_says_what_it_needs() {
    let needs = needs();
    let stated: Vec<_> = DEVELOPERS.iter().map(|row| row.route.to_owned()).collect();
    for route in &stated {
        assert!(needs.contains_key(route), "{route} says nothing");
    }
    assert_eq!(needs.len(), stated.len());
    let document: Value = serde_json::from_str(&legwork::api::openapi_document()).unwrap();
    for (route, needs) in &needs {
        assert!(described().contains(route));
        let (method, path) = route.split_once(' ').unwrap();
        let operation = &document["paths"][path][method.to_lowercase()];
        assert_eq!(operation["x-permission"], needs.as_str(), "{route}");
    }
}

/// What no permission may ever open.
#[test]
fn the_account_is_never_granted() {
    for (route, needs) in needs() {
        let managed = route.contains("/v1/account") || route.ends_with("/approve");
        let managed = managed && !route.contains("/proofs/");
        if managed || route.ends_with("/refuse") {
            assert!(
                matches!(needs, Needs::Unlimited | Needs::WholeAccount),
                "{route}"
            );
        }
    }
}

/// A live key and a test key with the same mandate.
struct Pair {
    ids: [String; 2],
    live: Client,
    test: Client,
}

impl Pair {
    async fn of(app: &TestApp, dev: &Developer, mandate: &Value) -> Self {
        let (mut ids, mut clients) = (Vec::new(), Vec::new());
        for environment in ["live", "test"] {
            let new = json!({"name": "Limited", "environment": environment, "mandate": mandate});
            let made = dev.live.post("/v1/account/keys", &new).await.expect(201);
            ids.push(made["id"].as_str().unwrap().to_owned());
            clients.push(Client::new(app.address, made["key"].as_str()));
        }
        Self {
            ids: ids.try_into().unwrap(),
            test: clients.pop().unwrap(),
            live: clients.pop().unwrap(),
        }
    }

    fn for_route(&self, route: &str) -> &Client {
        match route.contains("/v1/test_helpers") {
            true => &self.test,
            false => &self.live,
        }
    }
}

fn all_permissions() -> Value {
    let all: Vec<_> = Permission::ALL.iter().map(|p| p.as_str()).collect();
    json!({ "permissions": all })
}

async fn a_permission_opens_its_routes_and_no_others(app: TestApp) {
    let world = World::build(&app).await;
    let needs = needs();
    let mut pairs = Vec::new();
    for permission in Permission::ALL {
        let mandate = json!({"permissions": [permission.as_str()]});
        pairs.push((*permission, Pair::of(&app, &world.dev, &mandate).await));
    }
    let before = world.state().await;
    for (permission, pair) in &pairs {
        for row in DEVELOPERS {
            let opened = match needs[row.route] {
                Needs::Permission(needed) => needed == *permission,
                Needs::ReadOrCreate => READ_OR_CREATE.contains(permission),
                Needs::Nothing => true,
                Needs::Unlimited | Needs::WholeAccount => false,
            };
            if !opened {
                let reply = world.send(pair.for_route(row.route), row.route).await;
                check(
                    permission.as_str(),
                    row.route,
                    &reply,
                    No("PERMISSION_DENIED"),
                );
            }
        }
    }
    assert_eq!(world.state().await, before);
    // What is allowed changes things, so it comes last.
    for row in DEVELOPERS {
        for (permission, pair) in &pairs {
            let client = pair.for_route(row.route);
            let expected: Answer = match needs[row.route] {
                // The task was created by the owner's key.
                Needs::Permission(Permission::Create) if row.route == "PATCH /v1/tasks/{id}" => {
                    if *permission != Permission::Create {
                        continue;
                    }
                    No("PERMISSION_DENIED")
                }
                Needs::Permission(needed) if needed == *permission => row.own,
                Needs::ReadOrCreate if READ_OR_CREATE.contains(permission) => row.own,
                Needs::Nothing => Answer::Yes,
                _ => continue,
            };
            let reply = world.send(client, row.route).await;
            check(permission.as_str(), row.route, &reply, expected);
        }
    }
}

async fn a_key_that_was_stopped_does_nothing(app: TestApp) {
    let world = World::build(&app).await;
    let mut paused = all_permissions();
    paused["paused"] = json!(true);
    let paused = Pair::of(&app, &world.dev, &paused).await;
    let mut short = all_permissions();
    short["expires_at"] = json!("2025-11-15T12:00:01Z");
    let expired = Pair::of(&app, &world.dev, &short).await;
    let revoked = Pair::of(&app, &world.dev, &all_permissions()).await;
    for id in &revoked.ids {
        let revoke = format!("/v1/account/keys/{id}");
        world.dev.live.delete(&revoke).await.expect(200);
    }
    app.set_time("2025-11-15T12:00:01Z");
    let before = world.state().await;
    let needs = needs();
    for row in DEVELOPERS {
        let unless_its_own = |code| match needs[row.route] {
            Needs::Nothing => Answer::Yes,
            _ => No(code),
        };
        for (who, pair, expected) in [
            ("paused", &paused, unless_its_own("MANDATE_PAUSED")),
            ("expired", &expired, unless_its_own("MANDATE_EXPIRED")),
            ("revoked", &revoked, No("UNAUTHORIZED")),
        ] {
            let reply = world.send(pair.for_route(row.route), row.route).await;
            check(who, row.route, &reply, expected);
        }
    }
    assert_eq!(world.state().await, before);
}

async fn a_limited_key_of_another_account_finds_nothing(app: TestApp) {
    let world = World::build(&app).await;
    let other = app.developer().await;
    let pair = Pair::of(&app, &other, &all_permissions()).await;
    let before = world.state().await;
    let needs = needs();
    for row in DEVELOPERS {
        let expected = match needs[row.route] {
            Needs::Permission(_) | Needs::ReadOrCreate => row.other_account,
            Needs::Nothing => Answer::Yes,
            Needs::Unlimited | Needs::WholeAccount => No("PERMISSION_DENIED"),
        };
        let reply = world.send(pair.for_route(row.route), row.route).await;
        check("another account", row.route, &reply, expected);
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
