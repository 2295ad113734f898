//! Every route of the admins, with every key that could be tried on it.

use legwork::api::{AdminRoute, admin_routes};
use legwork::domain::AdminRole;
use serde_json::Value;

use crate::support::{Client, Command, Reply, TestApp, on_both_engines};

on_both_engines!(
    no_other_key_opens_a_route_of_the_admins,
    each_role_may_do_what_its_routes_say_and_no_more,
    the_command_line_makes_lists_and_revokes_keys,
);

/// Something that is refused as soon as anybody looks at it.
const HOSTILE: &str = "{\"a\": \"\u{0}\", \"a\": [";

async fn try_route(client: &Client, route: &AdminRoute, body: &'static str) -> Reply {
    let path = route.path.replace("{id}", "none");
    client.send(route.method.as_str(), &path, &[], body).await
}

#[test]
fn the_list_of_routes_is_complete() {
    let document: Value = serde_json::from_str(&legwork::api::openapi_document()).unwrap();
    let mut described = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        if path.starts_with("/v1/admin") {
            let methods = item.as_object().unwrap().keys();
            described.extend(methods.map(|method| format!("{} {path}", method.to_uppercase())));
        }
    }
    let named = |route: AdminRoute| format!("{} {}", route.method, route.path);
    let mut listed: Vec<_> = admin_routes().into_iter().map(named).collect();
    described.sort();
    listed.sort();
    assert_eq!(listed, described);
    assert!(listed.len() >= 27);
}

/// What a viewer may not even read.
const NOT_FOR_VIEWERS: &[&str] = &[
    "/v1/admin/keys",
    "/v1/admin/tasks/{id}/proofs/{proof_id}/original",
];

#[test]
fn viewers_only_read_and_owners_alone_change_terms() {
    // The second factor and the sessions of a key are its own, whatever its role.
    let own = [
        "/v1/admin/second_factor",
        "/v1/admin/second_factor/confirm",
        "/v1/admin/second_factor/recovery_codes",
        "/v1/admin/session",
        "/v1/admin/sessions",
    ];
    for route in admin_routes() {
        if own.contains(&route.path.as_str()) {
            assert_eq!(route.role, AdminRole::Viewer, "{}", route.path);
            continue;
        }
        let is_read = route.method == "GET" && !NOT_FOR_VIEWERS.contains(&route.path.as_str());
        assert_eq!(is_read, route.role == AdminRole::Viewer, "{}", route.path);
    }
    let owners = admin_routes()
        .into_iter()
        .filter(|route| route.role == AdminRole::Owner);
    let owners: Vec<_> = owners.map(|route| route.path).collect();
    let expected = [
        "/v1/admin/accounts",
        "/v1/admin/accounts/{id}/keys",
        "/v1/admin/accounts/{id}/keys/{key_id}",
        "/v1/admin/accounts/{id}/tier",
        "/v1/admin/keys",
        "/v1/admin/keys",
        "/v1/admin/keys/{id}",
        "/v1/admin/payouts/{id}/proposal",
        "/v1/admin/payouts/{id}/write_off",
        "/v1/admin/refunds/{id}/proposal",
        "/v1/admin/refunds/{id}/settle",
        "/v1/admin/workers/{id}/reset_link",
    ];
    assert_eq!(owners, expected);
}

async fn no_other_key_opens_a_route_of_the_admins(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.sign_up(&[]).await;
    let revoked = app.admin().await;
    app.database
        .execute("UPDATE admin_keys SET revoked_at = 1")
        .await;
    let wrong = |key: &str| Client::new(app.address, Some(key));
    let strangers = [
        ("none", app.client()),
        ("malformed", wrong("svc_admin_")),
        ("unknown", wrong(&format!("svc_admin_{}", "0".repeat(64)))),
        ("live", dev.live.clone()),
        ("test", dev.test.clone()),
        ("worker", worker.client.clone()),
        ("revoked", revoked),
    ];
    for route in admin_routes() {
        for (name, stranger) in &strangers {
            let reply = try_route(stranger, &route, HOSTILE).await;
            let what = format!("{name}: {} {}: {}", route.method, route.path, reply.text);
            assert_eq!(reply.status, 401, "{what}");
            assert_eq!(reply.body["error"]["code"], "UNAUTHORIZED", "{what}");
            assert_eq!(reply.header("www-authenticate"), "Bearer", "{what}");
        }
    }
}

