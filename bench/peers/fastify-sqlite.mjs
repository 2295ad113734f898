// What one would write instead of Legwork, on SQLite: Fastify and better-sqlite3.
// `task.mjs` has what does not depend on the database.
//
// It creates and reads test tasks in a database with Legwork's schema: the same rows in the same
// tables, the same check of the key by its hash, the same monthly limit, the same durability
// (WAL, synchronous = FULL). It does nothing else. Tuned: prepared statements, no logger, a schema
// for the answers, and one commit for all requests of one turn of the event loop.
//
// PEER_DATABASE is the file of the database, PEER_MODULES a folder node_modules.

import {
  COLUMNS, MONTHLY_LIMIT, Refused, hashOfKey, monthOf, newId, require,
  rowOf, serve, shown,
} from "./task.mjs";

const Database = require("better-sqlite3");

const db = new Database(process.env.PEER_DATABASE);
for (const pragma of [
  "journal_mode = WAL",
  "synchronous = FULL",
  "foreign_keys = ON",
  "temp_store = MEMORY",
  "wal_autocheckpoint = 4000",
  "cache_size = -32768",
]) {
  db.pragma(pragma);
}

const holderOf = db.prepare(
  `SELECT k.id, k.account_id, k.environment, a.tier, a.status
   FROM api_keys k JOIN accounts a ON a.id = k.account_id
   WHERE k.key_hash = ? AND k.revoked_at IS NULL`,
);
const findTask = db.prepare("SELECT * FROM tasks WHERE id = ? AND account_id = ? AND environment = ?");
const number = db.prepare(
  `UPDATE task_totals SET last_number = last_number + 1,
       month_tasks = CASE WHEN month = @month THEN month_tasks + 1 ELSE 1 END, month = @month,
       funded = funded + 1, processor_cents = processor_cents - @cents,
       last_event = last_event + 2, last_event_at = max(last_event_at, @now)
   WHERE account_id = @account AND environment = @environment
       AND (month <> @month OR month_tasks < @limit)
   RETURNING last_number, last_event, last_event_at`,
);
const insertTask = db.prepare(
  `INSERT INTO tasks (${COLUMNS.join(", ")}) VALUES (${COLUMNS.map((name) => `@${name}`).join(", ")})`,
);
const insertEntry = db.prepare(
  `INSERT INTO ledger_entries (task_id, step, account_id, environment, processor_cents, escrow_cents,
       worker_cents, fees_cents, refunds_cents, recorded_at)
   VALUES (?, 'payment', ?, ?, ?, ?, 0, 0, 0, ?)`,
);
const insertEvent = db.prepare(
  `INSERT INTO events (id, account_id, environment, number, type, task_id, data, created_at)
   VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
);
const insertDelivery = db.prepare(
  `INSERT INTO deliveries (event_id, account_id, environment, number, type, task_id, status, tries,
       due_at, attempts, status_code, created_at, updated_at)
   SELECT @event, e.account_id, @environment, @number, @type, @task, 'pending', 0, @now, '[]', NULL,
       @now, @now
   FROM webhook_endpoints e JOIN accounts a ON a.id = e.account_id
   WHERE e.account_id = @account AND e.disabled_at IS NULL AND a.webhook_url IS NOT NULL
       AND (a.webhook_events = '[]' OR a.webhook_events LIKE '%"' || @type || '"%')`,
);
const wake = db.prepare(
  `UPDATE webhook_endpoints SET due_at = min(coalesce(due_at, @at), @at)
   WHERE account_id = @account AND disabled_at IS NULL`,
);
const insertMove = db.prepare(
  `INSERT INTO task_moves (task_id, number, from_status, to_status, made_by, maker_id, made_at)
   VALUES (?, ?, ?, ?, ?, ?, ?)`,
);

const holder = (request) => holderOf.get(hashOfKey(request));

// Everything that creating a test task writes. Runs within a transaction.
function create(by, body) {
  const now = Date.now();
  const counted = number.get({
    account: by.account_id,
    environment: by.environment,
    month: monthOf(now),
    limit: MONTHLY_LIMIT[by.tier],
    cents: body.budget_cents,
    now,
  });
  if (!counted) throw new Refused(429, "monthly_limit");
  const at = counted.last_event_at;
  const row = { ...rowOf(by, body, now), number: counted.last_number };
  insertTask.run(row);
  insertEntry.run(row.id, by.account_id, by.environment, -body.budget_cents, body.budget_cents, now);
  const { instructions: _, ...told } = shown(row);
  const first = counted.last_event - 1;
  for (const [place, status] of ["pending", "funded"].entries()) {
    const event = newId(now);
    const type = place === 0 ? "task.created" : "task.funded";
    const data = JSON.stringify({ ...told, status });
    insertEvent.run(event, by.account_id, by.environment, first + place, type, row.id, data, at);
    insertDelivery.run({
      event, account: by.account_id, environment: by.environment, number: first + place, type,
      task: row.id, now: at,
    });
  }
  wake.run({ account: by.account_id, at });
  insertMove.run(row.id, first, null, "pending", "developer", by.id, now);
  insertMove.run(row.id, first + 1, "pending", "funded", "processor", null, now);
  return shown(row);
}

// One commit for all that wait. What is refused has written nothing, so it undoes nothing.
let waiting = [];
const begin = db.prepare("BEGIN IMMEDIATE");
const commit = db.prepare("COMMIT");

function write(work) {
  return new Promise((resolve, reject) => {
    if (waiting.length === 0) setImmediate(flush);
    waiting.push({ work, resolve, reject });
  });
}

function flush() {
  const batch = waiting;
  waiting = [];
  begin.run();
  const answers = batch.map(({ work, resolve, reject }) => {
    try {
      const value = work();
      return () => resolve(value);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return () => reject(error);
    }
  });
  commit.run();
  for (const answer of answers) answer();
}

await serve(
  async (request) => {
    const by = holder(request);
    if (!by || by.status !== "active") throw new Refused(401, "unauthorized");
    return write(() => create(by, request.body));
  },
  (request, reply) => {
    const by = holder(request);
    if (!by) throw new Refused(401, "unauthorized");
    const row = findTask.get(request.params.id, by.account_id, by.environment);
    if (!row) throw new Refused(404, "not_found");
    reply.send(shown(row));
  },
);
