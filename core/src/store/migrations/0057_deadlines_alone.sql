-- A task without a deadline is found by tasks_without_deadline. Here it was written at every move, for nobody.
DROP INDEX tasks_by_deadline;
CREATE INDEX tasks_by_deadline ON tasks (environment, deadline)
    WHERE deadline IS NOT NULL
        AND status IN ('pending', 'funded', 'posted', 'assigned', 'in_progress', 'proof_rejected');
