//! What a figure is compared with: the most that the machine could do, or what others do.

pub mod constant;
pub mod creation;
pub mod peers;
pub mod pgbench;
pub mod raw_sqlite;

use std::time::Duration;

use crate::Result;
use crate::load::{Load, Sample};
use crate::options::Options;
use crate::progress;

/// Measured in turns with the server.
pub trait Limit {
    fn name(&self) -> String;
    fn round(&mut self, length: Duration) -> Result<Sample>;
}

/// A load by the name of what it drives.
pub struct Named {
    pub name: &'static str,
    pub load: Load,
}

impl Limit for Named {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn round(&mut self, length: Duration) -> Result<Sample> {
        self.load.run(length)
    }
}

/// Measures a load and its limit in turns.
pub fn in_turns(
    options: &Options,
    name: &str,
    mut load: impl FnMut(Duration) -> Result<Sample>,
    limit: &mut dyn Limit,
) -> Result<(Sample, Sample)> {
    let (mut measured, mut most) = (Sample::default(), Sample::default());
    for round in 1..=options.rounds() {
        most.add(limit.round(options.round())?);
        measured.add(load(options.round())?);
        progress::say(&format!(
            "{name}, round {round} of {}: {:.0}/s, limit {:.0}/s",
            options.rounds(),
            measured.last_rate(),
            most.last_rate()
        ));
    }
    Ok((measured, most))
}

/// Measures several in turns.
pub fn all_in_turns(
    options: &Options,
    name: &str,
    all: &mut [&mut dyn Limit],
) -> Result<Vec<Sample>> {
    let mut samples = vec![Sample::default(); all.len()];
    for round in 1..=options.rounds() {
        let mut rates = Vec::new();
        for (one, sample) in all.iter_mut().zip(&mut samples) {
            sample.add(one.round(options.round())?);
            rates.push(format!("{} {:.0}/s", one.name(), sample.last_rate()));
        }
        progress::say(&format!(
            "{name}, round {round} of {}: {}",
            options.rounds(),
            rates.join(", ")
        ));
    }
    Ok(samples)
}
