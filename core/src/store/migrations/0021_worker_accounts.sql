-- An address that the worker has not confirmed is only claimed: several workers may claim the same one.
-- Until it is confirmed, `email` holds a name that is no address, made from the id.
ALTER TABLE workers ADD COLUMN claimed_email TEXT;

CREATE INDEX workers_by_claimed_email ON workers (claimed_email, id)
    WHERE claimed_email IS NOT NULL;

-- For the worker to recognise a session.
ALTER TABLE worker_tokens ADD COLUMN user_agent TEXT NOT NULL DEFAULT '';
ALTER TABLE worker_tokens ADD COLUMN last_used_at BIGINT;
