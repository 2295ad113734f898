//! `legwork job ...`

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::ambient::Clock;
use crate::cli::{Failure, block_on, database_flags, open_store, print_line};
use crate::domain::{Actor, JobKind, JobName};
use crate::settings::Settings;
use crate::store::ListedJob;
use crate::usecases::{self, UseCaseError};

const AT_ONCE: i64 = 500;

pub fn command() -> Command {
    Command::new("job")
        .about("Manage background jobs")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("list")
                .about("List pending and failed jobs")
                .arg(
                    Arg::new("dead")
                        .long("dead")
                        .action(ArgAction::SetTrue)
                        .help("Only dead jobs"),
                )
                .args(database_flags()),
        )
        .subcommand(
            Command::new("retry")
                .about("Retry a dead job")
                .arg(Arg::new("job").required(true).value_name("JOB").help(
                    "Name as printed by list, such as refund:019a8574c1f07c2e9d1b3a5f60718293",
                ))
                .args(database_flags()),
        )
}

pub fn list(settings: &Settings, arguments: &ArgMatches) -> Result<(), Failure> {
    let only_dead = arguments.get_flag("dead");
    let store = open_store(settings)?;
    let mut after: Option<JobName> = None;
    loop {
        let last = after.clone();
        let read = store.snapshot(move |tx| tx.jobs_after(only_dead, last.as_ref(), AT_ONCE));
        let page = block_on(read)??;
        for job in &page {
            print(job);
        }
        after = page.last().map(|job| job.name.clone());
        if (page.len() as i64) < AT_ONCE {
            return Ok(());
        }
    }
}

fn print(job: &ListedJob) {
    let state = match (&job.run_at, &job.waits_for) {
        (None, _) => "dead".to_owned(),
        (Some(_), Some(what)) => format!("waits for {what}"),
        (Some(at), None) => format!("due {at}"),
    };
    let reason = job.last_error.as_deref().unwrap_or_default();
    print_line(format_args!(
        "{}  {state}  attempts {}  {reason}",
        job.name, job.attempts
    ));
}

pub fn retry(settings: &Settings, arguments: &ArgMatches) -> Result<(), Failure> {
    let given = arguments
        .get_one::<String>("job")
        .map_or("", String::as_str);
    let no_such = || Failure(format!("there is no dead job {given}"));
    let (kind, subject) = given.split_once(':').ok_or_else(no_such)?;
    let name = JobName::new(JobKind::parse(kind).ok_or_else(no_such)?, subject);
    let store = open_store(settings)?;
    let now = Clock::system().now();
    let retry =
        store.write(move |tx| usecases::retry_job(tx, &name, None, &Actor::COMMAND_LINE, now));
    match block_on(retry)? {
        Ok(_) => {
            print_line(format_args!("{given} will be retried."));
            Ok(())
        }
        Err(UseCaseError::JobNotFound) => Err(no_such()),
        Err(error) => Err(error.into()),
    }
}
