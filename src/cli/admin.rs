//! `legwork admin ...`

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::json;

use super::{Failure, block_on, database_flags, open_store, say};
use crate::ambient::{self, Clock};
use crate::domain::{AdminKeyId, Secret, account};
use crate::settings::Settings;

pub fn command() -> Command {
    Command::new("admin")
        .about("Those who run the marketplace")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("create-key")
                .about("Make an admin key and print it, this once")
                .arg(
                    Arg::new("name")
                        .long("name")
                        .required(true)
                        .value_name("TEXT")
                        .help("Whose key it is"),
                )
                .arg(
                    Arg::new("json")
                        .long("json")
                        .action(ArgAction::SetTrue)
                        .help("Print JSON"),
                )
                .args(database_flags()),
        )
}

pub fn create_key(settings: &Settings, arguments: &ArgMatches) -> Result<(), Failure> {
    let name = arguments
        .get_one::<String>("name")
        .map_or("", String::as_str);
    let name = account::name(name).map_err(|message| Failure(format!("--name {message}")))?;
    let key = Secret::admin_key(&ambient::random());
    let now = Clock::system().now();
    let id = AdminKeyId::new(now, &ambient::random());
    let store = open_store(settings)?;
    let (written, given) = (key.clone(), name.clone());
    block_on(store.write(move |tx| {
        let prefix = written.shown_prefix();
        tx.insert_admin_key(id, &given, &written.hash(), prefix, now)
    }))??;
    if arguments.get_flag("json") {
        let value = json!({"id": id.to_string(), "name": name, "key": key.expose()});
        say(format_args!("{value:#}"));
    } else {
        say(format_args!("Admin key  {}", key.expose()));
        say("The key is shown this once. Keep it safe.");
    }
    Ok(())
}
