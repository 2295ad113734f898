-- Fills a migrated, empty database with {tasks} tasks and everything that belongs to them, as if they
-- had been made over the last 300 days. The same text for both engines; PostgreSQL gets a printf first.
-- {now}: the time, in milliseconds. {accounts}, {workers}: how many. {places}: rows of seed_places.

CREATE TEMP TABLE seed_places (place BIGINT, cell BIGINT, district BIGINT, region BIGINT,
    latitude DOUBLE PRECISION, longitude DOUBLE PRECISION);
INSERT INTO seed_places (place, cell, district, region, latitude, longitude) VALUES {places};

CREATE TEMP TABLE seed_numbers (i BIGINT NOT NULL PRIMARY KEY);
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {tasks})
INSERT INTO seed_numbers (i) SELECT i FROM n;

-- The way of a task to its status, and the events on that way.
CREATE TEMP TABLE seed_steps (status TEXT, step BIGINT, from_status TEXT, to_status TEXT, type TEXT,
    made_by TEXT);
INSERT INTO seed_steps (status, step, from_status, to_status, type, made_by) VALUES
    ('refunded', 1, NULL, 'pending', 'task.created', 'developer'),
    ('refunded', 2, 'pending', 'funded', 'task.funded', 'system'),
    ('refunded', 3, 'funded', 'posted', 'task.posted', 'system'),
    ('refunded', 4, 'posted', 'assigned', 'task.assigned', 'worker'),
    ('refunded', 5, 'assigned', 'in_progress', 'task.started', 'worker'),
    ('refunded', 6, 'in_progress', 'proof_submitted', 'task.proof_submitted', 'worker'),
    ('refunded', 7, 'proof_submitted', 'refunded', 'task.refunded', 'developer'),
    ('completed', 7, 'proof_submitted', 'completed', 'task.completed', 'developer'),
    ('proof_rejected', 7, 'proof_submitted', 'proof_rejected', 'task.proof_rejected', 'developer'),
    ('disputed', 7, 'proof_submitted', 'proof_rejected', 'task.proof_rejected', 'developer'),
    ('disputed', 8, 'proof_rejected', 'disputed', 'task.disputed', 'worker'),
    ('cancelled', 4, 'posted', 'cancelled', 'task.cancelled', 'developer'),
    ('expired', 4, 'posted', 'expired', 'task.expired', 'system');
INSERT INTO seed_steps (status, step, from_status, to_status, type, made_by)
SELECT s.status, w.step, w.from_status, w.to_status, w.type, w.made_by
FROM (SELECT 'pending' AS status, 1 AS steps UNION ALL SELECT 'funded', 2 UNION ALL SELECT 'posted', 3
    UNION ALL SELECT 'assigned', 4 UNION ALL SELECT 'in_progress', 5
    UNION ALL SELECT 'proof_submitted', 6 UNION ALL SELECT 'proof_rejected', 6
    UNION ALL SELECT 'disputed', 6 UNION ALL SELECT 'completed', 6 UNION ALL SELECT 'cancelled', 3
    UNION ALL SELECT 'expired', 3) s
JOIN seed_steps w ON w.status = 'refunded' AND w.step <= s.steps;

-- One account has half of all tasks, four have a quarter, the others share the rest. A fourth of the
-- tasks is in the test environment. The newest twentieth is at work; of the others, one in a thousand
-- is disputed and the rest is over.
CREATE TEMP TABLE seed_tasks (i BIGINT NOT NULL PRIMARY KEY, id TEXT, account_id TEXT,
    environment TEXT, status TEXT, worker BIGINT, budget BIGINT, fee BIGINT, created_at BIGINT,
    since BIGINT);
INSERT INTO seed_tasks (i, id, account_id, environment, status, worker, budget, fee, created_at, since)
SELECT d.i, printf('%012x', d.created_at) || '70008000' || printf('%012x', d.i),
    printf('%012x', {now} - 34560000000) || '70008000' || printf('%012x', d.account),
    d.environment,
    CASE WHEN d.environment = 'live' AND d.status = 'funded' THEN 'posted' ELSE d.status END,
    1 + (d.i * 31) % {workers}, d.budget, (d.budget * 16 + 50) / 100, d.created_at,
    CASE WHEN d.status IN ('completed', 'cancelled', 'expired', 'refunded') THEN d.created_at + 7000
        ELSE {now} - d.i % 3600000 END
