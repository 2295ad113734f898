// Tells the stories of tests/it/clients/stories.rs with the TypeScript library, and what came of them as JSON.
// Arguments: the URL of a server, a key, life, failures or strange, and for a life a photo. Or: webhooks and a file of vectors.

import { readFileSync } from "node:fs";
import {
  AnswerError,
  APIError,
  Client,
  type CreateTask,
  ERRORS,
  NetworkError,
  type Proof,
  StillWaitingError,
  TaskEndedError,
  TimedOutError,
  ValidationError,
  Webhook,
  WebhookError,
  taskOf,
} from "legwork";

const STOREFRONT: CreateTask = {
  title: "Photograph a storefront",
  description: "With the opening hours in view.",
  category: "photography",
  location: { city: "Brooklyn", state: "NY", latitude: 40.7163, longitude: -73.9595 },
  budget_cents: 2500,
};
const URGENT: CreateTask = { ...STOREFRONT, metadata: { urgent: true } };
const WRONG: CreateTask = { ...STOREFRONT, category: "magic", budget_cents: 1 };
const HERE = { gps_latitude: 40.7163, gps_longitude: -73.9595 };

async function refused(call: Promise<unknown>): Promise<APIError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof APIError) {
      // Each code has a class of its own.
      if (error.constructor !== (ERRORS[error.code] ?? APIError)) throw new Error(`the class of ${error.code}`);
      return error;
    }
    throw error;
  }
  throw new Error("not refused");
}

async function all<T>(list: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const each of list) found.push(each);
  return found;
}

function expect(what: string, found: unknown, expected: unknown): void {
  const [told, wanted] = [JSON.stringify(found), JSON.stringify(expected)];
  if (told !== wanted) throw new Error(`${what}: ${told} and not ${wanted}`);
}

async function life(client: Client, photo: Uint8Array): Promise<object> {
  const { tasks } = client;
  const mine = client.withIdempotencyKey("order-4711").tasks;
  const task = await mine.create({ ...STOREFRONT, metadata: { order: "4711" } });
  const again = await mine.create({ ...STOREFRONT, metadata: { order: "4711" } });
  const other = await refused(mine.create(STOREFRONT));
  const invalid = await refused(tasks.create(WRONG));
  if (!(invalid instanceof ValidationError)) throw new Error("not a ValidationError");
  const unknown = await refused(tasks.get("../account"));
  const found = await tasks.search({ metadata: { order: "4711" }, status: ["funded", "posted"] }).take(10);
  for (let count = 0; count < 24; count++) await tasks.create(URGENT);
  const listed = await all(tasks.list({ limit: 10 }));
  expect("in parts", await inParts(client), listed.map((each) => each.id));
  await booleans(client);
  const firstPage = await tasks.list({ limit: 10 }).nextPage();
  const reviewed = await review(client, task.id, photo);
  const history = await tasks.history(task.id, { limit: 2 }).take(50);
  const batch = await tasks.createBatch([STOREFRONT, WRONG]);
  return {
    created: { title: task.title, status: task.status, metadata: task.metadata },
    same_key_same_task: task.id === again.id,
    other_body: other.code,
    invalid: invalid.fields.map((each) => each.field).sort(),
    not_found: unknown.code,
    found: found.length,
    listed: listed.length,
    first_page: firstPage?.length,
    history_ends: history.find((entry) => entry.to === "completed")?.to,
    batch: batch.data.map((item) => item.status),
    bundle_is_zip: new TextDecoder().decode(await tasks.bundle(task.id)).startsWith("PK"),
    ...(await quoted(client)),
    ...reviewed,
    ...(await cancelled(client)),
    ...(await account(client)),
  };
}

