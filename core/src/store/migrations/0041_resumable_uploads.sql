-- Files that workers send in several requests (tus). The bytes are in files; each row of upload_parts names
-- one. `writer` is the request that may add bytes. A row stays for a while after its end, so that its id is
-- known to be gone.
CREATE TABLE uploads (
    id TEXT NOT NULL PRIMARY KEY,
    worker_id TEXT NOT NULL REFERENCES workers (id),
    task_id TEXT NOT NULL REFERENCES tasks (id),
    proof_type TEXT NOT NULL,
    size_bytes BIGINT NOT NULL,
    metadata TEXT NOT NULL,
    name TEXT,
    received_bytes BIGINT NOT NULL,
    writer TEXT NOT NULL,
    begun_at BIGINT NOT NULL,
    last_byte_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    ended_at BIGINT,
    CHECK (received_bytes >= 0 AND received_bytes <= size_bytes)
);

CREATE UNIQUE INDEX uploads_named ON uploads (worker_id, name) WHERE ended_at IS NULL;
CREATE INDEX uploads_of_task ON uploads (task_id, last_byte_at) WHERE ended_at IS NULL;
CREATE INDEX uploads_by_expiry ON uploads (expires_at) WHERE ended_at IS NULL;
CREATE INDEX uploads_by_end ON uploads (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE upload_parts (
    upload_id TEXT NOT NULL REFERENCES uploads (id),
    start_byte BIGINT NOT NULL,
    size_bytes BIGINT NOT NULL,
    file_key TEXT NOT NULL,
    PRIMARY KEY (upload_id, start_byte)
);

CREATE UNIQUE INDEX upload_parts_by_file ON upload_parts (file_key);
