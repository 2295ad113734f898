//! `legwork tasks ...`

use std::io::Read;

use clap::{Arg, ArgAction, ArgMatches, Command};
use legwork_client::{
    Client, CreateTask, Page, Proof, ProofStatus, Status, StreamOptions, TaskFilter,
};
use serde_json::{Map, Value, json};

use super::connection::{self, client, wait};
use super::failure::Failed;
use super::output::{ask, one_line, print_json, print_list, print_object, progress, wants_json};
use crate::cli::print_line;

const COLUMNS: &[&str] = &["id", "status", "budget_cents", "title"];

pub fn command() -> Command {
    Command::new("tasks")
        .about("Create tasks, follow them, review their proof")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(quote_command())
        .subcommand(create_command())
        .subcommand(
            Command::new("list")
                .about("List tasks, newest first")
                .after_help("Examples:\n  legwork tasks list\n  legwork tasks list --status proof_submitted --limit 50")
                .arg(Arg::new("status").long("status").value_parser(Status::ALL.to_vec()).help("Only of this status"))
                .arg(limit())
                .args(connection::flags()),
        )
        .subcommand(of_task("get", "Show a task", "legwork tasks get 01a1..."))
        .subcommand(
            of_task("watch", "Show what happens to a task until it is over", "legwork tasks watch 01a1... --until proof_submitted")
                .arg(Arg::new("until").long("until").value_parser(Status::ALL.to_vec()).help("Stop at this status")),
        )
        .subcommand(
            of_task("approve", "Approve the proof of a task, and pay the worker", "legwork tasks approve 01a1...").arg(proof()),
        )
        .subcommand(
            of_task("reject", "Reject the proof of a task", "legwork tasks reject 01a1... --reason 'The sign is not in view.'")
                .arg(proof())
                .arg(Arg::new("reason").long("reason").required(true).value_name("TEXT").help("What the worker reads")),
        )
        .subcommand(
            of_task("cancel", "Cancel a task", "legwork tasks cancel 01a1... --expect-refund-cents 2500").arg(
                Arg::new("expect-refund-cents")
                    .long("expect-refund-cents")
                    .value_name("CENTS")
                    .value_parser(clap::value_parser!(i64))
                    .help("Refuse if another amount would come back"),
            ),
        )
}

fn of_task(name: &'static str, about: &'static str, example: &'static str) -> Command {
    Command::new(name)
        .about(about)
        .after_help(format!("Example:\n  {example}"))
        .arg(
            Arg::new("task")
                .required(true)
                .value_name("TASK")
                .help("The id of the task"),
        )
        .args(connection::flags())
}

pub fn limit() -> Arg {
    Arg::new("limit")
        .long("limit")
        .value_name("N")
        .default_value("20")
        .value_parser(clap::value_parser!(u32).range(1..=10_000))
        .help("How many at most")
}

