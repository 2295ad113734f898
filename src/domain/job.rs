//! Work that happens later: what kinds there are, and when a failed one is tried again.

use std::time::Duration;

use crate::domain::string_enum::string_enum;

string_enum!(
    /// What is to be done. The subject is a task unless it says otherwise.
    JobKind {
        /// Charge the default payment method.
        Charge = "charge",
        /// Call a payment off that nobody needs any more.
        CancelPayment = "cancel_payment",
        /// Give a developer back what is owed.
        Refund = "refund",
        /// Pay a worker what was earned.
        Transfer = "transfer",
        /// Show a task to workers that was posted before they could find it.
        Post = "post",
        /// Tell ourselves what the embedded processor has to say. The subject is what it says.
        SandboxEvent = "sandbox_notice",
        /// Send a notice by e-mail. The subject is the notice.
        Mail = "mail",
        /// Show a notice in a browser. The subject is the notice and the subscription.
        Push = "push",
        /// Tell the workers around of a bounty.
        AnnounceBounty = "announce_bounty",
        /// Tell developers of a worker. The subject is the worker, and the last account that was told.
        AnnounceWorker = "announce_worker",
        /// Show an account's posted tasks to workers or hide them, as its status says. The subject is
        /// the account, a mark, and the number of the last task that was looked at.
        ShowTasks = "show_tasks",
        /// Erase what is left of a deleted account. The subject is the account, and how far it is.
        EraseAccount = "erase_account",
        /// Give deliveries up whose endpoint is gone. The subject is the account and since when.
        GiveUpDeliveries = "give_up_deliveries",
    }
);

/// Jobs are worked on in two lanes, so that a mail server that hangs holds up no money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Mails and pushes.
    Notifications,
    Rest,
}

impl Lane {
    pub const ALL: [Self; 2] = [Self::Rest, Self::Notifications];
}

/// A job is named by what it does to what, so the same one cannot be asked for twice.
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

/// How often a job is tried that fails for reasons we do not understand. A peer that cannot be
/// reached does not count: it is asked until it answers.
pub const MAX_ATTEMPTS: i64 = 12;

const FIRST_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_secs(10 * 60);

/// How long to wait after the given number of attempts: 1, 2, 4 ... seconds up to ten minutes, and
/// each of them up to a half longer, by chance, so that what failed together is not tried together.
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
    fn chance_makes_a_delay_up_to_a_half_longer() {
        assert_eq!(delay(2, [255, 255]), Duration::from_secs(3));
        assert_eq!(delay(50, [255, 255]), Duration::from_secs(900));
        let some = delay(2, [0, 128]);
        assert!(some > Duration::from_secs(2) && some < Duration::from_secs(3));
    }
}
