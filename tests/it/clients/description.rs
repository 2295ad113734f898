//! The libraries against openapi.json: none falls behind.
//!
//! A new operation for developers is a line in each library:
//!
//! | Library | Operation | Objects | Words and codes |
//! |---|---|---|---|
//! | Rust | `client/src/operations.rs` | `client/src/objects.rs` | `client/src/words.rs` |
//! | Python | `clients/python/src/legwork/_async.py`, then run `generate_sync.py` | `_objects.py` | `_objects.py`, `_errors.py` |
//! | TypeScript | `clients/typescript/src/client.ts` | `objects.ts` | `objects.ts`, `errors.ts` |
//!
//! What no library needs is named in `WITHOUT`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde_json::Value;

use super::{python, typescript};

const DOCUMENT: &str = include_str!("../../../openapi.json");

/// Developers' operations that are for people on pages, or that every library has by hand.
const WITHOUT: [&str; 1] = ["streamEvents"];

/// Filters by the operation that takes them; `list` filters by limit and offset are `Page`.
const FILTERS: [(&str, &str); 9] = [
    ("listLogs", "LogFilter"),
    ("listApprovals", "ApprovalFilter"),
    ("listTasks", "TaskFilter"),
    ("searchTasks", "TaskSearch"),
    ("listEvents", "EventFilter"),
    ("listDeliveries", "DeliveryFilter"),
    ("getHistory", "Page"),
    ("getLedger", "Page"),
    ("listProofs", "Page"),
];

type Fields = BTreeMap<String, BTreeSet<String>>;

/// What a library says of itself.
#[derive(Debug, PartialEq)]
pub struct Described {
    /// `POST /v1/tasks` by `tasks.create`.
    pub operations: BTreeMap<String, String>,
    pub objects: Fields,
    pub filters: Fields,
    pub words: Fields,
}

/// Asked once: Python and TypeScript have to be started for it.
static LIBRARIES: LazyLock<[(&str, Described); 3]> = LazyLock::new(|| {
    [
        ("Rust", rust()),
        ("Python", told(python::described())),
        ("TypeScript", told(typescript::described())),
    ]
});

fn told(described: Value) -> Described {
    let fields = |name: &str| serde_json::from_value(described[name].clone()).unwrap();
    Described {
        operations: serde_json::from_value(described["operations"].clone()).unwrap(),
        objects: fields("objects"),
        filters: fields("filters"),
        words: fields("words"),
    }
}

fn rust() -> Described {
    let fields = |table: &[(&str, &[&str])]| -> Fields {
        let plain = |name: &&str| name.trim_start_matches("r#").to_owned();
        let row = |(name, fields): &(&str, &[&str])| {
            ((*name).to_owned(), fields.iter().map(plain).collect())
        };
        table.iter().map(row).collect()
    };
    let mut objects = fields(legwork_client::OBJECTS);
    for (name, base) in [("CreatedTask", "Task"), ("FoundTask", "TaskSummary")] {
        let inherited = objects[base].clone();
        let own = objects.get_mut(name).unwrap();
        assert!(own.remove("task"), "{name}");
        own.extend(inherited);
    }
    let operation = |(method, path, name): &(&str, &str, &str)| {
        ((*name).to_owned(), format!("{method} {path}"))
    };
    let mut operations: BTreeMap<_, _> = legwork_client::OPERATIONS.iter().map(operation).collect();
    // It takes files, so it is no line of the table.
    let proofs = operations["test_helpers.submit_proof"].clone();
    operations.insert("test_helpers.upload_proof".to_owned(), proofs);
    Described {
        operations,
        objects,
        filters: fields(legwork_client::FILTERS),
        words: fields(legwork_client::WORDS),
    }
}

struct Operation<'a> {
    id: &'a str,
    name: String,
    described: &'a Value,
}

/// Those that take a developer's key.
fn operations(document: &Value) -> Vec<Operation<'_>> {
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, described) in item.as_object().unwrap() {
            let id = described["operationId"].as_str().unwrap();
            let is_developers = described["security"].to_string().contains("developer_key");
            if is_developers && !WITHOUT.contains(&id) {
                let name = format!("{} {path}", method.to_uppercase());
                found.push(Operation {
                    id,
                    name,
                    described,
                });
            }
        }
    }
    found
}

fn document() -> Value {
    serde_json::from_str(DOCUMENT).unwrap()
}

#[test]
fn every_library_has_every_operation_of_developers() {
    let document = document();
    let wanted: BTreeSet<_> = operations(&document).into_iter().map(|o| o.name).collect();
    assert!(wanted.len() > 40, "{wanted:?}");
    for (library, described) in LIBRARIES.iter() {
        let has: BTreeSet<_> = described.operations.values().cloned().collect();
        let missing: Vec<_> = wanted.difference(&has).collect();
        assert!(
            missing.is_empty(),
            "{library} lacks {missing:#?}: tests/it/clients/description.rs says where to add it"
        );
        let unknown: Vec<_> = has.difference(&wanted).collect();
        assert!(
            unknown.is_empty(),
            "{library} has {unknown:#?}, which openapi.json does not know"
        );
    }
}

#[test]
fn the_libraries_use_the_same_names() {
    let (_, first) = &LIBRARIES[0];
    for (library, described) in &LIBRARIES[1..] {
        assert_eq!(described.operations, first.operations, "{library}");
        assert_eq!(described.words, first.words, "{library}");
        assert_eq!(described.filters, first.filters, "{library}");
        assert_eq!(described.objects, first.objects, "{library}");
    }
}

