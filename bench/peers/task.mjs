// What both peers share: a task as the API takes and shows it, and the server.
//
// PEER_MODULES is a folder node_modules.

import { createHash, randomUUID } from "node:crypto";
import { createRequire } from "node:module";

export const require = createRequire(`${process.env.PEER_MODULES}/peer.js`);
const fastify = require("fastify");

export const MONTHLY_LIMIT = { free: 10, pro: 1_000, enterprise: 1_000_000_000 };
const FEE_PERCENT = { free: 20, pro: 15, enterprise: 12 };

export const COLUMNS = [
  "id", "account_id", "environment", "number", "title", "description", "instructions", "category",
  "required_skills", "location_address", "location_city", "location_state", "location_latitude",
  "location_longitude", "budget_cents", "task_type", "fee_percent", "priority", "status",
  "status_since", "proof_attempts", "deadline", "proof_types", "metadata", "funded_at",
  "created_at", "updated_at", "escrow_cents",
];

export function newId(now) {
  const random = randomUUID();
  return now.toString(16).padStart(12, "0") + random.slice(14, 18) + random.slice(19, 23) + random.slice(24);
}

// The hash of the key that was sent.
export function hashOfKey(request) {
  const sent = request.headers.authorization;
  if (!sent?.startsWith("Bearer ")) throw new Refused(401, "unauthorized");
  return createHash("sha256").update(sent.slice(7)).digest("hex");
}

const moment = (millis) => (millis === null || millis === undefined ? null : new Date(millis).toISOString());

// A task as the API shows it, from its row.
export function shown(row, status = row.status) {
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

export class Refused extends Error {
  constructor(status, code) {
    super(code);
    this.statusCode = status;
  }
}

export function monthOf(now) {
  const date = new Date(now);
  return date.getUTCFullYear() * 100 + date.getUTCMonth() + 1;
}

// The row of a new test task, but for its number.
export function rowOf(by, body, now) {
  return {
    id: newId(now),
    account_id: by.account_id,
    environment: by.environment,
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

// Serves two functions: one that creates a task, one that finds it.
export async function serve(create, find) {
  const app = fastify({ logger: false, keepAliveTimeout: 75_000 });
  app.post("/v1/tasks", { schema: { body: NEW_TASK, response: { 201: TASK } } }, async (request, reply) => {
    const task = await create(request);
    reply.code(201);
    return task;
  });
  app.get("/v1/tasks/:id", { schema: { response: { 200: TASK } } }, find);
  const address = await app.listen({ host: "127.0.0.1", port: 0 });
  console.log(`The peer listens on ${address}`);
  process.on("SIGTERM", () => process.exit(0));
}