FROM (
    SELECT i, {now} - 25920000000 + i * (25920000000 / {tasks}) AS created_at,
        500 + (i % 50) * 100 AS budget,
        CASE WHEN (i / 8) % 4 = 3 THEN 'test' ELSE 'live' END AS environment,
        CASE WHEN i % 2 = 0 THEN 1 WHEN i % 4 = 1 THEN 2 + (i / 4) % 4
            ELSE 6 + (i / 4) % ({accounts} - 5) END AS account,
        CASE WHEN i > {tasks} - {tasks} / 20 THEN
            CASE WHEN (i / 32) % 20 < 3 THEN 'pending' WHEN (i / 32) % 20 < 5 THEN 'funded'
                WHEN (i / 32) % 20 < 13 THEN 'posted' WHEN (i / 32) % 20 < 15 THEN 'assigned'
                WHEN (i / 32) % 20 = 15 THEN 'in_progress'
                WHEN (i / 32) % 20 = 16 THEN 'proof_submitted'
                WHEN (i / 32) % 20 = 17 THEN 'proof_rejected'
                WHEN (i / 32) % 20 = 18 THEN 'completed' ELSE 'cancelled' END
        ELSE
            CASE WHEN (i * 7919 / 16) % 1000 < 850 THEN 'completed'
                WHEN (i * 7919 / 16) % 1000 < 930 THEN 'cancelled'
                WHEN (i * 7919 / 16) % 1000 < 980 THEN 'expired'
                WHEN (i * 7919 / 16) % 1000 < 999 THEN 'refunded' ELSE 'disputed' END
        END AS status
    FROM seed_numbers) d;

CREATE TEMP TABLE seed_order (i BIGINT NOT NULL PRIMARY KEY, number BIGINT, first_event BIGINT,
    steps BIGINT);
INSERT INTO seed_order (i, number, first_event, steps)
SELECT t.i, ROW_NUMBER() OVER (PARTITION BY t.account_id, t.environment ORDER BY t.i),
    CAST(SUM(s.steps) OVER (PARTITION BY t.account_id, t.environment ORDER BY t.i) AS BIGINT)
        - s.steps + 1,
    s.steps
FROM seed_tasks t
JOIN (SELECT status, COUNT(*) AS steps FROM seed_steps GROUP BY status) s ON s.status = t.status;

INSERT INTO accounts (id, email, name, company, tier, status, webhook_url, webhook_events, created_at,
    updated_at)
SELECT printf('%012x', {now} - 34560000000) || '70008000' || printf('%012x', i),
    'developer-' || i || '@example.com', 'Developer ' || i, NULL, 'enterprise',
    CASE WHEN i % 97 = 96 THEN 'suspended' ELSE 'active' END,
    CASE WHEN i <= 5 OR i % 2 = 0 THEN 'https://hooks.example.com/' || i END, '[]',
    {now} - 34560000000, {now} - 34560000000
FROM seed_numbers WHERE i <= {accounts};

INSERT INTO api_keys (id, account_id, name, key_hash, key_prefix, environment, created_at)
SELECT printf('%012x', {now} - 34560000000) || CASE WHEN environment = 'live' THEN '70018000'
    ELSE '70028000' END || printf('%012x', i),
    printf('%012x', {now} - 34560000000) || '70008000' || printf('%012x', i), 'key',
    'seed-' || environment || '-' || i, 'svc_' || environment || '_0000000000', environment,
    {now} - 34560000000
FROM seed_numbers, (SELECT 'live' AS environment UNION ALL SELECT 'test') e WHERE i <= {accounts};

INSERT INTO workers (id, email, password_hash, name, phone, skills, home_latitude, home_longitude,
    radius_km, status, verified_at, completed_tasks, approved_attempts, reviewed_attempts, created_at,
    updated_at)
