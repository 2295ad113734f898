//! `legwork events ...`

use clap::{Arg, ArgMatches, Command};
use legwork_client::{EventFilter, EventType};

use super::connection::{self, client, wait};
use super::failure::Failed;
use super::output::{print_list, print_object};
use super::tasks::limit;

pub fn command() -> Command {
    Command::new("events")
        .about("List events, and have them sent to your webhook again")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("list")
                .about("List events, newest first")
                .after_help("Examples:\n  legwork events list\n  legwork events list --type task.completed --task 01a1...")
                .arg(Arg::new("type").long("type").value_name("EVENT").value_parser(EventType::ALL.to_vec()).hide_possible_values(true).help("Only of this type"))
                .arg(Arg::new("task").long("task").value_name("TASK").help("Only of this task"))
                .arg(limit())
                .args(connection::flags()),
        )
        .subcommand(
            Command::new("resend")
                .about("Send an event to your webhook again")
                .after_help("Example:\n  legwork events resend 01a1...\n\n`legwork events list` shows the ids.")
                .arg(Arg::new("event").required(true).value_name("EVENT").help("The id of the event"))
                .args(connection::flags()),
        )
}

pub fn run(matches: &ArgMatches) -> Result<(), Failed> {
    let Some((name, arguments)) = matches.subcommand() else {
        return Ok(());
    };
    let client = client(arguments)?;
    wait(async {
        if name == "resend" {
            // A delivery has the id of its event.
            let id = arguments
                .get_one::<String>("event")
                .map_or("", String::as_str);
            return print_object(arguments, &client.deliveries().redeliver(id).await?);
        }
        let most = *arguments.get_one::<u32>("limit").unwrap_or(&20);
        let filter = EventFilter {
            r#type: arguments
                .get_one::<String>("type")
                .map(|name| EventType::from(name.as_str())),
            task_id: arguments.get_one::<String>("task").cloned(),
            limit: Some(i64::from(most.min(100))),
            cursor: None,
        };
        let events = client.events().list(&filter).take(most as usize).await?;
        print_list(arguments, &events, &["id", "event", "created_at"])
    })
}
