-- The journal. One row is one entry: what it adds to each book. An entry that does not balance
-- cannot be stored, and no step of a task can be stored twice. Rows are never changed.
CREATE TABLE ledger_entries (
    task_id TEXT NOT NULL,
    step TEXT NOT NULL,
    account_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    worker_id TEXT,
    processor_cents BIGINT NOT NULL,
    escrow_cents BIGINT NOT NULL,
    worker_cents BIGINT NOT NULL,
    fees_cents BIGINT NOT NULL,
    refunds_cents BIGINT NOT NULL,
    recorded_at BIGINT NOT NULL,
    PRIMARY KEY (task_id, step),
    CHECK (processor_cents + escrow_cents + worker_cents + fees_cents + refunds_cents = 0),
    CHECK (worker_cents = 0 OR worker_id IS NOT NULL)
);

-- Balances are kept beside what they belong to: escrow with its task, the developer's books with
-- the developer's other totals, a worker's balance in a row of its own.
ALTER TABLE tasks ADD COLUMN escrow_cents BIGINT NOT NULL DEFAULT 0;
ALTER TABLE task_totals ADD COLUMN processor_cents BIGINT NOT NULL DEFAULT 0;
ALTER TABLE task_totals ADD COLUMN fees_cents BIGINT NOT NULL DEFAULT 0;
ALTER TABLE task_totals ADD COLUMN refunds_cents BIGINT NOT NULL DEFAULT 0;

CREATE TABLE worker_balances (
    worker_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    balance_cents BIGINT NOT NULL,
    PRIMARY KEY (worker_id, environment)
);

-- How a live task is paid for: one payment for each. payment_id and client_secret are the
-- processor's.
CREATE TABLE payments (
    task_id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL,
    processor TEXT NOT NULL,
    payment_id TEXT,
    client_secret TEXT,
    amount_cents BIGINT NOT NULL,
    status TEXT NOT NULL,
    method_id TEXT,
    method_customer TEXT,
    failure_code TEXT,
    failure_message TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE UNIQUE INDEX payments_by_processor ON payments (processor, payment_id);

CREATE TABLE payment_methods (
    account_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    processor TEXT NOT NULL,
    method_id TEXT NOT NULL,
    method_customer TEXT,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, environment)
);

CREATE TABLE payout_accounts (
    worker_id TEXT NOT NULL,
    processor TEXT NOT NULL,
    payout_account_id TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (worker_id, processor)
);

CREATE UNIQUE INDEX payout_accounts_by_processor ON payout_accounts (processor, payout_account_id);

-- Notices of the processor that were handled, so that each is handled once.
CREATE TABLE processor_notices (
    processor TEXT NOT NULL,
    notice_id TEXT NOT NULL,
    received_at BIGINT NOT NULL,
    PRIMARY KEY (processor, notice_id)
);

CREATE INDEX processor_notices_by_age ON processor_notices (received_at);

-- Work to be done later. A job is due when run_at has come; who claims it moves run_at to the end
-- of the lease, and deletes the row when the work is done. A dead job has no run_at.
CREATE TABLE jobs (
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    run_at BIGINT,
    claim TEXT,
    attempts BIGINT NOT NULL,
    waits_for TEXT,
    last_error TEXT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (kind, subject)
);

CREATE INDEX jobs_due ON jobs (run_at);
CREATE INDEX jobs_waiting ON jobs (waits_for) WHERE waits_for IS NOT NULL;

-- The embedded processor's own records: nothing else writes to these.
CREATE TABLE sandbox_payments (
    payment_id TEXT NOT NULL PRIMARY KEY,
    client_secret TEXT NOT NULL,
    task_id TEXT NOT NULL,
    amount_cents BIGINT NOT NULL,
    refunded_cents BIGINT NOT NULL,
    transferred_cents BIGINT NOT NULL,
    status TEXT NOT NULL,
    paid_at BIGINT,
    created_at BIGINT NOT NULL
);

CREATE TABLE sandbox_movements (
    idempotency_key TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    task_id TEXT NOT NULL,
    payment_id TEXT NOT NULL,
    payout_account_id TEXT,
    amount_cents BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE sandbox_payout_accounts (
    payout_account_id TEXT NOT NULL PRIMARY KEY,
    link_secret TEXT NOT NULL,
    ready BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE sandbox_notices (
    notice_id TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    failure_code TEXT,
    failure_message TEXT,
    created_at BIGINT NOT NULL
);

CREATE INDEX sandbox_notices_by_subject ON sandbox_notices (subject);

CREATE TABLE sandbox_switches (
    name TEXT NOT NULL PRIMARY KEY,
    milliseconds BIGINT NOT NULL
);

-- Tasks from before there was a ledger. Test tasks were funded at once, and some were cancelled
-- with a full refund.
INSERT INTO ledger_entries (task_id, step, account_id, environment, worker_id, processor_cents,
    escrow_cents, worker_cents, fees_cents, refunds_cents, recorded_at)
SELECT id, 'payment', account_id, environment, NULL, -budget_cents, budget_cents, 0, 0, 0, funded_at
FROM tasks WHERE funded_at IS NOT NULL;

INSERT INTO ledger_entries (task_id, step, account_id, environment, worker_id, processor_cents,
    escrow_cents, worker_cents, fees_cents, refunds_cents, recorded_at)
SELECT id, 'settlement', account_id, environment, NULL, 0, -budget_cents, 0, 0, budget_cents,
    cancelled_at
FROM tasks WHERE funded_at IS NOT NULL AND cancelled_at IS NOT NULL;

UPDATE tasks SET escrow_cents = budget_cents WHERE funded_at IS NOT NULL AND cancelled_at IS NULL;

UPDATE task_totals SET
    processor_cents = COALESCE((SELECT CAST(SUM(e.processor_cents) AS BIGINT) FROM ledger_entries e
        WHERE e.account_id = task_totals.account_id
            AND e.environment = task_totals.environment), 0),
    refunds_cents = COALESCE((SELECT CAST(SUM(e.refunds_cents) AS BIGINT) FROM ledger_entries e
        WHERE e.account_id = task_totals.account_id
            AND e.environment = task_totals.environment), 0);

-- Live tasks that could not be paid for yet: a payment each, and a job that asks the processor.
INSERT INTO payments (task_id, account_id, processor, payment_id, client_secret, amount_cents,
    status, method_id, method_customer, failure_code, failure_message, created_at, updated_at)
SELECT id, account_id, 'sandbox', NULL, NULL, budget_cents, 'processing', NULL, NULL, NULL, NULL,
    created_at, created_at
FROM tasks WHERE environment = 'live' AND status = 'pending';

INSERT INTO jobs (kind, subject, run_at, claim, attempts, waits_for, last_error, created_at)
SELECT 'charge', id, created_at, NULL, 0, NULL, NULL, created_at
FROM tasks WHERE environment = 'live' AND status = 'pending';
