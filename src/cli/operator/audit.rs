//! `legwork audit ...`

use std::process::ExitCode;

use clap::{Arg, ArgMatches, Command};

use crate::cli::{Failure, argument, block_on, database_flags, master_key, open_store, print_line};
use crate::domain::AuditHead;
use crate::settings::Settings;
use crate::usecases::verify_audit_against;

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
                     and exits with 1. Prints the number and the hash of the last line: keep them \
                     elsewhere, and give them to a later run with --expect.",
                )
                .arg(
                    Arg::new("expect")
                        .long("expect")
                        .value_name("NUMBER:HASH")
                        .help("A line that an earlier run printed; exit with 1 if it is missing or different"),
                )
                .args(database_flags()),
        )
}

pub fn verify(settings: &Settings, arguments: &ArgMatches) -> Result<ExitCode, Failure> {
    let kept = match arguments.contains_id("expect") {
        true => Some(argument(arguments, "expect", |text| {
            AuditHead::parse(text)
                .ok_or_else(|| "must be NUMBER:HASH, as an earlier run printed".to_owned())
        })?),
        false => None,
    };
    let has_kept = kept.is_some();
    // Before the store is opened, which records it if nobody has.
    let source = master_key::source(settings);
    let (file, recorded) = (source.audit_start_file(), source.audit_start()?);
    let store = open_store(settings)?;
    let report = block_on(store.snapshot(move |tx| verify_audit_against(tx, kept.as_ref())))??;
    print_line(format_args!("{} lines", report.head.number));
    if let Some(broken) = report.broken {
        print_line(format_args!("DIFFERENCE: {broken}"));
        return Ok(ExitCode::FAILURE);
    }
    if recorded.is_some() && recorded != report.keys.start() {
        print_line(format_args!(
            "DIFFERENCE: the keyed lines do not begin where {file} says, or have another key: the log was written anew. If you have restored another database, or run `legwork secrets reset` on another server, remove the file and run this command again with --expect",
            file = file.display()
        ));
        return Ok(ExitCode::FAILURE);
    }
    let AuditHead { number, hash } = &report.head;
    if let Some(first) = report.keys.first_keyed().filter(|first| *first > 1) {
        let before = first - 1;
        print_line(match report.keys.any_lost() {
            true => format!(
                "The keys of lines 1 to {before} are lost: only their numbers were checked."
            ),
            false => format!("Lines 1 to {before} have plain hashes, later lines have keyed ones."),
        });
    }
    if *number > 0 && recorded.is_none() && !has_kept {
        print_line(format_args!(
            "There was no {file} that says where keyed lines begin. So this run cannot know whether the whole log was written anew: compare with a line that you kept, with --expect.",
            file = file.display()
        ));
    }
    if *number > 0 {
        // Whoever can write to the database can also take the last lines away. This shows it.
        print_line(format_args!(
            "Keep {number}:{hash} elsewhere. A later run compares with it: legwork audit verify --expect {number}:{hash}"
        ));
    }
    print_line("The audit log is correct.");
    Ok(ExitCode::SUCCESS)
}
