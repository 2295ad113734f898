-- Whether test keys may manage what both environments share: all, or only what is of test.
ALTER TABLE accounts ADD COLUMN test_keys_manage TEXT NOT NULL DEFAULT 'all';

-- The last day, month and so on of which the owner was told that a limit is nearly used up.
ALTER TABLE mandates ADD COLUMN warned_day BIGINT NOT NULL DEFAULT 0;
ALTER TABLE mandates ADD COLUMN warned_month BIGINT NOT NULL DEFAULT 0;
ALTER TABLE mandates ADD COLUMN warned_total BIGINT NOT NULL DEFAULT 0;
ALTER TABLE mandates ADD COLUMN warned_tasks BIGINT NOT NULL DEFAULT 0;
