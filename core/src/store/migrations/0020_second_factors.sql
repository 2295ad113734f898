-- The second factor of a developer, a worker or an admin key. `holder` is the kind and the id, such as
-- worker:019a.... It counts once it is enabled. `secret` is sealed. No code of `last_step` or of an
-- earlier step counts again.
CREATE TABLE second_factors (
    holder TEXT NOT NULL PRIMARY KEY,
    secret TEXT NOT NULL,
    enabled_at BIGINT,
    last_step BIGINT NOT NULL DEFAULT 0,
    wrong_codes BIGINT NOT NULL DEFAULT 0,
    wrong_since BIGINT,
    created_at BIGINT NOT NULL
);

CREATE INDEX second_factors_plain ON second_factors (holder)
    WHERE substr(secret, 1, 10) <> 'sealed:v1:';

-- Recovery codes that were not used yet.
CREATE TABLE recovery_codes (
    holder TEXT NOT NULL,
    code_hash TEXT NOT NULL,
    PRIMARY KEY (holder, code_hash)
);

-- What an admin key with a second factor gets for a code.
CREATE TABLE admin_sessions (
    token_hash TEXT NOT NULL PRIMARY KEY,
    admin_key_id TEXT NOT NULL REFERENCES admin_keys (id),
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX admin_sessions_by_age ON admin_sessions (expires_at);
CREATE INDEX admin_sessions_of_key ON admin_sessions (admin_key_id);

-- 1 if the worker gave a code of the second factor at sign-in, or set it up with this token.
ALTER TABLE worker_tokens ADD COLUMN second_factor BIGINT NOT NULL DEFAULT 0;

CREATE INDEX worker_tokens_of_worker ON worker_tokens (worker_id, created_at);
