//! `legwork login`, `whoami`, `switch` and `logout`.

use clap::{Arg, ArgAction, ArgMatches, Command};
use legwork_client::{Account, Client, DEFAULT_BASE_URL, ErrorCode, Mandate};
use serde_json::{Value, json};

use super::asking::{ask_secret, is_interactive};
use super::connection::{self, Connection, wait};
use super::failure::Failed;
use super::output::{print_json, print_object, wants_json};
use super::stored::{Profile, Profiles};
use crate::cli::print_line;

pub fn login_command() -> Command {
    Command::new("login")
        .about("Store a server and a key for the commands below")
        .after_help(
            "Examples:\n  \
             legwork login                              a server on this machine, asks for the key\n  \
             legwork login --server https://legwork.example.com --key svc_test_...\n  \
             legwork login --live --key svc_live_...    adds the live key to the profile\n\n\
             The key is kept in ~/.config/legwork/profiles.json, which only you can read.",
        )
        .args(connection::flags())
}

pub fn login(arguments: &ArgMatches) -> Result<(), Failed> {
    let mut profiles = Profiles::read()?;
    let name = arguments
        .get_one::<String>("profile")
        .map_or(profiles.current_name(), String::as_str)
        .to_owned();
    let known = profiles
        .profiles
        .get(&name)
        .map(|profile| profile.server.clone());
    let server = connection::given(arguments, "server", "LEGWORK_SERVER")
        .or(known)
        .unwrap_or_else(|| DEFAULT_BASE_URL.to_owned());
    let key = match connection::given(arguments, "key", "LEGWORK_KEY") {
        Some(key) => key,
        None if is_interactive() => {
            let typed = ask_secret(&format!("API key for {server}"))?;
            typed.trim().to_owned()
        }
        None => {
            return Err(Failed::usage(
                "there is no terminal to ask for the key on: use --key or LEGWORK_KEY",
            ));
        }
    };
    let is_live = arguments.get_flag("live");
    connection::refuse_unmeant(&key, is_live)?;
    let client = connection::builder(&server, &key).max_retries(1).build()?;
    let holder = wait(Holder::of(&client))?.name();
    let profile = profiles.profiles.entry(name.clone()).or_default();
    if profile.server != client.base_url() || profile.account != holder {
        // Keys of another account do not belong into the same profile.
        *profile = Profile {
            server: client.base_url().to_owned(),
            account: holder.clone(),
            ..Profile::default()
        };
    }
    let place = if is_live {
        &mut profile.live_key
    } else {
        &mut profile.test_key
    };
    *place = Some(key);
    profiles.current = Some(name.clone());
    profiles.write()?;
    let environment = if is_live { "live" } else { "test" };
    let server = client.base_url();
    tell_of(
        arguments,
        &json!({"account": holder, "server": server, "environment": environment, "profile": name}),
        &format!("You are {holder} at {server} ({environment}, profile {name})."),
    )
}

/// JSON for programs, a sentence for people.
fn tell_of(arguments: &ArgMatches, told: &Value, sentence: &str) -> Result<(), Failed> {
    if wants_json(arguments) {
        return print_json(told);
    }
    print_line(sentence);
    Ok(())
}

/// Who has a key.
enum Holder {
    Account(Box<Account>),
    /// A key with a mandate does not see the account.
    Limited(Box<Mandate>),
}

