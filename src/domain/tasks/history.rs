//! Who moved a task, and why.

use crate::domain::string_enum::string_enum;
use crate::domain::{AdminKeyId, ApiKeyId, Status, Timestamp, WorkerId};

string_enum!(
    /// What kind of somebody.
    ActorKind {
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
pub struct Actor {
    pub kind: ActorKind,
    pub id: Option<String>,
}

impl Actor {
    pub const CLOCK: Self = Self::nobody(ActorKind::Clock);
    pub const PROCESSOR: Self = Self::nobody(ActorKind::Processor);
    pub const COMMAND_LINE: Self = Self::nobody(ActorKind::CommandLine);
    pub const SERVICE: Self = Self::nobody(ActorKind::Service);

    const fn nobody(kind: ActorKind) -> Self {
        Self { kind, id: None }
    }

    pub fn developer(key: ApiKeyId) -> Self {
        Self {
            kind: ActorKind::Developer,
            id: Some(key.to_string()),
        }
    }

    pub fn worker(worker: WorkerId) -> Self {
        Self {
            kind: ActorKind::Worker,
            id: Some(worker.to_string()),
        }
    }

    pub fn admin(key: AdminKeyId) -> Self {
        Self {
            kind: ActorKind::Admin,
            id: Some(key.to_string()),
        }
    }
}

impl std::fmt::Display for Actor {
    /// The one who did it, or what kind of somebody when nobody in particular.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id.as_deref().unwrap_or(self.kind.as_str()))
    }
}

/// One line of the history of a task.
#[derive(Clone, Debug)]
pub struct HistoryEntry {
    /// None for its creation.
    pub from: Option<Status>,
    pub to: Status,
    pub by: Actor,
    pub reason: Option<String>,
    pub created_at: Timestamp,
}