fn proof() -> Arg {
    Arg::new("proof")
        .long("proof")
        .value_name("ID")
        .help("The proof [default: the only one that waits]")
}

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
fn fields() -> Vec<Arg> {
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

fn quote_command() -> Command {
    Command::new("quote")
        .about("Tell what a task would cost, and whether somebody will do it")
        .after_help(
            "Examples:\n  \
             legwork tasks quote --from task.json\n  \
             legwork tasks create --quote 01a1...       creates the task, once",
        )
        .args(fields())
        .args(connection::flags())
}

fn create_command() -> Command {
    Command::new("create")
        .about("Create a task")
        .after_help(
            "Examples:\n  \
             legwork tasks create --title 'Photograph a storefront' \\\n    \
             --description 'With the opening hours in view.' --category photography \\\n    \
             --city Brooklyn --state NY --latitude 40.7163 --longitude -73.9595 \\\n    \
             --budget-cents 2500 --metadata order=4711\n  \
             legwork tasks create --from task.json\n  \
             legwork tasks create -i                    asks for each field",
        )
        .args(fields())
        .arg(
            Arg::new("quote")
                .long("quote")
                .value_name("ID")
                .help("Create the task of a quote; again = the same task"),
        )
        .arg(
            Arg::new("idempotency-key")
                .long("idempotency-key")
                .value_name("KEY")
                .help("The same key again answers the same task"),
        )
        .args(connection::flags())
}

pub fn run(matches: &ArgMatches) -> Result<(), Failed> {
    let Some((name, arguments)) = matches.subcommand() else {
        return Ok(());
    };
    // What was typed is looked at before anybody is called.
    let quote = match name {
        "create" => arguments.get_one::<String>("quote").cloned(),
        _ => None,
    };
    let wanted = match name {
        "create" | "quote" if quote.is_none() => Some(wanted(arguments)?),
        _ => None,
    };
    let client = client(arguments)?;
    let task = arguments.try_get_one::<String>("task").ok().flatten();
    let task = task.map_or("", String::as_str);
    wait(async {
        match (name, wanted) {
            ("quote", Some(wanted)) => {
                let quote = client.quotes().create(&wanted).await?;
                print_object(arguments, &quote)?;
                progress(&format!(
                    "
Create it with: legwork tasks create --quote {}",
                    quote.id
                ));
                Ok(())
            }
            ("create", wanted) => create(&client, arguments, wanted.as_ref(), quote).await,
            ("list", _) => list(&client, arguments).await,
            ("get", _) => print_object(arguments, &client.tasks().get(task).await?),
            ("watch", _) => watch(&client, arguments, task).await,
            ("approve", _) => {
                let proof = waiting_proof(&client, arguments, task).await?;
                print_object(arguments, &client.proofs().approve(task, &proof).await?)
            }
            ("reject", _) => {
                let proof = waiting_proof(&client, arguments, task).await?;
                let reason = arguments
                    .get_one::<String>("reason")
                    .map_or("", String::as_str);
                print_object(
                    arguments,
                    &client.proofs().reject(task, &proof, reason).await?,
                )
            }
            _ => {
                let expected = arguments.get_one::<i64>("expect-refund-cents").copied();
                print_object(arguments, &client.tasks().cancel(task, expected).await?)
            }
        }
    })
}

async fn create(
    client: &Client,
    arguments: &ArgMatches,
    wanted: Option<&CreateTask>,
    quote: Option<String>,
) -> Result<(), Failed> {
    let client = match arguments.get_one::<String>("idempotency-key") {
        Some(key) => client.with_idempotency_key(key),
        None => client.clone(),
    };
    let task = match (quote, wanted) {
        (Some(quote), _) => client.tasks().redeem(&quote).await?,
        (None, Some(wanted)) => client.tasks().create(wanted).await?,
        (None, None) => return Ok(()),
    };
    print_object(arguments, &task)?;
    progress(&format!(
        "\nFollow it with: legwork tasks watch {}",
        task.id
    ));
    Ok(())
}

/// The task that the flags, the file and the answers describe.
fn wanted(arguments: &ArgMatches) -> Result<CreateTask, Failed> {
    let mut fields = from_file(arguments)?;
    for (flag, ..) in FIELDS {
        let given = arguments.get_one::<String>(flag).cloned();
        let is_missing =
            given.is_none() && place(&mut fields, flag).is_none_or(|value| value.is_null());
        let asks = is_missing && arguments.get_flag("interactive");
        let given = if asks {
            Some(ask(&flag.replace('-', " "))?)
        } else {
            given
        };
        if let Some(text) = given.filter(|text| !text.is_empty()) {
            set(&mut fields, flag, typed(flag, &text)?);
        }
    }
    for pair in arguments
        .get_many::<String>("metadata")
        .into_iter()
        .flatten()
    {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(Failed::usage(format!(
                "--metadata takes KEY=VALUE, not {pair}"
            )));
        };
        fields.entry("metadata").or_insert_with(|| json!({}))[key] = json!(value);
    }
    for flag in [
        "title",
        "description",
        "category",
        "city",
        "state",
        "latitude",
        "longitude",
        "budget-cents",
    ] {
        if place(&mut fields, flag).is_none() {
            return Err(Failed::usage(format!(
                "--{flag} is missing (or use --from FILE, or -i to be asked)"
            )));
        }
    }
    serde_json::from_value(Value::Object(fields))
        .map_err(|error| Failed::usage(format!("this is not a task: {error}")))
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

fn place<'a>(fields: &'a mut Map<String, Value>, flag: &str) -> Option<&'a mut Value> {
    match OF_LOCATION.contains(&flag) {
        true => fields.get_mut("location")?.get_mut(flag),
        false => fields.get_mut(&flag.replace('-', "_")),
    }
}

