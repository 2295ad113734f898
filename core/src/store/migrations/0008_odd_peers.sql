-- Disputes of charges, as the processor reports them. A final status is never changed.
CREATE TABLE charge_disputes (
    processor TEXT NOT NULL,
    dispute_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    amount_cents BIGINT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (processor, dispute_id)
);

CREATE INDEX charge_disputes_of_task ON charge_disputes (task_id);

-- Refunds and transfers by the processor's ids: the ledger step that recorded each, and how much of it
-- came back. The processor may tell that it came back before we have recorded that it was made.
CREATE TABLE outgoing_movements (
    processor TEXT NOT NULL,
    movement_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    recorded_step TEXT,
    returned_cents BIGINT NOT NULL,
    returned_because TEXT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (processor, movement_id)
);

CREATE INDEX outgoing_movements_of_task ON outgoing_movements (task_id);

-- What happened to a task without moving it. Such an entry has a number above that of any event, and
-- follows the move with the number in this column.
ALTER TABLE task_moves ADD COLUMN follows BIGINT;

-- The time of the processor's last event about an account: older events that arrive later are ignored.
ALTER TABLE payout_accounts ADD COLUMN changed_at BIGINT NOT NULL DEFAULT 0;

-- Workers search among rounded places. The tasks that are posted now get theirs by a job each, and stay
-- visible meanwhile. At a place, tasks are read by id.
INSERT INTO jobs (kind, subject, run_at, claim, attempts, waits_for, last_error, created_at)
SELECT 'post', task_id, posted_at, NULL, 0, NULL, NULL, posted_at
FROM posted_tasks WHERE posted_at IS NOT NULL
ON CONFLICT (kind, subject) DO NOTHING;

DROP INDEX posted_tasks_by_cell;
CREATE INDEX posted_tasks_by_cell ON posted_tasks (bounty, cell, task_id);

-- A keyed hash of the address that a key was last used from, to find developers who work for themselves.
-- Forgotten after 30 days.
ALTER TABLE api_keys ADD COLUMN last_address TEXT;

CREATE INDEX api_keys_addresses ON api_keys (last_used_at) WHERE last_address IS NOT NULL;
