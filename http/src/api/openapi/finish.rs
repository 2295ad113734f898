//! What is done to the description once all operations are in it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::json;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::path::{Operation, Parameter, PathItem};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{
    Content, ContentBuilder, OpenApi, Ref, RefOr, Required, Response, ResponseBuilder, Schema,
};

use crate::api::error::codes::ErrorCode;
use crate::api::openapi::{Security, webhooks};
use crate::domain::accounts::mandate::Needs;

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem {
        get,
        put,
        post,
        patch,
        delete,
        head,
        ..
    } = item;
    [get, put, post, patch, delete, head].into_iter().flatten()
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

/// Says what every operation of a list of routes needs of the mandate of a key.
pub fn say_needs(openapi: &mut OpenApi, needs: Needs) {
    for operation in all_operations(openapi) {
        let said = Extensions::builder().add("x-permission", needs.as_str());
        operation.extensions = Some(said.build());
    }
}

/// Describes the webhooks, and puts the errors of each status together: each combination of them is in
/// the components once.
pub fn finish(openapi: &mut OpenApi) {
    say_strict(openapi);
    let mut shared = BTreeMap::new();
    for operation in all_operations(openapi) {
        let mut by_status: BTreeMap<String, BTreeSet<ErrorCode>> = BTreeMap::new();
        let responses = &mut operation.responses.responses;
        for code in ErrorCode::ALL {
            if responses.remove(&unfinished(*code)).is_some() {
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
    let schemas = components.schemas.clone();
    let items = openapi.paths.paths.values_mut();
    for operation in items
        .flat_map(|item| [item.post.as_mut(), item.delete.as_mut()])
        .flatten()
    {
        if let Some(RefOr::T(body)) = &mut operation.request_body
            && !body
                .content
                .values()
                .any(|content| needs_a_field(content, &schemas))
        {
            body.required = Some(Required::False);
        }
    }
    share_parameters(openapi);
    webhooks::describe(openapi);
}

/// An error, as the operations name it before those of a status are put together.
fn unfinished(code: ErrorCode) -> String {
    format!("{} {}", code.status().as_u16(), code.as_str())
}

/// No operation takes parameters that it does not know: its handler refuses them, or a layer before it.
fn say_strict(openapi: &mut OpenApi) {
    for item in openapi.paths.paths.values_mut() {
        let PathItem {
            get,
            put,
            post,
            patch,
            delete,
            ..
        } = item;
        for operation in [get, put, post, patch, delete].into_iter().flatten() {
            let responses = &mut operation.responses.responses;
            let refused = RefOr::T(ResponseBuilder::new().build());
            responses.insert(unfinished(ErrorCode::ValidationError), refused);
        }
    }
}

/// Puts each parameter that several operations take into the components once.
fn share_parameters(openapi: &mut OpenApi) {
    const SEVERAL: usize = 3;
    let mut counts: HashMap<String, usize> = HashMap::new();
    for parameter in all_parameters(openapi) {
        *counts.entry(written(parameter)).or_default() += 1;
    }
    let mut shared: BTreeMap<String, RefOr<Parameter>> = BTreeMap::new();
    for parameter in all_parameters(openapi) {
        let RefOr::T(own) = &*parameter else {
            continue;
        };
        let name = shared_name(own);
        let taken = shared
            .get(&name)
            .is_some_and(|other| written(other) != written(parameter));
        if !taken && counts[&written(parameter)] >= SEVERAL {
            let reference = RefOr::Ref(Ref::new(format!("#/components/parameters/{name}")));
            shared.insert(name, std::mem::replace(parameter, reference));
        }
    }
    let components = openapi.components.get_or_insert_default();
    components.parameters.extend(shared);
}

fn all_parameters(openapi: &mut OpenApi) -> impl Iterator<Item = &mut RefOr<Parameter>> {
    all_operations(openapi).flat_map(|operation| operation.parameters.iter_mut().flatten())
}

fn written(parameter: &RefOr<Parameter>) -> String {
    serde_json::to_string(parameter).unwrap_or_default()
}

/// `TaskId` for the `id` that is described as "Task ID", `Limit` for `limit`.
fn shared_name(parameter: &Parameter) -> String {
    let words = match (parameter.name.as_str(), &parameter.description) {
        ("id", Some(description)) => description.as_str(),
        (name, _) => name,
    };
    let words = words.split(|c: char| !c.is_ascii_alphanumeric());
    let capitalized = words.filter(|word| !word.is_empty()).map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + &rest.to_lowercase()
    });
    capitalized.collect()
}

/// Whether a body must be sent because one of its fields must.
fn needs_a_field(content: &RefOr<Content>, schemas: &BTreeMap<String, RefOr<Schema>>) -> bool {
    let RefOr::T(content) = content else {
        return true;
    };
    let named = match &content.schema {
        Some(RefOr::Ref(reference)) => {
            let name = reference.ref_location.rsplit('/').next();
            name.and_then(|name| schemas.get(name))
        }
        described => described.as_ref(),
    };
    match named {
        Some(RefOr::T(Schema::Object(object))) => !object.required.is_empty(),
        _ => true,
    }
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
