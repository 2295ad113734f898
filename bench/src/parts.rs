//! What is measured, in this order, on each engine. A new measurement is one line in `PARTS`.

pub mod create;
pub mod find;
pub mod full_database;
pub mod get;
pub mod lifecycle;
pub mod logs;
pub mod mandate;
pub mod pages;
pub mod upload;

use crate::options::{Known, Options};
use crate::report::Report;
use crate::test_bed::TestBed;
use crate::{Result, cost, deliver, hostile, mixed};

type Measure = fn(&Options, &mut TestBed, &mut Report) -> Result<()>;

pub struct Part {
    /// As `--only` names it. Its chart has this name, too.
    pub name: &'static str,
    /// Whether `--quick` includes it.
    pub quick: bool,
    pub measure: Measure,
    /// How long it takes on one engine, for the display of progress: so many times `--seconds`, and
    /// so many seconds on top. `--quick` has less to fill in.
    lengths: f64,
    on_top: f64,
}

/// Also in a quick run.
const fn short(name: &'static str, lengths: f64, on_top: f64, measure: Measure) -> Part {
    Part {
        name,
        quick: true,
        measure,
        lengths,
        on_top,
    }
}

const fn long(name: &'static str, lengths: f64, on_top: f64, measure: Measure) -> Part {
    Part {
        quick: false,
        ..short(name, lengths, on_top, measure)
    }
}

const PARTS: &[Part] = &[
    short("create", 4.5, 10.0, create::measure),
    short("get", 4.0, 6.0, get::measure),
    short("delivered", 4.0, 8.0, deliver::delivered::measure),
    short("life", 4.0, 12.0, lifecycle::measure),
    short("start", 0.0, 60.0, full_database::start),
    short("memory", 0.5, 6.0, full_database::memory),
    long("cost", 2.0, 8.0, cost::measure),
    long("mandate", 2.0, 4.0, mandate::measure),
    long("logs", 2.0, 20.0, logs::measure),
    long("list", 1.0, 5.0, full_database::list),
    long("pages", 0.5, 5.0, pages::measure),
    long("grow", 2.0, 5.0, full_database::grow),
    long("find", 1.0, 60.0, find::measure),
    long("deliver", 8.0, 120.0, deliver::measure),
    long("upload", 0.0, 60.0, upload::measure),
    long("mixed", 6.0, 20.0, mixed::measure),
    long("hostile", 4.0, 30.0, hostile::measure),
];

impl Part {
    pub fn seconds(&self, options: &Options) -> f64 {
        let shorter = if options.quick { 5.0 } else { 1.0 };
        self.lengths * options.seconds + self.on_top / shorter
    }
}

pub fn selected(options: &Options) -> impl Iterator<Item = &'static Part> {
    PARTS.iter().filter(|part| options.wants(part.name))
}

pub fn known() -> Vec<Known> {
    PARTS.iter().map(|part| (part.name, part.quick)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::HELP;

    #[test]
    fn the_help_names_every_part() {
        for part in PARTS {
            let mut words = HELP.split([' ', ',', '(', ')', ';', '\n']);
            assert!(words.any(|word| word == part.name), "{}", part.name);
        }
    }
}
