//! A database from before there was money.

use std::sync::Arc;

use crate::support::{Database, Engine, GOOD_CARD, TestApp, path};

/// What all steps of the schema but the first added, gone again, and with them the steps.
pub async fn take_back(database: &Database) {
    database.execute("DROP INDEX workers_by_latitude").await;
    for index in [
        "tasks_by_time_in_status",
        "tasks_by_deadline",
        "tasks_without_deadline",
        "accounts_deleted",
        "api_keys_active",
        "api_keys_addresses",
        "api_keys_by_address",
        "accounts_by_claimed_email",
        "accounts_in_status",
        "tasks_of_all",
        "tasks_of_account",
        "tasks_of_test",
        "tasks_of_worker",
        "tasks_open_of_worker",
        "tasks_posted_skills",
    ] {
        database.execute(&format!("DROP INDEX {index}")).await;
    }
    let tables = [
        "upload_parts",
        "uploads",
        "charge_disputes",
        "outgoing_movements",
        "audit_log",
        "audit_head",
        "events",
        "task_moves",
        "webhook_endpoints",
        "deliveries",
        "processes",
        "notices",
        "second_factors",
        "recovery_codes",
        "passkeys",
        "passkey_challenges",
        "admin_sessions",
        "push_subscriptions",
        "worker_tokens",
        "workers",
        "posted_tasks",
        "proofs",
        "proof_hash_parts",
        "proof_submissions",
        "worker_submissions",
        "worker_uploads",
        "rate_limits",
        "task_ranges",
        "task_range_heads",
        "mail_links",
        "sessions",
        "files_owner",
        "database_moves",
        "database_move_tables",
        "request_log",
        "quotes",
        "worker_totals",
        "counted_workers",
        "workers_to_count",
        "worker_count_walk",
        "accept_totals",
        "task_metadata",
        "metadata_backfill",
        "bundle_keys",
        "exports",
        "export_parts",
        "verification_files",
        "replaced_documents",
        "dispute_statements",
        "audit_notes",
        "decisions",
        "proposals",
        "mandates",
        "approvals",
        "admin_keys",
        "queue_items",
        "service_secrets",
        "master_keys",
        "acme_accounts",
        "acme_certificates",
        "acme_challenges",
        "ledger_entries",
        "worker_balances",
        "payments",
        "payment_methods",
        "payout_accounts",
        "processor_notices",
        "jobs",
        "sandbox_payments",
        "sandbox_movements",
        "sandbox_payout_accounts",
        "sandbox_notices",
        "sandbox_switches",
    ];
    for table in tables {
        database.execute(&format!("DROP TABLE {table}")).await;
    }
    database.forget_audit_start();
    for (table, column) in [
        ("tasks", "escrow_cents"),
        ("tasks", "mandate_key_id"),
        ("accounts", "test_keys_manage"),
        ("task_totals", "processor_cents"),
        ("task_totals", "fees_cents"),
        ("task_totals", "refunds_cents"),
        ("task_totals", "last_event"),
        ("task_totals", "stored_bytes"),
        ("task_totals", "last_event_at"),
        ("task_totals", "judged"),
        ("task_totals", "approved"),
        ("task_totals", "reviewed_1h"),
        ("task_totals", "reviewed_4h"),
        ("task_totals", "reviewed_12h"),
        ("task_totals", "reviewed_24h"),
        ("task_totals", "reviewed_48h"),
        ("task_totals", "reviewed_72h"),
        ("task_totals", "reviewed_120h"),
        ("task_totals", "reviewed_later"),
        ("accounts", "test_ahead_ms"),
        ("accounts", "deleted_at"),
        ("accounts", "erased_at"),
        ("accounts", "claimed_email"),
        ("accounts", "password_hash"),
        ("api_keys", "last_address"),
    ] {
        let drop = format!("ALTER TABLE {table} DROP COLUMN {column}");
        database.execute(&drop).await;
    }
    database
        .execute("DELETE FROM migrations WHERE version >= 2")
        .await;
}

#[test]
fn tasks_from_before_the_ledger_are_entered_and_can_be_paid() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let database = Arc::new(Database::create(engine));
            let app = TestApp::start(&database).await;
            let dev = app.developer().await;
            dev.create_task().await;
            let cancelled = dev.create_task().await;
            let cancel = format!("{}/cancel", path(&cancelled));
            dev.test.send("POST", &cancel, &[], "").await.expect(200);
            let live = dev.create_live_task().await;
            drop(app);
            take_back(&database).await;
            let app = TestApp::start(&database).await;
            assert_eq!(app.verify().await.differences, Vec::<String>::new());
            let client = crate::support::Client::new(app.address, Some(&dev.live_key));
            app.jobs.drain().await.unwrap();
            let payment = client.get(&format!("{}/payment", path(&live))).await;
            let payment = payment.expect(200);
            let secret = payment["payment_client_secret"].as_str().unwrap();
            assert_eq!(client.pay(secret, GOOD_CARD).await.status, 200);
            let posted = client.get(&path(&live)).await.expect(200);
            assert_eq!(posted["status"], "posted");
            TestApp::expect_settled(&app.verify().await);
        });
    }
}
