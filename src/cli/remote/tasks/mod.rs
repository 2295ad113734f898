//! `legwork tasks ...`

mod answers;
pub mod create;
pub mod wanted;
mod watch;

use clap::{Arg, ArgMatches, Command};
use legwork_client::{Client, Proof, ProofStatus, Status, TaskFilter};

use self::create::{create, quote};
use self::wanted::{fields, wanted};
use self::watch::watch;
use super::connection::{self, client, wait};
use super::failure::Failed;
use super::output::{print_list, print_object, progress};
use super::proofs;
use crate::cli::tell;

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
                // A quote has its task: it would not be changed.
                .conflicts_with_all(wanted::flags())
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
    let redeemed = match name {
        "create" => arguments.get_one::<String>("quote").cloned(),
        _ => None,
    };
    let asks = arguments.try_get_one::<bool>("interactive");
    let asks = asks.is_ok_and(|asks| asks == Some(&true));
    if asks {
        // Whoever has no key would answer in vain.
        client(arguments)?;
    }
    let wanted = match name {
        "create" | "quote" if redeemed.is_none() => Some(wanted(arguments)?),
        _ => None,
    };
    let answers = wanted.clone().filter(|_| asks);
    let client = client(arguments)?;
    let task = arguments.try_get_one::<String>("task").ok().flatten();
    let task = task.map_or("", String::as_str);
    let done = wait(async {
        match (name, wanted) {
            ("quote", Some(wanted)) => quote(&client, arguments, &wanted).await,
            ("create", wanted) => create(&client, arguments, wanted, redeemed).await,
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
    });
    // What a server refuses is not answered a second time. Where it did not answer, there may be a task.
    if let (Err(Failed::Refused(_)), Some(answers)) = (&done, answers) {
        tell(format_args!("Your answers, for --from FILE:\n{answers:#}"));
    }
    done
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
    let proofs = proofs::all(client, task).await?;
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
