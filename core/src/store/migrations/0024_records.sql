-- The record of a developer, in the totals of the owner: final outcomes of judged work, those that were
-- approved, and how many reviews took up to so many hours.
ALTER TABLE task_totals ADD COLUMN judged BIGINT NOT NULL DEFAULT 0;
ALTER TABLE task_totals ADD COLUMN approved BIGINT NOT NULL DEFAULT 0;
ALTER TABLE task_totals ADD COLUMN reviewed_1h BIGINT NOT NULL DEFAULT 0;
ALTER TABLE task_totals ADD COLUMN reviewed_4h BIGINT NOT NULL DEFAULT 0;
ALTER TABLE task_totals ADD COLUMN reviewed_12h BIGINT NOT NULL DEFAULT 0;
ALTER TABLE task_totals ADD COLUMN reviewed_24h BIGINT NOT NULL DEFAULT 0;
ALTER TABLE task_totals ADD COLUMN reviewed_48h BIGINT NOT NULL DEFAULT 0;
ALTER TABLE task_totals ADD COLUMN reviewed_72h BIGINT NOT NULL DEFAULT 0;
ALTER TABLE task_totals ADD COLUMN reviewed_120h BIGINT NOT NULL DEFAULT 0;
ALTER TABLE task_totals ADD COLUMN reviewed_later BIGINT NOT NULL DEFAULT 0;

-- Of the past only the ends of tasks are known: disputes that workers won count as approved, and how long
-- reviews took is counted from now on.
UPDATE task_totals SET judged = completed + refunded, approved = completed WHERE environment = 'live';

-- The record of a worker: final outcomes, instead of attempts. Counted once, from the tasks that ended with
-- the worker; then kept. `approved_attempts` and `reviewed_attempts` are written no more.
ALTER TABLE workers ADD COLUMN refused_tasks BIGINT NOT NULL DEFAULT 0;

UPDATE workers SET
    completed_tasks = (SELECT COUNT(*) FROM tasks t
        WHERE t.worker_id = workers.id AND t.environment = 'live' AND t.status = 'completed'),
    refused_tasks = (SELECT COUNT(*) FROM tasks t
        WHERE t.worker_id = workers.id AND t.environment = 'live' AND t.status = 'refunded')
    WHERE EXISTS (SELECT 1 FROM tasks t WHERE t.worker_id = workers.id AND t.environment = 'live');
