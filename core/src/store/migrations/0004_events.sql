-- Events of an account and environment are numbered 1 to n. The number is taken from the totals, whose
-- row every move holds until it commits: what has the higher number was committed later, and nobody
-- who reads ever sees a gap. Times do not run backwards either.
ALTER TABLE task_totals ADD COLUMN last_event BIGINT NOT NULL DEFAULT 0;
ALTER TABLE task_totals ADD COLUMN last_event_at BIGINT NOT NULL DEFAULT 0;

CREATE TABLE events (
    id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    number BIGINT NOT NULL,
    type TEXT NOT NULL,
    task_id TEXT,
    data TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE UNIQUE INDEX events_by_number ON events (account_id, environment, number);
CREATE INDEX events_by_type ON events (account_id, environment, type, number);
CREATE INDEX events_of_task ON events (task_id, number) WHERE task_id IS NOT NULL;

-- Every move of a task: who made it, and why. Kept for good. The number is that of its first event.
CREATE TABLE task_moves (
    task_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    from_status TEXT,
    to_status TEXT NOT NULL,
    made_by TEXT NOT NULL,
    maker_id TEXT,
    reason TEXT,
    made_at BIGINT NOT NULL,
    PRIMARY KEY (task_id, number)
);

-- How far the clock of an account's test environment is ahead of the real one.
ALTER TABLE accounts ADD COLUMN test_ahead_ms BIGINT NOT NULL DEFAULT 0;

-- Where an account's events go. due_at says when somebody should look for deliveries; it is none when
-- there is nothing to deliver. One process at a time serves an endpoint: its name is the claim.
CREATE TABLE webhook_endpoints (
    account_id TEXT NOT NULL PRIMARY KEY,
    secret TEXT NOT NULL,
    old_secret TEXT,
    old_secret_until BIGINT,
    failing_since BIGINT,
    disabled_at BIGINT,
    disabled_because TEXT,
    due_at BIGINT,
    claim TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE INDEX webhook_endpoints_due ON webhook_endpoints (due_at)
    WHERE claim IS NULL AND due_at IS NOT NULL;
CREATE INDEX webhook_endpoints_claimed ON webhook_endpoints (claim) WHERE claim IS NOT NULL;

-- One delivery for each event that the endpoint of its account wants, with all attempts.
CREATE TABLE deliveries (
    event_id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    number BIGINT NOT NULL,
    type TEXT NOT NULL,
    task_id TEXT,
    status TEXT NOT NULL,
    tries BIGINT NOT NULL,
    due_at BIGINT,
    attempts TEXT NOT NULL,
    status_code BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE INDEX deliveries_due ON deliveries (account_id, due_at, number) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_by_number ON deliveries (account_id, environment, number);
CREATE INDEX deliveries_by_status ON deliveries (account_id, environment, status, number);

-- Processes that serve endpoints. One that has not said so for a while is taken for dead.
CREATE TABLE processes (
    id TEXT NOT NULL PRIMARY KEY,
    alive_until BIGINT NOT NULL
);

-- What workers and developers are told by e-mail and push. The occasion makes sure that it is told once.
CREATE TABLE notices (
    id TEXT NOT NULL PRIMARY KEY,
    occasion TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    email TEXT NOT NULL,
    account_id TEXT,
    worker_id TEXT,
    subject TEXT NOT NULL,
    paragraphs TEXT NOT NULL,
    link TEXT,
    status TEXT NOT NULL,
    error TEXT,
    sent_at BIGINT,
    created_at BIGINT NOT NULL
);

CREATE INDEX workers_by_latitude ON workers (home_latitude) WHERE home_latitude IS NOT NULL;
