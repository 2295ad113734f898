-- How many idempotency keys of a job the processor has answered with a failure. It repeats the answer for a day, so the next
-- attempt has another key.
ALTER TABLE jobs ADD COLUMN keys_spent BIGINT NOT NULL DEFAULT 0;
