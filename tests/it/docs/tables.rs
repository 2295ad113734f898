//! Tables of the reference name what the code has, all of it and nothing else.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use legwork::monitoring::METRICS;
use legwork::settings::{SETTINGS, flag, variable};
use serde_json::Value;

use super::markdown::{code, read, root, table};

/// What stands in backquotes in the first column.
fn first_column(document: &str, name: &str) -> Vec<String> {
    let rows = table(&read(document), name);
    rows.iter().flat_map(|row| code(&row[0])).collect()
}

/// The first column as a set; nothing may be named twice.
fn named(document: &str, name: &str) -> BTreeSet<String> {
    let listed = first_column(document, name);
    let set: BTreeSet<_> = listed.iter().cloned().collect();
    assert_eq!(set.len(), listed.len(), "{document} names something twice");
    set
}

fn description() -> Value {
    serde_json::from_str(&read("openapi.json")).unwrap()
}

/// The words of the enum in the API's description that has this word.
fn words_beside(word: &str) -> BTreeSet<String> {
    fn search<'a>(value: &'a Value, word: &str) -> Option<&'a Vec<Value>> {
        let words = value.get("enum").and_then(Value::as_array);
        if let Some(words) = words.filter(|words| words.iter().any(|each| each == word)) {
            return Some(words);
        }
        match value {
            Value::Object(fields) => fields.values().find_map(|value| search(value, word)),
            Value::Array(items) => items.iter().find_map(|value| search(value, word)),
            _ => None,
        }
    }
    let description = description();
    let words = search(&description["components"]["schemas"], word).expect(word);
    let words = words.iter().filter_map(Value::as_str);
    words.map(str::to_owned).collect()
}

