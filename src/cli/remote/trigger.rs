//! `legwork trigger`: makes the calls that end in an event, in test.

use clap::{Arg, ArgAction, ArgMatches, Command};
use legwork_client::{Category, Client, CreateTask, EventType, Location, Status};
use serde_json::{Value, json};

use super::connection::{self, client, wait};
use super::failure::Failed;
use super::output::{print_object, progress};

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
    ("task.expired", Step::To(Status::Expired)),
    ("task.disputed", Step::To(Status::Disputed)),
    ("task.refunded", Step::To(Status::Refunded)),
];

enum Step {
    Create,
    To(Status),
    Cancel,
}

pub fn command() -> Command {
    Command::new("trigger")
        .about("Cause an event in test, by a task that is taken as far as it needs")
        .after_help(
            "Examples:\n  \
             legwork trigger task.completed\n  \
             legwork trigger task.cancelled --override budget_cents=5000 --override location.city=Queens\n\n\
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
    let client = client(arguments)?;
    wait(async {
        let task = take(&client, &task, step).await?;
        progress(&format!("{event} has happened."));
        print_object(arguments, &task)
    })
}

async fn take(client: &Client, task: &CreateTask, step: &Step) -> Result<Value, Failed> {
    let task = client.tasks().create(task).await?;
    match step {
        Step::Create => {}
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

fn task(arguments: &ArgMatches) -> Result<CreateTask, Failed> {
    let usual = CreateTask::new("Photograph a storefront", "Made by legwork trigger.")
        .category(Category::Photography)
        .location(Location::new("Brooklyn", "NY", 40.7163, -73.9595))
        .budget_cents(2500);
    let mut task = json!(usual);
    for given in arguments
        .get_many::<String>("override")
        .into_iter()
        .flatten()
    {
        let Some((field, value)) = given.split_once('=') else {
            return Err(Failed::usage(format!(
                "--override takes FIELD=VALUE, not {given}"
            )));
        };
        // What is JSON is taken as JSON: 5000, true, ["photo"]. Everything else is a text.
        let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
        match field.strip_prefix("location.") {
            Some(inner) => task["location"][inner] = value,
            None => task[field] = value,
        }
    }
    serde_json::from_value(task)
        .map_err(|error| Failed::usage(format!("this is not a task: {error}")))
}
