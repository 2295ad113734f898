//! What is measured: the statements of every endpoint and of every background task that could grow,
//! each with values that a caller may choose to make it expensive.

/// A statement of the store, found by a part of its text, and its values as SQL expressions.
pub struct Probe {
    pub group: Group,
    /// The endpoint or task that runs it, with its filter.
    pub name: &'static str,
    /// A part of the statement that no other has, or several parts with `…` between them. White space does
    /// not matter.
    pub statement: &'static str,
    pub values: &'static [&'static str],
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Group {
    Developers,
    Workers,
    Admins,
    Background,
}

impl Group {
    pub const ALL: &[Self] = &[
        Self::Developers,
        Self::Workers,
        Self::Admins,
        Self::Background,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Developers => "developers",
            Self::Workers => "workers",
            Self::Admins => "admins",
            Self::Background => "background",
        }
    }
}

/// The account with half of all tasks, and one with few.
const LARGE: &str = "(SELECT MIN(id) FROM accounts)";
const SMALL: &str = "(SELECT MAX(id) FROM accounts)";
const KEY: &str = "(SELECT id FROM api_keys WHERE key_hash = 'seed-live-1')";
const TASK: &str = "(SELECT id FROM tasks WHERE account_id = (SELECT MIN(id) FROM accounts) \
    AND environment = 'live' AND status = 'completed' ORDER BY id LIMIT 1)";
const WORKER: &str = "(SELECT worker_id FROM ledger_entries WHERE worker_id IS NOT NULL \
    ORDER BY task_id DESC LIMIT 1)";
const NOW: &str = "{now}";
const YESTERDAY: &str = "{now} - 86400000";
const LAST_ID: &str = "'g'";
const LAST: &str = "9223372036854775807";
const HALF: &str = "(SELECT last_event - 100 FROM task_totals WHERE environment = 'live' \
    AND account_id = (SELECT MIN(id) FROM accounts))";
const PLACE: &str = "(SELECT MIN(cell) FROM posted_tasks)";
const PLACE_END: &str = "(SELECT MIN(cell) + 1000 FROM posted_tasks)";
const SQUARE: &str = "(SELECT MIN(district) FROM posted_tasks)";

use Group::{Admins, Background, Developers, Workers};

/// One line for each in the tables.
macro_rules! probes {
    ($($group:ident $name:literal: $statement:literal [$($value:expr),*];)+) => {
        pub const PROBES: &[Probe] = &[$(Probe {
            group: $group,
            name: $name,
            statement: $statement,
            values: &[$($value),*],
        }),+];
    };
}

