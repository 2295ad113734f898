//! `legwork report`

use clap::{Arg, ArgMatches, Command};

use crate::cli::{Failure, argument, block_on, database_flags, open_store, print_line};
use crate::domain::Environment;
use crate::domain::admin::report::Month;
use crate::settings::Settings;
use crate::usecases::month_report;

pub fn command() -> Command {
    let environments = Environment::ALL.iter().map(|e| e.as_str());
    Command::new("report")
        .about("Print the report of a month: money and tasks by day")
        .long_about(
            "Prints what was paid in, booked and paid out on each day of a month (UTC), the escrow at \
             the end of each day, the tasks created, and the current number of tasks in each status. \
             All amounts are in cents.",
        )
        .arg(
            Arg::new("month")
                .long("month")
                .required(true)
                .value_name("YYYY-MM")
                .help("The month"),
        )
        .arg(
            Arg::new("format")
                .long("format")
                .value_parser(["json", "csv"])
                .default_value("json")
                .help("Output format; only json has the tasks by status"),
        )
        .arg(
            Arg::new("environment")
                .long("environment")
                .value_parser(environments.collect::<Vec<_>>())
                .default_value("live")
                .help("The environment"),
        )
        .args(database_flags())
}

pub fn run(settings: &Settings, arguments: &ArgMatches) -> Result<(), Failure> {
    let month = argument(arguments, "month", Month::rule)?;
    let environment = argument(arguments, "environment", Environment::rule)?;
    let csv = argument(arguments, "format", |format| Ok(format == "csv"))?;
    let store = open_store(settings)?;
    let report = block_on(store.snapshot(move |tx| month_report(tx, month, environment)))??;
    if csv {
        print_line(report.to_csv().trim_end());
    } else {
        print_line(serde_json::to_string_pretty(&report)?);
    }
    Ok(())
}
