//! `legwork backup` and `legwork restore`

use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command, value_parser};

use crate::cli::{
    Failure, block_on, database_flags, make_data_folder, master_key, open_locked_store, print_line,
};
use crate::files::FilesLocation;
use crate::seal::KeySource;
use crate::settings::Settings;
use crate::store::Store;

pub fn backup_command() -> Command {
    Command::new("backup")
        .about("Back up the database to a file while the server runs")
        .long_about(
            "Copies a consistent snapshot of the SQLite database to a new file while the server runs, \
             and checks it. Photos and other files are not in the database: copy them afterwards. \
             The master key is not in it either: keep a copy of it elsewhere.",
        )
        .arg(file("The file to create; it must not exist"))
        .args(database_flags())
}

pub fn restore_command() -> Command {
    Command::new("restore")
        .about("Create a database from a backup, if there is none")
        .arg(file("A file created by `legwork backup`"))
        .args(database_flags())
}

fn file(help: &'static str) -> Arg {
    Arg::new("file")
        .required(true)
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help(help)
}

fn given_file(arguments: &ArgMatches) -> &Path {
    let file = arguments.get_one::<PathBuf>("file");
    file.map_or(Path::new(""), PathBuf::as_path)
}

pub fn back_up(settings: &Settings, arguments: &ArgMatches) -> Result<(), Failure> {
    let to = given_file(arguments);
    let made = Store::back_up(&settings.database, to)?;
    print_line(format_args!(
        "{}: {} bytes, schema version {}, checked.",
        to.display(),
        made.bytes,
        made.schema
    ));
    print_line(match &settings.files {
        FilesLocation::Folder(folder) => format!(
            "Photos and other files are not included. Copy {} now: after the database, never before it.",
            folder.display()
        ),
        FilesLocation::S3 { bucket, prefix } => {
            format!("Photos and other files are not included: they are in s3://{bucket}/{prefix}")
        }
    });
    print_line(match master_key::source(settings) {
        KeySource::File(file) => format!(
            "The master key is not included. Keep a copy of {} elsewhere: without it, nobody can open the secrets in the backup.",
            file.display()
        ),
        KeySource::Given { .. } => "The master key is not included. Keep LEGWORK_MASTER_KEY elsewhere: without it, nobody can open the secrets in the backup.".to_owned(),
    });
    Ok(())
}

pub fn restore(settings: &Settings, arguments: &ArgMatches) -> Result<(), Failure> {
    let from = given_file(arguments);
    make_data_folder(&settings.data)?;
    Store::restore(from, &settings.database)?;
    let store = open_locked_store(settings)?;
    let (accounts, tasks) = block_on(store.snapshot(|tx| tx.accounts_and_tasks()))??;
    print_line(format_args!(
        "Restored {}: {accounts} accounts, {tasks} tasks.",
        from.display()
    ));
    let source = master_key::source(settings);
    if let Err(error) = block_on(store.check_keys(&source))? {
        print_line(format_args!("The server will not start yet: {error}."));
    }
    print_line(
        "Never start it beside the original with the same files, Stripe key or mail server. If it takes the \
         place of the original, delete the file `owner` among the files.",
    );
    print_line("Restore the files too. Before you start the server, run: legwork ledger verify");
    Ok(())
}
