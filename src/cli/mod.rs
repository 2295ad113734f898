//! The command line.

mod examples;
mod operator;
mod printing;
mod remote;
mod serve;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::process::ExitCode;

use clap::{Arg, ArgMatches, Command};

use operator::people::{account, account_access, admin, second_factor, worker};
use operator::{
    audit, backup, bundle, doctor, job, ledger, master_key, payments, relocate, report, sandbox,
    secrets,
};

use printing::{print_item, print_line, tell};

use crate::domain::Tier;
use crate::settings::{self, Given, SETTINGS, Settings};
use crate::store::{Location, Store};

/// Why a command failed, as a message for the user.
#[derive(Debug)]
pub struct Failure(String);

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

pub fn run() -> ExitCode {
    let matches = command().get_matches();
    printing::checked(match dispatch(&matches) {
        Ok(code) => code,
        Err(Failure(reason)) => {
            tell(format_args!("legwork: {reason}"));
            ExitCode::FAILURE
        }
    })
}

fn dispatch(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let innermost = innermost(matches);
    if let Some(("openapi", _)) = matches.subcommand() {
        print_line(crate::api::openapi_document().trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(code) = remote::run(matches) {
        return Ok(code);
    }
    let given = given(matches)?;
    let settings = Settings::read(&given)?;
    match matches.subcommand() {
        None | Some(("serve", _)) => serve::run(&settings, self_signed(matches))?,
        Some(("migrate", _)) => migrate(&settings)?,
        Some(("backup", _)) => backup::back_up(&settings, innermost)?,
        Some(("restore", _)) => backup::restore(&settings, innermost)?,
        Some(("move", _)) => return relocate::run(&given, &settings, innermost),
        Some(("doctor", _)) => return Ok(doctor::run(&given, &settings)),
        Some(("account", account)) => match account.subcommand() {
            Some(("create", _)) => account::create(&settings, innermost)?,
            Some(("list", _)) => account::list(&settings, innermost)?,
            Some(("create-key", _)) => account_access::create_key(&settings, innermost)?,
            Some(("invite", _)) => account_access::invite(&settings, innermost)?,
            Some(("sign-in-link", _)) => account_access::sign_in_link(&settings, innermost)?,
            Some(("set-tier", _)) => account::set_tier(&settings, innermost)?,
            Some((decision, _)) => account::decide(&settings, decision, innermost)?,
            _ => unreachable!("clap requires one of the above"),
        },
        Some(("worker", worker)) => match worker.subcommand() {
            Some((command, _)) => worker::run(&settings, command, innermost)?,
            None => unreachable!("clap requires one"),
        },
        Some(("admin", admin)) => match admin.subcommand() {
            Some(("create-key", _)) => admin::create_key(&settings, innermost)?,
            Some(("list-keys", _)) => admin::list_keys(&settings, innermost)?,
            Some(("revoke-key", _)) => admin::revoke_key(&settings, innermost)?,
            _ => unreachable!("clap requires one of the above"),
        },
        Some(("audit", _)) => return audit::verify(&settings, innermost),
        Some(("ledger", ledger)) => match ledger.subcommand() {
            Some(("verify", _)) => return ledger::verify(&settings),
            Some(("export", _)) => ledger::export(&settings)?,
            _ => unreachable!("clap requires one of the above"),
        },
        Some(("report", _)) => report::run(&settings, innermost)?,
        Some(("job", job)) => match job.subcommand() {
            Some(("list", _)) => job::list(&settings, innermost)?,
            Some(("retry", _)) => job::retry(&settings, innermost)?,
            _ => unreachable!("clap requires one of the above"),
        },
        Some(("bundle", bundle)) => match bundle.subcommand() {
            Some((command, _)) => return bundle::run(&settings, command, innermost),
            None => unreachable!("clap requires one"),
        },
        Some(("second-factor", _)) => second_factor::reset(&settings, innermost)?,
        Some(("secrets", secrets)) => match secrets.subcommand() {
            Some((command, _)) => secrets::run(&settings, command, innermost)?,
            None => unreachable!("clap requires one"),
        },
        Some(("sandbox", sandbox)) => match sandbox.subcommand() {
            Some((condition, _)) => sandbox::set(&settings, condition, innermost)?,
            None => unreachable!("clap requires one"),
        },
        _ => unreachable!("clap knows no other command"),
    }
    Ok(ExitCode::SUCCESS)
}

fn command() -> Command {
    examples::added(commands())
}

fn commands() -> Command {
    Command::new("legwork")
        .about("Legwork: a marketplace for physical work behind an API")
        .long_about(
            "Legwork: a marketplace for physical work behind an API.\n\n\
             Without a command it starts the server. In local mode (a loopback address, the default) \
             the first start creates an account and prints its keys.",
        )
        .version(env!("CARGO_PKG_VERSION"))
        .after_help(
            "Examples:\n  \
             legwork                          starts the server, on this machine\n  \
             legwork demo                     starts a town with people who work\n  \
             legwork login                    stores a server and a key\n\n\
             You can also give each setting as an environment variable (--database-url is \
             LEGWORK_DATABASE_URL) or in legwork.toml (database_url = \"...\").\n\
             Flags override the environment, which overrides the file.",
        )
        .args(setting_flags(|_| true))
        .arg(config_flag())
        .arg(self_signed_flag())
        .subcommand(serve_command())
        .subcommands(remote::commands())
        .subcommand(account_command())
        .subcommand(worker::command())
        .subcommand(admin::command())
        .subcommand(audit::command())
        .subcommand(ledger::command())
        .subcommand(report::command())
        .subcommand(job::command())
        .subcommand(bundle::command())
        .subcommand(second_factor::command())
        .subcommand(secrets::command())
        .subcommand(sandbox::command())
        .subcommand(
            Command::new("migrate")
                .about("Create or migrate the database, then exit")
                .args(database_flags()),
        )
        .subcommand(backup::backup_command())
        .subcommand(backup::restore_command())
        .subcommand(relocate::command())
        .subcommand(
            Command::new("doctor")
                .about("Print the configuration and check that it works")
                .args(setting_flags(|_| true))
                .arg(config_flag()),
        )
        .subcommand(
            Command::new("openapi")
                .about("Print the OpenAPI description (3.1, JSON)")
                .args(database_flags()),
        )
}

fn serve_command() -> Command {
    Command::new("serve")
        .about("Start the server (the default command)")
        .args(setting_flags(|_| true))
        .arg(config_flag())
        .arg(self_signed_flag())
}

fn account_command() -> Command {
    let json = || {
        Arg::new("json")
            .long("json")
            .action(clap::ArgAction::SetTrue)
            .help("Print JSON")
    };
    let tier = || {
        Arg::new("tier")
            .long("tier")
            .value_parser(Tier::ALL.iter().map(|t| t.as_str()).collect::<Vec<_>>())
    };
    let which = || {
        Arg::new("account")
            .required(true)
            .value_name("ID|EMAIL")
            .help("The account")
    };
    let text = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("TEXT").help(help)
    };
    Command::new("account")
        .about("Manage developers' accounts")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("create")
                .about("Create an account and print it with one live and one test key")
                .arg(text("email", "E-mail address, unique").required(true))
                .arg(text("name", "Name of the developer").required(true))
                .arg(text("company", "Company"))
                .arg(tier().default_value("free").help("Tier"))
                .arg(json())
                .args(database_flags())
                .args(link_flags()),
        )
        .subcommand(
            Command::new("list")
                .about("List all accounts")
                .arg(json())
                .args(database_flags()),
        )
        .subcommand(
            Command::new("set-tier")
                .about("Change the tier of an account")
                .arg(which())
                .arg(tier().required(true).help("The new tier"))
                .args(database_flags()),
        )
        .subcommands(account_access::commands())
        .subcommands(account::DECISIONS.map(|(name, about, _)| {
            let command = Command::new(name).about(about).arg(which());
            let command = match name {
                "delete" => command.arg(yes_flag("Delete it without asking")),
                _ => command,
            };
            command.args(database_flags())
        }))
}

