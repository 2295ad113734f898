-- A submission belongs to the worker who made it: two workers of a task may choose the same id.
-- What was recorded before stays in proof_submissions, and is found by the worker of its attempt.
CREATE TABLE worker_submissions (
    task_id TEXT NOT NULL,
    worker_id TEXT NOT NULL,
    submission_id TEXT NOT NULL,
    attempt_number BIGINT NOT NULL,
    PRIMARY KEY (task_id, worker_id, submission_id)
);
