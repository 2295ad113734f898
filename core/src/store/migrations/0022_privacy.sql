-- When an admin decided on a worker's documents. They are deleted some time after that. Of documents
-- from before, the last change of the worker stands for the decision.
ALTER TABLE verification_files ADD COLUMN decided_at BIGINT;

UPDATE verification_files SET decided_at = (
    SELECT COALESCE(w.verified_at, w.updated_at) FROM workers w WHERE w.id = verification_files.worker_id)
WHERE worker_id IN (SELECT id FROM workers WHERE status <> 'in_review');

CREATE INDEX verification_files_decided ON verification_files (decided_at)
    WHERE decided_at IS NOT NULL;

-- A deleted worker keeps a row, because tasks and the ledger name it. erased_at says that nothing of the
-- person is left.
ALTER TABLE workers ADD COLUMN deleted_at BIGINT;
ALTER TABLE workers ADD COLUMN erased_at BIGINT;

-- What belongs to a person, for erasing and for exports.
CREATE INDEX proofs_of_worker ON proofs (worker_id, id);
CREATE INDEX IF NOT EXISTS worker_tokens_of_worker ON worker_tokens (worker_id);
DROP INDEX notices_of_account;
CREATE INDEX notices_of_account ON notices (account_id, id) WHERE account_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS notices_of_worker ON notices (worker_id, id) WHERE worker_id IS NOT NULL;

-- Archives of everything that is held about a developer (owner_kind 'account') or a worker. A job makes
-- them part by part; place says how far it has come. Each owner has one in preparation at most.
CREATE TABLE exports (
    id TEXT NOT NULL PRIMARY KEY,
    owner_kind TEXT NOT NULL,
    owner_id TEXT NOT NULL,
    status TEXT NOT NULL,
    place TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    ready_at BIGINT,
    expires_at BIGINT NOT NULL
);

CREATE INDEX exports_of_owner ON exports (owner_id, id);
CREATE UNIQUE INDEX exports_preparing ON exports (owner_id) WHERE status = 'preparing';
CREATE INDEX exports_expiring ON exports (expires_at);

-- The ZIP files of an export.
CREATE TABLE export_parts (
    export_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    file_key TEXT NOT NULL,
    size_bytes BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (export_id, number)
);

CREATE UNIQUE INDEX export_parts_by_file ON export_parts (file_key);
