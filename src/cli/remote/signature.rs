//! `legwork signature ...`: signs and verifies webhooks, for debugging.

use std::io::Read;

use clap::{Arg, ArgAction, ArgMatches, Command};
use legwork_client::Webhook;

use super::failure::Failed;
use crate::cli::print_line;

pub fn command() -> Command {
    let secret = || {
        Arg::new("secret")
            .long("secret")
            .required(true)
            .value_name("SECRET")
            .help("The webhook's secret, whsec_...")
    };
    let body = || {
        Arg::new("body")
            .value_name("FILE")
            .default_value("-")
            .help("The raw body; - is standard input")
    };
    Command::new("signature")
        .about("Sign and verify webhooks, to find out why yours are refused")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("sign")
                .about("Print the headers with which the server would send a body")
                .after_help("Example:\n  legwork signature sign --secret whsec_... body.json")
                .arg(secret())
                .arg(Arg::new("id").long("id").value_name("ID").default_value("00000000000000000000000000000000").help("The id of the event"))
                .arg(Arg::new("timestamp").long("timestamp").value_name("SECONDS").value_parser(clap::value_parser!(i64)).help("Unix seconds [default: now]"))
                .arg(body()),
        )
        .subcommand(
            Command::new("verify")
                .about("Check the headers and the body that you received")
                .after_help(
                    "Example:\n  legwork signature verify --secret whsec_... body.json \\\n    \
                     --header 'X-Service-Timestamp: 1794741605' --header 'X-Service-Signature: v1=...'\n\n\
                     Exits with 1 and says why, if they do not belong together.",
                )
                .arg(secret())
                .arg(Arg::new("header").long("header").required(true).action(ArgAction::Append).value_name("NAME: VALUE").help("A header; may be repeated"))
                .arg(Arg::new("tolerance").long("tolerance").value_name("SECONDS").default_value("300").value_parser(clap::value_parser!(i64).range(0..=1_000_000_000)).help("How old it may be"))
                .arg(body()),
        )
}

pub fn run(matches: &ArgMatches) -> Result<(), Failed> {
    let Some((name, arguments)) = matches.subcommand() else {
        return Ok(());
    };
    let text = |name: &str| arguments.get_one::<String>(name).map_or("", String::as_str);
    let webhook = Webhook::new(text("secret"))?;
    let body = read(text("body"))?;
    if name == "sign" {
        let signed = match arguments.get_one::<i64>("timestamp") {
            Some(at) => webhook.sign(text("id"), *at, &body),
            None => webhook.sign_now(text("id"), &body),
        };
        for (name, value) in signed.0 {
            print_line(format!("{name}: {value}"));
        }
        return Ok(());
    }
    let mut headers = Vec::new();
    for header in arguments.get_many::<String>("header").into_iter().flatten() {
        let Some((name, value)) = header.split_once(':') else {
            return Err(Failed::usage(format!(
                "--header takes 'NAME: VALUE', not {header}"
            )));
        };
        headers.push((name.trim().to_lowercase(), value.trim().to_owned()));
    }
    let header = |name: &str| {
        headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.clone())
    };
    let tolerance = *arguments.get_one::<i64>("tolerance").unwrap_or(&300);
    let event = webhook.tolerance(tolerance).verify(header, &body)?;
    print_line(format!(
        "The signature is right. The event is {}.",
        event.event
    ));
    Ok(())
}

fn read(file: &str) -> Result<Vec<u8>, Failed> {
    let mut bytes = Vec::new();
    let read = match file {
        "-" => std::io::stdin().read_to_end(&mut bytes).map(|_| bytes),
        file => std::fs::read(file),
    };
    read.map_err(|error| Failed::usage(format!("{file}: {error}")))
}
