// A hundred cut-offs in a row: requests that do not get through, and answers that get lost. The file arrives
// whole, and once. LEGWORK_TEST_CUTS asks for more.
import { connect, createServer } from "node:net";
import { Phone } from "../phone.mjs";
import { World, picture, sha256 } from "../world.mjs";
import { assert } from "../visit.mjs";

const CUTS = Number(process.env.LEGWORK_TEST_CUTS ?? 100);
const SIDE = 900;

// Stands between the phone and the server, and cuts.
class Cutter {
  left = 0;

  async open(url) {
    this.server = createServer((phone) => this.join(phone, connect(Number(url.port), "127.0.0.1")));
    await new Promise((resolve) => { this.server.listen(0, "127.0.0.1", resolve); });
    return `http://localhost:${this.server.address().port}`;
  }

  join(phone, server) {
    let sent = 0;
    const at = Math.random() * 120_000;
    const losesAnswer = Math.random() < 0.3;
    const cut = () => {
      if (this.left === 0) return false;
      this.left -= 1;
      phone.destroy();
      server.destroy();
      return true;
    };
    phone.on("data", (data) => {
      sent += data.length;
      if (!losesAnswer && sent > at && cut()) return;
      server.write(data);
    });
    server.on("data", (data) => {
      if (losesAnswer && sent > 0 && cut()) return;
      phone.write(data);
    });
    for (const [one, other] of [[phone, server], [server, phone]]) {
      one.on("error", () => {});
      one.on("close", () => other.destroy());
    }
  }

  close() {
    this.server.close();
  }
}

export async function workerCuts(visitor) {
  const world = new World(visitor.url);
  const worker = await world.worker("curt");
  const cutter = new Cutter();
  const phone = await Phone.open(visitor, { url: await cutter.open(new URL(visitor.url)) });
  try {
    await phone.signIn(worker);
    await phone.keep();
    let left = CUTS;
    for (let count = 1; left > 0; count += 1) {
      const task = await world.begun(worker);
      const bytes = picture(SIDE, SIDE);
      await phone.pick(task, "front.png", bytes);
      await phone.page.click("[data-capture] [data-send]");
      cutter.left = left;
      await phone.page.waitForURL("**/worker/outbox").catch(() => {});
      left = await untilArrived(phone, cutter, count);
      const proofs = await world.proofs(task);
      assert.equal(proofs.length, 1);
      assert.equal(await world.hashOf(proofs[0]), sha256(bytes));
    }
  } finally {
    await phone.close();
    cutter.close();
  }
}

// Somebody who does not wait. Answers with how many cuts are left.
async function untilArrived(phone, cutter, count) {
  const begun = Date.now();
  while (await phone.page.locator(".badge.good").count() < count) {
    assert.ok(Date.now() - begun < 120_000, `it did not arrive: ${await phone.page.textContent("main")}`);
    await phone.page.evaluate(() => document.dispatchEvent(new Event("legwork:send")));
    await phone.page.waitForTimeout(30);
  }
  const { left } = cutter;
  cutter.left = 0;
  return left;
}
