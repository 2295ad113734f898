-- The active keys of an account are counted before another is made. Revoked ones, of which there may
-- be many, cost nothing then.
CREATE INDEX api_keys_active ON api_keys (account_id, id) WHERE revoked_at IS NULL;
