//! The task that somebody wants: from flags, a file and answers.

use std::io::Read;

use clap::{Arg, ArgAction, ArgMatches};
use serde_json::{Map, Value, json};

use super::answers::answer;
use crate::cli::remote::connection::wait;
use crate::cli::remote::failure::Failed;

/// Each field of a task as a flag: name, what it holds, help.
const FIELDS: &[(&str, &str, &str)] = &[
    ("title", "TEXT", "What is to be done, in a few words"),
    (
        "description",
        "TEXT",
        "What is to be done, for everybody who looks for work",
    ),
    ("instructions", "TEXT", "What only the worker reads"),
    (
        "category",
        "CATEGORY",
        "photography, inspection, delivery, ...",
    ),
    (
        "address",
        "TEXT",
        "Street and number; only the worker reads it",
    ),
    ("city", "TEXT", "City"),
    ("state", "STATE", "Two letters"),
    ("latitude", "DEGREES", "Where, north"),
    ("longitude", "DEGREES", "Where, east; negative in America"),
    ("budget-cents", "CENTS", "What you pay in all"),
    ("priority", "PRIORITY", "normal or urgent"),
    ("task-type", "TYPE", "standard or bounty"),
    ("deadline", "TIME", "Such as 2030-11-21T18:00:00Z"),
    (
        "proof-types",
        "TYPES",
        "Of photo, video, signature; separated by commas",
    ),
    ("required-skills", "SKILLS", "Separated by commas"),
];

/// What a task is made of.
pub fn fields() -> Vec<Arg> {
    let mut flags = Vec::new();
    for (name, value, help) in FIELDS {
        let flag = Arg::new(*name).long(*name).value_name(*value).help(*help);
        let takes_minus = matches!(*name, "latitude" | "longitude");
        flags.push(flag.allow_hyphen_values(takes_minus).help_heading("Task"));
    }
    let metadata = Arg::new("metadata")
        .long("metadata")
        .value_name("KEY=VALUE")
        .help_heading("Task");
    flags.push(
        metadata
            .action(ArgAction::Append)
            .help("Your own reference; may be repeated"),
    );
    flags.push(
        Arg::new("from")
            .long("from")
            .value_name("FILE")
            .help("Take the fields from a JSON file; - is standard input"),
    );
    flags.push(
        Arg::new("interactive")
            .short('i')
            .long("interactive")
            .action(ArgAction::SetTrue)
            .help("Ask for what is missing"),
    );
    flags
}

/// The names of these flags.
pub fn flags() -> Vec<String> {
    let names = fields().into_iter().map(|flag| flag.get_id().to_string());
    names.collect()
}

/// What has to be given in one way or another.
const NEEDED: [&str; 8] = [
    "title",
    "description",
    "category",
    "city",
    "state",
    "latitude",
    "longitude",
    "budget-cents",
];

/// The task that the flags, the file and the answers describe, as it was written: the server says what is wrong with it,
/// and names the fields that it does not know.
pub fn wanted(arguments: &ArgMatches) -> Result<Value, Failed> {
    let mut fields = from_file(arguments)?;
    for (flag, ..) in FIELDS {
        if let Some(text) = arguments.get_one::<String>(flag) {
            set(&mut fields, flag, typed(flag, text)?)?;
        }
    }
    let pairs = arguments.get_many::<String>("metadata");
    for pair in pairs.into_iter().flatten() {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(Failed::usage(format!(
                "--metadata takes KEY=VALUE, not {pair}"
            )));
        };
        object_in(&mut fields, "metadata")?.insert(key.to_owned(), json!(value));
    }
    if arguments.get_flag("interactive") {
        ask_for_missing(&mut fields)?;
    }
    match NEEDED.iter().find(|flag| place(&fields, flag).is_none()) {
        None => Ok(Value::Object(fields)),
        Some(flag) => Err(Failed::usage(format!(
            "--{flag} is missing (or use --from FILE, or -i to be asked)"
        ))),
    }
}

/// Asks for what neither the flags nor the file say. Both were looked at before: nobody answers in vain.
fn ask_for_missing(fields: &mut Map<String, Value>) -> Result<(), Failed> {
    for (flag, _, help) in FIELDS {
        if !place(fields, flag).is_none_or(Value::is_null) {
            continue;
        }
        if let Some(text) = wait(answer(flag, help, NEEDED.contains(flag)))? {
            set(fields, flag, typed(flag, &text)?)?;
        }
    }
    Ok(())
}

fn from_file(arguments: &ArgMatches) -> Result<Map<String, Value>, Failed> {
    let Some(file) = arguments.get_one::<String>("from") else {
        return Ok(Map::new());
    };
    let mut text = String::new();
    let read = match file.as_str() {
        "-" => std::io::stdin().read_to_string(&mut text).map(|_| text),
        file => std::fs::read_to_string(file),
    };
    let text = read.map_err(|error| Failed::usage(format!("{file}: {error}")))?;
    serde_json::from_str(&text)
        .map_err(|error| Failed::usage(format!("{file} is not a JSON object: {error}")))
}

const OF_LOCATION: [&str; 5] = ["address", "city", "state", "latitude", "longitude"];

fn place<'a>(fields: &'a Map<String, Value>, flag: &str) -> Option<&'a Value> {
    match OF_LOCATION.contains(&flag) {
        true => fields.get("location")?.get(flag),
        false => fields.get(&flag.replace('-', "_")),
    }
}

fn set(fields: &mut Map<String, Value>, flag: &str, value: Value) -> Result<(), Failed> {
    let (object, name) = match OF_LOCATION.contains(&flag) {
        true => (object_in(fields, "location")?, flag.to_owned()),
        false => (fields, flag.replace('-', "_")),
    };
    object.insert(name, value);
    Ok(())
}

/// An object in the task, to put something into.
pub fn object_in<'a>(
    fields: &'a mut Map<String, Value>,
    name: &str,
) -> Result<&'a mut Map<String, Value>, Failed> {
    let value = fields.entry(name).or_insert(Value::Null);
    if value.is_null() {
        *value = json!({});
    }
    value
        .as_object_mut()
        .ok_or_else(|| Failed::usage(format!("{name} is not an object")))
}

fn typed(flag: &str, text: &str) -> Result<Value, Failed> {
    let wrong = |what: &str| Failed::usage(format!("--{flag} takes {what}, not {text}"));
    match flag {
        "latitude" | "longitude" => text
            .parse::<f64>()
            .map(|n| json!(n))
            .map_err(|_| wrong("degrees")),
        "budget-cents" => text
            .parse::<i64>()
            .map(|n| json!(n))
            .map_err(|_| wrong("whole cents")),
        "proof-types" | "required-skills" => {
            Ok(json!(text.split(',').map(str::trim).collect::<Vec<_>>()))
        }
        _ => Ok(json!(text)),
    }
}
