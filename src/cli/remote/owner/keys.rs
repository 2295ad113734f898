//! `legwork keys ...`

use clap::{Arg, ArgAction, ArgMatches, Command};
use legwork_client::{ApiKey, CreateKey, Environment};
use serde_json::json;

use super::mandate;
use crate::cli::remote::connection::{self, client, wait};
use crate::cli::remote::failure::Failed;
use crate::cli::remote::output::{print_json, print_list, print_object, wants_json};

pub fn command() -> Command {
    let id = Arg::new("id")
        .required(true)
        .value_name("ID")
        .help("The id of the key, not the key itself");
    Command::new("keys")
        .about("List, make and revoke the API keys of your account")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("list")
                .about("List the keys")
                .after_help("Example:\n  legwork keys list")
                .args(connection::flags()),
        )
        .subcommand(
            Command::new("create")
                .about("Make a key, and print it once")
                .after_help(
                    "Examples:\n  legwork keys create --name 'Order service' --environment test\n  \
                     legwork keys create --name Agent --permissions read,create --day-cents 10000\n\n\
                     With --permissions, the key has a mandate from the first moment.",
                )
                .arg(
                    Arg::new("name")
                        .long("name")
                        .required(true)
                        .value_name("TEXT")
                        .help("What it is for"),
                )
                .arg(
                    Arg::new("environment")
                        .long("environment")
                        .value_parser(Environment::ALL.to_vec())
                        .default_value("test")
                        .help("Where it works"),
                )
                .args(mandate::limits().into_iter().map(of_mandate))
                .args(connection::flags()),
        )
        .subcommand(
            Command::new("revoke")
                .about("End a key at once, and for good")
                .after_help("Example:\n  legwork keys revoke 01a1...")
                .arg(id)
                .arg(
                    Arg::new("yes")
                        .long("yes")
                        .action(ArgAction::SetTrue)
                        .help("Also the last key of its environment"),
                )
                .args(connection::flags()),
        )
}

/// Without permissions there is no mandate, and a limit would limit nothing.
fn of_mandate(limit: Arg) -> Arg {
    let limit = limit.help_heading("Mandate");
    match limit.get_id() == "permissions" {
        true => limit,
        false => limit.requires("permissions"),
    }
}

pub fn run(matches: &ArgMatches) -> Result<(), Failed> {
    let Some((name, arguments)) = matches.subcommand() else {
        return Ok(());
    };
    let keys = client(arguments)?.keys();
    wait(async {
        match name {
            "list" => {
                let all = keys.list().take(10_000).await?;
                list(arguments, &all)
            }
            "create" => {
                let text =
                    |name: &str| arguments.get_one::<String>(name).map_or("", String::as_str);
                let environment = Environment::from(text("environment"));
                let new = CreateKey {
                    name: text("name").to_owned(),
                    environment,
                    mandate: arguments
                        .contains_id("permissions")
                        .then(|| mandate::asked_for(arguments)),
                };
                print_object(arguments, &keys.create(&new).await?)
            }
            _ => {
                let id = arguments.get_one::<String>("id").map_or("", String::as_str);
                let confirm = arguments.get_flag("yes").then_some(true);
                print_object(arguments, &keys.revoke(id, confirm).await?)
            }
        }
    })
}

/// A revoked key looks like any other, so people are told.
fn list(arguments: &ArgMatches, keys: &[ApiKey]) -> Result<(), Failed> {
    if wants_json(arguments) {
        return print_json(&keys);
    }
    let with_state = |key: &ApiKey| {
        let mut row = json!(key);
        row["state"] = json!(if key.revoked_at.is_some() {
            "revoked"
        } else {
            "active"
        });
        row
    };
    let rows: Vec<_> = keys.iter().map(with_state).collect();
    print_list(arguments, &rows, &["id", "key_prefix", "state", "name"])
}
