-- Texts, numbers and booleans on the top level of a task's metadata, by which the task is found. The
-- number is that of the task.
CREATE TABLE task_metadata (
    account_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (account_id, environment, key, value, number)
);

-- Tasks from before are indexed in the background, in the order of their ids, and a day later once more:
-- until then an older program may have created some. The row is deleted when that is done.
CREATE TABLE metadata_backfill (
    id BIGINT NOT NULL PRIMARY KEY,
    last_task TEXT NOT NULL,
    again_at BIGINT
);

INSERT INTO metadata_backfill (id, last_task)
SELECT 1, '' WHERE EXISTS (SELECT id FROM tasks);