impl Holder {
    async fn of(client: &Client) -> Result<Self, Failed> {
        match client.account().get().await {
            Ok(account) => Ok(Self::Account(Box::new(account))),
            Err(error) if error.code() == Some(&ErrorCode::PermissionDenied) => {
                Ok(Self::Limited(Box::new(client.mandate().get().await?)))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Account(account) => account.email.clone(),
            Self::Limited(mandate) => format!("the limited key {}", mandate.key_id),
        }
    }
}

pub fn whoami_command() -> Command {
    Command::new("whoami")
        .about("Show the account, the server and the environment that commands use")
        .after_help("Example:\n  legwork whoami")
        .args(connection::flags())
}

pub fn whoami(arguments: &ArgMatches) -> Result<(), Failed> {
    let Connection { server, key } = Connection::of(arguments)?;
    let client = connection::client(arguments)?;
    let holder = wait(Holder::of(&client))?;
    let environment = if key.starts_with("svc_live_") {
        "live"
    } else {
        "test"
    };
    let profiles = Profiles::read().unwrap_or_default();
    let mut told = json!({
        "server": server, "environment": environment,
        "key": format!("{}...", key.get(..13).unwrap_or_default()),
        "profiles": profiles.profiles.keys().collect::<Vec<_>>(),
    });
    match holder {
        Holder::Account(account) => {
            told["account"] = json!(account.email);
            told["name"] = json!(account.name);
            told["tier"] = json!(account.tier);
            told["id"] = json!(account.id);
        }
        Holder::Limited(mandate) => {
            told["key_id"] = json!(mandate.key_id);
            told["mandate"] = json!(mandate.status);
        }
    }
    print_object(arguments, &told)
}

pub fn switch_command() -> Command {
    Command::new("switch")
        .about("Use another profile from now on")
        .after_help("Examples:\n  legwork login --profile staging --server https://staging.example.com\n  legwork switch staging")
        .arg(Arg::new("name").required(true).value_name("NAME").help("The profile"))
        .arg(connection::json_flag())
}

pub fn switch(arguments: &ArgMatches) -> Result<(), Failed> {
    let mut profiles = Profiles::read()?;
    let name = arguments.get_one::<String>("name");
    let Some(profile) = profiles.chosen(name)? else {
        return Err(Failed::usage(
            "there is no profile yet: run `legwork login`",
        ));
    };
    profiles.current = name.cloned();
    profiles.write()?;
    let Profile {
        account, server, ..
    } = profile;
    tell_of(
        arguments,
        &json!({"account": account, "server": server, "profile": name}),
        &format!("You are {account} at {server}."),
    )
}

pub fn logout_command() -> Command {
    Command::new("logout")
        .about("Forget the keys of a profile")
        .after_help("Examples:\n  legwork logout\n  legwork logout --all\n\nThe keys keep working: `legwork keys revoke` ends that.")
        .arg(Arg::new("profile").long("profile").value_name("NAME").help("Another profile than the current one"))
        .arg(Arg::new("all").long("all").action(ArgAction::SetTrue).help("All profiles"))
        .arg(connection::json_flag())
}

pub fn logout(arguments: &ArgMatches) -> Result<(), Failed> {
    let mut profiles = Profiles::read()?;
    if arguments.get_flag("all") {
        let all: Vec<_> = profiles.profiles.into_keys().collect();
        Profiles::default().write()?;
        let told = json!({"forgotten": all, "profiles": [], "current": null});
        return tell_of(arguments, &told, "All profiles are forgotten.");
    }
    let name = arguments
        .get_one::<String>("profile")
        .map_or(profiles.current_name(), String::as_str)
        .to_owned();
    if profiles.profiles.remove(&name).is_none() {
        return Err(profiles.unknown(&name));
    }
    // A profile that is gone stays the current one: nobody works with another account without having said so.
    profiles.write()?;
    let others: Vec<_> = profiles.profiles.keys().map(String::as_str).collect();
    let is_used = profiles.chosen(None)?.is_some();
    let mut sentence = format!("The profile {name} is forgotten.");
    if !is_used && !others.is_empty() {
        sentence.push_str(&format!(
            "\nNone is used until you log in, or switch to one: `legwork switch {}`.",
            others.join("|")
        ));
    }
    let current = is_used.then(|| profiles.current_name());
    let told = json!({"forgotten": [name], "profiles": others, "current": current});
    tell_of(arguments, &told, &sentence)
}
