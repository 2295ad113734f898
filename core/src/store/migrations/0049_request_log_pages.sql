-- A row has many requests: those of one key that a server answered within a second or so. What was logged before is dropped:
-- it is of use for a few days only, and no release has written it.
DROP TABLE request_log;

CREATE TABLE request_log (
    -- Of the last request in it.
    id TEXT NOT NULL PRIMARY KEY,
    first_id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    key_id TEXT NOT NULL,
    -- 1: all of them were refused or failed. 0: none was.
    failed BIGINT NOT NULL,
    entries TEXT NOT NULL
);

CREATE INDEX request_log_of_owner ON request_log (account_id, environment, id);
CREATE INDEX request_log_failed ON request_log (account_id, environment, id) WHERE failed = 1;
CREATE INDEX request_log_of_key ON request_log (key_id, id);
