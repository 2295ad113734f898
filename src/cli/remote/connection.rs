//! Which server, and with which key: flags, then the environment, then the profile.

use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches};
use legwork_client::{Builder, Client, DEFAULT_BASE_URL};

use super::failure::Failed;
use super::output::progress;
use super::stored::{Profile, Profiles};
use crate::cli::{block_on, tell};

const HEADING: &str = "Connection";
/// After this, people wonder whether anything happens.
const SLOW: Duration = Duration::from_secs(5);

pub fn flags() -> [Arg; 5] {
    let text = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name(value)
            .help(help)
            .help_heading(HEADING)
    };
    [
        text(
            "server",
            "URL",
            "The server [LEGWORK_SERVER, or the profile's]",
        ),
        text("key", "KEY", "The API key [LEGWORK_KEY, or the profile's]"),
        text("profile", "NAME", "Another profile than the current one"),
        Arg::new("live")
            .long("live")
            .action(ArgAction::SetTrue)
            .help("Use the live key: real workers, real money")
            .help_heading(HEADING),
        json_flag().help_heading(HEADING),
    ]
}

pub fn json_flag() -> Arg {
    Arg::new("json")
        .long("json")
        .action(ArgAction::SetTrue)
        .help("Print JSON, as it is when the output is not a terminal")
}

/// A flag, or the variable that stands for it, unless that is empty. Spaces around it come from copying.
pub fn given(arguments: &ArgMatches, flag: &str, variable: &str) -> Option<String> {
    let flag = arguments.get_one::<String>(flag).cloned();
    let variable = || std::env::var(variable).ok();
    let value = flag.or_else(|| variable().filter(|value| !value.trim().is_empty()));
    value.map(|value| value.trim().to_owned())
}

/// Server and key, and whose they are.
pub struct Connection {
    pub server: String,
    pub key: String,
}

impl Connection {
    pub fn of(arguments: &ArgMatches) -> Result<Self, Failed> {
        let (server, key) = (
            given(arguments, "server", "LEGWORK_SERVER"),
            given(arguments, "key", "LEGWORK_KEY"),
        );
        let profile = match (&server, &key) {
            (Some(_), Some(_)) => None,
            _ => Profiles::read()?.chosen(arguments.get_one::<String>("profile"))?,
        };
        let is_live = arguments.get_flag("live");
        if let (Some(server), None, Some(profile)) = (&server, &key, &profile)
            && !is_same(server, &profile.server)
        {
            return Err(Failed::usage(format!(
                "the key of this profile is for {}, and not for {server}: give a key with --key or LEGWORK_KEY",
                profile.server
            )));
        }
        let of_profile = |profile: &Profile| match is_live {
            true => profile.live_key.clone(),
            false => profile.test_key.clone(),
        };
        let stored = profile.as_ref().and_then(of_profile);
        let key = match key.or(stored) {
            Some(key) => key,
            None if profile.is_some() && is_live => {
                return Err(Failed::usage(
                    "this profile has no live key: run `legwork login --live`",
                ));
            }
            None if profile.is_some() => {
                return Err(Failed::usage(
                    "this profile has no test key: run `legwork login`, or use --live",
                ));
            }
            None => {
                return Err(Failed::usage(
                    "you are not logged in: run `legwork login`, or set LEGWORK_KEY",
                ));
            }
        };
        refuse_unmeant(&key, is_live)?;
        let server = server.or(profile.map(|profile| profile.server));
        Ok(Self {
            server: server.unwrap_or_else(|| DEFAULT_BASE_URL.to_owned()),
            key,
        })
    }

    pub fn client(&self) -> Result<Client, Failed> {
        let builder = builder(&self.server, &self.key).max_retries(2);
        Ok(builder
            .user_agent(concat!("legwork-cli/", env!("CARGO_PKG_VERSION")))
            .build()?)
    }
}

/// A client that says when the server takes its time.
pub fn builder(server: &str, key: &str) -> Builder {
    let tell = |server: &str| progress(&format!("{server} has not answered yet. Ctrl-C stops."));
    Client::builder(key).base_url(server).when_slow(SLOW, tell)
}

pub fn client(arguments: &ArgMatches) -> Result<Client, Failed> {
    Connection::of(arguments)?.client()
}

/// Whether two addresses lead to the same server.
fn is_same(one: &str, other: &str) -> bool {
    let read = |url: &str| reqwest::Url::parse(url.trim_end_matches('/')).ok();
    one == other || read(one).is_some_and(|one| Some(one) == read(other))
}

/// Nobody spends money by accident.
pub fn refuse_unmeant(key: &str, is_live: bool) -> Result<(), Failed> {
    if key.starts_with("svc_live_") && !is_live {
        return Err(Failed::usage(
            "this is a live key, which spends money: add --live if you mean it",
        ));
    }
    if key.starts_with("svc_test_") && is_live {
        return Err(Failed::usage(
            "--live needs a live key, and this is a test key",
        ));
    }
    Ok(())
}

/// Runs the asynchronous part of a command. Ctrl-C ends it.
pub fn wait<T>(work: impl Future<Output = Result<T, Failed>>) -> Result<T, Failed> {
    block_on(async {
        tokio::select! {
            // Heard from before the work begins: a question may be answered so the moment it is seen.
            biased;
            _ = tokio::signal::ctrl_c() => interrupted(),
            done = work => done,
        }
    })?
}

/// As a shell says of a program that Ctrl-C has ended.
pub fn interrupted() -> ! {
    tell("");
    std::process::exit(130)
}
