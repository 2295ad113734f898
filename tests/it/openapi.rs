//! The committed description is the generated one, and it is complete.

use legwork::api::openapi_document;
use serde_json::Value;

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
    let schemas = &document["components"]["schemas"];
    let mut operations = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            operations += 1;
            let name = format!("{method} {path}");
            assert!(operation["operationId"].is_string(), "{name}");
            assert!(operation["summary"].is_string(), "{name}");
            let responses = operation["responses"].as_object().unwrap();
            for status in ["401", "403", "429", "500", "503"] {
                assert!(responses.contains_key(status), "{name}: {status}");
            }
            for (status, response) in responses {
                let mut contents = response["content"].as_object().unwrap().values();
                assert!(
                    contents.all(|content| has_example(content, schemas)),
                    "{name}: {status} has no example"
                );
            }
            let body = operation.get("requestBody");
            // A form with files has no example that could stand in a document.
            if let Some(body) = body.filter(|body| body["content"]["multipart/form-data"].is_null())
            {
                let content = &body["content"]["application/json"];
                assert!(has_example(content, schemas), "{name}: no example body");
            }
        }
    }
    assert_eq!(operations, 84);
}

/// An example of the content itself, of its schema, or of the objects in its list.
fn has_example(content: &Value, schemas: &Value) -> bool {
    let schema = resolve(&content["schema"], schemas);
    let listed = resolve(&schema["properties"]["data"]["items"], schemas);
    [content, schema, listed]
        .iter()
        .any(|described| !described["example"].is_null())
}

fn resolve<'a>(schema: &'a Value, schemas: &'a Value) -> &'a Value {
    let reference = schema["$ref"].as_str().unwrap_or_default();
    match reference.strip_prefix("#/components/schemas/") {
        Some(name) => &schemas[name],
        None => schema,
    }
}
