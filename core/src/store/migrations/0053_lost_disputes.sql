-- Disputes that were lost are compared with the ledger, task by task.
CREATE INDEX charge_disputes_lost ON charge_disputes (task_id, dispute_id) WHERE status = 'lost';
