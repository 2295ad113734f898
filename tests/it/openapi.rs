//! The committed description is the generated one, and it is complete.

use std::process::Command;

use legwork::api::openapi_document;
use serde_json::Value;

use crate::support::peer;

const COMMITTED: &str = include_str!("../../openapi.json");

#[test]
fn the_committed_description_is_up_to_date() {
    assert!(
        COMMITTED == openapi_document(),
        "openapi.json is old: cargo run -- openapi > openapi.json"
    );
}

#[test]
fn every_operation_is_described_with_its_errors_and_an_example() {
    let document: Value = serde_json::from_str(COMMITTED).unwrap();
    let mut operations = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            operations += 1;
            let name = format!("{method} {path}");
            assert!(operation["operationId"].is_string(), "{name}");
            assert!(operation["summary"].is_string(), "{name}");
            let responses = operation["responses"].as_object().unwrap();
            let keyed = !operation["security"].as_array().unwrap().is_empty();
            let of_key = ["401", "403"].iter().filter(|_| keyed);
            for status in ["429", "500", "503"].iter().chain(of_key) {
                assert!(responses.contains_key(*status), "{name}: {status}");
            }
            for (status, response) in responses {
                let response = resolve(response, &document);
                let mut contents = response["content"].as_object().unwrap().values();
                assert!(
                    contents.all(|content| has_example(content, &document)),
                    "{name}: {status} has no example"
                );
            }
            let body = operation.get("requestBody");
            // A form with files has no example that could stand in a document.
            if let Some(body) = body.filter(|body| body["content"]["multipart/form-data"].is_null())
            {
                let content = &body["content"]["application/json"];
                assert!(has_example(content, &document), "{name}: no example body");
            }
        }
    }
    assert_eq!(operations, 84);
}

/// An example of the content itself, of its schema, or of the objects in its list.
fn has_example(content: &Value, document: &Value) -> bool {
    let schema = resolve(&content["schema"], document);
    let listed = resolve(&schema["properties"]["data"]["items"], document);
    [content, schema, listed]
        .iter()
        .any(|described| !described["example"].is_null() || described["examples"].is_array())
}

fn resolve<'a>(described: &'a Value, document: &'a Value) -> &'a Value {
    match described["$ref"].as_str() {
        Some(reference) => document.pointer(&reference[1..]).unwrap(),
        None => described,
    }
}

/// With the recommended rules of a linter that others wrote.
#[test]
fn the_description_passes_a_linter() {
    let linted = Command::new(peer::variable("LEGWORK_TEST_NODE"))
        .arg(peer::node_modules().join("@redocly/cli/bin/cli.js"))
        .args(["lint", "--extends=recommended", "openapi.json"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("REDOCLY_TELEMETRY", "off")
        .env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&linted.stderr);
    assert!(
        linted.status.success() && !told.contains("warning"),
        "{told}"
    );
}
