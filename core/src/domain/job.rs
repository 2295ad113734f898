//! Background jobs: their kinds, and when a failed job is retried.

use std::time::Duration;

use crate::domain::string_enum::string_enum;

string_enum!(
    /// What a job does. Its subject is a task unless stated otherwise.
    JobKind {
        /// Charge the default payment method.
        Charge = "charge",
        /// Cancel a payment that is no longer needed.
        CancelPayment = "cancel_payment",
        /// Refund what a developer is owed.
        Refund = "refund",
        /// Transfer what a worker earned.
        Transfer = "transfer",
        /// Make a task visible to workers that was posted before the index of posted tasks existed.
        Post = "post",
        /// Process an event of the sandbox processor. The subject is the event.
        SandboxEvent = "sandbox_notice",
        /// Send a notification by e-mail. The subject is the notification.
        Mail = "mail",
        /// Send a notification by Web Push. The subject is the notification and the subscription.
        Push = "push",
        /// Mail a link to somebody who asked for one. The subject is the purpose, the kind of person,
        /// and the person or the address.
        SendLink = "send_link",
        /// Notify nearby workers of a bounty.
        AnnounceBounty = "announce_bounty",
        /// Notify developers of a verified worker. The subject is the worker and the last account
        /// notified.
        AnnounceWorker = "announce_worker",
        /// Show or hide an account's posted tasks, as its status requires. The subject is the
        /// account, a unique mark, and the number of the last task processed.
        ShowTasks = "show_tasks",
        /// Erase the rest of a deleted account. The subject is the account and how far the job has
        /// come.
        EraseAccount = "erase_account",
        /// Give up deliveries whose endpoint was removed. The subject is the account and a
        /// timestamp.
        GiveUpDeliveries = "give_up_deliveries",
        /// Make failed deliveries due again. The subject is the account, the environment, since when
        /// they failed, and when somebody asked.
        RecoverDeliveries = "recover_deliveries",
        /// Erase what a deleted worker left. The subject is the worker and the last proof erased.
        EraseWorker = "erase_worker",
        /// Make the next part of an export. The subject is the export and the number of the part.
        Export = "export",
        /// Tell the owner that a limit of a key is nearly used up. The subject is the key.
        WarnOfLimits = "warn_of_limits",
        /// Delete a stored file that no row names any more. The subject is its key.
        DeleteFile = "delete_file",
    }
);

/// Jobs run in two lanes, so that a hanging mail server does not delay payments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// E-mail and push.
    Notifications,
    Rest,
}

impl Lane {
    pub const ALL: [Self; 2] = [Self::Rest, Self::Notifications];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Notifications => "notifications",
            Self::Rest => "rest",
        }
    }
}

/// Identifies a job by kind and subject, so the same job cannot be queued twice.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JobName {
    pub kind: JobKind,
    pub subject: String,
}

impl JobName {
    pub fn new(kind: JobKind, subject: impl ToString) -> Self {
        Self {
            kind,
            subject: subject.to_string(),
        }
    }
}

impl std::fmt::Display for JobName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.kind, self.subject)
    }
}

/// How often a job is tried when it fails for an unknown reason. Attempts that could not reach a
/// peer do not count: those are retried until the peer answers.
pub const MAX_ATTEMPTS: i64 = 12;

/// What a peer said, as it can be stored: PostgreSQL takes no text with NUL.
pub fn storable(said: &str) -> String {
    said.replace('\0', "\u{fffd}")
}

const FIRST_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_secs(10 * 60);

/// The delay after this many attempts: 1, 2, 4 ... seconds up to ten minutes, each lengthened by up
/// to half at random, so that jobs which failed together are not retried together.
pub fn delay(attempts: i64, random: [u8; 2]) -> Duration {
    let doublings = u32::try_from(attempts.clamp(1, 16) - 1).unwrap_or(0);
    let delay = (FIRST_DELAY * 2u32.pow(doublings)).min(MAX_DELAY);
    delay + delay / 2 * u32::from(u16::from_le_bytes(random)) / u32::from(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_a_limit() {
        let seconds = |attempts| delay(attempts, [0, 0]).as_secs();
        assert_eq!([1, 2, 3, 4, 9].map(seconds), [1, 2, 4, 8, 256]);
        assert_eq!([11, 12, 100, i64::MAX].map(seconds), [600; 4]);
        assert_eq!([i64::MIN, 0].map(seconds), [1; 2]);
    }

    #[test]
    fn what_a_peer_says_can_be_stored() {
        assert_eq!(storable("550 no\0body"), "550 no\u{fffd}body");
    }

    #[test]
    fn chance_makes_a_delay_up_to_a_half_longer() {
        assert_eq!(delay(2, [255, 255]), Duration::from_secs(3));
        assert_eq!(delay(50, [255, 255]), Duration::from_secs(900));
        let some = delay(2, [0, 128]);
        assert!(some > Duration::from_secs(2) && some < Duration::from_secs(3));
    }
}
