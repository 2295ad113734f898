//! `legwork account ...`

use std::io::IsTerminal;

use clap::ArgMatches;
use serde_json::{Value, json};

use super::find;
use crate::ambient::Clock;
use crate::cli::{
    Failure, argument, block_on, link_url, open_or_create_store, open_store, print_item, print_line,
};
use crate::domain::{Account, AccountId, Actor, NewAccount, Tier, Timestamp, accounts};
use crate::settings::Settings;
use crate::store::Tx;
use crate::usecases::{self, OpenedAccount, UseCaseError};

pub fn create(settings: &Settings, arguments: &ArgMatches) -> Result<(), Failure> {
    let new = NewAccount {
        email: argument(arguments, "email", |text| accounts::EMAIL.check(text))?,
        name: argument(arguments, "name", |text| accounts::NAME.check(text))?,
        company: arguments
            .contains_id("company")
            .then(|| argument(arguments, "company", |text| accounts::NAME.check(text)))
            .transpose()?,
        tier: argument(arguments, "tier", Tier::rule)?,
    };
    let opened = OpenedAccount::new(&new, Clock::system().now());
    let written = opened.clone();
    let store = open_or_create_store(settings)?;
    let create =
        store.write(move |tx| usecases::create_invited_account(tx, &written, &Actor::COMMAND_LINE));
    let invited = block_on(create)??;
    let invitation = link_url(settings, &invited);
    if arguments.get_flag("json") {
        let mut value = as_json(&opened.account);
        value["live_key"] = opened.live_key.secret.expose().into();
        value["test_key"] = opened.test_key.secret.expose().into();
        value["invitation_url"] = invitation.into();
        print_line(format_args!("{value:#}"));
    } else {
        print_line(format_args!("Account   {}", opened.account.id));
        print_line(format_args!(
            "Live key  {}",
            opened.live_key.secret.expose()
        ));
        print_line(format_args!(
            "Test key  {}",
            opened.test_key.secret.expose()
        ));
        print_line(format_args!("Invitation  {invitation}"));
        print_line(
            "The keys are shown only once. Keep them safe. With the invitation the developer chooses a password; it works once, for 7 days.",
        );
    }
    Ok(())
}

pub fn list(settings: &Settings, arguments: &ArgMatches) -> Result<(), Failure> {
    const AT_ONCE: i64 = 500;
    let json = arguments.get_flag("json");
    let store = open_store(settings)?;
    if !json {
        print_line(format_args!(
            "{:32}  {:10}  {:9}  E-MAIL",
            "ID", "TIER", "STATUS"
        ));
    }
    let mut after = None;
    loop {
        let page = move |tx: &mut Tx<'_>| Ok::<_, UseCaseError>(tx.accounts_after(after, AT_ONCE)?);
        let accounts = block_on(store.snapshot(page))??;
        for account in &accounts {
            if json {
                print_item(as_json(account));
            } else {
                let Account {
                    id,
                    tier,
                    status,
                    email,
                    ..
                } = account;
                print_item(format_args!(
                    "{id}  {:10}  {:9}  {email}",
                    tier.as_str(),
                    status.as_str()
                ));
            }
        }
        after = accounts.last().map(|account| account.id);
        if (accounts.len() as i64) < AT_ONCE {
            return Ok(());
        }
    }
}

type Decision = fn(&mut Tx<'_>, AccountId, &Actor, Timestamp) -> Result<Account, UseCaseError>;

/// Decisions about an account: the command, its help text, and the use case.
pub const DECISIONS: [(&str, &str, Decision); 3] = [
    (
        "suspend",
        "Suspend an account: its keys are refused and its posted tasks hidden",
        usecases::suspend_account,
    ),
    ("restore", "Undo a suspension", usecases::restore_account),
    (
        "delete",
        "Delete an account that has nothing open; the remaining data is erased after 30 days",
        usecases::delete_account,
    ),
];

pub fn decide(settings: &Settings, command: &str, arguments: &ArgMatches) -> Result<(), Failure> {
    let Some((.., decision)) = DECISIONS.iter().find(|(name, ..)| *name == command) else {
        unreachable!("clap knows no other command");
    };
    let which = argument(arguments, "account", |text| Ok(text.to_owned()))?;
    let store = open_store(settings)?;
    if command == "delete" && !arguments.get_flag("yes") {
        confirm(&format!(
            "Delete {which}? Its keys stop working at once, and nobody can undo it."
        ))?;
    }
    let now = Clock::system().now();
    let given = which.clone();
    let decided =
        block_on(store.write(
            move |tx| match find::account(tx, &given)?.one("account", &given) {
                Ok(account) => decision(tx, account.id, &Actor::COMMAND_LINE, now).map(Ok),
                Err(failure) => Ok(Err(failure)),
            },
        ))??;
    print_line(format_args!("{which} is now {}.", decided?.status));
    Ok(())
}

/// Asks the person at the terminal. A script has to say that it means it.
pub fn confirm(question: &str) -> Result<(), Failure> {
    let input = std::io::stdin();
    if !input.is_terminal() {
        let reason = "there is no terminal to ask on; add --yes if you mean it";
        return Err(Failure(reason.to_owned()));
    }
    eprint!("{question} Type yes: ");
    let mut answer = String::new();
    input.read_line(&mut answer)?;
    match answer.trim() {
        "yes" => Ok(()),
        _ => Err(Failure("nothing was deleted".to_owned())),
    }
}

pub fn set_tier(settings: &Settings, arguments: &ArgMatches) -> Result<(), Failure> {
    let which = argument(arguments, "account", |text| Ok(text.to_owned()))?;
    let tier = argument(arguments, "tier", Tier::rule)?;
    let store = open_store(settings)?;
    let now = Clock::system().now();
    let changed = block_on(store.write(move |tx| {
        let found = find::account(tx, &which)?.one("account", &which);
        if let Ok(account) = &found {
            usecases::set_tier(tx, account.id, tier, &Actor::COMMAND_LINE, now)?;
        }
        Ok::<_, UseCaseError>(found)
    }))??;
    let account = changed?;
    print_line(format_args!(
        "{} is now {tier} (was {}).",
        account.email, account.tier
    ));
    Ok(())
}

fn as_json(account: &Account) -> Value {
    json!({
        "id": account.id.to_string(),
        "email": account.email,
        "name": account.name,
        "company": account.company,
        "tier": account.tier,
        "status": account.status,
        "created_at": account.created_at,
        "updated_at": account.updated_at,
    })
}
