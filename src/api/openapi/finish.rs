//! What is done to the description once all operations are in it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{ContentBuilder, OpenApi, Ref, RefOr, Response, ResponseBuilder};

use crate::api::error::codes::ErrorCode;
use crate::api::openapi::{Security, webhooks};

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem {
        get,
        put,
        post,
        patch,
        delete,
        ..
    } = item;
    [get, put, post, patch, delete].into_iter().flatten()
}

fn all_operations(openapi: &mut OpenApi) -> impl Iterator<Item = &mut Operation> {
    let items = openapi.paths.paths.values_mut();
    items.flat_map(operations)
}

/// Says who may call every operation of a list of routes; none for everybody.
pub fn secure(openapi: &mut OpenApi, security: Option<Security>) {
    for operation in all_operations(openapi) {
        operation.security = Some(match security {
            Some(security) => vec![SecurityRequirement::new::<_, [String; 0], String>(
                security.name(),
                [],
            )],
            None => Vec::new(),
        });
    }
}

/// Describes the webhooks, and puts the errors of each status together: each combination of them is in
/// the components once.
pub fn finish(openapi: &mut OpenApi) {
    let mut shared = BTreeMap::new();
    for operation in all_operations(openapi) {
        let mut by_status: BTreeMap<String, BTreeSet<ErrorCode>> = BTreeMap::new();
        let responses = &mut operation.responses.responses;
        for code in ErrorCode::ALL {
            let key = format!("{} {}", code.status().as_u16(), code.as_str());
            if responses.remove(&key).is_some() {
                let status = code.status().as_str().to_owned();
                by_status.entry(status).or_default().insert(*code);
            }
        }
        for (status, codes) in by_status {
            let names: Vec<_> = codes.iter().map(|code| code.name()).collect();
            let name = names.join("Or");
            let reference = Ref::from_response_name(&name);
            responses.insert(status, RefOr::Ref(reference));
            shared.entry(name).or_insert_with(|| error_response(&codes));
        }
    }
    let components = openapi.components.get_or_insert_default();
    components.responses.extend(shared);
    webhooks::describe(openapi);
}

fn error_response(codes: &BTreeSet<ErrorCode>) -> RefOr<Response> {
    let meaning = |code: &ErrorCode| format!("`{}`: {}", code.as_str(), code.meaning());
    let meanings: Vec<_> = codes.iter().map(meaning).collect();
    let example = codes.first().map(|code| {
        let mut error = json!({
            "code": code, "message": code.meaning(),
            "request_id": "019a8574c1f07c2e9d1b3a5f60718293",
        });
        if *code == ErrorCode::ValidationError {
            error["details"] = json!([{"field": "title", "message": "must not be empty"}]);
        }
        json!({"error": error})
    });
    let content = ContentBuilder::new()
        .schema(Some(Ref::from_schema_name("Error")))
        .example(example)
        .build();
    ResponseBuilder::new()
        .description(meanings.join("\n\n"))
        .content("application/json", content)
        .build()
        .into()
}