/** The ids of all tasks, read by turns: who goes on gets what is left, also of a page. */
async function inParts(client: Client): Promise<string[]> {
  const pages = client.tasks.list({ limit: 10 });
  expect("none", await pages.take(0), []);
  const found = await pages.take(4);
  for await (const each of pages) {
    found.push(each);
    break;
  }
  found.push(...(await pages.take(7)), ...(await all(pages)));
  expect("after the end", await pages.take(1), []);
  return found.map((each) => each.id);
}

/** They are `true` and `false` in a query. */
async function booleans(client: Client): Promise<void> {
  expect("urgent", (await client.tasks.search({ metadata: { urgent: "true" } }).take(50)).length, 24);
  const failed = await client.logs.list({ failed: true }).take(50);
  expect("failed", failed.length > 0 && failed.every((each) => each.status >= 400), true);
  expect("all", (await client.logs.list({ failed: false }).take(50)).length > failed.length, true);
}

async function review(client: Client, id: string, photo: Uint8Array): Promise<object> {
  const { tasks, proofs, testHelpers } = client;
  await testHelpers.advanceTask(id, "assigned");
  let waiting: string | undefined;
  try {
    await tasks.waitUntil(id, ["completed"], { timeoutMs: 1000 });
  } catch (error) {
    if (!(error instanceof StillWaitingError)) throw error;
    waiting = error.status;
  }
  await testHelpers.advanceTask(id, "in_progress");
  const statuses = ["proof_submitted", "completed"];
  const [waited, sent] = await Promise.all([
    tasks.waitUntil(id, statuses, { timeoutMs: 30_000 }),
    testHelpers.submitProof(id, HERE),
  ]);
  const first = sent.data[0];
  if (!first) throw new Error("no proof");
  const rejected = await proofs.reject(id, first.id, "Too dark.");
  await testHelpers.uploadProof(id, { photo: { content: photo } }, HERE);
  const second = (await all(proofs.list(id))).find((proof) => proof.attempt_number === 2);
  if (!second || (await proofs.evidence(id, second.id)).proof_id !== second.id) throw new Error("no second proof");
  const downloaded = await proofs.download(second);
  await proofs.approve(id, second.id);
  const completed = await tasks.waitUntil(id, ["completed"]);
  const events = (await all(client.events.list({ task_id: id, limit: 4 }))).reverse();
  const last = events.at(-1);
  if (!last || taskOf(last)?.status !== "completed") throw new Error("the last event is another");
  return {
    waited: waited.status,
    still_waiting: waiting,
    rejected: rejected.rejection_reason,
    uploaded: second.type,
    downloaded_what_was_uploaded: Buffer.compare(downloaded, photo) === 0,
    completed: completed.status,
    events: events.map((event) => event.event),
  };
}

async function quoted(client: Client): Promise<object> {
  const quote = await client.quotes.create(STOREFRONT);
  const first = await client.tasks.redeem(quote.id);
  const second = await client.tasks.redeem(quote.id);
  const unknown = await refused(client.quotes.get("0"));
  return { quoted: quote.worker_payout_cents, redeemed_once: first.id === second.id, quote_not_found: unknown.code };
}

async function cancelled(client: Client): Promise<object> {
  const task = await client.tasks.create(STOREFRONT);
  const differs = await refused(client.tasks.cancel(task.id, 1));
  const done = await client.tasks.cancel(task.id);
  return { cancelled: done.status, refund_differs: differs.code };
}

async function account(client: Client): Promise<object> {
  const made = await client.keys.create({ name: "Second", environment: "test" });
  const second = new Client(made.key, { baseUrl: client.baseUrl });
  const works = (await second.account.get()).id === (await client.account.get()).id;
  await client.keys.revoke(made.id);
  const revoked = await refused(second.account.usage());
  const webhook = await refused(client.webhook.set({ url: "http://plain.example" }));
  const clock = await client.testHelpers.advanceClock({ advance_seconds: 3600 });
  return {
    usage: (await client.account.usage()).tasks_this_month,
    new_key_works: works,
    revoked_key: revoked.code,
    webhook_error: webhook.code,
    clock_ahead: clock.ahead_seconds,
  };
}