SELECT printf('%012x', {now} - 34560000000) || '70008001' || printf('%012x', i),
    'worker-' || i || '@example.com', 'none', 'Worker ' || i, NULL, '["photography"]', p.latitude,
    p.longitude, 25, CASE WHEN i % 500 = 7 THEN 'in_review' WHEN i % 100 = 99 THEN 'suspended'
        ELSE 'verified' END, {now} - 34560000000, 0, 0, 0, {now} - 34560000000, {now} - 34560000000
FROM seed_numbers n JOIN seed_places p ON p.place = n.i % {place_count} WHERE i <= {workers};

INSERT INTO payout_accounts (worker_id, processor, payout_account_id, status, created_at, updated_at)
SELECT id, 'sandbox', 'acct_' || id, 'ready', created_at, created_at FROM workers;

INSERT INTO tasks (id, account_id, environment, number, title, description, instructions, category,
    required_skills, location_address, location_city, location_state, location_latitude,
    location_longitude, budget_cents, task_type, fee_percent, priority, status, status_since,
    worker_id, proof_attempts, deadline, proof_types, metadata, funded_at, assigned_at, started_at,
    completed_at, cancelled_at, created_at, updated_at, escrow_cents)
SELECT t.id, t.account_id, t.environment, o.number, 'Photograph a storefront',
    'Take a picture of the entrance in daylight, with the street number and the opening hours.', NULL,
    'photography', '["photography"]', NULL, 'Austin', 'TX', p.latitude, p.longitude, t.budget,
    'standard', 16, 'normal', t.status, t.since,
    CASE WHEN o.steps > 4 OR t.status = 'assigned' THEN w.id END,
    CASE WHEN o.steps > 5 THEN 1 ELSE 0 END,
    CASE WHEN t.i % 3 = 0 THEN {now} + 864000000 END, '["photo"]', '{}',
    CASE WHEN o.steps > 1 THEN t.created_at + 2 END,
    CASE WHEN o.steps > 4 OR t.status = 'assigned' THEN t.created_at + 4 END,
    CASE WHEN o.steps > 4 THEN t.created_at + 5 END,
    CASE WHEN t.status = 'completed' THEN t.since END,
    CASE WHEN t.status = 'cancelled' THEN t.since END,
    t.created_at, t.since,
    CASE WHEN t.status IN ('pending', 'completed', 'cancelled', 'expired', 'refunded') THEN 0
        ELSE t.budget END
FROM seed_tasks t JOIN seed_order o ON o.i = t.i
JOIN seed_places p ON p.place = t.i % {place_count}
JOIN workers w ON w.id = printf('%012x', {now} - 34560000000) || '70008001' || printf('%012x', t.worker);

INSERT INTO posted_tasks (task_id, bounty, cell, district, region, latitude, longitude, category,
    required_skills, payout_cents, posted_at)
SELECT t.id, 0, p.cell, p.district, p.region, p.latitude, p.longitude, 'photography',
    '["photography"]', t.budget - t.fee, t.created_at + 3
FROM seed_tasks t JOIN seed_places p ON p.place = t.i % {place_count}
WHERE t.environment = 'live' AND t.status = 'posted';

INSERT INTO task_moves (task_id, number, from_status, to_status, made_by, made_at)
SELECT t.id, o.first_event + s.step - 1, s.from_status, s.to_status, s.made_by, t.created_at + s.step
FROM seed_tasks t JOIN seed_order o ON o.i = t.i JOIN seed_steps s ON s.status = t.status;

-- Events are kept for 30 days, which is a tenth of the time. A thousand more are due to be deleted.
INSERT INTO events (id, account_id, environment, number, type, task_id, data, created_at)
SELECT printf('%012x', t.created_at + s.step) || '70008000' || printf('%012x', t.i * 8 + s.step - 1),
    t.account_id, t.environment, o.first_event + s.step - 1, s.type, t.id,
    '{"id":"' || t.id || '","title":"Photograph a storefront","status":"' || s.to_status || '"}',
    t.created_at + s.step