fn setting_flags(wanted: impl Fn(&str) -> bool) -> Vec<Arg> {
    SETTINGS
        .iter()
        .filter(|setting| wanted(setting.name))
        .map(|setting| {
            Arg::new(setting.name)
                .long(settings::flag(setting.name))
                .value_name(setting.value_name)
                .help(setting.help)
                .help_heading("Settings")
        })
        .collect()
}

/// Where a link leads that an operator hands over.
fn link_url(settings: &Settings, made: &crate::usecases::MadeLink) -> String {
    match &settings.public_url {
        Some(url) => format!("{url}{}", made.path()),
        None => format!("http://{}{}", settings.listen, made.path()),
    }
}

/// The same link for a browser on this machine: browsers keep our cookies for `localhost`, and not for an address.
fn browsable(url: &str) -> String {
    let rest = url.strip_prefix("http://127.0.0.1");
    let rest = rest.or_else(|| url.strip_prefix("http://[::1]"));
    let of_this_machine = rest.filter(|rest| rest.starts_with([':', '/']));
    of_this_machine.map_or_else(|| url.to_owned(), |rest| format!("http://localhost{rest}"))
}

/// The flags of commands that print a link.
fn link_flags() -> Vec<Arg> {
    setting_flags(|name| matches!(name, "listen" | "public_url"))
}

/// The flags that every command has.
fn database_flags() -> Vec<Arg> {
    let mut flags = setting_flags(|name| matches!(name, "data" | "database_url"));
    flags.push(config_flag());
    flags
}

fn yes_flag(help: &'static str) -> Arg {
    Arg::new("yes")
        .long("yes")
        .action(clap::ArgAction::SetTrue)
        .help(help)
}

