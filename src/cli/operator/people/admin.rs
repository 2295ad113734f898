//! `legwork admin ...`

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::json;

use crate::ambient::{self, Clock};
use crate::cli::{
    Failure, argument, block_on, database_flags, open_or_create_store, open_store, print_line,
};
use crate::domain::{Actor, AdminKeyId, AdminRole, accounts};
use crate::settings::Settings;
use crate::usecases::{self, IssuedAdminKey, UseCaseError};

pub fn command() -> Command {
    let roles = AdminRole::ALL.iter().map(|role| role.as_str());
    Command::new("admin")
        .about("Manage admin keys")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("create-key")
                .about("Create an admin key and print it")
                .arg(
                    Arg::new("name")
                        .long("name")
                        .required(true)
                        .value_name("TEXT")
                        .help("Name of the admin"),
                )
                .arg(
                    Arg::new("role")
                        .long("role")
                        .value_parser(roles.collect::<Vec<_>>())
                        .default_value(AdminRole::Viewer.as_str())
                        .help("A viewer reads, an operator also decides and sees identity documents, an owner also changes tiers and writes off payouts"),
                )
                .arg(json_flag())
                .args(database_flags()),
        )
        .subcommand(
            Command::new("list-keys")
                .about("List all admin keys, including revoked ones")
                .arg(json_flag())
                .args(database_flags()),
        )
        .subcommand(
            Command::new("revoke-key")
                .about("Revoke an admin key permanently")
                .arg(
                    Arg::new("id")
                        .required(true)
                        .value_name("ID")
                        .help("Id of the key, as printed by list-keys"),
                )
                .args(database_flags()),
        )
}

fn json_flag() -> Arg {
    Arg::new("json")
        .long("json")
        .action(ArgAction::SetTrue)
        .help("Print JSON")
}

pub fn create_key(settings: &Settings, arguments: &ArgMatches) -> Result<(), Failure> {
    let name = argument(arguments, "name", |text| accounts::NAME.check(text))?;
    let role = argument(arguments, "role", AdminRole::rule)?;
    let now = Clock::system().now();
    let id = AdminKeyId::new(now, &ambient::random());
    let key = IssuedAdminKey::new(&name, role, id, &ambient::random(), now);
    let (store, written) = (open_or_create_store(settings)?, key.clone());
    let create =
        store.write(move |tx| usecases::create_admin_key(tx, &written, &Actor::COMMAND_LINE, now));
    block_on(create)??;
    if arguments.get_flag("json") {
        let secret = key.secret.expose();
        let value = json!({"id": id.to_string(), "name": name, "role": role, "key": secret});
        print_line(format_args!("{value:#}"));
    } else {
        print_line(format_args!("Admin key ({role})  {}", key.secret.expose()));
        print_line("The key is shown only once. Keep it safe.");
    }
    Ok(())
}

pub fn list_keys(settings: &Settings, arguments: &ArgMatches) -> Result<(), Failure> {
    let json = arguments.get_flag("json");
    let store = open_store(settings)?;
    for key in block_on(store.snapshot(|tx| tx.admin_keys()))?? {
        if json {
            print_line(json!({
                "id": key.id.to_string(),
                "name": key.name,
                "role": key.role,
                "key_prefix": key.key_prefix,
                "created_at": key.created_at,
                "revoked_at": key.revoked_at,
                "created_by": key.created_by.map(|key| key.to_string()),
            }));
        } else {
            let state = match key.revoked_at {
                Some(at) => format!("revoked {at}"),
                None => "good".to_owned(),
            };
            let (id, role, prefix) = (key.id, key.role.as_str(), key.key_prefix);
            print_line(format_args!(
                "{id}  {role:8}  {prefix}...  {state}  {}",
                key.name
            ));
        }
    }
    Ok(())
}

pub fn revoke_key(settings: &Settings, arguments: &ArgMatches) -> Result<(), Failure> {
    let given = argument(arguments, "id", |text| Ok(text.to_owned()))?;
    let no_such = || Failure(format!("there is no admin key {given}"));
    let id = AdminKeyId::parse(&given).ok_or_else(no_such)?;
    let (store, now) = (open_store(settings)?, Clock::system().now());
    let revoke =
        store.write(move |tx| usecases::revoke_admin_key(tx, id, &Actor::COMMAND_LINE, now));
    match block_on(revoke)? {
        Ok(key) => {
            print_line(format_args!("The key of {} is revoked.", key.name));
            Ok(())
        }
        Err(UseCaseError::KeyNotFound) => Err(no_such()),
        Err(error) => Err(error.into()),
    }
}
