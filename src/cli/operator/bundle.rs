//! `legwork bundle ...`

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::process::ExitCode;

use clap::{Arg, ArgMatches, Command};

use crate::ambient::{self, Clock};
use crate::bundles::{VerifiedBundle, keys_json, read_keys, verify_bundle};
use crate::cli::{Failure, argument, block_on, database_flags, open_store, print_line};
use crate::domain::Actor;
use crate::domain::proofs::bundles::BundleKey;
use crate::settings::Settings;
use crate::store::{Location, StoreError};
use crate::usecases;

pub fn command() -> Command {
    Command::new("bundle")
        .about("Check proof bundles, and manage the keys that sign them")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(verify_command())
        .subcommand(
            Command::new("keys")
                .about("Print all keys that ever signed bundles, as the service publishes them")
                .args(database_flags()),
        )
        .subcommand(
            Command::new("rotate-key")
                .about("Make a new key; bundles of the old one stay valid")
                .args(database_flags()),
        )
}

fn verify_command() -> Command {
    Command::new("verify")
        .about("Check a proof bundle: its layout, its signature and every hash")
        .long_about(
            "Checks that a proof bundle is exactly as the service wrote it. With --keys it needs \
             nothing but the two files. If any byte was changed, names what is wrong and exits with 1.",
        )
        .arg(
            Arg::new("file")
                .required(true)
                .value_name("FILE")
                .help("The bundle"),
        )
        .arg(Arg::new("keys").long("keys").value_name("FILE").help(
            "The keys to trust: /.well-known/legwork-keys.json of the service [default: those in the \
             database]",
        ))
        .args(database_flags())
}

pub fn run(
    settings: &Settings,
    command: &str,
    arguments: &ArgMatches,
) -> Result<ExitCode, Failure> {
    match command {
        "verify" => verify(settings, arguments)?,
        "keys" => print_line(format_args!("{:#}", keys_json(&stored_keys(settings)?))),
        _ => rotate(settings)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn verify(settings: &Settings, arguments: &ArgMatches) -> Result<(), Failure> {
    let name = argument(arguments, "file", |text| Ok(text.to_owned()))?;
    let keys = match arguments.get_one::<String>("keys") {
        Some(keys) => {
            let text = std::fs::read_to_string(keys);
            let text = text.map_err(|error| Failure(format!("{keys}: {error}")))?;
            read_keys(&text).map_err(|reason| Failure(format!("{keys}: {reason}")))?
        }
        None => stored_keys(settings)?,
    };
    let file = File::open(Path::new(&name));
    let file = file.map_err(|error| Failure(format!("{name}: {error}")))?;
    let verified = verify_bundle(&mut BufReader::new(file), &keys);
    let verified = verified.map_err(|error| Failure(format!("{name}: {error}")))?;
    report(&verified);
    Ok(())
}

fn report(bundle: &VerifiedBundle) {
    print_line(format_args!("Task     {}", bundle.task_id));
    print_line(format_args!("Made     {}", bundle.made_at));
    print_line(format_args!("Key      {}", bundle.key_id));
    print_line(format_args!(
        "Entries  {}, {} bytes",
        bundle.entries, bundle.bytes
    ));
    for (name, reason) in &bundle.missing {
        print_line(format_args!("Missing  {name} ({reason})"));
    }
    print_line("The signature, every hash and every byte between the entries are right.");
}

/// The keys of the service. A database that does not exist is not created.
fn stored_keys(settings: &Settings) -> Result<Vec<BundleKey>, Failure> {
    if let Location::Sqlite { file } = &settings.database
        && !file.exists()
    {
        let reason = "there is no database here; give the keys to trust with --keys";
        return Err(Failure(format!("LEGWORK_DATA: {reason}")));
    }
    let store = open_store(settings)?;
    let keys: Result<_, StoreError> = block_on(store.snapshot(|tx| tx.bundle_keys()))?;
    Ok(keys?)
}

fn rotate(settings: &Settings) -> Result<(), Failure> {
    let store = open_store(settings)?;
    let (seed, now) = (ambient::random::<32>(), Clock::system().now());
    let rotate =
        store.write(move |tx| usecases::rotate_bundle_key(tx, &seed, &Actor::COMMAND_LINE, now));
    let key = block_on(rotate)??;
    print_line(format_args!(
        "Bundles are now signed with the key {}.",
        key.id
    ));
    Ok(())
}
