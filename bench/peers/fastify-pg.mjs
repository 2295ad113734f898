// What one would write instead of Legwork, on PostgreSQL: Fastify and pg.
// `task.mjs` has what does not depend on the database.
//
// It creates and reads test tasks in a database with Legwork's schema: the same rows in the same
// tables, the same check of the key by its hash, the same monthly limit, and an answer only after
// the commit. It does nothing else. Tuned: a pool of 16 connections, named (so prepared) statements,
// no logger, a schema for the answers, the key and the task read in one statement, and all that a
// creation writes in one statement, so in one round trip.
//
// PEER_DATABASE is the URL of the database, PEER_MODULES a folder node_modules.

import {
  COLUMNS, MONTHLY_LIMIT, Refused, hashOfKey, monthOf, newId, require,
  rowOf, serve, shown,
} from "./task.mjs";

const pg = require("pg");

// Counts and moments are far below 2^53.
pg.types.setTypeParser(20, Number);
// A socket folder in the host is what pg calls a host, too.
const url = new URL(process.env.PEER_DATABASE);
const pool = new pg.Pool({
  host: decodeURIComponent(url.hostname),
  port: Number(url.port || 5432),
  user: decodeURIComponent(url.username),
  password: decodeURIComponent(url.password) || undefined,
  database: url.pathname.slice(1),
  max: 16,
});

const HOLDER = {
  name: "holder",
  text: `SELECT k.id, k.account_id, k.environment, a.tier, a.status
    FROM api_keys k JOIN accounts a ON a.id = k.account_id
    WHERE k.key_hash = $1 AND k.revoked_at IS NULL`,
};
// Without a task, the row of the key alone: then the task is not there.
const FIND = {
  name: "find",
  text: `SELECT k.account_id AS holder, t.*
    FROM api_keys k JOIN accounts a ON a.id = k.account_id
    LEFT JOIN tasks t ON t.id = $2 AND t.account_id = k.account_id AND t.environment = k.environment
    WHERE k.key_hash = $1 AND k.revoked_at IS NULL`,
};

// The values of a creation, by name. Each has a type, since a statement that selects cannot tell.
const TYPES = { number: "bigint", location_latitude: "float8", location_longitude: "float8" };
const NUMBERS = [
  "budget_cents", "fee_percent", "status_since", "proof_attempts", "deadline", "funded_at",
  "created_at", "updated_at", "escrow_cents", "month", "monthly_limit",
];
for (const name of NUMBERS) TYPES[name] = "bigint";
const GIVEN = [
  ...COLUMNS.filter((name) => name !== "number"),
  "month", "monthly_limit", "key_id", "event_1", "event_2", "data_1", "data_2",
];
const given = (name) => `$${GIVEN.indexOf(name) + 1}::${TYPES[name] ?? "text"}`;
const deliveries = (place, type) => `INSERT INTO deliveries (event_id, account_id, environment, number,
      type, task_id, status, tries, due_at, attempts, status_code, created_at, updated_at)
    SELECT ${given(`event_${place}`)}, e.account_id, ${given("environment")}, n.last_event - ${2 - place},
      '${type}', ${given("id")}, 'pending', 0, n.last_event_at, '[]', NULL, n.last_event_at, n.last_event_at
    FROM n, webhook_endpoints e JOIN accounts a ON a.id = e.account_id
    WHERE e.account_id = ${given("account_id")} AND e.disabled_at IS NULL AND a.webhook_url IS NOT NULL
      AND (a.webhook_events = '[]' OR a.webhook_events LIKE '%"${type}"%')`;
const CREATE = {
  name: "create",
  text: `WITH n AS (
    UPDATE task_totals SET last_number = last_number + 1,
      month_tasks = CASE WHEN month = ${given("month")} THEN month_tasks + 1 ELSE 1 END,
      month = ${given("month")}, funded = funded + 1,
      processor_cents = processor_cents - ${given("budget_cents")}, last_event = last_event + 2,
      last_event_at = greatest(last_event_at, ${given("created_at")})
    WHERE account_id = ${given("account_id")} AND environment = ${given("environment")}
      AND (month <> ${given("month")} OR month_tasks < ${given("monthly_limit")})
    RETURNING last_number, last_event, last_event_at
  ), task AS (
    INSERT INTO tasks (${COLUMNS.join(", ")})
    SELECT ${COLUMNS.map((name) => (name === "number" ? "n.last_number" : given(name))).join(", ")} FROM n
  ), entry AS (
    INSERT INTO ledger_entries (task_id, step, account_id, environment, processor_cents, escrow_cents,
      worker_cents, fees_cents, refunds_cents, recorded_at)
    SELECT ${given("id")}, 'payment', ${given("account_id")}, ${given("environment")},
      -${given("budget_cents")}, ${given("budget_cents")}, 0, 0, 0, ${given("created_at")} FROM n
  ), told AS (
    INSERT INTO events (id, account_id, environment, number, type, task_id, data, created_at)
    SELECT v.id, ${given("account_id")}, ${given("environment")}, n.last_event - v.before, v.type,
      ${given("id")}, v.data, n.last_event_at
    FROM n, (VALUES (${given("event_1")}, 1, 'task.created', ${given("data_1")}),
      (${given("event_2")}, 0, 'task.funded', ${given("data_2")})) v (id, before, type, data)
  ), delivery_1 AS (
    ${deliveries(1, "task.created")}
  ), delivery_2 AS (
    ${deliveries(2, "task.funded")}
  ), woken AS (
    UPDATE webhook_endpoints SET due_at = least(due_at, n.last_event_at) FROM n
    WHERE account_id = ${given("account_id")} AND disabled_at IS NULL
  ), moves AS (
    INSERT INTO task_moves (task_id, number, from_status, to_status, made_by, maker_id, made_at)
    SELECT ${given("id")}, n.last_event - v.before, v.from_status, v.to_status, v.made_by, v.maker,
      ${given("created_at")}
    FROM n, (VALUES (1, NULL, 'pending', 'developer', ${given("key_id")}),
      (0, 'pending', 'funded', 'processor', NULL)) v (before, from_status, to_status, made_by, maker)
  ) SELECT last_number FROM n`,
};

// Everything that creating a test task writes.
async function create(by, body) {
  const now = Date.now();
  const row = rowOf(by, body, now);
  const { instructions: _, ...told } = shown(row);
  const more = {
    month: monthOf(now),
    monthly_limit: MONTHLY_LIMIT[by.tier],
    key_id: by.id,
    event_1: newId(now),
    event_2: newId(now),
    data_1: JSON.stringify({ ...told, status: "pending" }),
    data_2: JSON.stringify(told),
  };
  const values = GIVEN.map((name) => (name in more ? more[name] : row[name]));
  const { rows } = await pool.query({ ...CREATE, values });
  if (rows.length === 0) throw new Refused(429, "monthly_limit");
  return shown(row);
}

await serve(
  async (request) => {
    const { rows } = await pool.query({ ...HOLDER, values: [hashOfKey(request)] });
    if (rows[0]?.status !== "active") throw new Refused(401, "unauthorized");
    return create(rows[0], request.body);
  },
  async (request) => {
    const { rows } = await pool.query({ ...FIND, values: [hashOfKey(request), request.params.id] });
    if (rows.length === 0) throw new Refused(401, "unauthorized");
    if (rows[0].id === null) throw new Refused(404, "not_found");
    return shown(rows[0]);
  },
);
