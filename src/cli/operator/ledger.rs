//! `legwork ledger ...`

use std::process::ExitCode;

use clap::{Arg, ArgAction, Command};

use crate::ambient::Clock;
use crate::cli::{
    Failure, block_on, database_flags, open_store, payments, print_item, print_line, setting_flags,
};
use crate::domain::{Entry, Step, TaskId};
use crate::settings::Settings;
use crate::store::{Store, StoreError};
use crate::usecases::LedgerReport;
use crate::usecases::verify_ledger;

const AT_ONCE: i64 = 1_000;

/// The settings of the payment processor.
pub fn payment_flags() -> Vec<Arg> {
    setting_flags(|name| name == "payments" || name.starts_with("stripe_"))
}

pub fn command() -> Command {
    Command::new("ledger")
        .about("Check or export the ledger")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("verify")
                .about("Recompute all balances and compare them with tasks and the processor")
                .long_about(
                    "Recomputes all balances from the ledger entries and compares them with the stored ones, \
                     every task's escrow with its status, and every movement with the payment \
                     processor's records. If something differs, prints each difference and exits with 1.",
                )
                .args(payment_flags())
                .args(database_flags()),
        )
        .subcommand(
            Command::new("export")
                .about("Print the ledger, one posting per line")
                .arg(
                    Arg::new("csv")
                        .long("csv")
                        .action(ArgAction::SetTrue)
                        .help("As CSV (the only format)"),
                )
                .args(database_flags()),
        )
}

pub fn verify(settings: &Settings) -> Result<ExitCode, Failure> {
    Ok(match is_right(settings)? {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Prints what was found, and tells whether all of it is right.
pub fn is_right(settings: &Settings) -> Result<bool, Failure> {
    let store = open_store(settings)?;
    let clock = Clock::system();
    // No link is created here, so the public URL does not matter.
    let payments = payments::open(&settings.payments, &store, &clock, "")?;
    let processor = payments.processor.as_ref();
    let report = block_on(verify_ledger(&store, processor, clock.now()))??;
    print(&report);
    Ok(report.is_right())
}

fn print(report: &LedgerReport) {
    print_line(format_args!(
        "{} tasks, {} entries",
        report.tasks, report.entries
    ));
    for (environment, book, cents) in &report.balances {
        print_line(format_args!(
            "  {:4}  {:17}  {cents:>16}",
            environment.as_str(),
            book.as_str()
        ));
    }
    print_line(format_args!(
        "{} refunds and transfers are pending; {} movements are about to be recorded",
        report.owed, report.in_flight
    ));
    if report.not_compared > 0 {
        print_line(format_args!(
            "payments of another processor than the one that is set, which were not compared with it: {}",
            report.not_compared
        ));
    }
    for expected in &report.to_be_recorded {
        print_line(format_args!("TO BE RECORDED: {expected}"));
    }
    for difference in &report.differences {
        print_line(format_args!("DIFFERENCE: {difference}"));
    }
    if report.unlisted > 0 {
        print_line(format_args!("and {} more differences", report.unlisted));
    }
    if report.is_right() {
        print_line("The ledger is correct.");
    }
}

pub fn export(settings: &Settings) -> Result<(), Failure> {
    let store = open_store(settings)?;
    print_item("task_id,type,environment,developer_id,worker_id,account,amount_cents,recorded_at");
    let mut after = None;
    loop {
        let page = block_on(page(&store, after))??;
        for entry in &page {
            print_postings(entry);
        }
        after = page.last().map(|entry| (entry.task, entry.step));
        if (page.len() as i64) < AT_ONCE {
            return Ok(());
        }
    }
}

async fn page(store: &Store, after: Option<(TaskId, Step)>) -> Result<Vec<Entry>, StoreError> {
    store
        .snapshot(move |tx| tx.entries_after(after, AT_ONCE))
        .await
}

/// Nothing in a line needs quotes: it has ids, words, numbers and timestamps.
fn print_postings(entry: &Entry) {
    let worker = entry.worker.map(|id| id.to_string()).unwrap_or_default();
    for (book, cents) in entry.postings.by_account() {
        if cents != 0 {
            print_item(format_args!(
                "{},{},{},{},{worker},{book},{cents},{}",
                entry.task,
                entry.step,
                entry.owner.environment,
                entry.owner.account,
                entry.recorded_at
            ));
        }
    }
}
