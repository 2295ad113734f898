//! Tables whose rows come and go.

/// PostgreSQL cleans a table when a fifth of it is dead. Here that is too late: whoever looks for the
/// oldest row goes through the dead ones first. What an operator has set for a table is left alone.
pub const CLEAN_OFTEN: &str = "DO $$
    DECLARE
        name TEXT;
    BEGIN
        FOREACH name IN ARRAY ARRAY['jobs', 'deliveries', 'events', 'idempotency_keys', 'notices',
            'posted_tasks', 'request_log', 'task_totals', 'task_range_heads', 'webhook_endpoints']
        LOOP
            IF (SELECT reloptions IS NULL FROM pg_class WHERE oid = to_regclass(name)) THEN
                EXECUTE format('ALTER TABLE %I SET (autovacuum_vacuum_scale_factor = 0.01,
                    autovacuum_vacuum_threshold = 1000, autovacuum_analyze_scale_factor = 0.05)',
                    name);
            END IF;
        END LOOP;
    END $$";
