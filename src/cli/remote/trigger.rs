//! `legwork trigger`: makes the calls that end in an event, in test.

use clap::{Arg, ArgAction, ArgMatches, Command};
use legwork_client::{
    Category, Client, CreateKey, CreateTask, CreatedTask, EventType, Location, Status,
};
use serde_json::{Map, Value, json};

use super::connection::{self, Connection, wait};
use super::failure::Failed;
use super::output::{print_object, progress};
use super::tasks::create::create_as_written;
use super::tasks::wanted::object_in;

/// How each event comes about: the status to which the task is taken.
const STEPS: &[(&str, Step)] = &[
    ("task.created", Step::Create),
    ("task.funded", Step::Create),
    ("task.posted", Step::To(Status::Posted)),
    ("task.assigned", Step::To(Status::Assigned)),
    ("task.started", Step::To(Status::InProgress)),
    ("task.proof_submitted", Step::To(Status::ProofSubmitted)),
    ("task.completed", Step::To(Status::Completed)),
    ("task.proof_rejected", Step::To(Status::ProofRejected)),
    ("task.cancelled", Step::Cancel),
    ("task.approval_required", Step::AskFirst),
    ("task.expired", Step::To(Status::Expired)),
    ("task.disputed", Step::To(Status::Disputed)),
    ("task.refunded", Step::To(Status::Refunded)),
];

enum Step {
    Create,
    To(Status),
    Cancel,
    /// A limited key creates it, which has to ask for its whole budget.
    AskFirst,
}

pub fn command() -> Command {
    Command::new("trigger")
        .about("Cause an event in test, by a task that is taken as far as it needs")
        .after_help(
            "Examples:\n  \
             legwork trigger task.completed\n  \
             legwork trigger task.cancelled --override budget_cents=5000\n\n\
             `legwork listen` in another terminal shows the events.",
        )
        .arg(
            Arg::new("event")
                .required(true)
                .value_name("EVENT")
                .value_parser(EventType::ALL.to_vec())
                .help("The type of the event"),
        )
        .arg(
            Arg::new("override")
                .long("override")
                .value_name("FIELD=VALUE")
                .action(ArgAction::Append)
                .help("Another value for a field of the task; may be repeated"),
        )
        .args(connection::flags())
}

pub fn run(arguments: &ArgMatches) -> Result<(), Failed> {
    let event = arguments
        .get_one::<String>("event")
        .map_or("", String::as_str);
    let Some((_, step)) = STEPS.iter().find(|(known, _)| *known == event) else {
        let message =
            "happens only in live, by a real payment or a real worker: it cannot be triggered";
        return Err(Failed::usage(format!("{event} {message}")));
    };
    if arguments.get_flag("live") {
        return Err(Failed::usage(
            "events are triggered in test: leave out --live",
        ));
    }
    let task = task(arguments)?;
    let connection = Connection::of(arguments)?;
    wait(async {
        let task = take(&connection, &task, step).await?;
        progress(&format!("{event} has happened."));
        print_object(arguments, &task)
    })
}

async fn take(connection: &Connection, task: &Value, step: &Step) -> Result<Value, Failed> {
    let client = connection.client()?;
    let task = match step {
        Step::AskFirst => create_by_a_limited_key(connection, &client, task).await?,
        _ => create_as_written(&client, task).await?,
    };
    match step {
        Step::Create | Step::AskFirst => {}
        Step::To(status) => {
            client
                .test_helpers()
                .advance_task(&task.id, Some(status.clone()))
                .await?;
        }
        Step::Cancel => {
            client.tasks().cancel(&task.id, None).await?;
        }
    }
    Ok(json!(client.tasks().get(&task.id).await?))
}

/// The key is revoked when it has created the task.
async fn create_by_a_limited_key(
    connection: &Connection,
    client: &Client,
    task: &Value,
) -> Result<CreatedTask, Failed> {
    let budget = task["budget_cents"].as_i64().unwrap_or_default();
    let mandate = json!({"permissions": ["create"], "approval_above_cents": (budget - 1).max(0)});
    let key = json!({"name": "legwork trigger", "environment": "test", "mandate": mandate});
    let key: CreateKey = serde_json::from_value(key)
        .map_err(|error| Failed::usage(format!("this is not a key: {error}")))?;
    let key = client.keys().create(&key).await?;
    let limited = Connection {
        server: connection.server.clone(),
        key: key.key,
    };
    let created = create_as_written(&limited.client()?, task).await;
    client.keys().revoke(&key.id, None).await?;
    created
}

/// The usual task with what was overridden, as it was written: the server says what is wrong with it.
fn task(arguments: &ArgMatches) -> Result<Value, Failed> {
    let usual = CreateTask::new("Photograph a storefront", "Made by legwork trigger.")
        .category(Category::Photography)
        .location(Location::new("Brooklyn", "NY", 40.7163, -73.9595))
        .budget_cents(2500);
    let mut task: Map<String, Value> = json!(usual).as_object().cloned().unwrap_or_default();
    let overrides = arguments.get_many::<String>("override");
    for given in overrides.into_iter().flatten() {
        let Some((field, value)) = given.split_once('=') else {
            return Err(Failed::usage(format!(
                "--override takes FIELD=VALUE, not {given}"
            )));
        };
        // What is JSON is taken as JSON: 5000, true, ["photo"]. Everything else is a text.
        let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
        match field.split_once('.') {
            Some((object, inner)) => {
                object_in(&mut task, object)?.insert(inner.to_owned(), value);
            }
            None => _ = task.insert(field.to_owned(), value),
        }
    }
    Ok(Value::Object(task))
}
