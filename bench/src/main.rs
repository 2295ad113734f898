//! Measures Legwork against the most that its database and its HTTP stack can do.
//!
//! Every figure is compared with a limit that was measured in the same run on the same machine, so
//! the ratio is meaningful on any machine. See `README.md` for how to run it.

#![forbid(unsafe_code)]

mod constant;
mod creation;
mod deliver;
mod figures;
mod fill;
mod find;
mod hostile;
mod http;
mod lifecycle;
mod limit;
mod live_server;
mod load;
mod machine;
mod options;
mod pgbench;
mod plot;
mod postgres;
mod raw_sqlite;
mod report;
mod server;
mod service;
mod test_bed;
mod upload;
mod watch;
mod writes;

use std::error::Error;
use std::process::ExitCode;

use options::Options;
use report::Report;
use test_bed::{Engine, TestBed};

/// The server's allocator, so that the comparison with the limit is fair.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode> {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments
        .next_if(|word| word == constant::COMMAND)
        .is_some()
    {
        constant::serve(arguments.next().unwrap_or_default())?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some(options) = Options::read(arguments)? else {
        print!("{}", options::HELP);
        return Ok(ExitCode::SUCCESS);
    };
    let binary = server::binary(&options)?;
    if options.wants_any(&["deliver", "hostile"]) {
        machine::open_files(deliver::OPEN_FILES.max(hostile::OPEN_FILES))?;
    }
    let _alone = machine::alone()?;
    let mut report = Report::default();
    report.note(&machine::busy_with_others()?);
    if options.wants("sqlite") {
        measure(
            &options,
            TestBed::new(&binary, Engine::Sqlite)?,
            &mut report,
        )?;
    }
    if options.wants("postgres") {
        match std::env::var("LEGWORK_TEST_POSTGRES_URL") {
            Ok(url) => {
                let database = postgres::Cluster::new(&url)?.new_database("server")?;
                let bed = TestBed::new(&binary, Engine::Postgres(database))?;
                measure(&options, bed, &mut report)?;
            }
            Err(_) => report.note(
                "PostgreSQL was not measured: LEGWORK_TEST_POSTGRES_URL is not set. \
                 Run scripts/with-postgres cargo run --release -p bench",
            ),
        }
    }
    report.print(&options);
    if let Some(file) = &options.json {
        std::fs::write(file, report.json(&options))
            .map_err(|e| format!("{}: {e}", file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// All figures of one engine: first on an empty database, then on a full one.
fn measure(options: &Options, mut bed: TestBed, report: &mut Report) -> Result<()> {
    let before = figures::small_database(options, &mut bed, report)?;
    if options.wants_any(&["list", "start", "memory", "grow"]) {
        let accounts = fill::fill(&mut bed, options)?;
        figures::full_database(options, &mut bed, &accounts, &before, report)?;
    }
    if options.wants("find") {
        find::measure(options, &mut bed, report)?;
    }
    if options.wants("deliver") {
        deliver::measure(options, &mut bed, report)?;
    }
    // The database hardly matters for the file of a proof, so one engine is enough.
    if options.wants("upload") && matches!(bed.engine, Engine::Sqlite) {
        upload::measure(options, &mut bed, report)?;
    }
    if options.wants("hostile") {
        hostile::measure(options, &mut bed, report)?;
    }
    bed.stop()
}