probes! {
    Developers "any request: the key": "FROM api_keys k JOIN accounts a ON a.id = k.account_id WHERE k.key_hash" ["'seed-live-1'"];
    Developers "GET /v1/tasks/:id": "mandate_key_id FROM tasks WHERE id = ?1 AND account_id || ''" [TASK, LARGE, "'live'"];
    Developers "GET /v1/tasks": "AND environment = ?2 AND number <= ?3 ORDER BY number DESC LIMIT ?4" [LARGE, "'live'", LAST, "20"];
    Developers "GET /v1/tasks?status=disputed (rare)": "ORDER BY number DESC LIMIT 1 OFFSET ?5" [LARGE, "'live'", "'disputed'", LAST, "0", "20"];
    Developers "GET /v1/tasks, deep: one range of counts": "SELECT first, tasks FROM task_ranges" [LARGE, "'live'", "'completed'", "0", "0", "65535"];
    Developers "GET /v1/tasks/:id/history": "ORDER BY COALESCE(follows, number)" [TASK, "20", "0"];
    Developers "GET /v1/tasks/:id/ledger": "FROM ledger_entries WHERE task_id = ?1" [TASK];
    Developers "GET /v1/tasks/:id/proofs": "FROM proofs WHERE task_id = ?1 ORDER BY attempt_number, type LIMIT" [TASK, "20", "0"];
    Developers "GET /v1/account/usage": "SELECT last_number, month … FROM task_totals WHERE account_id = ?1 AND environment = ?2" [LARGE, "'live'"];
    Developers "GET /v1/account/keys": "FROM api_keys WHERE account_id = ?1 AND revoked_at IS NULL ORDER BY id DESC" [LARGE];
    Developers "GET /v1/events": "FROM events WHERE account_id = ?1 AND environment = ?2 AND number < ?3" [LARGE, "'live'", LAST, "20"];
    Developers "GET /v1/events?type=task.disputed (rare)": "AND type = ?5 AND number < ?3" [LARGE, "'live'", LAST, "20", "'task.disputed'"];
    Developers "GET /v1/events?task_id": "FROM events WHERE task_id = ?5" [LARGE, "'live'", LAST, "20", TASK];
    Developers "GET /v1/events/stream: what is new": "FROM events WHERE account_id = ?1 AND environment = ?2 AND number > ?3" [LARGE, "'live'", HALF, "100"];
    Developers "GET …/deliveries": "FROM deliveries WHERE account_id = ?1 AND environment = ?2 ORDER BY number DESC LIMIT ?3 OFFSET ?4" [LARGE, "'live'", "20", "0"];
    Developers "GET …/deliveries: the count": "(SELECT number FROM deliveries WHERE account_id = ?1 AND environment = ?2 ORDER BY number DESC LIMIT ?3)" [LARGE, "'live'", "10000"];
    Developers "GET …/deliveries?status=failed": "AND status = ?5 ORDER BY number DESC LIMIT ?3 OFFSET ?4" [LARGE, "'live'", "20", "0", "'failed'"];
    Developers "GET …/deliveries?event=task.disputed": "environment = ?2 ORDER BY number DESC LIMIT 10000) newest WHERE type = ?5" [LARGE, "'live'", "20", "0", "'task.disputed'"];
    Developers "GET /v1/tasks/search: a portion": "FROM tasks WHERE account_id = ?1 AND environment = ?2 AND number < ?3" [LARGE, "'live'", LAST, "100"];
    Developers "GET /v1/tasks/search?metadata (rare)": "AND key = ?5 AND value = ?6 AND number < ?3" [LARGE, "'live'", LAST, "100", "'order'", "'7'"];
    Developers "GET /v1/approvals": "FROM approvals WHERE account_id = ?1 AND environment = ?2 AND task_id < ?3" [LARGE, "'live'", LAST_ID, "20"];
    Developers "GET /v1/approvals?status=waiting (rare)": "AND status = ?5 AND task_id < ?3" [LARGE, "'live'", LAST_ID, "20", "'waiting'"];
    Developers "GET /v1/logs": "FROM request_log WHERE account_id = ?1 AND environment = ?2 AND id < ?3 AND first_id < ?4 ORDER BY" [LARGE, "'live'", LAST_ID, LAST_ID, "20"];
    Developers "GET /v1/logs?status=failed (rare)": "first_id < ?4 AND failed = 1" [LARGE, "'live'", LAST_ID, LAST_ID, "20"];
    Developers "GET /v1/logs?key": "FROM request_log WHERE key_id = ?6" [LARGE, "'live'", LAST_ID, LAST_ID, "20", KEY];
    Developers "POST /v1/quotes: how many are open": "AND key_id IS NULL AND task_id IS NULL AND expires_at" [LARGE, "'live'", NOW];
    Developers "POST /v1/test_helpers/clock: a page of open tasks": "FROM tasks WHERE account_id = ?1 AND environment = ?2 AND status = ?3 AND number > ?4" [LARGE, "'live'", "'completed'", "0", "100"];
    Developers "POST with Idempotency-Key": "FROM idempotency_keys WHERE account_id = ?1 AND environment = ?2 AND idempotency_key = ?3" [LARGE, "'live'", "'none'"];

    Workers "any request: the token": "FROM worker_tokens WHERE token_hash = ?1 AND expires_at > ?2" ["'none'", NOW];
    Workers "GET /v1/worker/tasks": "ORDER BY assigned_at DESC, id DESC" [WORKER, "20", "0"];
    Workers "GET /v1/worker/tasks: the count": "SELECT COUNT(*) FROM tasks WHERE worker_id = ?1 AND environment = 'live'" [WORKER];
    Workers "accept: open tasks": "SELECT COUNT(*) FROM tasks WHERE worker_id = ?1 AND (status" [WORKER];
    Workers "GET /v1/worker/earnings: payouts": "s.environment = 'live' ORDER BY s.recorded_at" [WORKER, "100"];
    Workers "GET /v1/worker/earnings: paid": "FROM ledger_entries WHERE worker_id = ?1 AND environment" [WORKER];
    Workers "GET …/available_tasks: places": "WITH RECURSIVE place (cell)" ["0", PLACE, PLACE_END];
    Workers "GET …/available_tasks: at a place": "WHERE cell = ?1 AND bounty = ?2" [PLACE, "0", LAST_ID, "20"];
    Workers "GET …/available_tasks?sort=payout": "posted_tasks WHERE district = ?1 AND bounty = ?2 AND (payout_cents" [SQUARE, "0", LAST, LAST_ID, "20"];
    Workers "GET /v1/worker/notifications": "WHERE worker_id = ?1 AND id < ?2 AND occasion NOT LIKE" [WORKER, LAST_ID, "20"];
    Workers "GET /v1/worker/notifications: unread": "SELECT COUNT(*) FROM (SELECT id FROM notices" [WORKER, "100"];
    Workers "proof: pictures like it": "FROM proof_hash_parts WHERE part = ?1 AND bits = ?2" ["1", "77", LAST_ID, "50"];

    Admins "GET /v1/admin/tasks": "FROM tasks WHERE id < ?1 ORDER BY id DESC LIMIT ?2" [LAST_ID, "20"];
    Admins "GET /v1/admin/tasks?status=disputed (rare)": "WHERE id < ?1 AND environment = ?3 AND status = ?4 ORDER BY" [LAST_ID, "20", "'live'", "'disputed'"];
    Admins "GET /v1/admin/tasks?account_id&status": "AND status = ?4 AND account_id = ?5 ORDER BY" [LAST_ID, "20", "'live'", "'completed'", SMALL];
    Admins "GET /v1/admin/accounts": "FROM accounts WHERE id < ?1 ORDER BY" [LAST_ID, "20"];
    Admins "GET /v1/admin/accounts?status=deleted (none)": "FROM accounts WHERE status >= ?3" [LAST_ID, "20", "'deleted'"];
    Admins "GET /v1/admin/workers?status=in_review (rare)": "FROM workers WHERE status >= ?3" [LAST_ID, "20", "'in_review'"];
    Admins "GET /v1/admin/queue": "FROM queue_items WHERE status = ?1 AND id > ?2" ["'open'", "''", "20", "NULL"];
    Admins "GET /v1/admin/queue?kind=same_person&status=closed": "WHERE status = ?1 AND kind = ?5 AND id > ?2" ["'closed'", "''", "20", "NULL", "'same_person'"];
    Admins "GET /v1/admin/queue?claimed=me": "WHERE claimed_by = ?6" ["'open'", "''", "20", NOW, "NULL", "'none'", "NULL"];
    Admins "GET /v1/admin/jobs": "FROM jobs WHERE (kind, subject) > (?1, ?2)" ["'mail'", "'5'", "20"];
    Admins "GET /v1/admin/jobs?status=dead": "WHERE run_at IS NULL AND (kind, subject)" ["'mail'", "'5'", "20"];
    Admins "GET /v1/admin/notifications": "FROM notices WHERE id < ?1 ORDER BY id DESC" [LAST_ID, "20"];
    Admins "GET /v1/admin/audit": "FROM audit_log WHERE number < ?1 ORDER BY" [LAST, "20"];
    Admins "GET /v1/admin/audit?action (rare)": "WHERE action >= ?3 AND (action, number)" [LAST, "20", "'account.suspended'"];
    Admins "GET /v1/admin/audit?subject_id": "WHERE subject_id = ?3 AND number < ?1" [LAST, "20", SMALL];
    Admins "GET /v1/admin/audit?subject_id&action": "WHERE subject_id = ?3 AND action = ?4" [LAST, "20", SMALL, "'account.suspended'"];

    Background "tasks too long in a status": "AND status = ?1 AND status_since <= ?2" ["'assigned'", YESTERDAY, "100", YESTERDAY, YESTERDAY, "86400000"];
    Background "tasks past their deadline": "AND deadline <= ?1" [NOW, "100", YESTERDAY, YESTERDAY];
    Background "tasks open for too long": "AND funded_at <= ?1" ["0", "100", YESTERDAY, YESTERDAY, "86400000"];
    Background "jobs due, notifications": "last_error, waits_for, pay_charged_back, keys_spent FROM jobs WHERE CASE WHEN kind IN ('mail', 'push') THEN 1 ELSE 0 END = 1" [NOW, "20"];
    Background "jobs due, the rest": "last_error, waits_for, pay_charged_back, keys_spent FROM jobs WHERE CASE WHEN kind IN ('mail', 'push') THEN 1 ELSE 0 END = 0" [NOW, "20"];
    Background "charge: the payment and its task": "FROM payments JOIN (SELECT id AS of_id" [TASK];
    Background "endpoints due": "WHERE due_at <= ?1 AND claim IS NULL ORDER BY due_at LIMIT ?2" [NOW, "20", "''"];
    Background "deliveries due of an endpoint": "WHERE d.account_id = ?1 AND d.due_at <= ?2" [LARGE, NOW, "8"];
    Background "metrics: due notifications": "FROM ( SELECT run_at FROM jobs WHERE CASE WHEN kind IN ('mail', 'push') THEN 1 ELSE 0 END = 1" [NOW, "100000"];
    Background "metrics: dead jobs": "SELECT kind FROM jobs WHERE run_at IS NULL LIMIT" ["100000"];
    Background "metrics: pending deliveries": "SELECT created_at FROM deliveries WHERE due_at IS NOT NULL" ["100000"];
    Background "delete events": "DELETE FROM events WHERE id IN ( SELECT id FROM events WHERE id <" ["(SELECT MIN(id) || '0' FROM events)"];
    Background "delete deliveries": "DELETE FROM deliveries WHERE event_id IN ( SELECT event_id FROM deliveries WHERE event_id <" ["(SELECT MIN(event_id) || '0' FROM deliveries)"];
    Background "delete stored responses": "FROM idempotency_keys WHERE created_at <= ?1" ["(SELECT MIN(created_at) FROM idempotency_keys)"];
    Background "delete notifications": "DELETE FROM notices WHERE id IN ( SELECT id FROM notices WHERE id <" ["(SELECT MIN(id) || '0' FROM notices)"];
    Background "delete entries of the log": "DELETE FROM request_log WHERE id IN" ["(SELECT MIN(id) || '0' FROM request_log)"];
    Background "delete quotes": "DELETE FROM quotes WHERE id IN" ["(SELECT MIN(kept_until) FROM quotes)"];
    Background "files of test proofs that expire": "WHERE p.files_expire_at <= ?1" [NOW, "100"];
    Background "a file is known": "FROM proofs WHERE file_key = ?1" ["'none'"];
    Background "announce a worker: accounts": "WITH RECURSIVE found (account_id, place)" ["''", "100"];
    Background "announce a worker: skills": "WITH RECURSIVE found (skills)" [LARGE];
    Background "erase an account: events": "DELETE FROM events WHERE id IN ( SELECT id FROM events WHERE account_id" [SMALL];
    Background "erase an account: notifications": "DELETE FROM notices WHERE id IN ( SELECT id FROM notices WHERE account_id" [SMALL];
    Background "counts by ranges: moves since": "SELECT t.number - t.number % 1024" [LARGE, "'live'", HALF, LAST];
}
