-- A decision that waits for a second admin. One for each task and kind.
CREATE TABLE proposals (
    kind TEXT NOT NULL,
    task_id TEXT NOT NULL,
    content TEXT NOT NULL,
    note TEXT,
    proposed_by TEXT NOT NULL,
    proposed_at BIGINT NOT NULL,
    PRIMARY KEY (kind, task_id)
);

ALTER TABLE admin_keys ADD COLUMN last_used_at BIGINT;

-- The open items about proofs of a task, which close when it ends.
CREATE INDEX queue_items_flagged ON queue_items (task_id)
    WHERE kind = 'flagged_proof' AND status = 'open';

-- Lists of admins are filtered by environment, too.
CREATE INDEX tasks_of_all ON tasks (environment, status, id);
CREATE INDEX tasks_of_account ON tasks (account_id, environment, status, id);
DROP INDEX tasks_of_all_in_status;
DROP INDEX tasks_of_account_in_status;

-- The clock of a test environment can be ahead, so the id of a test task does not tell its month.
CREATE INDEX tasks_of_test ON tasks (environment, created_at) WHERE environment = 'test';

-- A payout account of the sandbox that looks ready and takes no money, to try failing payouts.
ALTER TABLE sandbox_payout_accounts ADD COLUMN refuses_payouts BIGINT NOT NULL DEFAULT 0;
