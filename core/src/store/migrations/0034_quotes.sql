-- What was quoted for a task, with the whole task, so that it can be created by the id of the quote alone.
-- A quote of a key with a mandate belongs to that key. A redeemed one keeps the answer that was given,
-- without its secret, to give it again.
CREATE TABLE quotes (
    id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    environment TEXT NOT NULL,
    key_id TEXT,
    fee_percent BIGINT NOT NULL,
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
    priority TEXT NOT NULL,
    deadline BIGINT,
    proof_types TEXT NOT NULL,
    metadata TEXT NOT NULL,
    body TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    task_id TEXT,
    answer TEXT,
    gave_secret BIGINT NOT NULL,
    kept_until BIGINT NOT NULL
);

CREATE INDEX quotes_open ON quotes (account_id, environment, expires_at) WHERE task_id IS NULL;
CREATE INDEX quotes_kept ON quotes (kept_until);
