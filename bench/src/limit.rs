//! What a figure is compared with: the most that the machine could do.

use std::time::Duration;

use crate::Result;
use crate::load::{Load, Sample};
use crate::options::{Options, ROUNDS};

/// The most that is possible, measured in turns with the server.
pub trait Limit {
    fn name(&self) -> String;
    fn round(&mut self, length: Duration) -> Result<Sample>;
}

impl Limit for Load {
    fn name(&self) -> String {
        "the HTTP stack with a constant response".to_owned()
    }

    fn round(&mut self, length: Duration) -> Result<Sample> {
        self.run(length)
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
    for round in 1..=ROUNDS {
        most.add(limit.round(options.round())?);
        measured.add(load(options.round())?);
        eprintln!(
            "bench: {name}, round {round}: {:.0}/s, limit {:.0}/s",
            measured.last_rate(),
            most.last_rate()
        );
    }
    Ok((measured, most))
}
