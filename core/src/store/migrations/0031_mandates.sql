-- What a limited key may do, and what it has spent. A mandate that was lifted limits nothing; what was
-- spent under it is still counted, should the key get another one.
CREATE TABLE mandates (
    key_id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL,
    permissions BIGINT NOT NULL,
    max_task_cents BIGINT,
    day_limit_cents BIGINT,
    month_limit_cents BIGINT,
    total_limit_cents BIGINT,
    max_open_tasks BIGINT,
    max_tasks_per_day BIGINT,
    categories TEXT NOT NULL,
    task_types TEXT NOT NULL,
    area_latitude DOUBLE PRECISION,
    area_longitude DOUBLE PRECISION,
    area_radius_km DOUBLE PRECISION,
    states TEXT NOT NULL,
    approval_above_cents BIGINT,
    review_up_to_cents BIGINT,
    expires_at BIGINT NOT NULL,
    paused BIGINT NOT NULL,
    -- Counts the changes: a task is created under the mandate that was checked, or not at all.
    version BIGINT NOT NULL DEFAULT 1,
    lifted_at BIGINT,
    day BIGINT NOT NULL DEFAULT 0,
    month BIGINT NOT NULL DEFAULT 0,
    day_tasks BIGINT NOT NULL DEFAULT 0,
    day_cents BIGINT NOT NULL DEFAULT 0,
    month_cents BIGINT NOT NULL DEFAULT 0,
    total_cents BIGINT NOT NULL DEFAULT 0,
    open_tasks BIGINT NOT NULL DEFAULT 0,
    open_cents BIGINT NOT NULL DEFAULT 0,
    refused_at BIGINT,
    refused_limit TEXT,
    updated_at BIGINT NOT NULL
);

-- The key under whose mandate a task was created: what is not spent comes back to it.
ALTER TABLE tasks ADD COLUMN mandate_key_id TEXT;
