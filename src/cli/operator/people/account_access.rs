//! `legwork account create-key`, `invite` and `sign-in-link`: for a developer who has lost the keys, has no
//! password yet, or wants to open the dashboard on the same machine.

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::json;

use super::find;
use crate::ambient::{self, Clock};
use crate::cli::{
    Failure, argument, block_on, browsable, database_flags, link_flags, link_url, open_store,
    print_line,
};
use crate::domain::accounts::api_key;
use crate::domain::{Actor, ApiKeyId, Environment, NewApiKey};
use crate::settings::Settings;
use crate::usecases::{self, IssuedKey, UseCaseError};

/// The account that the first local start creates.
pub const LOCAL_DEVELOPER: &str = "developer@localhost";

pub fn commands() -> [Command; 3] {
    let email = || {
        Arg::new("email")
            .long("email")
            .value_name("EMAIL|ID")
            .required(true)
            .help("The account")
    };
    let environments: Vec<_> = Environment::ALL.iter().map(|e| e.as_str()).collect();
    let json = Arg::new("json")
        .long("json")
        .action(ArgAction::SetTrue)
        .help("Print JSON");
    [
        Command::new("create-key")
            .about("Create an API key for an account and print it once")
            .arg(email())
            .arg(
                Arg::new("environment")
                    .long("environment")
                    .value_parser(environments)
                    .required(true)
                    .help("What the key is for"),
            )
            .arg(
                Arg::new("name")
                    .long("name")
                    .value_name("TEXT")
                    .default_value("Made by the operator")
                    .help("Name of the key"),
            )
            .arg(json)
            .args(database_flags()),
        Command::new("invite")
            .about("Print a link with which the developer chooses a password; it works once, for 7 days")
            .arg(email())
            .args(database_flags())
            .args(link_flags()),
        Command::new("sign-in-link")
            .about("Print a link that opens the dashboard on this machine, once and within an hour")
            .arg(email().required(false).default_value(LOCAL_DEVELOPER))
            .args(database_flags())
            .args(link_flags()),
    ]
}

pub fn create_key(settings: &Settings, arguments: &ArgMatches) -> Result<(), Failure> {
    let which = argument(arguments, "email", |text| Ok(text.to_lowercase()))?;
    let new = NewApiKey {
        name: argument(arguments, "name", |text| api_key::NAME.check(text))?,
        environment: argument(arguments, "environment", Environment::rule)?,
    };
    let store = open_store(settings)?;
    let now = Clock::system().now();
    let (id, random) = (ApiKeyId::new(now, &ambient::random()), ambient::random());
    let made = block_on(store.write(move |tx| {
        let account = match find::account(tx, &which)?.one("account", &which) {
            Ok(account) => account,
            Err(failure) => return Ok(Err(failure)),
        };
        let key = IssuedKey::new(account.id, &new, id, &random, now);
        usecases::create_api_key(tx, &key, &Actor::COMMAND_LINE).map_err(gone)?;
        Ok::<_, UseCaseError>(Ok(key))
    }))??;
    let key = made?;
    if arguments.get_flag("json") {
        let value = json!({
            "id": key.record.id.to_string(), "account_id": key.record.account.to_string(),
            "name": key.record.name, "environment": key.record.environment,
            "key": key.secret.expose(),
        });
        print_line(format_args!("{value:#}"));
    } else {
        print_line(key.secret.expose());
        print_line("The key is shown only once. Keep it safe.");
    }
    Ok(())
}

pub fn invite(settings: &Settings, arguments: &ArgMatches) -> Result<(), Failure> {
    let which = argument(arguments, "email", |text| Ok(text.to_lowercase()))?;
    let store = open_store(settings)?;
    let now = Clock::system().now();
    let made =
        block_on(store.write(
            move |tx| match find::account(tx, &which)?.one("account", &which) {
                Ok(account) => usecases::invite(tx, &account, &Actor::COMMAND_LINE, now).map(Ok),
                Err(failure) => Ok(Err(failure)),
            },
        ))??;
    let made = made?;
    print_line(link_url(settings, &made));
    let mailed = "A server with a mail server also mails it to";
    print_line(format_args!(
        "Hand this link to the developer: it sets the password, once, until {}. {mailed} {}.",
        made.link.expires_at, made.link.email
    ));
    Ok(())
}

/// Only the server of a developer's own machine takes such a link, so no other needs one.
pub fn sign_in_link(settings: &Settings, arguments: &ArgMatches) -> Result<(), Failure> {
    if !settings.is_local() {
        let text =
            "this server is not in local mode: legwork account invite prints a link for a password";
        return Err(Failure(text.to_owned()));
    }
    let which = argument(arguments, "email", |text| Ok(text.to_lowercase()))?;
    let store = open_store(settings)?;
    let now = Clock::system().now();
    let made = block_on(store.write(move |tx| {
        let by = Actor::COMMAND_LINE;
        match find::account(tx, &which)?.one("account", &which) {
            Ok(account) => usecases::make_sign_in_link(tx, &account, &by, now).map(Ok),
            Err(failure) => Ok(Err(failure)),
        }
    }))??;
    let made = made?;
    print_line(browsable(&link_url(settings, &made)));
    print_line(format_args!(
        "It opens the dashboard of {} in a browser on this machine, once, until {}.",
        made.link.email, made.link.expires_at
    ));
    Ok(())
}

/// To a developer, an account that is gone means that the key is.
fn gone(error: UseCaseError) -> UseCaseError {
    match error {
        UseCaseError::Unauthorized => UseCaseError::AccountNotFound,
        error => error,
    }
}
