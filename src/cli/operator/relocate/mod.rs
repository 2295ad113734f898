//! `legwork move`: the database to PostgreSQL, the files to S3.

mod files;

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::ambient::Clock;
use crate::cli::doctor::place;
use crate::cli::{Failure, database_flags, ledger, master_key, print_line, setting_flags};
use crate::files::FilesLocation;
use crate::seal::KeySource;
use crate::settings::{Given, Settings};
use crate::store::{HeldDatabase, Location, Step, Transfer};

pub fn command() -> Command {
    let target = |name: &'static str, url: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(url).help(help)
    };
    Command::new("move")
        .about("Move the database to PostgreSQL, or the files to S3")
        .long_about(
            "Copies the SQLite database to an empty PostgreSQL database, the files to an S3 bucket, or \
             both, and compares every row and every file. Stop the server first. If the command is \
             interrupted, run it again: it goes on where it stopped. When it is done, no server starts on \
             the old database and the old folder any more.",
        )
        .arg(target("to", "URL", "The new database: postgres://..."))
        .arg(target("files-to", "URL", "The new place of files: s3://bucket/prefix"))
        .arg(
            Arg::new("undo")
                .long("undo")
                .action(ArgAction::SetTrue)
                .conflicts_with_all(["to", "files-to"])
                .help("Give up a move, or use the old database and files again after one"),
        )
        .arg_required_else_help(true)
        .args(setting_flags(|name| name == "files_url"))
        .args(ledger::payment_flags())
        .args(database_flags())
}

pub fn run(
    given: &Given,
    settings: &Settings,
    arguments: &ArgMatches,
) -> Result<ExitCode, Failure> {
    if arguments.get_flag("undo") {
        return undo(settings).map(|()| ExitCode::SUCCESS);
    }
    let (to, files_to) = (
        arguments.get_one::<String>("to"),
        arguments.get_one::<String>("files-to"),
    );
    let mut target = given.clone();
    if let Some(url) = to {
        target = target.with_flag("database_url", url)?;
    }
    if let Some(url) = files_to {
        target = target.with_flag("files_url", url)?;
    }
    let target = Settings::read(&target)?;
    if to.is_none() && files_to.is_none() {
        return Err(Failure("say where to: --to, --files-to or both".to_owned()));
    }
    if to.is_some() && matches!(target.database, Location::Sqlite { .. }) {
        return Err(Failure("--to must be a postgres:// URL".to_owned()));
    }
    let held = HeldDatabase::open(&settings.database, Clock::system().now())?;
    if files_to.is_some() {
        files::copy(&held, settings, &target.files)?;
    }
    if to.is_some() {
        return move_database(held, settings, &target);
    }
    print_line(format_args!(
        "Start the servers with LEGWORK_FILES_URL={} from now on.",
        target.files
    ));
    Ok(ExitCode::SUCCESS)
}

fn move_database(
    held: HeldDatabase,
    settings: &Settings,
    target: &Settings,
) -> Result<ExitCode, Failure> {
    let clock = Clock::system();
    let names = [&settings.database, &target.database].map(name);
    print_line(format_args!("Moving {} to {}", names[0], names[1]));
    let names = [names[0].as_str(), names[1].as_str()];
    let transfer = Transfer::begin(held, &target.database, names, clock.now())?;
    let mut shown = Shown::default();
    transfer
        .run(clock.now(), &mut |step| shown.show(step))
        .map_err(|error| Failure(format!("{error}. To go on, run the same command again")))?;
    print_line("Every row is equal in both databases. The ledger of the new one:");
    if !ledger::is_right(target)? {
        print_line(
            "The old database has the same differences. Resolve them there: run `legwork move --undo`, \
             and empty the new database before you move again.",
        );
        return Ok(ExitCode::FAILURE);
    }
    transfer.finish(clock.now())?;
    print_line(format_args!(
        "Moved. No server starts on {} any more. Keep it until you have a backup of the new database.",
        names[0]
    ));
    take_along(settings, target);
    Ok(ExitCode::SUCCESS)
}

/// What the new servers need beside the database.
fn take_along(settings: &Settings, target: &Settings) {
    print_line("Start the servers with the same settings as before, except:");
    print_line("  LEGWORK_DATABASE_URL, which must name the new database");
    if settings.files != target.files {
        print_line(format_args!("  LEGWORK_FILES_URL={}", target.files));
    }
    print_line("Every server needs, besides its settings:");
    print_line(match master_key::source(settings) {
        KeySource::File(file) => format!(
            "  the master key: copy {} into its data folder, or set LEGWORK_MASTER_KEY",
            file.display()
        ),
        KeySource::Given { .. } => "  the master key: LEGWORK_MASTER_KEY as it is now".to_owned(),
    });
    if matches!(target.files, FilesLocation::Folder(_)) {
        print_line(format_args!(
            "  the files: {} (to move a folder to S3, use --files-to)",
            target.files
        ));
    }
}

fn undo(settings: &Settings) -> Result<(), Failure> {
    // The database first: it refuses while a server runs, and then nothing has changed.
    let database = match &settings.database {
        Location::Sqlite { .. } => HeldDatabase::undo(&settings.database)?,
        Location::Postgres { .. } => false,
    };
    files::forget_progress(settings)?;
    let files = settings.files.forget_move()?;
    if !database && !files {
        print_line("Nothing was moved from here.");
        return Ok(());
    }
    if database {
        print_line(format_args!(
            "Servers can use {} again. What was written to the new database is not in it, and the two must \
             not be used side by side: empty the new one.",
            name(&settings.database)
        ));
    }
    if files {
        print_line(format_args!("Servers can use {} again.", settings.files));
    }
    Ok(())
}

/// A database in words, without its password.
fn name(location: &Location) -> String {
    match location {
        Location::Sqlite { file } => file.display().to_string(),
        Location::Postgres { url, .. } => format!("PostgreSQL at {}", place(url)),
    }
}

/// What was printed so far: a line for each table, and on a terminal how far the current one is.
#[derive(Default)]
struct Shown {
    last: Option<(String, bool)>,
}

impl Shown {
    fn show(&mut self, step: Step<'_>) -> ControlFlow<()> {
        let verb = if step.comparing { "compared" } else { "copied" };
        let (table, rows, total) = (step.table, step.rows, step.total);
        let this = (table.to_owned(), step.comparing);
        if rows == total && self.last.as_ref() != Some(&this) {
            clear_line();
            print_line(format_args!("  {table}: {rows} rows {verb}"));
            self.last = Some(this);
        } else if rows < total {
            on_terminal(format_args!("  {table}: {rows} of {total} rows {verb}"));
        }
        ControlFlow::Continue(())
    }
}

/// Replaces the last line of a terminal. Prints nothing elsewhere.
fn on_terminal(text: std::fmt::Arguments<'_>) {
    let mut out = std::io::stderr();
    if out.is_terminal() {
        let _ = write!(out, "\r{text}\x1b[K").and_then(|()| out.flush());
    }
}

fn clear_line() {
    on_terminal(format_args!(""));
}