FROM seed_tasks t JOIN seed_order o ON o.i = t.i JOIN seed_steps s ON s.status = t.status
WHERE t.i > {tasks} - {tasks} / 10 - 150;

INSERT INTO webhook_endpoints (account_id, secret, created_at, updated_at)
SELECT id, 'whsec_c2VlZHNlZWRzZWVkc2VlZHNlZWRzZWVkc2VlZHNlZWQ=', created_at, created_at FROM accounts
WHERE webhook_url IS NOT NULL;

-- One in a thousand has failed. A few wait for another attempt.
INSERT INTO deliveries (event_id, account_id, environment, number, type, task_id, status, tries,
    due_at, attempts, status_code, created_at, updated_at)
SELECT e.id, e.account_id, e.environment, e.number, e.type, e.task_id,
    CASE WHEN e.number % 1000 = 3 THEN 'failed' WHEN e.number % 1000 = 4 THEN 'pending'
        ELSE 'delivered' END,
    1, CASE WHEN e.number % 1000 = 4 THEN {now} + 86400000 END, '[]', 200, e.created_at, e.created_at
FROM events e JOIN webhook_endpoints w ON w.account_id = e.account_id;
UPDATE webhook_endpoints SET due_at = {now} + 86400000
WHERE account_id IN (SELECT account_id FROM deliveries WHERE due_at IS NOT NULL);

-- Money. Test tasks have a ledger too, and no processor.
INSERT INTO ledger_entries (task_id, step, account_id, environment, worker_id, processor_cents,
    escrow_cents, worker_cents, fees_cents, refunds_cents, recorded_at)
SELECT id, 'payment', account_id, environment, NULL, -budget_cents, budget_cents, 0, 0, 0, funded_at
FROM tasks WHERE funded_at IS NOT NULL;
INSERT INTO ledger_entries (task_id, step, account_id, environment, worker_id, processor_cents,
    escrow_cents, worker_cents, fees_cents, refunds_cents, recorded_at)
SELECT t.id, 'settlement', t.account_id, t.environment, w.worker_id, 0, -t.budget, t.budget - t.fee,
    t.fee, 0, t.since
FROM seed_tasks t JOIN tasks w ON w.id = t.id WHERE t.status = 'completed';
INSERT INTO ledger_entries (task_id, step, account_id, environment, worker_id, processor_cents,
    escrow_cents, worker_cents, fees_cents, refunds_cents, recorded_at)
SELECT t.id, 'settlement', t.account_id, t.environment, NULL, 0, -t.budget, 0, 0, t.budget, t.since
FROM seed_tasks t WHERE t.status IN ('cancelled', 'expired', 'refunded');
INSERT INTO ledger_entries (task_id, step, account_id, environment, worker_id, processor_cents,
    escrow_cents, worker_cents, fees_cents, refunds_cents, recorded_at)
SELECT task_id, 'transfer', account_id, environment, worker_id, worker_cents, 0, -worker_cents, 0, 0,
    recorded_at + 1
FROM ledger_entries WHERE step = 'settlement' AND environment = 'live' AND worker_cents > 0;
INSERT INTO ledger_entries (task_id, step, account_id, environment, worker_id, processor_cents,
    escrow_cents, worker_cents, fees_cents, refunds_cents, recorded_at)
SELECT task_id, 'refund', account_id, environment, NULL, refunds_cents, 0, 0, 0, -refunds_cents,
    recorded_at + 1
FROM ledger_entries WHERE step = 'settlement' AND environment = 'live' AND refunds_cents > 0;

INSERT INTO worker_balances (worker_id, environment, balance_cents)
SELECT worker_id, environment, CAST(SUM(worker_cents) AS BIGINT) FROM ledger_entries
WHERE worker_id IS NOT NULL GROUP BY worker_id, environment;

INSERT INTO payments (task_id, account_id, processor, payment_id, amount_cents, status, created_at,
    updated_at)
SELECT id, account_id, 'sandbox', 'pay_' || id, budget,
    CASE WHEN status = 'pending' THEN 'requires_payment' ELSE 'succeeded' END, created_at, created_at
