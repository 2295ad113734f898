//! `legwork demo`: a town with people who work, to look around in.

mod house;
mod plan;
mod town;

use std::time::Duration;

use clap::{Arg, ArgMatches, Command};
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};

use self::house::House;
use self::plan::{PLACES, Plan};
use self::town::{PASSWORD, Town, client};
use super::failure::Failed;
use crate::cli::{browsable, print_line, tell};

const WORKERS: usize = 40;
const TASKS: usize = 60;

pub fn command() -> Command {
    let towns: Vec<_> = PLACES.iter().map(|place| place.name).collect();
    Command::new("demo")
        .about("Start a town with people who work, and look around in it")
        .after_help(
            "Examples:\n  legwork demo\n  legwork demo --town austin --seed 12 --speed 600 --for 60\n\n\
             It has a server and a folder of its own, moves no money, and removes everything when it ends.",
        )
        .arg(
            Arg::new("town")
                .long("town")
                .value_parser(towns)
                .default_value("brooklyn")
                .help("Where"),
        )
        .arg(number("seed", "N", "7", "The same number gives the same town"))
        .arg(number("speed", "N", "60", "How many minutes pass in one").value_parser(clap::value_parser!(u64).range(1..=100_000)))
        .arg(number("for", "SECONDS", "0", "End after so long; 0 waits for Ctrl-C"))
        .arg(number("port", "PORT", "0", "Listen there; 0 takes a free one").value_parser(clap::value_parser!(u64).range(0..=65_535)))
}

fn number(name: &'static str, value: &'static str, usual: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name(value)
        .default_value(usual)
        .value_parser(clap::value_parser!(u64))
        .help(help)
}

pub fn run(arguments: &ArgMatches) -> Result<(), Failed> {
    let number = |name: &str| arguments.get_one::<u64>(name).copied().unwrap_or_default();
    let town = arguments
        .get_one::<String>("town")
        .map_or("", String::as_str);
    let place = PLACES.iter().find(|place| place.name == town);
    let place = place.ok_or_else(|| Failed::usage("there is no such town"))?;
    let plan = Plan::new(place, number("seed"), WORKERS, TASKS);
    let mut house = House::build(number("port") as u16)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut ended = signal(SignalKind::terminate())?;
        tokio::select! {
            lived = show(&mut house, plan, number("speed"), number("for")) => lived,
            _ = tokio::signal::ctrl_c() => Ok(()),
            _ = ended.recv() => Ok(()),
        }
    })?;
    tell("\nStopping the server and checking the ledger ...");
    let verified = house.close()?;
    print_line(verified.trim_end());
    print_line(format!("{} is removed.", house.folder().display()));
    Ok(())
}

async fn show(house: &mut House, plan: Plan, speed: u64, seconds: u64) -> Result<(), Failed> {
    tell(format_args!("Building {} ...", plan.place.name));
    let account = house.run_json(&[
        "account",
        "create",
        "--email",
        "owner@legwork.example",
        "--name",
        "Demo",
        "--tier",
        "pro",
        "--json",
    ])?;
    let admin = house.run_json(&[
        "admin",
        "create-key",
        "--name",
        "Demo",
        "--role",
        "owner",
        "--json",
    ])?;
    house.open()?;
    let url = house.url();
    let pages = browsable(&url);
    let text = |object: &Value, name: &str| object[name].as_str().unwrap_or_default().to_owned();
    let owner = client(&url, &text(&account, "live_key"))?;
    let admin_client = client(&url, &text(&admin, "key"))?;
    tell(format_args!("{} people sign up ...", plan.residents.len()));
    let mut town = Town::settle(&url, owner, &admin_client, &plan).await?;
    tell(format_args!("{} tasks are done ...", plan.past.len()));
    town.live_through(&plan.past).await?;
    town.speed = speed as f64;
    print_line(format!(
        "{} workers and {} tasks of history. One minute here is {speed} there.

  Dashboard   {}
              (choose a password there; the link works once)
  Worker      {pages}/worker/sign-in  {}  {PASSWORD}
  Console     {pages}/admin  {}
  Live key    {}
  Test key    {}
  Agents      legwork mcp --server {url} --key {}
  Reference   {url}/docs

Ctrl-C ends it and removes {}.",
        town.workers.len(),
        plan.past.len(),
        browsable(&text(&account, "invitation_url")),
        plan.residents[0].email,
        text(&admin, "key"),
        text(&account, "live_key"),
        text(&account, "test_key"),
        text(&account, "test_key"),
        house.folder().display(),
    ));
    let living = town.live(plan);
    match seconds {
        0 => Err(living.await),
        seconds => match tokio::time::timeout(Duration::from_secs(seconds), living).await {
            Ok(gone) => Err(gone),
            Err(_) => Ok(()),
        },
    }
}
