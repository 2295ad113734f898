//! `legwork bundle ...`, for whoever gets a bundle.

use serde_json::Value;

use crate::support::{Command, Database, Engine, Server, key_in, path, runtime, storefront};

#[test]
fn a_bundle_is_checked_without_the_service() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let database = Database::create(engine);
        let server = Server::start(&database);
        let client = server.client(&key_in(&server.greeting, "svc_test_"));
        // The key is there from the first start.
        let (keys, bundle) = runtime().block_on(async {
            let keys = client.get("/.well-known/legwork-keys.json").await;
            let task = client.post("/v1/tasks", &storefront()).await.expect(201);
            let bundle = client.get(&format!("{}/bundle", path(&task))).await;
            (keys.text, bundle.bytes)
        });
        let printed = Command::new(&["bundle", "keys"]).on(&database).succeed();
        let printed: Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(printed, serde_json::from_str::<Value>(&keys).unwrap());
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| {
            std::fs::write(folder.path().join(name), bytes).unwrap();
        };
        file("keys.json", keys.as_bytes());
        file("bundle.zip", &bundle);
        let check = |arguments: &[&str]| {
            let command = [&["bundle", "verify"][..], arguments].concat();
            Command::new(&command).current_dir(folder.path())
        };
        let said = check(&["bundle.zip", "--keys", "keys.json"]).succeed();
        assert!(said.contains("every hash"), "{said}");
        let said = check(&["bundle.zip"]).on(&database).succeed();
        assert!(said.contains("every hash"), "{said}");
        let mut changed = bundle.to_vec();
        let at = changed.len() / 2;
        changed[at] ^= 1;
        file("changed.zip", &changed);
        let changed = check(&["changed.zip", "--keys", "keys.json"]).output();
        assert_eq!(changed.status.code(), Some(1));
        let said = String::from_utf8(changed.stderr).unwrap();
        assert!(said.contains("changed.zip: "), "{said}");
        // Without keys and without a database nothing is believed, and nothing is made.
        let said = check(&["bundle.zip", "--data", "typo"]).fail();
        assert!(said.contains("--keys"), "{said}");
        assert!(!folder.path().join("typo").exists());
        for unreadable in [
            &["none.zip", "--keys", "keys.json"],
            &["bundle.zip", "--keys", "none"],
        ] {
            let said = check(unreadable).fail();
            assert!(said.contains("none"), "{said}");
        }
        let rotated = Command::new(&["bundle", "rotate-key"]).on(&database);
        assert!(rotated.succeed().contains("now signed with the key"));
        let printed = Command::new(&["bundle", "keys"]).on(&database).succeed();
        let printed: Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(printed["keys"].as_array().unwrap().len(), 2);
        drop(server);
    }
}
