//! `legwork second-factor ...`

use clap::{Arg, ArgGroup, ArgMatches, Command};

use crate::ambient::Clock;
use crate::cli::{Failure, block_on, database_flags, open_store, print_line};
use crate::domain::{AccountId, Actor, AdminKeyId, Person, WorkerId};
use crate::settings::Settings;
use crate::store::{StoreError, Tx};
use crate::usecases::{self, UseCaseError};

/// Whose factor: the flag, what it takes, and its help text.
const WHOSE: [(&str, &str, &str); 3] = [
    ("account", "ID|EMAIL", "Of a developer's account"),
    ("worker", "ID|EMAIL", "Of a worker"),
    ("admin-key", "ID", "Of an admin key"),
];

pub fn command() -> Command {
    let whose =
        WHOSE.map(|(flag, value, help)| Arg::new(flag).long(flag).value_name(value).help(help));
    let one = ArgGroup::new("whose")
        .args(WHOSE.map(|(flag, ..)| flag))
        .required(true);
    Command::new("second-factor")
        .about("Help people who have lost their second factor")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("reset")
                .about("Remove the second factor of somebody who has lost app and recovery codes")
                .args(whose)
                .group(one)
                .args(database_flags()),
        )
}

pub fn reset(settings: &Settings, arguments: &ArgMatches) -> Result<(), Failure> {
    let given = WHOSE
        .iter()
        .find_map(|(flag, ..)| Some((*flag, arguments.get_one::<String>(flag)?.clone())));
    let Some((flag, which)) = given else {
        unreachable!("clap requires one");
    };
    let (store, now) = (open_store(settings)?, Clock::system().now());
    let wanted = which.to_lowercase();
    let reset = block_on(store.write(move |tx| {
        let Some(holder) = find(tx, flag, &wanted)? else {
            return Ok(None);
        };
        usecases::reset_second_factor(tx, holder, &Actor::COMMAND_LINE, now).map(Some)
    }))?;
    let reset: Result<_, UseCaseError> = reset;
    match reset? {
        None => Err(Failure(format!("there is no {flag} {which}"))),
        Some(false) => Err(Failure(format!("{which} has no second factor"))),
        Some(true) => {
            print_line(format_args!("{which} has no second factor any more."));
            Ok(())
        }
    }
}

fn find(tx: &mut Tx<'_>, flag: &str, given: &str) -> Result<Option<Person>, StoreError> {
    Ok(match flag {
        "account" => {
            let account = match AccountId::parse(given) {
                Some(id) => tx.account(id)?,
                None => tx.account_by_email(given)?,
            };
            account.map(|account| Person::Account(account.id))
        }
        "worker" => {
            let worker = match WorkerId::parse(given) {
                Some(id) => tx.worker(id)?,
                None => tx.worker_by_email(given)?.map(|(worker, _)| worker),
            };
            worker.map(|worker| Person::Worker(worker.id))
        }
        _ => match AdminKeyId::parse(given) {
            Some(id) => tx.admin_key(id)?.map(|key| Person::Admin(key.id)),
            None => None,
        },
    })
}