#[test]
fn every_object_has_the_fields_of_the_description() {
    let document = document();
    let mut wanted = BTreeSet::new();
    for operation in operations(&document) {
        let mut bodies = vec![&operation.described["requestBody"]];
        bodies.extend(
            operation.described["responses"]
                .as_object()
                .unwrap()
                .values(),
        );
        for body in bodies {
            for content in body["content"].as_object().into_iter().flatten() {
                collect(&content.1["schema"], &document, &mut wanted);
            }
        }
    }
    for (library, described) in LIBRARIES.iter() {
        for name in wanted.iter().filter(|name| is_object(name, &document)) {
            let has = described.objects.get(name.as_str());
            let has = has.unwrap_or_else(|| panic!("{library} lacks the object {name}"));
            let schema = &document["components"]["schemas"][name.as_str()];
            assert_eq!(*has, properties(schema, &document), "{library}: {name}");
        }
        // Objects of events stand in no schema of an answer: `data` is one of several.
        for name in ["EventTask", "EventProof", "EventWorker"] {
            let schema = &document["components"]["schemas"][name];
            assert_eq!(
                described.objects[name],
                properties(schema, &document),
                "{library}: {name}"
            );
        }
        for name in described.objects.keys().filter(|name| *name != "Location") {
            let schema = &document["components"]["schemas"][name.as_str()];
            assert!(
                schema.is_object(),
                "{library}: openapi.json knows no {name}"
            );
        }
    }
}

#[test]
fn every_list_takes_the_parameters_of_the_description() {
    let document = document();
    for (library, described) in LIBRARIES.iter() {
        for operation in operations(&document) {
            let parameters = operation.described["parameters"].as_array();
            let of_query = parameters
                .into_iter()
                .flatten()
                .map(|given| resolve(given, &document));
            let of_query = of_query.filter(|given| given["in"] == "query");
            let mut names: BTreeSet<_> = of_query
                .map(|given| given["name"].as_str().unwrap().to_owned())
                .collect();
            if operation.id == "searchTasks" {
                // `metadata.<key>`, which the description has in words.
                names.insert("metadata".to_owned());
            }
            match FILTERS.iter().find(|(id, _)| *id == operation.id) {
                Some((_, filter)) => {
                    assert_eq!(described.filters[*filter], names, "{library}: {filter}")
                }
                None => assert!(
                    names.is_empty(),
                    "{library}: {} takes {names:?}",
                    operation.name
                ),
            }
        }
    }
}

#[test]
fn every_list_of_words_is_that_of_the_description() {
    let document = document();
    for (library, described) in LIBRARIES.iter() {
        for (name, words) in &described.words {
            let known = document["components"]["schemas"][name.as_str()]["enum"].as_array();
            let known = known.unwrap_or_else(|| panic!("{library}: openapi.json knows no {name}"));
            let known: BTreeSet<_> = known
                .iter()
                .map(|word| word.as_str().unwrap().to_owned())
                .collect();
            assert_eq!(*words, known, "{library}: {name}");
        }
    }
}

/// The schemas that a schema leads to.
fn collect(schema: &Value, document: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                let name = reference.rsplit('/').next().unwrap().to_owned();
                if found.insert(name) {
                    collect(document.pointer(&reference[1..]).unwrap(), document, found);
                }
            }
            let parts = fields.iter().filter(|(name, _)| *name != "example");
            parts.for_each(|(_, part)| collect(part, document, found));
        }
        Value::Array(parts) => parts.iter().for_each(|part| collect(part, document, found)),
        _ => {}
    }
}

/// Neither a word nor an envelope of a list nor a body whose fields are the parameters of a method.
fn is_object(name: &str, document: &Value) -> bool {
    const PARAMETERS: [&str; 11] = [
        "Advance",
        "CancelTask",
        "CreateTasks",
        "DeleteAccount",
        "PutPaymentMethod",
        "PutSecurity",
        "RedeemQuote",
        "RecoverDeliveries",
        "RejectProof",
        "RevokeKey",
        "StateSide",
    ];
    // A form of files, the body of every error, and a body that is one of two others.
    const OTHERS: [&str; 3] = ["SubmitProof", "Error", "NewTask"];
    let schema = &document["components"]["schemas"][name];
    let is_envelope = name.ends_with("List") || name.ends_with("Page") || name.ends_with("Meta");
    let has_fields = !properties(schema, document).is_empty();
    has_fields && !is_envelope && !PARAMETERS.contains(&name) && !OTHERS.contains(&name)
}

fn properties(schema: &Value, document: &Value) -> BTreeSet<String> {
    let schema = resolve(schema, document);
    let mut names = BTreeSet::new();
    for combined in ["allOf", "oneOf"] {
        for part in schema[combined].as_array().into_iter().flatten() {
            names.extend(properties(part, document));
        }
    }
    let own = schema["properties"].as_object().into_iter().flatten();
    names.extend(own.map(|(name, _)| name.clone()));
    names
}

fn resolve<'a>(described: &'a Value, document: &'a Value) -> &'a Value {
    match described["$ref"].as_str() {
        Some(reference) => document.pointer(&reference[1..]).unwrap(),
        None => described,
    }
}