fn set(fields: &mut Map<String, Value>, flag: &str, value: Value) {
    match OF_LOCATION.contains(&flag) {
        true => fields.entry("location").or_insert_with(|| json!({}))[flag] = value,
        false => _ = fields.insert(flag.replace('-', "_"), value),
    }
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

async fn list(client: &Client, arguments: &ArgMatches) -> Result<(), Failed> {
    let most = *arguments.get_one::<u32>("limit").unwrap_or(&20);
    let status = arguments
        .get_one::<String>("status")
        .map(|status| Status::from(status.as_str()));
    let filter = TaskFilter {
        status,
        limit: Some(i64::from(most.min(100))),
        offset: None,
    };
    let mut pages = client.tasks().list(&filter);
    let tasks = pages.take(most as usize).await?;
    print_list(arguments, &tasks, COLUMNS)?;
    let total = pages.total().unwrap_or_default();
    if total > i64::from(most) {
        progress(&format!("\n{most} of {total}; --limit shows more"));
    }
    Ok(())
}

/// The proof that is named, or the only one that waits for a review.
async fn waiting_proof(
    client: &Client,
    arguments: &ArgMatches,
    task: &str,
) -> Result<String, Failed> {
    if let Some(proof) = arguments.get_one::<String>("proof") {
        return Ok(proof.clone());
    }
    let proofs = client
        .proofs()
        .list(
            task,
            &Page {
                limit: Some(100),
                offset: None,
            },
        )
        .take(1_000)
        .await?;
    let waiting: Vec<&Proof> = proofs
        .iter()
        .filter(|proof| proof.status == ProofStatus::Pending)
        .collect();
    match waiting.as_slice() {
        // Proofs of one attempt are reviewed together.
        [first, rest @ ..]
            if rest
                .iter()
                .all(|proof| proof.attempt_number == first.attempt_number) =>
        {
            Ok(first.id.clone())
        }
        [] => Err(Failed::Refused(format!(
            "no proof of {task} waits for a review"
        ))),
        _ => Err(Failed::usage(
            "several proofs wait for a review: name one with --proof",
        )),
    }
}

/// Where nothing happens any more.
const ENDS: [Status; 4] = [
    Status::Completed,
    Status::Cancelled,
    Status::Expired,
    Status::Refunded,
];

async fn watch(client: &Client, arguments: &ArgMatches, id: &str) -> Result<(), Failed> {
    let until = arguments
        .get_one::<String>("until")
        .map(|status| Status::from(status.as_str()));
    let options = StreamOptions {
        task_id: Some(id.to_owned()),
        ..StreamOptions::default()
    };
    let mut stream = client.events().stream(options);
    stream.connect().await?;
    let mut task = client.tasks().get(id).await?;
    let is_over = |status: &Status| until.as_ref() == Some(status) || ENDS.contains(status);
    progress(&format!(
        "{} is {}. Ctrl-C stops watching.",
        one_line(&task.title),
        task.status
    ));
    while !is_over(&task.status) {
        let event = stream.next().await?;
        match wants_json(arguments) {
            true => print_line(serde_json::to_string(&event).unwrap_or_default()),
            false => print_line(format!(
                "{}  {}",
                event.created_at.get(11..19).unwrap_or_default(),
                event.event
            )),
        }
        if let Some(now) = event.task() {
            task.status = now.status;
        }
    }
    match wants_json(arguments) {
        true => print_json(&client.tasks().get(id).await?),
        false => {
            print_line(format!("The task is {}.", task.status));
            Ok(())
        }
    }
}
