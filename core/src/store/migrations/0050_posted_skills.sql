-- Environment and status come first so that SQLite goes from account to account by this index. It read all posted tasks by the
-- index of a status before.
DROP INDEX tasks_posted_skills;
CREATE INDEX tasks_posted_skills ON tasks (environment, status, account_id, required_skills)
    WHERE environment = 'live' AND status = 'posted';