/// The text of all files under a folder of ours.
fn sources(folder: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text.push_str(&sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
    text
}

/// String literals of lower-case letters, underscores and dots.
fn literals(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |word: &&str| {
        let belongs = |c: char| c.is_ascii_lowercase() || c == '_' || c == '.';
        !word.is_empty() && word.chars().all(belongs)
    };
    text.split('"').filter(is_word)
}

#[test]
fn settings() {
    let rows = table(&read("docs/reference/settings.md"), "settings");
    let listed: Vec<_> = rows.iter().map(|row| row[..3].join(" ")).collect();
    let mut known: Vec<_> = SETTINGS
        .iter()
        .map(|s| format!("`{}` `--{}` `{}`", variable(s.name), flag(s.name), s.name))
        .collect();
    known.push("`LEGWORK_CONFIG` `--config` ".to_owned());
    assert_eq!(listed, known);
}

#[test]
fn the_table_of_metrics_is_the_one_of_the_code() {
    let page = read("docs/reference/metrics.md");
    let (_, rest) = page.split_once("<!-- metrics: generated -->\n\n").unwrap();
    let (listed, _) = rest.split_once("\n<!-- /metrics -->").unwrap();
    let known = legwork::monitoring::markdown_table();
    assert!(
        listed == known,
        "docs/reference/metrics.md must have:\n{known}"
    );
}

#[test]
fn every_metric_that_is_recorded_is_in_the_table() {
    let text = ["core/src", "http/src", "src"].map(|folder| sources(&root().join(folder)));
    let text = text.concat();
    let table = read("core/src/monitoring/table.rs");
    let rest = text.replace(&table, "");
    let is_metric = |word: &&str| word.starts_with("legwork_") || word.starts_with("process_");
    let recorded: BTreeSet<_> = literals(&rest).filter(is_metric).collect();
    let known: BTreeSet<_> = METRICS.iter().map(|metric| metric.name).collect();
    assert_eq!(recorded, known);
}

/// Every POST takes an Idempotency-Key, or the page says that it does not, and why.
#[test]
fn posts_that_ignore_an_idempotency_key() {
    let listed = named("docs/reference/conventions.md", "posts without a key");
    let description = description();
    let takes_key = |operation: &Value| {
        let given = operation["parameters"].as_array().into_iter().flatten();
        let mut named = given.map(|given| &given["$ref"]);
        named.any(|name| name == "#/components/parameters/IdempotencyKey")
    };
    let paths = description["paths"].as_object().unwrap().iter();
    let posts = paths.filter_map(|(path, item)| Some((path, item.get("post")?)));
    let (taking, ignoring): (Vec<_>, Vec<_>) = posts.partition(|(_, post)| takes_key(post));
    let ignoring: BTreeSet<_> = ignoring.into_iter().map(|(path, _)| path.clone()).collect();
    assert_eq!(listed, ignoring);
    assert!(taking.len() > 50, "only {} take a key", taking.len());
}

#[test]
fn event_types() {
    let listed = named("docs/reference/events.md", "events");
    assert_eq!(listed, words_beside("task.created"));
}

#[test]
fn ledger() {
    let page = "docs/reference/payments.md";
    assert_eq!(named(page, "ledger types"), words_beside("settlement"));
    assert_eq!(named(page, "ledger accounts"), words_beside("escrow"));
    assert_eq!(
        named(page, "payment statuses"),
        words_beside("requires_payment")
    );
}

#[test]
fn audit_actions() {
    let text = sources(&root().join("core/src/usecases"));
    let subjects: BTreeSet<_> = [
        "account",
        "admin_key",
        "api_key",
        "approval",
        "bundle_key",
        "dispute",
        "job",
        "mandate",
        "passkey",
        "payment_method",
        "payout",
        "proof",
        "queue_item",
        "refund",
        "second_factor",
        "secrets",
        "webhook",
        "worker",
    ]
    .into();
    let is_action =
        |word: &&str| matches!(word.split_once('.'), Some((of, _)) if subjects.contains(of));
    let known: BTreeSet<_> = literals(&text)
        .filter(is_action)
        .map(str::to_owned)
        .collect();
    let listed = table(&read("docs/reference/admin.md"), "audit actions");
    let listed: BTreeSet<_> = listed.iter().flat_map(|row| code(&row[1])).collect();
    assert_eq!(listed, known);
}

#[test]
fn evidence() {
    let text = sources(&root().join("core/src/usecases"));
    let after = |call: &str| {
        let places = text.split(call).skip(1);
        let codes = places.filter_map(|rest| rest.split('"').next());
        codes.map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let known = &after("found(\"") | &after("far(\"");
    assert_eq!(named("docs/reference/proofs.md", "evidence"), known);
}

#[test]
fn the_table_of_errors_is_the_one_of_the_code() {
    let page = read("docs/reference/errors.md");
    let (_, rest) = page.split_once("<!-- errors: generated -->\n\n").unwrap();
    let (listed, _) = rest.split_once("\n<!-- /errors -->").unwrap();
    let known = legwork::api::error_table();
    assert!(
        listed == known,
        "docs/reference/errors.md must have:\n{known}"
    );
}

/// The commands in the help of a command, each with those below it.
fn commands(path: &[&str]) -> BTreeSet<String> {
    let help = Command::new(env!("CARGO_BIN_EXE_legwork"))
        .args(path)
        .arg("--help")
        .output()
        .unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let Some((_, list)) = help.split_once("Commands:\n") else {
        return [format!("legwork {}", path.join(" "))].into();
    };
    let list = list.lines().take_while(|line| !line.is_empty());
    let names = list.filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .flat_map(|name| commands(&[path, &[name]].concat()))
        .collect()
}

#[test]
fn every_command() {
    let listed = named("docs/reference/commands.md", "commands");
    let known = commands(&[]);
    for command in &known {
        let is_this = |line: &String| line == command || line.starts_with(&format!("{command} "));
        assert!(listed.iter().any(is_this), "{command}");
    }
    assert_eq!(listed.len(), known.len());
}

#[test]
fn every_endpoint() {
    let pages = std::fs::read_dir(root().join("docs/reference")).unwrap();
    let text: String = pages
        .map(|page| std::fs::read_to_string(page.unwrap().path()).unwrap())
        .collect();
    let description = description();
    for (path, operations) in description["paths"].as_object().unwrap() {
        for method in operations.as_object().unwrap().keys() {
            if !["get", "put", "post", "patch", "delete"].contains(&method.as_str()) {
                continue;
            }
            let endpoint = format!("`{} {path}`", method.to_uppercase());
            assert!(text.contains(&endpoint), "{endpoint}");
        }
    }
}
