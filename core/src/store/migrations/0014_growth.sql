-- What is read must not cost more as tables grow. Each index here is for a statement that went through
-- rows which it did not want.

-- Lists of admins over all accounts, and over the tasks of one account in both environments.
CREATE INDEX tasks_of_all_in_status ON tasks (status, id);
CREATE INDEX tasks_of_account_in_status ON tasks (account_id, status, id);
CREATE INDEX accounts_in_status ON accounts (status, id);
CREATE INDEX workers_in_status ON workers (status, id);
CREATE INDEX audit_log_of_action ON audit_log (action, number);
CREATE INDEX audit_log_of_subject_and_action ON audit_log (subject_id, action, number);
CREATE INDEX queue_items_claimed ON queue_items (claimed_by, id) WHERE claimed_by IS NOT NULL;

-- A worker's tasks in the order of the list, and those that are not over.
CREATE INDEX tasks_of_worker ON tasks (worker_id, assigned_at, id)
    WHERE worker_id IS NOT NULL AND environment = 'live';
CREATE INDEX tasks_open_of_worker ON tasks (worker_id, status, id)
    WHERE worker_id IS NOT NULL
        AND status IN ('assigned', 'in_progress', 'proof_submitted', 'proof_rejected', 'disputed');
DROP INDEX tasks_by_worker;

-- Which skills the posted tasks of an account need, and which accounts have posted tasks.
CREATE INDEX tasks_posted_skills ON tasks (account_id, required_skills)
    WHERE environment = 'live' AND status = 'posted';

-- The environment comes first so that SQLite prefers these to an index by status.
DROP INDEX tasks_by_deadline;
CREATE INDEX tasks_by_deadline ON tasks (environment, deadline) WHERE environment = 'live'
    AND status IN ('pending', 'funded', 'posted', 'assigned', 'in_progress', 'proof_rejected');
DROP INDEX tasks_without_deadline;
CREATE INDEX tasks_without_deadline ON tasks (environment, funded_at) WHERE environment = 'live'
    AND deadline IS NULL
    AND status IN ('funded', 'posted', 'assigned', 'in_progress', 'proof_rejected');

DROP INDEX workers_by_latitude;
CREATE INDEX workers_by_latitude ON workers (status, home_latitude, id)
    WHERE home_latitude IS NOT NULL AND status = 'verified';

-- A lane finds its jobs without those of the other. A job is in one of the two. Of a plain list of
-- kinds SQLite would make a search by kind.
CREATE INDEX jobs_due_notifications ON jobs (run_at)
    WHERE CASE WHEN kind IN ('mail', 'push') THEN 1 ELSE 0 END = 1;
CREATE INDEX jobs_due_rest ON jobs (run_at)
    WHERE CASE WHEN kind IN ('mail', 'push') THEN 1 ELSE 0 END = 0;
DROP INDEX jobs_due;
CREATE INDEX jobs_dead ON jobs (kind, subject) WHERE run_at IS NULL;

CREATE INDEX deliveries_due_in_test ON deliveries (account_id, due_at)
    WHERE due_at IS NOT NULL AND environment = 'test';

CREATE INDEX notices_of_account ON notices (account_id) WHERE account_id IS NOT NULL;
CREATE INDEX api_keys_by_address ON api_keys (account_id, last_address, last_used_at)
    WHERE last_address IS NOT NULL;

-- How many tasks of an owner are in a status, by ranges of their numbers: of 1,024 on level 0, of 64
-- times as many on each level above. A page deep in a filtered list is found by them. They stand as of
-- an event of the owner, and are brought forward in the background; readers add what happened since.
CREATE TABLE task_ranges (
    account_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    status TEXT NOT NULL,
    level BIGINT NOT NULL,
    first BIGINT NOT NULL,
    tasks BIGINT NOT NULL,
    PRIMARY KEY (account_id, environment, status, level, first)
);

-- The owners whose tasks are counted so. A new row stands before the first event.
CREATE TABLE task_range_heads (
    account_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    last_event BIGINT NOT NULL,
    PRIMARY KEY (account_id, environment)
);

INSERT INTO task_range_heads (account_id, environment, last_event)
SELECT account_id, environment, -1 FROM task_totals WHERE last_number >= 4096;
