//! `legwork keys ...`

use clap::{Arg, ArgAction, ArgMatches, Command};
use legwork_client::{CreateKey, Environment};

use crate::cli::remote::connection::{self, client, wait};
use crate::cli::remote::failure::Failed;
use crate::cli::remote::output::{print_list, print_object};

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
                    "Example:\n  legwork keys create --name 'Order service' --environment test",
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

pub fn run(matches: &ArgMatches) -> Result<(), Failed> {
    let Some((name, arguments)) = matches.subcommand() else {
        return Ok(());
    };
    let keys = client(arguments)?.keys();
    wait(async {
        match name {
            "list" => {
                let all = keys.list().take(10_000).await?;
                print_list(arguments, &all, &["id", "key_prefix", "name"])
            }
            "create" => {
                let text =
                    |name: &str| arguments.get_one::<String>(name).map_or("", String::as_str);
                let environment = Environment::from(text("environment"));
                let new = CreateKey {
                    name: text("name").to_owned(),
                    environment,
                    mandate: None,
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