FROM seed_tasks WHERE environment = 'live';
INSERT INTO sandbox_payments (payment_id, client_secret, task_id, amount_cents, refunded_cents,
    transferred_cents, status, paid_at, created_at)
SELECT 'pay_' || id, 'sealed:v1:', id, budget,
    CASE WHEN status IN ('cancelled', 'expired', 'refunded') THEN budget ELSE 0 END,
    CASE WHEN status = 'completed' THEN budget - fee ELSE 0 END,
    CASE WHEN status = 'pending' THEN 'requires_payment' ELSE 'succeeded' END,
    CASE WHEN status <> 'pending' THEN created_at + 2 END, created_at
FROM seed_tasks WHERE environment = 'live';
INSERT INTO sandbox_movements (idempotency_key, kind, task_id, payment_id, payout_account_id,
    amount_cents, created_at)
SELECT task_id || ':' || step, step, task_id, 'pay_' || task_id,
    CASE WHEN step = 'transfer' THEN 'acct_' || worker_id END, processor_cents, recorded_at
FROM ledger_entries WHERE step IN ('transfer', 'refund');
INSERT INTO outgoing_movements (processor, movement_id, task_id, kind, recorded_step, returned_cents,
    created_at)
SELECT 'sandbox', task_id || ':' || step, task_id, step, step, 0, recorded_at
FROM ledger_entries WHERE step IN ('transfer', 'refund');
INSERT INTO charge_disputes (processor, dispute_id, task_id, amount_cents, status, reason, created_at,
    updated_at)
SELECT 'sandbox', 'dp_' || id, id, budget, 'won', 'fraudulent', created_at, created_at
FROM seed_tasks WHERE environment = 'live' AND status = 'completed' AND i % 1000 = 999;
INSERT INTO processor_notices (processor, notice_id, received_at)
SELECT 'sandbox', 'evt_' || id, created_at FROM seed_tasks
WHERE environment = 'live' AND i > {tasks} - {tasks} / 10;

INSERT INTO proofs (id, task_id, worker_id, attempt_number, type, file_key, original_key,
    content_type, file_size_bytes, sha256, gps_latitude, gps_longitude, distance_meters, geo_valid,
    device_info, taken_at_is_local, status, reviewed_at, created_at, stored_bytes, files_expire_at)
SELECT t.id, t.id, t.worker_id, 1, 'photo', 'proofs/' || t.id, 'originals/' || t.id, 'image/jpeg',
    200000, 'none', t.location_latitude, t.location_longitude, 0, 1,
    '{"user_agent":"seed","platform":"seed"}', 0,
    CASE t.status WHEN 'proof_submitted' THEN 'pending' WHEN 'completed' THEN 'approved'
        ELSE 'rejected' END,
    CASE WHEN t.status <> 'proof_submitted' THEN t.status_since END, t.created_at + 6, 400000,
    CASE WHEN t.environment = 'test' AND t.created_at > {now} - 2592000000
        THEN t.created_at + 2592000000 END
FROM tasks t WHERE t.proof_attempts = 1;
INSERT INTO proof_hash_parts (part, bits, proof_id)
SELECT n.i, (p.created_at * (n.i + 7)) % 65536, p.id FROM proofs p JOIN seed_numbers n ON n.i < 5;
INSERT INTO worker_submissions (task_id, worker_id, submission_id, attempt_number)
SELECT task_id, worker_id, 'submission', 1 FROM proofs;

INSERT INTO queue_items (id, kind, subject, task_id, worker_id, status, decided_at, created_at)
SELECT printf('%012x', created_at) || '70008002' || printf('%012x', i), 'dispute', id, id, NULL,
    'open', NULL, created_at
FROM seed_tasks WHERE environment = 'live' AND status = 'disputed';
INSERT INTO queue_items (id, kind, subject, task_id, worker_id, status, decided_at, created_at)
SELECT printf('%012x', created_at) || '70008003' || printf('%012x', i),
    CASE WHEN i % 10000 = 1 THEN 'same_person' ELSE 'flagged_proof' END, id, id, NULL,
    'closed', since, created_at
