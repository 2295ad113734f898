//! Deliveries to developers' endpoints: how many a second from a backlog, how long an event takes
//! while others hang, and what a claim costs beside many deliveries that wait. The service runs in
//! this process, and so does the receiver, on a runtime of its own.

mod backlog;
mod claim;
mod developers;
mod hanging;
mod receiver;
mod waiting;

use crate::Result;
use crate::bed::Bed;
use crate::options::Options;
use crate::report::Report;

/// Both ends of every connection are in this process.
pub const OPEN_FILES: u64 = 4_096;

pub fn measure(options: &Options, bed: &mut Bed, report: &mut Report) -> Result<()> {
    bed.stop()?;
    backlog::measure(options, bed, 1, report)?;
    backlog::measure(options, bed, 100, report)?;
    hanging::measure(options, bed, report)?;
    claim::measure(options, bed, report)
}
