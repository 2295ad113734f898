//! `legwork account create-key` and `legwork account invite`: for a developer who has lost the keys, or
//! has no password yet.

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::json;

use crate::ambient::{self, Clock};
use crate::cli::{
    Failure, argument, block_on, database_flags, open_store, print_line, setting_flags,
};
use crate::domain::accounts::api_key;
use crate::domain::{Account, AccountId, AccountStatus, Actor, ApiKeyId, Environment, NewApiKey};
use crate::settings::Settings;
use crate::store::Tx;
use crate::usecases::{self, IssuedKey, UseCaseError};

pub fn commands() -> [Command; 2] {
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
            .args(setting_flags(|name| {
                matches!(name, "listen" | "public_url")
            })),
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
        let found = named(tx, &which)?;
        let Found::One(account) = found else {
            return Ok(Err(found));
        };
        let key = IssuedKey::new(account.id, &new, id, &random, now);
        usecases::create_api_key(tx, &key, &Actor::COMMAND_LINE)?;
        Ok::<_, UseCaseError>(Ok(key))
    }))??;
    let key = made.map_err(Found::failure)?;
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
    let made = block_on(store.write(move |tx| {
        let found = named(tx, &which)?;
        let Found::One(account) = found else {
            return Ok(Err(found));
        };
        usecases::invite(tx, &account, &Actor::COMMAND_LINE, now).map(Ok)
    }))??;
    let made = made.map_err(Found::failure)?;
    let url = match &settings.public_url {
        Some(url) => url.clone(),
        None => format!("http://{}", settings.listen),
    };
    print_line(format_args!("{url}{}", made.path()));
    let mailed = "A server with a mail server also mails it to";
    print_line(format_args!(
        "Hand this link to the developer: it sets the password, once, until {}. {mailed} {}.",
        made.link.expires_at, made.link.email
    ));
    Ok(())
}

/// What an id or an address stands for.
enum Found {
    None(String),
    One(Box<Account>),
    /// Nobody has confirmed the address, and several accounts claim it.
    Several(Vec<AccountId>),
}

impl Found {
    fn failure(self) -> Failure {
        match self {
            Self::None(which) => Failure(format!("there is no account {which}")),
            Self::One(account) => Failure(format!("account {} cannot be used", account.id)),
            Self::Several(ids) => {
                let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
                Failure(format!(
                    "several accounts claim this address and none has confirmed it; name one by its \
                     ID: {}",
                    ids.join(", ")
                ))
            }
        }
    }
}

/// Finds an account by its id, by its confirmed address, or by an address that it alone claims.
fn named(tx: &mut Tx<'_>, given: &str) -> Result<Found, UseCaseError> {
    const SHOWN: i64 = 10;
    let account = match AccountId::parse(given) {
        Some(id) => tx.account(id)?,
        None => tx.account_by_email(given)?,
    };
    let deleted = |account: &Account| account.status == AccountStatus::Deleted;
    if let Some(account) = account.filter(|account| !deleted(account)) {
        return Ok(Found::One(Box::new(account)));
    }
    let mut claims = tx.claims_of(given, None, SHOWN)?;
    Ok(match claims.len() {
        0 => Found::None(given.to_owned()),
        1 => Found::One(Box::new(claims.remove(0))),
        _ => Found::Several(claims.iter().map(|account| account.id).collect()),
    })
}
