-- A push subscription ends with the token that made it, however that ends: whoever stole a token gets nothing once it is
-- revoked. Null for those from before, and for those that the version before stores meanwhile.
ALTER TABLE push_subscriptions ADD COLUMN token_hash TEXT REFERENCES worker_tokens (token_hash) ON DELETE CASCADE;

CREATE INDEX push_subscriptions_of_token ON push_subscriptions (token_hash);

-- Of an upload that has ended, only its id is still needed.
UPDATE uploads SET name = NULL, metadata = '' WHERE ended_at IS NOT NULL;

-- What a worker has accepted, also what was given back: for the copy of all that is held about the worker.
CREATE INDEX task_moves_accepted ON task_moves (maker_id, task_id) WHERE to_status = 'assigned';
