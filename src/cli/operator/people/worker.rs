//! `legwork worker ...`

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Value, json};

use super::account::confirm;
use super::find;
use crate::ambient::Clock;
use crate::cli::{
    Failure, argument, block_on, database_flags, link_flags, link_url, open_store, print_item,
    print_line, yes_flag,
};
use crate::domain::{Actor, Timestamp, Worker, WorkerId, WorkerStatus};
use crate::settings::Settings;
use crate::store::Tx;
use crate::usecases::{self, UseCaseError};

const AT_ONCE: i64 = 500;

type Decision = fn(&mut Tx<'_>, WorkerId, &Actor, Timestamp) -> Result<Worker, UseCaseError>;

/// Decisions about a worker: the command, its help text, and the use case.
const DECISIONS: [(&str, &str, Decision); 5] = [
    (
        "verify",
        "Verify a worker, who can then accept tasks",
        usecases::verify_worker,
    ),
    (
        "refuse",
        "Refuse a worker's documents",
        usecases::refuse_worker,
    ),
    (
        "suspend",
        "Suspend a worker: open tasks are released, and the worker cannot accept others",
        usecases::suspend_worker,
    ),
    ("restore", "Undo a suspension", usecases::restore_worker),
    (
        "delete",
        "Delete a worker who has no open tasks and payouts, and erase the personal data",
        usecases::delete_worker,
    ),
];

fn which() -> Arg {
    Arg::new("worker")
        .required(true)
        .value_name("ID|EMAIL")
        .help("The worker")
}

pub fn command() -> Command {
    let decisions = DECISIONS.map(|(name, about, _)| {
        let command = Command::new(name).about(about).arg(which());
        let command = match name {
            "delete" => command.arg(yes_flag("Delete the worker without asking")),
            _ => command,
        };
        command.args(database_flags())
    });
    Command::new("worker")
        .about("Manage workers")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(list_command())
        .subcommand(
            Command::new("reset-link")
                .about("Print a link to choose another password; it works once")
                .arg(which())
                .args(database_flags())
                .args(link_flags()),
        )
        .subcommands(decisions)
}

fn list_command() -> Command {
    let statuses: Vec<_> = WorkerStatus::ALL.iter().map(|s| s.as_str()).collect();
    Command::new("list")
        .about("List all workers")
        .arg(
            Arg::new("status")
                .long("status")
                .value_parser(statuses)
                .help("Only workers with this status"),
        )
        .arg(
            Arg::new("json")
                .long("json")
                .action(ArgAction::SetTrue)
                .help("Print JSON"),
        )
        .args(database_flags())
}

pub fn run(settings: &Settings, command: &str, arguments: &ArgMatches) -> Result<(), Failure> {
    match DECISIONS.iter().find(|(name, ..)| *name == command) {
        Some((name, _, decision)) => decide(settings, arguments, (name, *decision)),
        None if command == "reset-link" => reset_link(settings, arguments),
        None => list(settings, arguments),
    }
}

fn reset_link(settings: &Settings, arguments: &ArgMatches) -> Result<(), Failure> {
    let which = argument(arguments, "worker", |text| Ok(text.to_owned()))?;
    let (store, now) = (open_store(settings)?, Clock::system().now());
    let made = block_on(store.write(
        move |tx| match find::worker(tx, &which)?.one("worker", &which) {
            Ok(worker) => {
                usecases::make_worker_reset_link(tx, worker.id, &Actor::COMMAND_LINE, now).map(Ok)
            }
            Err(failure) => Ok(Err(failure)),
        },
    ))??;
    let made = made?;
    print_line(link_url(settings, &made));
    print_line(format_args!(
        "Hand this link to {}: it sets a new password, once, until {}.",
        made.link.email, made.link.expires_at
    ));
    Ok(())
}

fn list(settings: &Settings, arguments: &ArgMatches) -> Result<(), Failure> {
    let status = arguments.get_one::<String>("status");
    let status = status.and_then(|word| WorkerStatus::parse(word));
    let json = arguments.get_flag("json");
    let store = open_store(settings)?;
    if !json {
        print_line(format_args!("{:32}  {:10}  E-MAIL", "ID", "STATUS"));
    }
    let mut after = None;
    loop {
        let page = block_on(store.snapshot(move |tx| tx.workers_after(after, AT_ONCE)))??;
        for worker in &page {
            if status.is_none_or(|status| status == worker.status) {
                print(worker, json);
            }
        }
        after = page.last().map(|worker| worker.id);
        if (page.len() as i64) < AT_ONCE {
            return Ok(());
        }
    }
}

fn print(worker: &Worker, json: bool) {
    if json {
        return print_item(as_json(worker));
    }
    let Worker {
        id, status, email, ..
    } = worker;
    print_item(format_args!("{id}  {:10}  {email}", status.as_str()));
}

fn decide(
    settings: &Settings,
    arguments: &ArgMatches,
    (command, decision): (&str, Decision),
) -> Result<(), Failure> {
    let which = argument(arguments, "worker", |text| Ok(text.to_owned()))?;
    let store = open_store(settings)?;
    if command == "delete" && !arguments.get_flag("yes") {
        confirm(&format!(
            "Delete {which}? The personal data is erased at once, and nobody can undo it."
        ))?;
    }
    let now = Clock::system().now();
    let given = which.clone();
    let decided =
        block_on(store.write(
            move |tx| match find::worker(tx, &given)?.one("worker", &given) {
                Ok(worker) => decision(tx, worker.id, &Actor::COMMAND_LINE, now).map(Ok),
                Err(failure) => Ok(Err(failure)),
            },
        ))??;
    let worker = decided?;
    // The address of a deleted worker is erased.
    let name = match worker.status {
        WorkerStatus::Deleted => &which,
        _ => &worker.email,
    };
    print_line(format_args!("{name} is now {}.", worker.status));
    Ok(())
}

fn as_json(worker: &Worker) -> Value {
    json!({
        "id": worker.id.to_string(),
        "email": worker.email,
        "name": worker.name,
        "status": worker.status,
        "skills": worker.skills,
        "completed_tasks": worker.completed_tasks,
        "verified_at": worker.verified_at,
        "created_at": worker.created_at,
        "updated_at": worker.updated_at,
    })
}
