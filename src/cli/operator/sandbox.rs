//! `legwork sandbox ...`: sets how the sandbox processor behaves.

use std::time::Duration;

use clap::{Arg, ArgMatches, Command, value_parser};

use crate::cli::{Failure, block_on, database_flags, open_store, print_line};
use crate::payments::Sandbox;
use crate::payments::sandbox::Condition;
use crate::settings::Settings;

pub fn command() -> Command {
    Command::new("sandbox")
        .about("Simulate a payment processor that is slow or down")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("up")
                .about("Work normally again")
                .args(database_flags()),
        )
        .subcommand(
            Command::new("slow")
                .about("Respond late to every request")
                .arg(
                    Arg::new("milliseconds")
                        .long("milliseconds")
                        .value_name("NUMBER")
                        .default_value("2000")
                        .value_parser(value_parser!(u64).range(..=600_000))
                        .help("The delay"),
                )
                .args(database_flags()),
        )
        .subcommand(
            Command::new("down")
                .about("Be unreachable")
                .args(database_flags()),
        )
}

pub fn set(settings: &Settings, name: &str, arguments: &ArgMatches) -> Result<(), Failure> {
    let condition = match name {
        "down" => Condition::Down,
        "slow" => {
            let milliseconds = arguments.get_one::<u64>("milliseconds");
            Condition::Slow(Duration::from_millis(*milliseconds.unwrap_or(&0)))
        }
        _ => Condition::Up,
    };
    let store = open_store(settings)?;
    block_on(Sandbox::set_condition(&store, condition))??;
    print_line(format_args!("The sandbox is {name}."));
    Ok(())
}
