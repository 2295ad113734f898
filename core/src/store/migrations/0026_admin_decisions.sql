-- What the developer says about a dispute. What the worker says is the reason of the move.
CREATE TABLE dispute_statements (
    task_id TEXT NOT NULL PRIMARY KEY,
    statement TEXT NOT NULL,
    stated_at BIGINT NOT NULL
);

-- Documents that a worker has replaced by others. Their files are deleted; what is left tells an admin
-- whether the same file comes again.
CREATE TABLE replaced_documents (
    id TEXT NOT NULL PRIMARY KEY,
    worker_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    content_type TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    sent_at BIGINT NOT NULL,
    replaced_at BIGINT NOT NULL
);

CREATE INDEX replaced_documents_of_worker ON replaced_documents (worker_id, id);

-- What an admin wrote with a line of the audit log. Lines are never changed and hold no personal data;
-- a note may name people, so it can be deleted.
CREATE TABLE audit_notes (
    number BIGINT NOT NULL PRIMARY KEY,
    subject_id TEXT NOT NULL,
    note TEXT NOT NULL
);

CREATE INDEX audit_notes_of_subject ON audit_notes (subject_id);

-- The last decision about a worker or an account, so that the same decision sent again is known.
CREATE TABLE decisions (
    subject_id TEXT NOT NULL PRIMARY KEY,
    decision TEXT NOT NULL,
    note TEXT
);
