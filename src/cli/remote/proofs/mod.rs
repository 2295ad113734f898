//! `legwork proofs ...`

mod download;

use clap::{Arg, ArgAction, ArgMatches, Command};
use legwork_client::{Client, Page, Proof};

use self::download::download;
use super::connection::{self, client, wait};
use super::failure::Failed;
use super::output::{print_list, print_object};

const COLUMNS: &[&str] = &["id", "attempt_number", "type", "status", "geo_valid"];
/// More than any task has.
const MOST: usize = 1_000;

pub fn command() -> Command {
    let proof = || {
        Arg::new("proof")
            .value_name("PROOF")
            .help("The id of the proof")
    };
    Command::new("proofs")
        .about("Look at the proofs of a task, and save their files")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(of_task(
            "list",
            "List the proofs of a task, oldest first",
            "Example:\n  legwork proofs list 01a1...",
        ))
        .subcommand(
            of_task(
                "get",
                "Show a proof",
                "Example:\n  legwork proofs get 01a1... 01a2...",
            )
            .arg(proof().required(true)),
        )
        .subcommand(
            of_task(
                "download",
                "Save the file of a proof, or those of all proofs of a task",
                "Examples:\n  \
                 legwork proofs download 01a1... --output proofs\n  \
                 legwork proofs download 01a1... 01a2...\n\n\
                 A file has the type and the id of its proof for a name.",
            )
            .arg(proof().help("The id of the proof [default: all]"))
            .arg(
                Arg::new("output")
                    .long("output")
                    .short('o')
                    .value_name("DIR")
                    .default_value(".")
                    .help("The folder, which is made if it is not there"),
            )
            .arg(
                Arg::new("force")
                    .long("force")
                    .action(ArgAction::SetTrue)
                    .help("Replace files that are there"),
            ),
        )
}

fn of_task(name: &'static str, about: &'static str, examples: &'static str) -> Command {
    Command::new(name)
        .about(about)
        .after_help(examples)
        .arg(
            Arg::new("task")
                .required(true)
                .value_name("TASK")
                .help("The id of the task"),
        )
        .args(connection::flags())
}

pub fn run(matches: &ArgMatches) -> Result<(), Failed> {
    let Some((name, arguments)) = matches.subcommand() else {
        return Ok(());
    };
    let client = client(arguments)?;
    let text = |name: &str| arguments.try_get_one::<String>(name).ok().flatten();
    let task = text("task").map_or("", String::as_str);
    wait(async {
        let mut proofs = all(&client, task).await?;
        if let Some(wanted) = text("proof") {
            proofs.retain(|proof| proof.id == *wanted);
            if proofs.is_empty() {
                return Err(Failed::Refused(format!(
                    "task {task} has no proof {wanted}. `legwork proofs list` names those it has"
                )));
            }
        }
        match (name, proofs.as_slice()) {
            ("get", [proof, ..]) => print_object(arguments, proof),
            ("download", proofs) => download(&client, arguments, proofs).await,
            (_, proofs) => print_list(arguments, proofs, COLUMNS),
        }
    })
}

/// The proofs of a task, oldest first.
pub async fn all(client: &Client, task: &str) -> Result<Vec<Proof>, Failed> {
    let page = Page {
        limit: Some(100),
        offset: None,
    };
    Ok(client.proofs().list(task, &page).take(MOST).await?)
}
