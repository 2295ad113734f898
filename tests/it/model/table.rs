//! The table of moves, written once more: in plain words, and without a look at the service's own.

use Money::{Escrow, Half, Nothing, Pay, Refund, Split};

/// What a move does with the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Money {
    Nothing,
    Escrow,
    Refund,
    Pay,
    Half,
    /// As many cents as the decision says are paid, the rest goes back.
    Split,
}

pub struct Row {
    pub from: &'static [&'static str],
    pub trigger: &'static str,
    pub to: &'static str,
    pub money: Money,
    pub events: &'static [&'static str],
}

macro_rules! table {
    ($([$($from:literal),+] $trigger:literal => $to:literal, $money:expr, [$($event:literal),+];)+) => {
        &[$(Row {
            from: &[$($from),+],
            trigger: $trigger,
            to: $to,
            money: $money,
            events: &[$($event),+],
        }),+]
    };
}

#[rustfmt::skip]
const TABLE: &[Row] = table! {
    ["pending"] "payment succeeds" => "funded", Escrow, ["task.funded"];
    ["pending"] "nobody pays" => "expired", Nothing, ["task.expired"];
    ["pending"] "deadline" => "expired", Nothing, ["task.expired"];
    ["funded"] "publish" => "posted", Nothing, ["task.posted"];
    ["posted"] "accept" => "assigned", Nothing, ["task.assigned"];
    ["assigned"] "start" => "in_progress", Nothing, ["task.started"];
    ["assigned", "in_progress", "proof_rejected"] "release" => "posted", Nothing, ["task.posted"];
    ["in_progress", "proof_rejected"] "submit" => "proof_submitted", Nothing, ["task.proof_submitted"];
    ["proof_submitted"] "approve" => "completed", Pay, ["task.completed"];
    ["proof_submitted"] "reject" => "proof_rejected", Nothing, ["task.proof_rejected"];
    ["proof_submitted"] "reject the third" => "refunded", Refund, ["task.proof_rejected", "task.refunded"];
    ["proof_rejected"] "dispute" => "disputed", Nothing, ["task.disputed"];
    ["disputed"] "decide to pay" => "completed", Pay, ["task.completed"];
    ["disputed"] "decide to refund" => "refunded", Refund, ["task.refunded"];
    ["disputed"] "decide to split" => "completed", Split, ["task.completed"];
    ["funded", "posted", "assigned", "in_progress", "proof_rejected"] "deadline" => "expired", Refund, ["task.expired"];
    ["pending"] "cancel" => "cancelled", Nothing, ["task.cancelled"];
    ["funded", "posted"] "cancel" => "cancelled", Refund, ["task.cancelled"];
    ["assigned"] "cancel" => "cancelled", Half, ["task.cancelled"];
};

pub const STATUSES: [&str; 12] = [
    "pending",
    "funded",
    "posted",
    "assigned",
    "in_progress",
    "proof_submitted",
    "proof_rejected",
    "completed",
    "cancelled",
    "expired",
    "disputed",
    "refunded",
];

/// What a test helper can bring about on the way to a status.
pub const BY_HELPER: [&str; 12] = [
    "publish",
    "accept",
    "start",
    "release",
    "submit",
    "approve",
    "reject",
    "dispute",
    "decide to pay",
    "decide to refund",
    "deadline",
    "cancel",
];

pub fn row(from: &str, trigger: &str) -> Option<&'static Row> {
    let mut rows = TABLE.iter();
    rows.find(|row| row.trigger == trigger && row.from.contains(&from))
}

pub fn is_final(status: &str) -> bool {
    ["completed", "cancelled", "expired", "refunded"].contains(&status)
}
