//! `legwork audit ...`

use std::process::ExitCode;

use clap::Command;

use super::{Failure, block_on, database_flags, open_store, print_line};
use crate::settings::Settings;
use crate::usecases::verify_audit;

pub fn command() -> Command {
    Command::new("audit")
        .about("Check the audit log")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("verify")
                .about("Check the hash chain of the audit log")
                .long_about(
                    "Recomputes the hash of every line of the audit log and compares the end of \
                     the chain with the recorded one. If a line does not match, prints the first such line \
                     and exits with 1.",
                )
                .args(database_flags()),
        )
}

pub fn verify(settings: &Settings) -> Result<ExitCode, Failure> {
    let store = open_store(settings)?;
    let report = block_on(store.snapshot(verify_audit))??;
    print_line(format_args!("{} lines", report.head.number));
    match report.broken {
        None => {
            // If the operator keeps this hash elsewhere, it shows later that no line was removed at
            // the end.
            print_line(format_args!("The chain ends with {}", report.head.hash));
            print_line("The audit log is correct.");
            Ok(ExitCode::SUCCESS)
        }
        Some(broken) => {
            print_line(format_args!("DIFFERENCE: {broken}"));
            Ok(ExitCode::FAILURE)
        }
    }
}
