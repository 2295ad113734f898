//! Creating test tasks while what accounts ask is logged, compared with a server that logs nothing.

use crate::Result;
use crate::load::Sample;
use crate::options::Options;
use crate::progress;
use crate::report::{Figure, Report};
use crate::test_bed::TestBed;

/// The log costs at most 5 % of a creation.
const LEAST: f64 = 0.95;
const SETTING: &str = "LEGWORK_REQUEST_LOG_DAYS";

pub fn measure(options: &Options, bed: &mut TestBed, report: &mut Report) -> Result<()> {
    let (mut logging, mut silent) = (Sample::default(), Sample::default());
    for round in 1..=options.rounds() {
        for (days, sample) in [("7", &mut logging), ("0", &mut silent)] {
            bed.restart_with(SETTING, days)?;
            let load = bed.creations()?;
            sample.add(load.run(options.round())?);
        }
        progress::say(&format!(
            "create task with the log, round {round} of {}: with {:.0}/s, without {:.0}/s",
            options.rounds(),
            logging.last_rate(),
            silent.last_rate()
        ));
    }
    bed.stop()?;
    let figure = Figure::throughput(bed.name(), "create task with the log of requests", &logging);
    report.add(figure.at_least(LEAST, "a server without it", &silent));
    Ok(())
}
