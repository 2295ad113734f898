-- PostgreSQL does not look for what the condition of a partial index says already. Where that was about the first column
-- of the index, it read the index from its beginning. So the conditions say less than the statements ask.
DROP INDEX tasks_by_deadline;
CREATE INDEX tasks_by_deadline ON tasks (environment, deadline)
    WHERE status IN ('pending', 'funded', 'posted', 'assigned', 'in_progress', 'proof_rejected');
DROP INDEX tasks_without_deadline;
CREATE INDEX tasks_without_deadline ON tasks (environment, funded_at)
    WHERE deadline IS NULL
        AND status IN ('funded', 'posted', 'assigned', 'in_progress', 'proof_rejected');
DROP INDEX tasks_of_test;
CREATE INDEX tasks_of_test ON tasks (environment, created_at) WHERE environment <> 'live';
DROP INDEX workers_by_latitude;
CREATE INDEX workers_by_latitude ON workers (status, home_latitude, id)
    WHERE home_latitude IS NOT NULL;
-- It means "is posted". PostgreSQL does not conclude that from it, and no engine looks for it in an index.
DROP INDEX tasks_posted_skills;
CREATE INDEX tasks_posted_skills ON tasks (environment, status, account_id, required_skills)
    WHERE COALESCE(status, '') = 'posted';
