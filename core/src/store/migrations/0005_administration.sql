-- Reports read the entries of a month.
CREATE INDEX ledger_entries_by_time ON ledger_entries (environment, recorded_at);

-- What happens by the clock is found here: live tasks that have been in a status for too long, that
-- have missed their deadline, or that have none and are open for too long. Tasks that are over are in
-- none of these.
CREATE INDEX tasks_by_time_in_status ON tasks (status, status_since) WHERE environment = 'live'
    AND status IN ('pending', 'assigned', 'in_progress', 'proof_submitted', 'proof_rejected',
        'disputed');
CREATE INDEX tasks_by_deadline ON tasks (deadline) WHERE environment = 'live'
    AND status IN ('pending', 'funded', 'posted', 'assigned', 'in_progress', 'proof_rejected');
CREATE INDEX tasks_without_deadline ON tasks (funded_at) WHERE environment = 'live'
    AND deadline IS NULL
    AND status IN ('funded', 'posted', 'assigned', 'in_progress', 'proof_rejected');

-- Who did what, when, to what. Each line carries a hash over itself and the line before; the head is
-- the end of the chain. Rows are never changed.
CREATE TABLE audit_log (
    number BIGINT NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL,
    made_by TEXT NOT NULL,
    maker_id TEXT,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    subject_id TEXT NOT NULL,
    details TEXT NOT NULL,
    hash TEXT NOT NULL
);

CREATE INDEX audit_log_of_subject ON audit_log (subject_id, number);

CREATE TABLE audit_head (
    id BIGINT NOT NULL PRIMARY KEY,
    number BIGINT NOT NULL,
    hash TEXT NOT NULL
);

INSERT INTO audit_head (id, number, hash) VALUES (1, 0, '');

-- Keys from before there were roles could do everything.
ALTER TABLE admin_keys ADD COLUMN role TEXT NOT NULL DEFAULT 'owner';

-- An admin who works on an item, so that no other does.
ALTER TABLE queue_items ADD COLUMN claimed_by TEXT;
ALTER TABLE queue_items ADD COLUMN claimed_until BIGINT;

CREATE INDEX queue_items_by_kind ON queue_items (status, kind, id);

-- A deleted account is erased after a while.
ALTER TABLE accounts ADD COLUMN deleted_at BIGINT;
ALTER TABLE accounts ADD COLUMN erased_at BIGINT;

CREATE INDEX accounts_deleted ON accounts (deleted_at)
    WHERE deleted_at IS NOT NULL AND erased_at IS NULL;