FROM seed_tasks WHERE environment = 'live' AND status = 'completed' AND i % 100 = 1;

INSERT INTO notices (id, occasion, kind, email, account_id, worker_id, subject, paragraphs, status,
    sent_at, created_at)
SELECT printf('%012x', t.created_at + 7) || '70008000' || printf('%012x', t.i), 'payout:' || t.id,
    'payout', 'worker@example.com', CASE WHEN t.i % 7 = 0 THEN t.account_id END, w.worker_id, 'Paid',
    '["You were paid."]', 'sent', t.created_at + 8, t.created_at + 7
FROM seed_tasks t JOIN tasks w ON w.id = t.id
WHERE t.status = 'completed' AND t.i > {tasks} - {tasks} / 10 * 3;

-- Half of the tasks have metadata. One in ten thousand is found by the value 7.
INSERT INTO task_metadata (account_id, environment, key, value, number)
SELECT t.account_id, t.environment, 'order', CASE WHEN t.i % 10000 < 2 THEN '7'
    ELSE printf('%08x', t.i) END, o.number
FROM seed_tasks t JOIN seed_order o ON o.i = t.i WHERE (t.i / 2) % 2 = 0;

-- One task in a hundred needed an approval. Of those, one in a hundred still waits.
INSERT INTO approvals (task_id, account_id, environment, key_id, budget_cents, status, expires_at,
    decided_kind, decided_by, decided_at, created_at)
SELECT id, account_id, environment, 'none', budget,
    CASE WHEN i % 10000 < 2 THEN 'waiting' ELSE 'approved' END, created_at + 86400000,
    CASE WHEN i % 10000 >= 2 THEN 'account' END, NULL,
    CASE WHEN i % 10000 >= 2 THEN created_at + 1 END, created_at
FROM seed_tasks WHERE i % 100 < 2;

INSERT INTO quotes (id, account_id, environment, fee_percent, title, description, category,
    required_skills, location_city, location_state, location_latitude, location_longitude, budget_cents,
    task_type, priority, proof_types, metadata, body, expires_at, task_id, gave_secret, kept_until)
SELECT id, account_id, environment, 16, 'Photograph a storefront', 'In daylight.', 'photography',
    '["photography"]', 'Austin', 'TX', 30.0, -98.0, budget, 'standard', 'normal', '["photo"]', '{}', '{}',
    created_at + 3600000, CASE WHEN i % 3 <> 0 THEN id END, 0, created_at + 2592000000
FROM seed_tasks WHERE i > {tasks} - {tasks} / 100;

-- Kept for some days. A row has the requests of a second: one in a thousand has those that failed.
INSERT INTO request_log (id, first_id, account_id, environment, key_id, failed, entries)
SELECT t.id, t.id, t.account_id, t.environment, k.id, CASE WHEN t.i % 1000 < 2 THEN 1 ELSE 0 END, '[]'
FROM seed_tasks t JOIN api_keys k ON k.account_id = t.account_id AND k.environment = t.environment
WHERE t.i > {tasks} - {tasks} / 50;

INSERT INTO idempotency_keys (account_id, environment, idempotency_key, fingerprint, response_status,
    response_body, sealed, created_at)
SELECT account_id, environment, id, 'none', 201, '{}', 0, created_at FROM seed_tasks
WHERE i > {tasks} - {tasks} / 200;

INSERT INTO jobs (kind, subject, run_at, attempts, last_error, created_at)
SELECT CASE WHEN i % 2 = 0 THEN 'mail' ELSE 'charge' END, id,
    CASE WHEN i % 10 = 0 THEN NULL WHEN i % 10 = 1 THEN {now} - 1000 ELSE {now} + 86400000 END, 3,
    'timed out', created_at
FROM seed_tasks WHERE environment = 'live' AND i > {tasks} - {tasks} / 100;