async function failures(client: Client): Promise<object> {
  const created = await client.tasks.create(STOREFRONT);
  const error = await refused(client.tasks.list().nextPage());
  const numbers: number[] = [];
  let unknown: string | undefined;
  const stream = client.events.stream();
  for await (const event of stream) {
    numbers.push(event.number);
    if (event.event === "task.teleported") unknown = event.event;
    if (numbers.length === 9) break;
  }
  const fails = async (baseUrl: string, timeoutMs: number, how: typeof NetworkError) => {
    const hasty = new Client("svc_test_x", { baseUrl, timeoutMs, maxRetries: 1 });
    return hasty.tasks.get("1").then(() => false, (failure) => failure instanceof how);
  };
  return {
    created: created.id,
    refused: { status: error.status, code: error.code, message: error.reason, request_id: error.requestId, details: error.details },
    events: numbers,
    unknown,
    filled: stream.filled,
    timed_out: await fails(client.baseUrl, 50, TimedOutError),
    unreachable: await fails("http://127.0.0.1:1", 5000, NetworkError),
  };
}

/** What becomes of waits, and of answers that are not Legwork's: see serve_strange.py. */
async function strange(url: string): Promise<object> {
  const modes = ["quiet", "hanging", "dripping", "busy", "stuck", "silent", "closing", "ended", "ending", "crowded"];
  const each = modes.map(async (mode) => [mode, await waited(`${url}/${mode}`)]);
  const waits: object = Object.fromEntries(await Promise.all(each));
  const asked = async (mode: string) => Number(await (await fetch(`${url}/asked/${mode}`)).text());
  const page = new Client("svc_test_x", { baseUrl: `${url}/page`, maxRetries: 0 });
  await Promise.all(["dripping", "endless"].map((mode) => triesEnd(`${url}/${mode}`)));
  return {
    waits,
    requests: { quiet: await asked("quiet"), busy: await asked("busy"), ended: await asked("ended") },
    closing_is_not_hurried: (await asked("closing")) < 15,
    files: await files(url),
    page: await told(() => page.events.stream().next()),
    refusing: await Promise.all([302, 401, 403, 404, 502, 503].map((status) => refusing(url, status))),
    others: await Promise.all([...Array(8).keys()].map((number) => other(`${url}/other${number}`))),
    secrets: await Promise.all(SECRETS.map(accepted)),
    long_timestamp: await longTimestamp(),
  };
}

/** What becomes of downloads. */
async function files(url: string): Promise<string[]> {
  const client = new Client("svc_test_x\n", { baseUrl: url });
  const file = (place: string) => ({ file_url: `${place}?signature=s` }) as Proof;
  const answers = [];
  for (const mode of ["shaky", "moved"])
    answers.push(await told(() => client.proofs.download(file(`${url}/${mode}/v1/tasks/1`))));
  const hasty = new Client("svc_test_x", { maxRetries: 0 });
  try {
    await hasty.proofs.download(file("http://127.0.0.1:1/file"));
  } catch (error) {
    answers.push(error instanceof NetworkError && !error.message.includes("signature") ? "hidden" : "told");
  }
  return answers;
}

/** However much keeps coming, a try ends with its time-out. */
async function triesEnd(baseUrl: string): Promise<void> {
  const begun = performance.now();
  const client = new Client("svc_test_x", { baseUrl, timeoutMs: 500, maxRetries: 1 });
  expect(baseUrl, await told(() => client.tasks.get("1")), "timed out");
  if (performance.now() - begun > 15_000) throw new Error(`${baseUrl}: late`);
}

async function waited(baseUrl: string): Promise<string> {
  const begun = performance.now();
  const client = new Client("svc_test_x", { baseUrl });
  const found = await told(() => client.tasks.waitUntil("1", ["assigned"], { timeoutMs: 8000 }));
  return performance.now() - begun < 40_000 ? found : `${found}, late`;
}

