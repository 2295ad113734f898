-- Whether an item is about a test task. What is about no task is about live work.
ALTER TABLE queue_items ADD COLUMN environment TEXT NOT NULL DEFAULT 'live';
UPDATE queue_items SET environment = 'test'
    WHERE task_id IN (SELECT id FROM tasks WHERE environment = 'test');
CREATE INDEX queue_items_in_environment ON queue_items (status, environment, id);
CREATE INDEX queue_items_of_kind_in_environment ON queue_items (status, kind, environment, id);
