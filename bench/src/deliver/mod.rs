//! Deliveries to developers' endpoints: how many per second from a backlog, how long an event takes
//! while other endpoints hang, and what a claim costs with many deliveries waiting. The service
//! runs in this process, and so does the receiver, on its own runtime.

mod backlog;
mod claim;
mod developers;
mod hanging;
mod receiver;
mod waiting;

pub mod delivered;

pub use receiver::Receiver;

use crate::Result;
use crate::options::Options;
use crate::report::Report;
use crate::test_bed::TestBed;

/// Both ends of every connection are in this process.
pub const OPEN_FILES: u64 = 4_096;

pub fn measure(options: &Options, bed: &mut TestBed, report: &mut Report) -> Result<()> {
    bed.stop()?;
    backlog::measure(options, bed, 1, report)?;
    backlog::measure(options, bed, 100, report)?;
    hanging::measure(options, bed, report)?;
    claim::measure(options, bed, report)
}
