//! Who moved a task, and why.

use crate::domain::string_enum::string_enum;
use crate::domain::{AccountId, AdminKeyId, ApiKeyId, Status, Timestamp, WorkerId};

string_enum!(
    ActorKind {
        Developer = "developer",
        Worker = "worker",
        /// A test helper.
        SimulatedWorker = "simulated_worker",
        Admin = "admin",
        /// A deadline passed.
        Clock = "clock",
        /// The payment processor, or its simulation in test.
        Processor = "processor",
        /// An operator on the command line.
        CommandLine = "command_line",
        /// The service itself, as a consequence of another move.
        Service = "service",
    }
);

/// Who did something: a developer's key, a worker, an admin's key, or a part of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    pub kind: ActorKind,
    pub id: Option<String>,
}

impl Actor {
    pub const CLOCK: Self = Self::without_id(ActorKind::Clock);
    pub const PROCESSOR: Self = Self::without_id(ActorKind::Processor);
    pub const COMMAND_LINE: Self = Self::without_id(ActorKind::CommandLine);
    pub const SERVICE: Self = Self::without_id(ActorKind::Service);

    const fn without_id(kind: ActorKind) -> Self {
        Self { kind, id: None }
    }

    pub fn developer(key: ApiKeyId) -> Self {
        Self {
            kind: ActorKind::Developer,
            id: Some(key.to_string()),
        }
    }

    /// The person of an account, who came with a link or a password and not with a key.
    pub fn account(account: AccountId) -> Self {
        Self {
            kind: ActorKind::Developer,
            id: Some(account.to_string()),
        }
    }

    pub fn worker(worker: WorkerId) -> Self {
        Self {
            kind: ActorKind::Worker,
            id: Some(worker.to_string()),
        }
    }

    pub fn simulated_worker(worker: WorkerId) -> Self {
        Self {
            kind: ActorKind::SimulatedWorker,
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
    /// The id, or the kind if there is no id.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id.as_deref().unwrap_or(self.kind.as_str()))
    }
}

/// One entry in the history of a task.
#[derive(Clone, Debug)]
pub struct HistoryEntry {
    /// `None` for the creation.
    pub from: Option<Status>,
    pub to: Status,
    pub by: Actor,
    pub reason: Option<String>,
    pub created_at: Timestamp,
}
