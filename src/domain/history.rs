//! Who moved a task, and why.

use super::words::words;
use super::{AdminKeyId, ApiKeyId, Status, Timestamp, WorkerId};

words!(
    /// What kind of somebody.
    Maker {
        Developer = "developer",
        Worker = "worker",
        Admin = "admin",
        /// The time for something was over.
        Clock = "clock",
        /// The payment processor, or what stands in for it in test.
        Processor = "processor",
        /// Whoever may use the command line.
        CommandLine = "command_line",
        /// The service itself: what follows from another move.
        Service = "service",
    }
);

/// Who made a move: a developer's key, a worker, an admin's key, or nobody in particular.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct By {
    pub maker: Maker,
    pub id: Option<String>,
}

impl By {
    pub const CLOCK: Self = Self::nobody(Maker::Clock);
    pub const PROCESSOR: Self = Self::nobody(Maker::Processor);
    pub const COMMAND_LINE: Self = Self::nobody(Maker::CommandLine);
    pub const SERVICE: Self = Self::nobody(Maker::Service);

    const fn nobody(maker: Maker) -> Self {
        Self { maker, id: None }
    }

    pub fn developer(key: ApiKeyId) -> Self {
        Self {
            maker: Maker::Developer,
            id: Some(key.to_string()),
        }
    }

    pub fn worker(worker: WorkerId) -> Self {
        Self {
            maker: Maker::Worker,
            id: Some(worker.to_string()),
        }
    }

    pub fn admin(key: AdminKeyId) -> Self {
        Self {
            maker: Maker::Admin,
            id: Some(key.to_string()),
        }
    }
}

impl std::fmt::Display for By {
    /// The one who did it, or what kind of somebody when nobody in particular.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id.as_deref().unwrap_or(self.maker.as_str()))
    }
}

/// One line of the history of a task.
#[derive(Clone, Debug)]
pub struct MadeMove {
    /// None for its creation.
    pub from: Option<Status>,
    pub to: Status,
    pub by: By,
    pub reason: Option<String>,
    pub made_at: Timestamp,
}