fn config_flag() -> Arg {
    Arg::new("config")
        .long("config")
        .value_name("FILE")
        .help("Settings file [default: legwork.toml, if it exists]")
        .help_heading("Settings")
}

fn self_signed_flag() -> Arg {
    Arg::new(SELF_SIGNED)
        .long(SELF_SIGNED)
        .action(clap::ArgAction::SetTrue)
        .help("Serve HTTPS with a certificate of its own, for phones on the same network")
}

/// The flag may come before or after the command.
fn self_signed(matches: &ArgMatches) -> bool {
    let given = |matches: &ArgMatches| {
        let flag = matches.try_get_one::<bool>(SELF_SIGNED);
        matches!(flag, Ok(Some(true)))
    };
    given(matches) || given(innermost(matches))
}

const SELF_SIGNED: &str = "self-signed";

fn innermost(matches: &ArgMatches) -> &ArgMatches {
    match matches.subcommand() {
        Some((_, inner)) => innermost(inner),
        None => matches,
    }
}

/// Parses the value of an argument.
fn argument<T>(
    arguments: &ArgMatches,
    name: &str,
    rule: impl FnOnce(&str) -> Result<T, String>,
) -> Result<T, Failure> {
    let text = arguments.get_one::<String>(name).map_or("", String::as_str);
    rule(text).map_err(|message| Failure(format!("--{name} {message}")))
}

/// Collects the settings of all sources. A flag may come before or after the command.
fn given(matches: &ArgMatches) -> Result<Given, Failure> {
    let mut flags = BTreeMap::new();
    let mut config = std::env::var_os("LEGWORK_CONFIG").map(PathBuf::from);
    let mut level = Some(matches);
    while let Some(matches) = level {
        for setting in SETTINGS {
            if let Ok(Some(value)) = matches.try_get_one::<String>(setting.name) {
                flags.insert(setting.name.to_owned(), value.clone());
            }
        }
        if let Ok(Some(file)) = matches.try_get_one::<String>("config") {
            config = Some(PathBuf::from(file));
        }
        level = matches.subcommand().map(|(_, inner)| inner);
    }
    let usual = Path::new("legwork.toml");
    let file = config.or_else(|| usual.exists().then(|| usual.to_owned()));
    Ok(Given::collect(flags, environment(), file.as_deref())?)
}

/// The environment. What is not UTF-8 is marked and not left out: a setting of ours is then refused.
fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok()?;
        Some((name, value.to_string_lossy().into_owned()))
    })
}

/// Opens the database for a command that sets up a service, with the master key. Creates the data
/// folder, the database and the key if they are missing.
fn open_or_create_store(settings: &Settings) -> Result<Store, Failure> {
    make_data_folder(&settings.data)?;
    master_key::unlock(open_database(settings)?, settings)
}

/// Opens the database for any other command, with the master key. A name that was mistyped must not
/// look like an empty service.
fn open_store(settings: &Settings) -> Result<Store, Failure> {
    master_key::unlock(open_locked_store(settings)?, settings)
}

/// The same without the master key.
fn open_locked_store(settings: &Settings) -> Result<Store, Failure> {
    let place = match &settings.database {
        Location::Sqlite { file } if file.exists() => None,
        Location::Sqlite { .. } => Some(format!("in {}", settings.data.display())),
        Location::Postgres { url, .. } => {
            let is_there = Store::exists(&settings.database).map_err(in_database(settings))?;
            (!is_there).then(|| format!("at {}", doctor::place(url)))
        }
    };
    match place {
        None => open_database(settings),
        Some(place) => Err(in_database(settings)(format!(
            "there is no Legwork database {place}; `legwork serve` and `legwork migrate` create one"
        ))),
    }
}

fn open_database(settings: &Settings) -> Result<Store, Failure> {
    Store::open(&settings.database).map_err(in_database(settings))
}

/// Names the setting that says where the database is.
fn in_database<E: std::fmt::Display>(settings: &Settings) -> impl Fn(E) -> Failure {
    let setting = match &settings.database {
        Location::Sqlite { .. } => "LEGWORK_DATA",
        Location::Postgres { .. } => "LEGWORK_DATABASE_URL",
    };
    move |error| Failure(format!("{setting}: {error}"))
}

/// Only the owner can access a data folder that we create. An existing one keeps its permissions.
fn make_data_folder(folder: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|error| Failure(format!("LEGWORK_DATA: {}: {error}", folder.display())))
}

fn migrate(settings: &Settings) -> Result<(), Failure> {
    make_data_folder(&settings.data)?;
    open_database(settings)?;
    print_line("The database is up to date.");
    Ok(())
}

/// Runs the asynchronous part of a command. What runs it is compiled once for all commands: it is large.
fn block_on<F: Future>(future: F) -> std::io::Result<F::Output> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut output = None;
    {
        let running: Pin<&mut dyn Future<Output = ()>> =
            pin!(async { output = Some(future.await) });
        runtime.block_on(running);
    }
    output.ok_or_else(|| std::io::Error::other("the command did not end"))
}
