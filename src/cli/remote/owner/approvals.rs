//! `legwork approvals ...`: tasks of limited keys that wait for a person's yes.

use clap::{Arg, ArgAction, ArgMatches, Command};
use legwork_client::{ApprovalFilter, ApprovalStatus};

use crate::cli::remote::asking::confirm;
use crate::cli::remote::connection::{self, client, wait};
use crate::cli::remote::failure::Failed;
use crate::cli::remote::output::{money, one_line, print_list, print_object};
use crate::cli::remote::tasks::limit;

pub fn command() -> Command {
    let decision = |name: &'static str, about: &'static str| {
        Command::new(name)
            .about(about)
            .after_help(format!("Example:\n  legwork approvals {name} 01a1..."))
            .arg(
                Arg::new("task")
                    .required(true)
                    .value_name("TASK")
                    .help("The id of the task"),
            )
            .arg(
                Arg::new("yes")
                    .long("yes")
                    .action(ArgAction::SetTrue)
                    .help("Do not ask"),
            )
            .args(connection::flags())
    };
    Command::new("approvals")
        .about("Decide about tasks of limited keys that wait for your yes")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("list")
                .about("List what waits for a yes, newest first")
                .after_help("Examples:\n  legwork approvals list\n  legwork approvals list --status refused")
                .arg(
                    Arg::new("status")
                        .long("status")
                        .default_value("waiting")
                        .value_parser(ApprovalStatus::ALL.to_vec())
                        .help("Those that are"),
                )
                .arg(limit())
                .args(connection::flags()),
        )
        .subcommand(decision("approve", "Let a task be charged and done"))
        .subcommand(decision("refuse", "Cancel a task"))
}

pub fn run(matches: &ArgMatches) -> Result<(), Failed> {
    let Some((name, arguments)) = matches.subcommand() else {
        return Ok(());
    };
    let client = client(arguments)?;
    wait(async {
        let text = |name: &str| arguments.get_one::<String>(name).map_or("", String::as_str);
        if name == "list" {
            let most = *arguments.get_one::<u32>("limit").unwrap_or(&20);
            let filter = ApprovalFilter {
                status: Some(ApprovalStatus::from(text("status"))),
                limit: Some(i64::from(most.min(100))),
                cursor: None,
            };
            let found = client.approvals().list(&filter).take(most as usize).await?;
            let columns = ["task_id", "status", "budget_cents", "expires_at"];
            return print_list(arguments, &found, &columns);
        }
        let id = text("task");
        let approvals = client.approvals();
        let task = client.tasks().get(id).await?;
        let (title, budget) = (one_line(&task.title), money(task.budget_cents));
        let decided = match name {
            "approve" => {
                confirm(arguments, &format!("Spend {budget} on \"{title}\"?")).await?;
                approvals.approve(id).await?
            }
            _ => {
                confirm(arguments, &format!("Refuse {budget} for \"{title}\"?")).await?;
                approvals.refuse(id).await?
            }
        };
        print_object(arguments, &decided)
    })
}
