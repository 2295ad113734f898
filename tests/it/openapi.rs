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
                // Requests that send pieces of a file are answered by headers alone.
                let empty = serde_json::Map::new();
                let content = response["content"].as_object();
                let content = match path.starts_with("/v1/worker/uploads") {
                    true => content.unwrap_or(&empty),
                    false => content.unwrap(),
                };
                let mut contents = content.values();
                assert!(
                    contents.all(|content| has_example(content, &document)),
                    "{name}: {status} has no example"
                );
            }
            let body = operation.get("requestBody");
            // A form with files has no example that could stand in a document, nor have pieces of a file.
            let is_json = |body: &&Value| {
                let content = &body["content"];
                content["multipart/form-data"].is_null()
                    && content["application/offset+octet-stream"].is_null()
            };
            if let Some(body) = body.filter(is_json) {
                let content = &body["content"]["application/json"];
                assert!(has_example(content, &document), "{name}: no example body");
            }
        }
    }
    assert_eq!(operations, 160);
}

#[test]
fn every_example_is_of_its_schema() {
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");
    let mut check = peer::python("check_examples.py");
    let output = check.arg(document).output().unwrap();
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{problem}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let faults = found["faults"].as_array().unwrap();
    assert!(faults.is_empty(), "{faults:#?}");
    // Each request body and each object of the interface has one.
    assert!(found["checked"].as_u64().unwrap() > 80, "{found}");
}

#[test]
fn no_schema_is_named_after_its_rust_type() {
    let document: Value = serde_json::from_str(COMMITTED).unwrap();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let bodies: Vec<_> = schemas
        .keys()
        .filter(|name| name.contains("Body"))
        .collect();
    assert!(bodies.is_empty(), "{bodies:?}");
}

#[test]
fn every_id_has_its_pattern_and_every_time_its_format() {
    let document: Value = serde_json::from_str(COMMITTED).unwrap();
    // Bodies of requests have the pattern itself.
    let pattern = document["components"]["schemas"]["Id"]["pattern"].to_string();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let own = schema["properties"].as_object();
        let parts = schema["allOf"].as_array().into_iter().flatten();
        let parts = parts.filter_map(|part| part["properties"].as_object());
        for (field, described) in own.into_iter().chain(parts).flatten() {
            let described = described.to_string();
            let is_id = field == "id" || field.ends_with("_id");
            if is_id && !FREE_IDS.contains(&(name.as_str(), field.as_str())) {
                let has_pattern =
                    described.contains("/schemas/Id\"") || described.contains(&pattern);
                assert!(has_pattern, "{name}.{field}");
            }
            if field.ends_with("_at") || field.ends_with("_until") || field.ends_with("_since") {
                assert!(described.contains("date-time"), "{name}.{field}");
            }
        }
    }
}

/// Ids of others: the audit log names objects of any kind, and a sender names its requests and its
/// submissions.
const FREE_IDS: [(&str, &str); 7] = [
    ("AuditLine", "subject_id"),
    ("BundleKey", "id"),
    ("ErrorContent", "request_id"),
    ("LoggedRequest", "request_id"),
    ("SubmitProof", "submission_id"),
    ("SubmitUploads", "submission_id"),
    ("WorkerPayoutAccount", "id"),
];

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
    let output = String::from_utf8_lossy(&linted.stderr);
    let clean = linted.status.success() && !output.contains("You have ");
    assert!(clean, "{output}");
}
