-- What accounts asked, for some days. No bodies, no queries, no secrets. The ids are in order of time, so old rows are found by
-- them.
CREATE TABLE request_log (
    id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    key_id TEXT NOT NULL,
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    status BIGINT NOT NULL,
    code TEXT,
    duration_us BIGINT NOT NULL,
    request_id TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE INDEX request_log_of_owner ON request_log (account_id, environment, id);
CREATE INDEX request_log_failed ON request_log (account_id, environment, id) WHERE status >= 400;
CREATE INDEX request_log_of_key ON request_log (key_id, id);
