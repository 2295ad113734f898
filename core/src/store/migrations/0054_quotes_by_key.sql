-- Open quotes are counted for each key with a mandate.

DROP INDEX quotes_open;
CREATE INDEX quotes_open ON quotes (account_id, environment, key_id, expires_at) WHERE task_id IS NULL;
