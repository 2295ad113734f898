//! Commands for users of the API: any server, by URL and key. They reach it through `legwork-client` alone.

mod agent;
mod asking;
mod completions;
mod connection;
mod demo;
mod events;
mod failure;
mod listen;
mod output;
mod owner;
mod profiles;
mod proofs;
mod signature;
mod stored;
mod tasks;
mod trigger;

use std::process::ExitCode;

use clap::{ArgMatches, Command};

use failure::Failed;

use super::tell;

type Maker = fn() -> Command;
type Runner = fn(&ArgMatches) -> Result<(), Failed>;

/// Each command with what runs it.
const COMMANDS: &[(&str, Maker, Runner)] = &[
    ("login", profiles::login_command, profiles::login),
    ("whoami", profiles::whoami_command, profiles::whoami),
    ("switch", profiles::switch_command, profiles::switch),
    ("logout", profiles::logout_command, profiles::logout),
    ("tasks", tasks::command, tasks::run),
    ("proofs", proofs::command, proofs::run),
    ("events", events::command, events::run),
    ("listen", listen::command, listen::run),
    ("keys", owner::keys::command, owner::keys::run),
    ("mandate", owner::mandate::command, owner::mandate::run),
    (
        "approvals",
        owner::approvals::command,
        owner::approvals::run,
    ),
    ("logs", owner::logs::command, owner::logs::run),
    ("trigger", trigger::command, trigger::run),
    ("mcp", agent::mcp::command, agent::mcp::run),
    ("agent", agent::setup::command, agent::setup::run),
    ("signature", signature::command, signature::run),
    ("demo", demo::command, demo::run),
    ("completions", completions::command, completions::run),
];

pub fn commands() -> impl Iterator<Item = Command> {
    COMMANDS.iter().map(|(_, command, _)| command())
}

/// Runs one of these commands; none if it is another.
pub fn run(matches: &ArgMatches) -> Option<ExitCode> {
    let (name, arguments) = matches.subcommand()?;
    let (.., runner) = COMMANDS.iter().find(|(known, ..)| *known == name)?;
    Some(match runner(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            tell(format_args!("legwork: {failed}"));
            failed.exit_code()
        }
    })
}