async function told(call: () => Promise<unknown>): Promise<string> {
  try {
    await call();
  } catch (error) {
    if (error instanceof TaskEndedError) return `ended ${error.task.status}: ${error.message}`;
    if (error instanceof StillWaitingError) return `still ${error.status}`;
    if (error instanceof APIError) return error.code;
    if (error instanceof TimedOutError) return "timed out";
    if (error instanceof AnswerError && error.message.includes("?")) throw error;
    if (error instanceof AnswerError) return error.status ? `not an answer, but ${error.status}` : "not an answer";
    throw error;
  }
  return "no error";
}

function other(baseUrl: string): Promise<string[]> {
  const client = new Client("svc_test_x", { baseUrl });
  return Promise.all([
    told(() => client.tasks.get("1")),
    told(() => client.tasks.search({ q: "somebody" }).nextPage()),
    told(() => client.tasks.bundle("1")),
    told(() => client.paymentMethod.get()),
  ]);
}

/** What is told of a refusal by another program, and after how many requests. Streams do not wait for its end either. */
async function refusing(url: string, status: number): Promise<[string, number, string]> {
  const mode = `refusing${status}`;
  const client = new Client("svc_test_x", { baseUrl: `${url}/${mode}`, maxRetries: 1 });
  const answer = await told(() => client.tasks.get("1"));
  const tries = Number(await (await fetch(`${url}/asked/${mode}`)).text());
  return [answer, tries, await told(() => client.events.stream().next())];
}

const SECRETS = ["", " ", "whsec_", "whsec_%%%", "whsec_c2VjcmV0=", "nonsense!", "whsec_c2VjcmV0", "whsec_c2VjcmV0\n"];

/** Whether it is taken for a secret. What is signed with it is then valid without the white space. */
async function accepted(secret: string): Promise<boolean> {
  let webhook: Webhook;
  try {
    webhook = new Webhook(["whsec_b3RoZXI=", secret]);
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
  const body = '{"event": "task.funded", "data": {}}';
  return (await new Webhook(secret.trim()).verify(await webhook.sign("1", body), body)).id === "1";
}

async function longTimestamp(): Promise<string> {
  const headers = { "webhook-signature": "v1,x", "webhook-timestamp": "1".repeat(5000) };
  const verified = new Webhook("whsec_c2VjcmV0").verify(headers, "{}");
  return verified.then(() => "accepted", (error) => (error instanceof WebhookError ? "refused" : String(error)));
}

interface Vector {
  secret: string;
  now: number;
  headers: Record<string, string>;
  body: string;
}

async function verdict(vector: Vector, scheme: string): Promise<boolean> {
  const all = Object.entries(vector.headers);
  const headers = Object.fromEntries(all.filter(([name]) => [scheme, "webhook-id"].some((start) => name.toLowerCase().startsWith(start))));
  const webhook = new Webhook(["whsec_b3RoZXI=", vector.secret]);
  const verified = webhook.verify(headers, Buffer.from(vector.body), vector.now);
  return verified.then((event) => event.id === vector.headers["webhook-id"], () => false);
}

async function webhooks(file: string): Promise<boolean[]> {
  const { vectors } = JSON.parse(readFileSync(file, "utf8")) as { vectors: Vector[] };
  const each = vectors.flatMap((vector) => ["x-service-", "webhook-"].map((scheme) => verdict(vector, scheme)));
  return Promise.all(each);
}

const [, , url = "", key = "", story, photo = ""] = process.argv;
const client = () => new Client(key, { baseUrl: url, maxRetries: 4, userAgent: "shop/1.0" });
if (url === "webhooks") console.log(JSON.stringify(await webhooks(key)));
else if (story === "failures") console.log(JSON.stringify(await failures(client())));
else if (story === "strange") console.log(JSON.stringify(await strange(url)));
else console.log(JSON.stringify(await life(client(), readFileSync(photo))));
process.exit();
