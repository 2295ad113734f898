-- What an account or a worker has used of its requests, for all servers together. Times are in
-- microseconds; used_hour counts hours since 1970, so that the index changes once an hour at most.
CREATE TABLE rate_limits (
    id TEXT NOT NULL PRIMARY KEY,
    full_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    used_hour BIGINT NOT NULL
);

CREATE INDEX rate_limits_by_hour ON rate_limits (used_hour);
