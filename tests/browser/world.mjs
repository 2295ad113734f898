// What happens elsewhere while a worker uses the app: developers, admins, and the programs of workers.
import { createHash, randomBytes } from "node:crypto";
import { crc32, deflateSync } from "node:zlib";
import { createInterface } from "node:readline";
import { PATIENCE } from "./visit.mjs";

export const PASSWORD = "correct horse battery";

// Asks again and again until the answer is yes.
export async function until(check, what = "it") {
  const end = Date.now() + PATIENCE;
  while (Date.now() < end) {
    const found = await check();
    if (found) return found;
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
  throw new Error(`${what} did not happen`);
}

export class World {
  constructor(url) {
    this.url = url;
    this.developer = process.env.LEGWORK_TEST_LIVE_KEY;
    this.admin = process.env.LEGWORK_TEST_ADMIN_KEY;
    this.lines = null;
  }

  async call(key, method, path, body) {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const response = await fetch(this.url + path, { method, headers, body: body && JSON.stringify(body) });
    const answer = await response.json().catch(() => null);
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  }

  // A worker who may accept tasks.
  async worker(name) {
    const email = `${name}@phone.example.com`;
    const profile = { email, password: PASSWORD, name, home_latitude: 40.7, home_longitude: -73.95 };
    const { worker, token } = await this.call("", "POST", "/v1/workers", profile);
    const account = await this.call(token, "POST", "/v1/worker/payout_account", {});
    await fetch(this.url + new URL(account.url).pathname, { method: "POST" });
    await this.call(this.admin, "POST", `/v1/admin/workers/${worker.id}/verify`, {});
    return { email, id: worker.id, token };
  }

  // A live task that waits for a worker.
  async task(types = ["photo"], more = {}) {
    await this.call(this.developer, "PUT", "/v1/account/payment_method", { payment_method: "pm_card_visa" });
    const { id } = await this.call(this.developer, "POST", "/v1/tasks", {
      title: "Photograph a storefront", description: "The front, with the opening hours.", category: "photography",
      instructions: "Stand across the street.\nShow the whole front.",
      location: { city: "Brooklyn", state: "NY", latitude: 40.7163, longitude: -73.9595 },
      budget_cents: 2500, proof_types: types, ...more,
    });
    await until(async () => (await this.taskNow(id)).status === "posted");
    return id;
  }

  taskNow(id) {
    return this.call(this.developer, "GET", `/v1/tasks/${id}`);
  }

  async begun(worker, types, more) {
    const id = await this.task(types, more);
    await this.call(worker.token, "POST", `/v1/worker/tasks/${id}/accept`, {});
    await this.call(worker.token, "POST", `/v1/worker/tasks/${id}/start`, {});
    return id;
  }

  async proofs(id) {
    return (await this.call(this.developer, "GET", `/v1/tasks/${id}/proofs`)).data;
  }

  async hashOf(proof) {
    const url = new URL(proof.file_url);
    const response = await fetch(this.url + url.pathname + url.search);
    return createHash("sha256").update(Buffer.from(await response.arrayBuffer())).digest("hex");
  }

  // Whoever started the server kills it and starts it again on the same data and port.
  async restart() {
    this.lines ??= createInterface({ input: process.stdin })[Symbol.asyncIterator]();
    console.log("RESTART");
    await this.lines.next();
  }
}

// A picture of noise, so that it is as large as it looks and like no other.
export function picture(width, height) {
  const rows = [];
  for (let row = 0; row < height; row += 1) rows.push(Buffer.from([0]), randomBytes(width * 3));
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(data.length);
    const sum = Buffer.alloc(4);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const parts = [chunk("IHDR", head), chunk("IDAT", deflateSync(Buffer.concat(rows), { level: 0 })), chunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]), ...parts]);
}

export const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");
