//! `legwork second-factor ...`

use clap::{Arg, ArgGroup, ArgMatches, Command};

use super::find;
use crate::ambient::Clock;
use crate::cli::{Failure, block_on, database_flags, open_store, print_line};
use crate::domain::{Actor, AdminKeyId, Person};
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
                .about("Remove the second factor and the passkeys of somebody who has lost app and recovery codes")
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
    let wanted = which.clone();
    let reset = block_on(store.write(move |tx| match holder(tx, flag, &wanted)? {
        Ok(holder) => usecases::reset_second_factor(tx, holder, &Actor::COMMAND_LINE, now).map(Ok),
        Err(failure) => Ok::<_, UseCaseError>(Err(failure)),
    }))??;
    match reset? {
        false => Err(Failure(format!("{which} has no second factor"))),
        true => {
            print_line(format_args!("{which} has no second factor any more."));
            Ok(())
        }
    }
}

/// Whose factor it is, or why nobody is found.
fn holder(tx: &mut Tx<'_>, flag: &str, given: &str) -> Result<Result<Person, Failure>, StoreError> {
    Ok(match flag {
        "account" => {
            let found = find::account(tx, given)?.one(flag, given);
            found.map(|account| Person::Account(account.id))
        }
        "worker" => {
            let found = find::worker(tx, given)?.one(flag, given);
            found.map(|worker| Person::Worker(worker.id))
        }
        _ => {
            let key = AdminKeyId::parse(given).map(|id| tx.admin_key(id));
            let key = key.transpose()?.flatten();
            let missing = || Failure(format!("there is no {flag} {given}"));
            key.map(|key| Person::Admin(key.id)).ok_or_else(missing)
        }
    })
}
