-- One text for SQLite and PostgreSQL: ids, words and JSON are TEXT; moments (milliseconds since
-- the epoch, UTC), money (cents) and counts are BIGINT.

CREATE TABLE accounts (
    id TEXT NOT NULL PRIMARY KEY,
    email TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    company TEXT,
    tier TEXT NOT NULL,
    status TEXT NOT NULL,
    webhook_url TEXT,
    webhook_events TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE TABLE api_keys (
    id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    key_hash TEXT NOT NULL UNIQUE,
    key_prefix TEXT NOT NULL,
    environment TEXT NOT NULL,
    last_used_at BIGINT,
    revoked_at BIGINT,
    created_at BIGINT NOT NULL
);

CREATE INDEX api_keys_of_account ON api_keys (account_id, id);

-- One row for each account and environment: the last number given to a task, the tasks created in
-- the month, and how many tasks stand in each status. Totals are kept, never counted.
CREATE TABLE task_totals (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    environment TEXT NOT NULL,
    last_number BIGINT NOT NULL,
    month BIGINT NOT NULL,
    month_tasks BIGINT NOT NULL,
    pending BIGINT NOT NULL,
    funded BIGINT NOT NULL,
    posted BIGINT NOT NULL,
    assigned BIGINT NOT NULL,
    in_progress BIGINT NOT NULL,
    proof_submitted BIGINT NOT NULL,
    proof_rejected BIGINT NOT NULL,
    completed BIGINT NOT NULL,
    cancelled BIGINT NOT NULL,
    expired BIGINT NOT NULL,
    disputed BIGINT NOT NULL,
    refunded BIGINT NOT NULL,
    PRIMARY KEY (account_id, environment)
);

-- Tasks of one account and environment are numbered 1 to n and never deleted, so any page of the
-- list is a range of numbers. No foreign key: the row of task_totals that gave the number proves
-- the account, and a reference would lock the account's row at every insert.
CREATE TABLE tasks (
    id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    number BIGINT NOT NULL,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    instructions TEXT,
    category TEXT NOT NULL,
    required_skills TEXT NOT NULL,
    location_address TEXT,
    location_city TEXT NOT NULL,
    location_state TEXT NOT NULL,
    location_latitude DOUBLE PRECISION NOT NULL,
    location_longitude DOUBLE PRECISION NOT NULL,
    budget_cents BIGINT NOT NULL,
    task_type TEXT NOT NULL,
    fee_percent BIGINT NOT NULL,
    priority TEXT NOT NULL,
    status TEXT NOT NULL,
    status_since BIGINT NOT NULL,
    worker_id TEXT,
    proof_attempts BIGINT NOT NULL,
    deadline BIGINT,
    proof_types TEXT NOT NULL,
    metadata TEXT NOT NULL,
    funded_at BIGINT,
    assigned_at BIGINT,
    started_at BIGINT,
    completed_at BIGINT,
    cancelled_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE UNIQUE INDEX tasks_by_number ON tasks (account_id, environment, number);
CREATE INDEX tasks_by_status ON tasks (account_id, environment, status, number);

-- Answers to requests that carried an Idempotency-Key. An answer that hands out a secret is kept
-- sealed: only the key that asked can open it.
CREATE TABLE idempotency_keys (
    account_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    response_status BIGINT NOT NULL,
    response_body TEXT NOT NULL,
    sealed BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, environment, idempotency_key)
);

CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
