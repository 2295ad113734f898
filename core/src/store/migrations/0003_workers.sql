CREATE TABLE workers (
    id TEXT NOT NULL PRIMARY KEY,
    email TEXT NOT NULL UNIQUE,
    password_hash TEXT NOT NULL,
    name TEXT NOT NULL,
    phone TEXT,
    skills TEXT NOT NULL,
    home_latitude DOUBLE PRECISION,
    home_longitude DOUBLE PRECISION,
    radius_km DOUBLE PRECISION NOT NULL,
    status TEXT NOT NULL,
    verified_at BIGINT,
    completed_tasks BIGINT NOT NULL,
    approved_attempts BIGINT NOT NULL,
    reviewed_attempts BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE TABLE worker_tokens (
    token_hash TEXT NOT NULL PRIMARY KEY,
    worker_id TEXT NOT NULL REFERENCES workers (id),
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX worker_tokens_by_age ON worker_tokens (expires_at);

CREATE TABLE push_subscriptions (
    id TEXT NOT NULL PRIMARY KEY,
    worker_id TEXT NOT NULL REFERENCES workers (id),
    endpoint TEXT NOT NULL,
    p256dh TEXT NOT NULL,
    auth TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE UNIQUE INDEX push_subscriptions_of_worker ON push_subscriptions (worker_id, endpoint);

CREATE INDEX ledger_entries_of_worker ON ledger_entries (worker_id, step, recorded_at)
    WHERE worker_id IS NOT NULL;

CREATE INDEX tasks_by_worker ON tasks (worker_id, status) WHERE worker_id IS NOT NULL;

-- The live tasks that workers can take, by place. `cell` numbers the finest squares of the map so
-- that any larger square is a range; `district` and `region` are such squares of about 20 and
-- 150 km, each with its tasks in the orders in which they are asked for.
CREATE TABLE posted_tasks (
    task_id TEXT NOT NULL PRIMARY KEY,
    bounty BIGINT NOT NULL,
    cell BIGINT NOT NULL,
    district BIGINT NOT NULL,
    region BIGINT NOT NULL,
    latitude DOUBLE PRECISION NOT NULL,
    longitude DOUBLE PRECISION NOT NULL,
    category TEXT NOT NULL,
    required_skills TEXT NOT NULL,
    payout_cents BIGINT NOT NULL,
    posted_at BIGINT NOT NULL
);

CREATE INDEX posted_tasks_by_cell ON posted_tasks (bounty, cell);
CREATE INDEX posted_tasks_by_district_payout ON posted_tasks (district, bounty, payout_cents, task_id);
CREATE INDEX posted_tasks_by_district_age ON posted_tasks (district, bounty, posted_at, task_id);
CREATE INDEX posted_tasks_by_region_payout ON posted_tasks (region, bounty, payout_cents, task_id);
CREATE INDEX posted_tasks_by_region_age ON posted_tasks (region, bounty, posted_at, task_id);

CREATE TABLE proofs (
    id TEXT NOT NULL PRIMARY KEY,
    task_id TEXT NOT NULL,
    worker_id TEXT NOT NULL,
    attempt_number BIGINT NOT NULL,
    type TEXT NOT NULL,
    file_key TEXT NOT NULL,
    original_key TEXT NOT NULL,
    content_type TEXT NOT NULL,
    file_size_bytes BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    gps_latitude DOUBLE PRECISION,
    gps_longitude DOUBLE PRECISION,
    accuracy_meters DOUBLE PRECISION,
    distance_meters DOUBLE PRECISION,
    geo_valid BIGINT NOT NULL,
    device_info TEXT NOT NULL,
    taken_at BIGINT,
    taken_at_is_local BIGINT NOT NULL,
    exif_latitude DOUBLE PRECISION,
    exif_longitude DOUBLE PRECISION,
    perceptual_hash BIGINT,
    status TEXT NOT NULL,
    rejection_reason TEXT,
    reviewed_at BIGINT,
    created_at BIGINT NOT NULL
);

-- An attempt has one file of each type.
CREATE UNIQUE INDEX proofs_of_task ON proofs (task_id, attempt_number, type);
CREATE UNIQUE INDEX proofs_by_file ON proofs (file_key);
CREATE UNIQUE INDEX proofs_by_original ON proofs (original_key);

-- A hash of 64 bits in four parts: two that differ in up to three bits share at least one.
CREATE TABLE proof_hash_parts (
    part BIGINT NOT NULL,
    bits BIGINT NOT NULL,
    proof_id TEXT NOT NULL,
    PRIMARY KEY (part, bits, proof_id)
);

CREATE TABLE proof_submissions (
    task_id TEXT NOT NULL,
    submission_id TEXT NOT NULL,
    attempt_number BIGINT NOT NULL,
    PRIMARY KEY (task_id, submission_id)
);

CREATE TABLE verification_files (
    id TEXT NOT NULL PRIMARY KEY,
    worker_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    file_key TEXT NOT NULL,
    content_type TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE UNIQUE INDEX verification_files_of_worker ON verification_files (worker_id, kind);
CREATE UNIQUE INDEX verification_files_by_file ON verification_files (file_key);

CREATE TABLE admin_keys (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    key_hash TEXT NOT NULL UNIQUE,
    key_prefix TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    revoked_at BIGINT
);

-- What an admin has to look at. One open item for each subject.
CREATE TABLE queue_items (
    id TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    task_id TEXT,
    worker_id TEXT,
    status TEXT NOT NULL,
    note TEXT,
    decided_by TEXT,
    decided_at BIGINT,
    created_at BIGINT NOT NULL
);

CREATE UNIQUE INDEX queue_items_by_subject ON queue_items (kind, subject);
CREATE INDEX queue_items_by_status ON queue_items (status, id);

-- Secrets that the service makes for itself, once for all servers on a database.
CREATE TABLE service_secrets (
    name TEXT NOT NULL PRIMARY KEY,
    secret TEXT NOT NULL
);

-- Live tasks that were posted before workers could find them.
INSERT INTO jobs (kind, subject, run_at, claim, attempts, waits_for, last_error, created_at)
SELECT 'post', id, status_since, NULL, 0, NULL, NULL, status_since
FROM tasks WHERE environment = 'live' AND status = 'posted';
