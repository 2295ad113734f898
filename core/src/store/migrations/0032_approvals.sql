-- Tasks of limited keys that a person has to agree to. The id of a task tells when it was created.
CREATE TABLE approvals (
    task_id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    key_id TEXT NOT NULL,
    budget_cents BIGINT NOT NULL,
    status TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    decided_kind TEXT,
    decided_by TEXT,
    decided_at BIGINT,
    created_at BIGINT NOT NULL
);

CREATE INDEX approvals_of_owner ON approvals (account_id, environment, task_id);
CREATE INDEX approvals_in_status ON approvals (account_id, environment, status, task_id);
