-- Bytes that a worker has sent on a day (UTC, counted from 1970).
CREATE TABLE worker_uploads (
    worker_id TEXT NOT NULL,
    day BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    PRIMARY KEY (worker_id, day)
);

CREATE INDEX worker_uploads_by_day ON worker_uploads (day);

-- What the files of a proof take in storage, the original and the copy together; when those of a
-- test proof are deleted; when they were.
ALTER TABLE proofs ADD COLUMN stored_bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE proofs ADD COLUMN files_expire_at BIGINT;
ALTER TABLE proofs ADD COLUMN files_deleted_at BIGINT;

CREATE INDEX proofs_expiring ON proofs (files_expire_at) WHERE files_expire_at IS NOT NULL;

-- The sum over the proofs of an owner.
ALTER TABLE task_totals ADD COLUMN stored_bytes BIGINT NOT NULL DEFAULT 0;

-- Of older proofs we know the size of the copy alone.
UPDATE proofs SET stored_bytes = file_size_bytes;

UPDATE proofs SET files_expire_at = created_at + 2592000000
WHERE task_id IN (SELECT id FROM tasks WHERE environment = 'test');

UPDATE task_totals SET stored_bytes = (
    SELECT CAST(COALESCE(SUM(p.stored_bytes), 0) AS BIGINT)
    FROM proofs p JOIN tasks t ON t.id = p.task_id
    WHERE t.account_id = task_totals.account_id AND t.environment = task_totals.environment);