async fn each_role_may_do_what_its_routes_say_and_no_more(app: TestApp) {
    for role in AdminRole::ALL {
        let admin = app.admin_with(*role).await;
        for route in admin_routes() {
            let reply = try_route(&admin, &route, HOSTILE).await;
            let what = format!("{role}: {} {}: {}", route.method, route.path, reply.text);
            if role.may(route.role) {
                // A GET does not look at the body: it answers, or finds no such thing.
                let expected = match route.method.as_str() {
                    "GET" => [200, 400, 404].as_slice(),
                    _ => &[400],
                };
                assert!(expected.contains(&reply.status.as_u16()), "{what}");
            } else {
                assert_eq!(reply.status, 403, "{what}");
                assert_eq!(reply.body["error"]["code"], "FORBIDDEN", "{what}");
            }
        }
    }
}

async fn the_command_line_makes_lists_and_revokes_keys(app: TestApp) {
    let run = |arguments: &[&str]| Command::new(arguments).on(&app.database);
    let create = [
        "admin",
        "create-key",
        "--name",
        "Vera",
        "--role",
        "viewer",
        "--json",
    ];
    let viewer: Value = serde_json::from_str(&run(&create).succeed()).unwrap();
    assert_eq!(viewer["role"], "viewer");
    let create = ["admin", "create-key", "--name", "Vito", "--json"];
    let unless_told: Value = serde_json::from_str(&run(&create).succeed()).unwrap();
    assert_eq!(unless_told["role"], "viewer");
    let create = [
        "admin",
        "create-key",
        "--name",
        "Olga",
        "--role",
        "owner",
        "--json",
    ];
    let owner: Value = serde_json::from_str(&run(&create).succeed()).unwrap();
    assert_eq!(owner["role"], "owner");
    let create = ["admin", "create-key", "--name", "X", "--role", "king"];
    assert!(run(&create).fail().contains("king"));
    let client = Client::new(app.address, viewer["key"].as_str());
    client.get("/v1/admin/queue").await.expect(200);
    let id = viewer["id"].as_str().unwrap();
    run(&["admin", "revoke-key", id]).succeed();
    run(&["admin", "revoke-key", id]).succeed();
    let gone = client.get("/v1/admin/queue").await;
    gone.expect_error(401, "UNAUTHORIZED");
    assert!(
        run(&["admin", "revoke-key", "none"])
            .fail()
            .contains("none")
    );
    let list = run(&["admin", "list-keys"]).succeed();
    let lines: Vec<_> = list.lines().collect();
    assert_eq!(lines.len(), 3, "{list}");
    assert!(
        lines[0].contains("viewer") && lines[0].contains("revoked"),
        "{list}"
    );
    assert!(
        lines[2].contains("owner") && lines[2].contains("good"),
        "{list}"
    );
    let json = run(&["admin", "list-keys", "--json"]).succeed();
    for key in [&viewer, &owner] {
        let secret = key["key"].as_str().unwrap();
        assert!(!list.contains(secret) && !json.contains(secret));
    }
    let admin = Client::new(app.address, owner["key"].as_str());
    let audit = admin
        .get("/v1/admin/audit?subject_id=".to_owned().as_str())
        .await;
    assert_eq!(audit.faulty_fields(), ["subject_id"]);
    let audit = admin
        .get(&format!("/v1/admin/audit?subject_id={id}"))
        .await
        .expect(200);
    let actions: Vec<_> = audit["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| &line["action"])
        .collect();
    assert_eq!(actions, ["admin_key.revoked", "admin_key.created"]);
}