INSERT INTO audit_log (number, at, made_by, maker_id, action, subject, subject_id, details, hash)
SELECT i, {now} - 25920000000 + i * 1000, 'admin', NULL,
    CASE WHEN i % 5000 = 17 THEN 'account.suspended' ELSE 'account.tier_changed' END, 'account',
    printf('%012x', {now} - 34560000000) || '70008000' || printf('%012x', 1 + i % {accounts}), '{}',
    'none'
FROM seed_numbers WHERE i <= {tasks} / 20;
UPDATE audit_head SET number = {tasks} / 20, hash = 'none';

INSERT INTO task_totals (account_id, environment, last_number, month, month_tasks, pending, funded,
    posted, assigned, in_progress, proof_submitted, proof_rejected, completed, cancelled, expired,
    disputed, refunded, processor_cents, fees_cents, refunds_cents, last_event, last_event_at,
    stored_bytes)
SELECT a.id, e.environment, COALESCE(t.tasks, 0), 0, 0, COALESCE(t.pending, 0),
    COALESCE(t.funded, 0), COALESCE(t.posted, 0), COALESCE(t.assigned, 0),
    COALESCE(t.in_progress, 0), COALESCE(t.proof_submitted, 0), COALESCE(t.proof_rejected, 0),
    COALESCE(t.completed, 0), COALESCE(t.cancelled, 0), COALESCE(t.expired, 0),
    COALESCE(t.disputed, 0), COALESCE(t.refunded, 0), COALESCE(l.processor, 0), COALESCE(l.fees, 0),
    COALESCE(l.refunds, 0), COALESCE(t.events, 0), COALESCE(t.last_at, 0), COALESCE(t.stored, 0)
FROM accounts a CROSS JOIN (SELECT 'live' AS environment UNION ALL SELECT 'test') e
LEFT JOIN (SELECT s.account_id, s.environment, COUNT(*) AS tasks,
        CAST(SUM(o.steps) AS BIGINT) AS events, MAX(s.created_at) + 8 AS last_at,
        400000 * COUNT(CASE WHEN o.steps > 5 THEN 1 END) AS stored,
        COUNT(CASE WHEN s.status = 'pending' THEN 1 END) AS pending,
        COUNT(CASE WHEN s.status = 'funded' THEN 1 END) AS funded,
        COUNT(CASE WHEN s.status = 'posted' THEN 1 END) AS posted,
        COUNT(CASE WHEN s.status = 'assigned' THEN 1 END) AS assigned,
        COUNT(CASE WHEN s.status = 'in_progress' THEN 1 END) AS in_progress,
        COUNT(CASE WHEN s.status = 'proof_submitted' THEN 1 END) AS proof_submitted,
        COUNT(CASE WHEN s.status = 'proof_rejected' THEN 1 END) AS proof_rejected,
        COUNT(CASE WHEN s.status = 'completed' THEN 1 END) AS completed,
        COUNT(CASE WHEN s.status = 'cancelled' THEN 1 END) AS cancelled,
        COUNT(CASE WHEN s.status = 'expired' THEN 1 END) AS expired,
        COUNT(CASE WHEN s.status = 'disputed' THEN 1 END) AS disputed,
        COUNT(CASE WHEN s.status = 'refunded' THEN 1 END) AS refunded
    FROM seed_tasks s JOIN seed_order o ON o.i = s.i GROUP BY s.account_id, s.environment) t
    ON t.account_id = a.id AND t.environment = e.environment
LEFT JOIN (SELECT account_id, environment, CAST(SUM(processor_cents) AS BIGINT) AS processor,
        CAST(SUM(fees_cents) AS BIGINT) AS fees, CAST(SUM(refunds_cents) AS BIGINT) AS refunds
    FROM ledger_entries GROUP BY account_id, environment) l
    ON l.account_id = a.id AND l.environment = e.environment;

INSERT INTO task_range_heads (account_id, environment, last_event)
SELECT account_id, environment, -1 FROM task_totals WHERE last_number >= 4096;

DROP TABLE seed_places;
DROP TABLE seed_numbers;
DROP TABLE seed_steps;
DROP TABLE seed_tasks;
DROP TABLE seed_order;
