-- Workers read their notifications in a list: what each is about, and whether it was read. What was
-- written before counts as read.
ALTER TABLE notices ADD COLUMN task_id TEXT;
ALTER TABLE notices ADD COLUMN unread BIGINT NOT NULL DEFAULT 0;

CREATE INDEX IF NOT EXISTS notices_of_worker ON notices (worker_id, id) WHERE worker_id IS NOT NULL;
CREATE INDEX notices_unread ON notices (worker_id, id) WHERE worker_id IS NOT NULL AND unread = 1;

-- Skills that an admin has confirmed. Workers who were verified before skills were confirmed keep what
-- counted until now.
ALTER TABLE workers ADD COLUMN confirmed_skills TEXT NOT NULL DEFAULT '[]';
UPDATE workers SET confirmed_skills = '["notary"]'
    WHERE verified_at IS NOT NULL AND skills LIKE '%"notary"%';

-- The name that a verified worker wants instead, until an admin has decided.
ALTER TABLE workers ADD COLUMN pending_name TEXT;
