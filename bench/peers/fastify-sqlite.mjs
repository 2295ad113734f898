// What one would write instead of Legwork, on SQLite: Fastify and better-sqlite3, in one file.
//
// It creates and reads test tasks in a database with Legwork's schema: the same rows in the same
// tables, the same check of the key by its hash, the same monthly limit, the same durability
// (WAL, synchronous = FULL). It does nothing else. Tuned: prepared statements, no logger, a schema
// for the answers, and one commit for all requests of one turn of the event loop.
//
// PEER_DATABASE is the file of the database, PEER_MODULES a folder node_modules.

import { createHash, randomUUID } from "node:crypto";
import { createRequire } from "node:module";

const require = createRequire(`${process.env.PEER_MODULES}/peer.js`);
const Database = require("better-sqlite3");
const fastify = require("fastify");

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

const MONTHLY_LIMIT = { free: 10, pro: 1_000, enterprise: 1_000_000_000 };
const FEE_PERCENT = { free: 20, pro: 15, enterprise: 12 };

const COLUMNS = [
  "id", "account_id", "environment", "number", "title", "description", "instructions", "category",
  "required_skills", "location_address", "location_city", "location_state", "location_latitude",
  "location_longitude", "budget_cents", "task_type", "fee_percent", "priority", "status",
  "status_since", "proof_attempts", "deadline", "proof_types", "metadata", "funded_at",
  "created_at", "updated_at", "escrow_cents",
];

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

function newId(now) {
  const random = randomUUID();
  return now.toString(16).padStart(12, "0") + random.slice(14, 18) + random.slice(19, 23) + random.slice(24);
}

function holder(request) {
  const sent = request.headers.authorization;
  if (!sent?.startsWith("Bearer ")) return undefined;
  return holderOf.get(createHash("sha256").update(sent.slice(7)).digest("hex"));
}

const moment = (millis) => (millis === null || millis === undefined ? null : new Date(millis).toISOString());

// A task as the API shows it, from its row.
function shown(row, status = row.status) {
  const fee = Math.floor((row.budget_cents * row.fee_percent) / 100);
  return {
    id: row.id,
    developer_id: row.account_id,
    title: row.title,
    description: row.description,
    instructions: row.instructions,
    category: row.category,
    required_skills: JSON.parse(row.required_skills),
    location_address: row.location_address,
    location_city: row.location_city,
    location_state: row.location_state,
    location_latitude: row.location_latitude,
    location_longitude: row.location_longitude,
    budget_cents: row.budget_cents,
    platform_fee_cents: fee,
    worker_payout_cents: row.budget_cents - fee,
    priority: row.priority,
    status,
    environment: row.environment,
    worker_id: row.worker_id ?? null,
    deadline: moment(row.deadline),
    max_proof_attempts: 3,
    proof_types: JSON.parse(row.proof_types),
    metadata: JSON.parse(row.metadata),
    assigned_at: moment(row.assigned_at),
    started_at: moment(row.started_at),
    completed_at: moment(row.completed_at),
    cancelled_at: moment(row.cancelled_at),
    created_at: moment(row.created_at),
    updated_at: moment(row.updated_at),
  };
}

class Refused extends Error {
  constructor(status, code) {
    super(code);
    this.statusCode = status;
  }
}

// Everything that creating a test task writes. Runs within a transaction.
function create(by, body) {
  const now = Date.now();
  const date = new Date(now);
  const counted = number.get({
    account: by.account_id,
    environment: by.environment,
    month: date.getUTCFullYear() * 100 + date.getUTCMonth() + 1,
    limit: MONTHLY_LIMIT[by.tier],
    cents: body.budget_cents,
    now,
  });
  if (!counted) throw new Refused(429, "monthly_limit");
  const at = counted.last_event_at;
  const row = {
    id: newId(now),
    account_id: by.account_id,
    environment: by.environment,
    number: counted.last_number,
    title: body.title,
    description: body.description,
    instructions: body.instructions ?? null,
    category: body.category,
    required_skills: JSON.stringify(body.required_skills ?? []),
    location_address: body.location.address ?? null,
    location_city: body.location.city,
    location_state: body.location.state,
    location_latitude: body.location.latitude,
    location_longitude: body.location.longitude,
    budget_cents: body.budget_cents,
    task_type: "standard",
    fee_percent: FEE_PERCENT[by.tier],
    priority: body.priority ?? "normal",
    status: "funded",
    status_since: now,
    proof_attempts: 0,
    deadline: body.deadline ? Date.parse(body.deadline) : null,
    proof_types: JSON.stringify(body.proof_types ?? ["photo"]),
    metadata: JSON.stringify(body.metadata ?? {}),
    funded_at: now,
    created_at: now,
    updated_at: now,
    escrow_cents: body.budget_cents,
  };
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

const text = { type: "string" };
const cents = { type: "integer" };
const orNull = (schema) => ({ ...schema, nullable: true });
const texts = { type: "array", items: text };
const TASK = {
  type: "object",
  properties: {
    id: text, developer_id: text, title: text, description: text, instructions: orNull(text),
    category: text, required_skills: texts, location_address: orNull(text), location_city: text,
    location_state: text, location_latitude: { type: "number" }, location_longitude: { type: "number" },
    budget_cents: cents, platform_fee_cents: cents, worker_payout_cents: cents, priority: text,
    status: text, environment: text, worker_id: orNull(text), deadline: orNull(text),
    max_proof_attempts: cents, proof_types: texts,
    metadata: { type: "object", additionalProperties: true },
    assigned_at: orNull(text), started_at: orNull(text), completed_at: orNull(text),
    cancelled_at: orNull(text), created_at: text, updated_at: text,
  },
};
const NEW_TASK = {
  type: "object",
  required: ["title", "description", "category", "location", "budget_cents"],
  properties: {
    title: { type: "string", minLength: 1, maxLength: 200 },
    description: { type: "string", minLength: 1, maxLength: 5000 },
    instructions: { type: "string", maxLength: 5000 },
    category: text,
    required_skills: texts,
    location: {
      type: "object",
      required: ["city", "state", "latitude", "longitude"],
      properties: {
        address: text, city: text, state: text,
        latitude: { type: "number", minimum: -90, maximum: 90 },
        longitude: { type: "number", minimum: -180, maximum: 180 },
      },
    },
    budget_cents: { type: "integer", minimum: 500 },
    priority: text,
    deadline: text,
    proof_types: texts,
    metadata: { type: "object" },
  },
};

const app = fastify({ logger: false, keepAliveTimeout: 75_000 });
app.post("/v1/tasks", { schema: { body: NEW_TASK, response: { 201: TASK } } }, async (request, reply) => {
  const by = holder(request);
  if (!by || by.status !== "active") throw new Refused(401, "unauthorized");
  reply.code(201);
  return write(() => create(by, request.body));
});
app.get("/v1/tasks/:id", { schema: { response: { 200: TASK } } }, (request, reply) => {
  const by = holder(request);
  if (!by) throw new Refused(401, "unauthorized");
  const row = findTask.get(request.params.id, by.account_id, by.environment);
  if (!row) throw new Refused(404, "not_found");
  reply.send(shown(row));
});
const address = await app.listen({ host: "127.0.0.1", port: 0 });
console.log(`The peer listens on ${address}`);
process.on("SIGTERM", () => process.exit(0));
