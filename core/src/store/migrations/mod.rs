//! Every migration, in the order in which they run.

use crate::store::engine::Migration;

pub const MIGRATIONS: &[Migration] = &[
    Migration {
        version: 1,
        name: "foundation",
        sql: include_str!("0001_foundation.sql"),
    },
    Migration {
        version: 2,
        name: "money",
        sql: include_str!("0002_money.sql"),
    },
    Migration {
        version: 3,
        name: "workers",
        sql: include_str!("0003_workers.sql"),
    },
    Migration {
        version: 4,
        name: "events",
        sql: include_str!("0004_events.sql"),
    },
    Migration {
        version: 5,
        name: "administration",
        sql: include_str!("0005_administration.sql"),
    },
    Migration {
        version: 6,
        name: "uploads",
        sql: include_str!("0006_uploads.sql"),
    },
    Migration {
        version: 7,
        name: "submissions",
        sql: include_str!("0007_submissions.sql"),
    },
    Migration {
        version: 8,
        name: "odd_peers",
        sql: include_str!("0008_odd_peers.sql"),
    },
    Migration {
        version: 9,
        name: "sealed_secrets",
        sql: include_str!("0009_sealed_secrets.sql"),
    },
    Migration {
        version: 10,
        name: "certificates",
        sql: include_str!("0010_certificates.sql"),
    },
    Migration {
        version: 11,
        name: "active_keys",
        sql: include_str!("0011_active_keys.sql"),
    },
    Migration {
        version: 12,
        name: "payout_decisions",
        sql: include_str!("0012_payout_decisions.sql"),
    },
    Migration {
        version: 13,
        name: "rate_limits",
        sql: include_str!("0013_rate_limits.sql"),
    },
    Migration {
        version: 14,
        name: "growth",
        sql: include_str!("0014_growth.sql"),
    },
    Migration {
        version: 17,
        name: "database_moves",
        sql: include_str!("0017_database_moves.sql"),
    },
    Migration {
        version: 18,
        name: "people",
        sql: include_str!("0018_people.sql"),
    },
    Migration {
        version: 20,
        name: "second_factors",
        sql: include_str!("0020_second_factors.sql"),
    },
    Migration {
        version: 21,
        name: "worker_accounts",
        sql: include_str!("0021_worker_accounts.sql"),
    },
    Migration {
        version: 22,
        name: "privacy",
        sql: include_str!("0022_privacy.sql"),
    },
    Migration {
        version: 23,
        name: "bundle_keys",
        sql: include_str!("0023_bundle_keys.sql"),
    },
    Migration {
        version: 24,
        name: "records",
        sql: include_str!("0024_records.sql"),
    },
    Migration {
        version: 25,
        name: "worker_notifications_and_skills",
        sql: include_str!("0025_worker_notifications_and_skills.sql"),
    },
    Migration {
        version: 26,
        name: "admin_decisions",
        sql: include_str!("0026_admin_decisions.sql"),
    },
    Migration {
        version: 27,
        name: "four_eyes",
        sql: include_str!("0027_four_eyes.sql"),
    },
    Migration {
        version: 28,
        name: "old_secrets",
        sql: include_str!("0028_old_secrets.sql"),
    },
    Migration {
        version: 29,
        name: "task_metadata",
        sql: include_str!("0029_task_metadata.sql"),
    },
    Migration {
        version: 31,
        name: "mandates",
        sql: include_str!("0031_mandates.sql"),
    },
    Migration {
        version: 32,
        name: "approvals",
        sql: include_str!("0032_approvals.sql"),
    },
    Migration {
        version: 33,
        name: "account_security",
        sql: include_str!("0033_account_security.sql"),
    },
    Migration {
        version: 34,
        name: "quotes",
        sql: include_str!("0034_quotes.sql"),
    },
    Migration {
        version: 35,
        name: "coverage",
        sql: include_str!("0035_coverage.sql"),
    },
    Migration {
        version: 38,
        name: "session_factors",
        sql: include_str!("0038_session_factors.sql"),
    },
    Migration {
        version: 39,
        name: "links_and_admins",
        sql: include_str!("0039_links_and_admins.sql"),
    },
    Migration {
        version: 40,
        name: "queue_environments",
        sql: include_str!("0040_queue_environments.sql"),
    },
    Migration {
        version: 41,
        name: "resumable_uploads",
        sql: include_str!("0041_resumable_uploads.sql"),
    },
    Migration {
        version: 42,
        name: "captures",
        sql: include_str!("0042_captures.sql"),
    },
    Migration {
        version: 43,
        name: "push_settings",
        sql: include_str!("0043_push_settings.sql"),
    },
    Migration {
        version: 47,
        name: "request_log",
        sql: include_str!("0047_request_log.sql"),
    },
    Migration {
        version: 48,
        name: "passkeys",
        sql: include_str!("0048_passkeys.sql"),
    },
    Migration {
        version: 49,
        name: "request_log_pages",
        sql: include_str!("0049_request_log_pages.sql"),
    },
    Migration {
        version: 50,
        name: "posted_skills",
        sql: include_str!("0050_posted_skills.sql"),
    },
    Migration {
        version: 51,
        name: "worker_data",
        sql: include_str!("0051_worker_data.sql"),
    },
    Migration {
        version: 52,
        name: "spent_keys",
        sql: include_str!("0052_spent_keys.sql"),
    },
    Migration {
        version: 53,
        name: "lost_disputes",
        sql: include_str!("0053_lost_disputes.sql"),
    },
    Migration {
        version: 54,
        name: "quotes_by_key",
        sql: include_str!("0054_quotes_by_key.sql"),
    },
    Migration {
        version: 55,
        name: "files_owner",
        sql: include_str!("0055_files_owner.sql"),
    },
    Migration {
        version: 56,
        name: "whole_conditions",
        sql: include_str!("0056_whole_conditions.sql"),
    },
    Migration {
        version: 57,
        name: "deadlines_alone",
        sql: include_str!("0057_deadlines_alone.sql"),
    },
    Migration {
        version: 58,
        name: "conditions_without_lists",
        sql: include_str!("0058_conditions_without_lists.sql"),
    },
];
