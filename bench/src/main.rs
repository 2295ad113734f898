//! Measures Legwork against the most that its database and its HTTP stack can do.
//!
//! Every figure is compared with a limit that was measured in the same run on the same machine, so
//! the ratio is meaningful on any machine. See `README.md` for how to run it.

#![forbid(unsafe_code)]

mod cost;
mod deliver;
mod growth;
mod hostile;
mod limit;
mod load;
mod mixed;
mod options;
mod parts;
mod progress;
mod report;
mod service;
mod test_bed;
mod watch;
mod writes;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use limit::constant;
use options::Options;
use report::{Report, chart, machine};
use test_bed::{Engine, TestBed, postgres, server};

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
    if arguments.next_if(|word| word == growth::COMMAND).is_some() {
        growth::run(arguments)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some(options) = Options::read(arguments, parts::known())? else {
        print!("{}", options::HELP);
        return Ok(ExitCode::SUCCESS);
    };
    let binary = server::binary(&options)?;
    if options.wants_any(&["delivered", "deliver", "mixed", "hostile"]) {
        machine::open_files(deliver::OPEN_FILES.max(hostile::OPEN_FILES))?;
    }
    let _alone = machine::alone()?;
    let mut report = Report::default();
    report.note(&machine::busy_with_others()?);
    let engines = engines(&options, &mut report)?;
    let seconds = parts::selected(&options).map(|part| part.seconds(&options));
    let seconds: Vec<_> = seconds.collect();
    progress::start(seconds.repeat(engines.len()));
    for engine in engines {
        let mut bed = TestBed::new(&binary, engine)?;
        for part in parts::selected(&options) {
            progress::say(&format!("{}, {}", bed.name(), part.name));
            report.begin(part.name);
            (part.measure)(&options, &mut bed, &mut report)?;
            progress::part_done();
        }
        bed.stop()?;
    }
    print!("{}", report.markdown(&options));
    write(&options, &report)?;
    Ok(ExitCode::SUCCESS)
}

fn engines(options: &Options, report: &mut Report) -> Result<Vec<Engine>> {
    let mut engines = Vec::new();
    if options.wants("sqlite") {
        engines.push(Engine::Sqlite);
    }
    if options.wants("postgres") {
        match std::env::var("LEGWORK_TEST_POSTGRES_URL") {
            Ok(url) => {
                let database = postgres::Cluster::new(&url)?.new_database("server")?;
                engines.push(Engine::Postgres(database));
            }
            Err(_) => report.note(
                "PostgreSQL was not measured: LEGWORK_TEST_POSTGRES_URL is not set. \
                 Run scripts/with-postgres cargo run --release -p bench",
            ),
        }
    }
    Ok(engines)
}

/// The files that the options ask for.
fn write(options: &Options, report: &Report) -> Result<()> {
    let put = |file: &Path, text: &str| {
        std::fs::write(file, text).map_err(|e| format!("{}: {e}", file.display()))
    };
    if let Some(file) = &options.json {
        put(file, &report.json(options))?;
    }
    if let Some(folder) = &options.output {
        std::fs::create_dir_all(folder)?;
        let charts = chart::charts(report);
        for (name, svg) in &charts {
            put(&folder.join(name), svg)?;
        }
        let names = charts
            .iter()
            .map(|(name, _)| format!("\n![{name}]({name})\n"));
        let page = report.markdown(options) + &names.collect::<String>();
        put(&folder.join("page.md"), &page)?;
        put(&folder.join("page.json"), &report.json(options))?;
    }
    Ok(())
}
