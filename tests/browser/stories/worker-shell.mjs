// The app itself: light, installable, told of news by push, changed whole by a new release, and withdrawn.
import { once } from "node:events";
import { createServer, request } from "node:http";
import { Phone } from "../phone.mjs";
import { PASSWORD, World, until } from "../world.mjs";
import { assert } from "../visit.mjs";

export async function workerShell(visitor) {
  const world = new World(visitor.url);
  const worker = await world.worker("sheila");
  await firstPage(visitor);
  const front = new Front(visitor.url);
  const phone = await Phone.open(visitor, { url: await front.open() });
  try {
    await phone.signIn(worker);
    await installable(phone);
    await pushed(world, phone, worker);
    await signedInAgain(phone, worker);
    await clockMoves(world, phone, worker);
    await slowNetwork(world, phone, front, worker);
    await leavingOffline(visitor, phone);
    await newRelease(phone, front);
    await withdrawn(visitor, phone, front);
  } finally {
    await phone.close();
    front.close();
  }
  await deleted(visitor, world);
}

// A wrong password is told on the page, and the right one deletes the account.
async function deleted(visitor, world) {
  const worker = await world.worker("dora");
  const phone = await Phone.open(visitor);
  try {
    const { page } = phone;
    await phone.signIn(worker);
    await page.goto("/worker/me/data");
    const remove = async (password) => {
      await page.fill("#password", password);
      await page.click("form[data-unsent] button.danger");
    };
    await remove("not this one");
    await page.waitForSelector("#password[aria-invalid]");
    await remove(PASSWORD);
    await page.waitForSelector("[data-left]");
    // What was kept of the worker's pages goes.
    await until(() => page.evaluate(async () => !(await caches.keys()).some((name) => name.startsWith("legwork-pages-"))), "forgetting");
    await page.goto("/worker/tasks");
    assert.match(page.url(), /sign-in/);
  } finally {
    await phone.close();
  }
}

// On a phone with 3G, as the developer tools of Chromium have it. The quickest of five visits counts: what the
// page takes, not what else this machine does meanwhile.
async function firstPage(visitor) {
  let seen;
  for (let visit = 0; visit < 5 && !(seen?.interactive < 3000); visit += 1) seen = await firstVisit(visitor);
  assert.ok(seen.bytes > 1000 && seen.bytes < 60_000, `${seen.bytes} bytes`);
  assert.ok(seen.interactive < 3000, `${seen.interactive} ms`);
  assert.deepEqual(seen.shifts, []);
}

async function firstVisit(visitor) {
  const page = await visitor.window({ viewport: { width: 360, height: 740 } });
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  await session.send("Network.emulateNetworkConditions", {
    offline: false, latency: 562.5, downloadThroughput: (1.6e6 / 8) * 0.9, uploadThroughput: (750e3 / 8) * 0.9,
  });
  let bytes = 0;
  session.on("Network.loadingFinished", ({ encodedDataLength }) => { bytes += encodedDataLength; });
  await page.goto("/worker", { waitUntil: "networkidle" });
  const seen = await page.evaluate(() => new Promise((resolve) => {
    const [visit] = performance.getEntriesByType("navigation");
    const shifts = [];
    new PerformanceObserver((list) => shifts.push(...list.getEntries().map(({ value }) => value))).observe({ type: "layout-shift", buffered: true });
    setTimeout(() => resolve({ interactive: visit.domContentLoadedEventEnd, shifts }), 100);
  }));
  await page.context().close();
  return { ...seen, bytes };
}

async function installable(phone) {
  const session = await phone.context.newCDPSession(phone.page);
  await phone.page.goto("/worker/tasks");
  await phone.page.evaluate(() => navigator.serviceWorker.ready.then(() => {}));
  const { installabilityErrors } = await session.send("Page.getInstallabilityErrors");
  // A profile of its own counts as a private one here.
  const wrong = installabilityErrors.filter(({ errorId }) => errorId !== "in-incognito");
  assert.deepEqual(wrong, []);
}

// The notice has the place and the pay; a click opens the task.
async function pushed(world, phone, worker) {
  const task = await world.begun(worker);
  const session = await phone.context.newCDPSession(phone.page);
  const registration = new Promise((resolve) => {
    session.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
      const ours = registrations.find(({ scopeURL, isDeleted }) => scopeURL.endsWith("/worker") && !isDeleted);
      if (ours) resolve(ours.registrationId);
    });
  });
  await session.send("ServiceWorker.enable");
  const data = JSON.stringify({ id: "n1", kind: "task_assigned", title: "Task accepted: Photograph a storefront", body: "You accepted it at Brooklyn, NY. It pays $21.00.", url: `/worker/tasks/${task}` });
  const origin = new URL(phone.page.url()).origin;
  const registrationId = await registration;
  let looks = 0;
  const [shown] = await until(async () => {
    // The browser drops a message when its worker takes long to start, as on a busy machine. The same notice twice is one.
    if (looks % 100 === 0) await session.send("ServiceWorker.deliverPushMessage", { origin, registrationId, data });
    looks += 1;
    const found = await phone.page.evaluate(async () => {
      const registration = await navigator.serviceWorker.ready;
      return (await registration.getNotifications()).map(({ title, body }) => ({ title, body }));
    });
    return found.length > 0 && found;
  }, "the notice");
  assert.match(`${shown.title} ${shown.body}`, /storefront.*Brooklyn.*\$21\.00/);
  await until(async () => {
    await click(phone);
    return new URL(phone.page.url()).pathname === `/worker/tasks/${task}`;
  }, "the page of the task");
}

// On the notice, once. A browser may have ended the service worker meanwhile: a message starts it.
async function click(phone) {
  await phone.page.evaluate(() => navigator.serviceWorker.ready.then(({ active }) => active.postMessage({}))).catch(leftMeanwhile);
  await phone.context.serviceWorkers().at(-1)?.evaluate(async () => {
    const [notification] = await self.registration.getNotifications();
    if (notification) self.dispatchEvent(new NotificationEvent("notificationclick", { notification }));
  }).catch(leftMeanwhile);
}

function leftMeanwhile(error) {
  if (!/closed|destroyed/.test(error.message)) throw error;
}

// The server forgets where a phone gets notices when the sign-in ends. After the next one it is told again, once. There is no
// push service here: the browser is made to have a subscription.
async function signedInAgain(phone, worker) {
  const { context, page } = phone;
  await context.addInitScript(() => {
    const keys = { auth: "BTBZMqHH6r4Tts7J_aSIgg", p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4" };
    const subscription = { endpoint: "https://127.0.0.1:9/phone", toJSON: () => ({ keys }), unsubscribe: async () => true };
    PushManager.prototype.getSubscription = async () => subscription;
  });
  const told = [];
  page.on("response", (response) => {
    if (response.url().endsWith("/worker/push")) told.push(response.status());
  });
  await phone.see("/worker/tasks");
  const expected = [];
  for (const again of [true, true, false]) {
    expected.push(201);
    await until(() => page.evaluate(isNoted), "telling the server");
    await page.goto("/worker/earnings", { waitUntil: "networkidle" });
    assert.deepEqual(told, expected);
    if (!again) break;
    await context.clearCookies();
    await phone.signIn(worker);
  }
}

// Whether the app has noted that the server was told in this session.
const isNoted = () => new Promise((resolve) => {
  indexedDB.open("legwork-outbox").onsuccess = ({ target }) => {
    const noted = target.result.transaction("notes").objectStore("notes").get("push");
    noted.onsuccess = () => resolve(noted.result?.session === document.body.dataset.session);
  };
});

// Daylight saving ends: the next page that is opened tells it, and quiet hours follow.
async function clockMoves(world, phone, worker) {
  const path = "/v1/worker/push_settings";
  const night = { muted: [], quiet_from: "22:00", quiet_to: "07:00", utc_offset_minutes: 0 };
  await world.call(worker.token, "PUT", path, night);
  const session = await phone.context.newCDPSession(phone.page);
  for (const [timezoneId, minutes] of [["Etc/GMT+4", -240], ["Etc/GMT+5", -300]]) {
    await session.send("Emulation.setTimezoneOverride", { timezoneId });
    await phone.see("/worker/tasks");
    const told = async () => (await world.call(worker.token, "GET", path)).utc_offset_minutes === minutes;
    await until(told, `${minutes} minutes from UTC`);
  }
  await session.detach();
}

// Slow is not offline, and what was just done is not denied by a copy from before.
async function slowNetwork(world, phone, front, worker) {
  const { page } = phone;
  const task = await world.task();
  await world.call(worker.token, "POST", `/v1/worker/tasks/${task}/accept`, {});
  const path = `/worker/tasks/${task}`;
  await phone.keep(path);
  const copy = () => page.evaluate(async (path) => (await caches.match(path))?.text() ?? null, path);
  assert.match(await copy(), /\/start"/);
  await page.goto(path);
  front.delay = 5000;
  await page.click(`form[action="${path}/start"] button`);
  await page.getByText("Started. Good luck.").waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.saved), undefined);
  // The copy is as things stand now, without what is said once.
  await until(async () => !/\/start"|Good luck/.test(await copy()), "a new copy");
  await page.goto(path);
  await page.locator("[data-stale]", { hasText: "The network is slow." }).waitFor();
  front.delay = 0;
  const isSaved = () => page.evaluate(() => Boolean(document.documentElement.dataset.saved));
  await until(async () => {
    await page.click("text=Show it as it is now");
    await page.waitForLoadState();
    return !await isSaved();
  }, "the page as it is now");
  await phone.offline();
  await page.goto(path);
  await page.locator("[data-stale]", { hasText: "You are offline." }).waitFor();
  await phone.offline(false);
  // A page that was opened offline hears of it from a phone, but not from this browser's developer tools.
  await page.evaluate(() => window.dispatchEvent(new Event("online")));
  await page.locator("[data-stale]", { hasText: "You are online again." }).waitFor();
  front.gone = path;
  await page.goto(path);
  await until(async () => await copy() === null, "the copy is gone");
  front.gone = null;
}

// Without a network nobody is signed out, and nothing is forgotten.
async function leavingOffline(visitor, phone) {
  const { page } = phone;
  await phone.keep();
  await page.goto("/worker/me");
  await phone.offline();
  await page.click("form[data-unsent] button");
  await page.getByText("Signing out needs a network.").waitFor();
  await visitor.check(page, "signing out offline");
  await phone.offline(false);
  assert.ok(await page.evaluate(async () => Boolean(await caches.match("/worker/tasks"))));
  await page.goto("/worker/me");
  assert.ok(page.url().endsWith("/worker/me"));
}

// Stands before the server and makes another release of it.
class Front {
  release = null;
  missing = null;
  // How often what is missing was asked for.
  refused = 0;
  // How long every page takes, and what is not there any more.
  delay = 0;
  gone = null;
  // What is fetched to be kept waits here, until it is let go.
  held = null;

  constructor(url) {
    this.target = new URL(url);
  }

  async open() {
    this.server = createServer((asked, answer) => this.pass(asked, answer));
    await new Promise((resolve) => { this.server.listen(0, "127.0.0.1", resolve); });
    return `http://localhost:${this.server.address().port}`;
  }

  pass(asked, answer) {
    if (this.missing && asked.url.includes(this.missing)) {
      this.refused += 1;
      return answer.writeHead(404).end();
    }
    if (this.gone && asked.url === this.gone) return answer.writeHead(404, { "content-type": "text/html" }).end("<h1>Gone</h1>");
    if (this.held && asked.headers["sec-fetch-mode"] !== "navigate" && asked.url.startsWith("/worker/tasks")) {
      return this.held.push(() => {
        this.onward(asked, answer);
        return once(answer, "close");
      });
    }
    if (this.delay > 0 && asked.headers["sec-fetch-mode"] === "navigate") return setTimeout(() => this.onward(asked, answer), this.delay);
    return this.onward(asked, answer);
  }

  onward(asked, answer) {
    const { hostname, port } = this.target;
    const headers = { ...asked.headers, "accept-encoding": "identity" };
    const onward = request({ hostname, port, path: asked.url, method: asked.method, headers }, (response) => {
      const type = response.headers["content-type"] ?? "";
      const changes = this.release && (type.startsWith("text/html") || asked.url === "/worker/sw.js");
      if (!changes) {
        answer.writeHead(response.statusCode, response.headers);
        return response.pipe(answer);
      }
      const parts = [];
      response.on("data", (data) => parts.push(data));
      response.on("end", () => {
        let text = Buffer.concat(parts).toString().replaceAll(this.before, this.release);
        // What is missing has a name that the browser does not have in its cache.
        if (this.missing) text = text.replaceAll(new RegExp(`${this.missing}\\.[0-9a-f]+`, "g"), `${this.missing}.0`);
        const { "content-length": _, ...rest } = response.headers;
        answer.writeHead(response.statusCode, rest);
        answer.end(text);
      });
    });
    onward.on("error", () => answer.destroy());
    asked.pipe(onward);
  }

  close() {
    this.server.close();
    this.server.closeAllConnections();
  }
}

const shells = () => caches.keys().then((names) => names.filter((name) => name.startsWith("legwork-shell-")).map((name) => name.split("-").pop()));

async function newRelease(phone, front) {
  await phone.keep();
  const { page } = phone;
  const before = await page.evaluate(() => document.body.dataset.release);
  assert.deepEqual(await page.evaluate(shells), [before]);
  // A release of which a part cannot be loaded is not used at all.
  Object.assign(front, { before, release: "0123456789abcdef", missing: "worker_camera" });
  const update = () => page.evaluate(() => navigator.serviceWorker.ready.then((registration) => registration.update()).then(() => {}));
  const registered = (what) => page.evaluate((name) => navigator.serviceWorker.ready.then((registration) => registration[name]?.state ?? null), what);
  await update();
  await until(() => front.refused > 0, "asking for what is missing");
  await until(async () => await registered("installing") === null, "giving up");
  assert.equal(await registered("waiting"), null);
  assert.deepEqual(await page.evaluate(shells), [before]);
  front.missing = null;
  await update();
  await until(async () => await registered("waiting") === "installed", "the next release");
  // It waits: what is open goes on with what it has.
  await page.goto("/worker/outbox");
  assert.deepEqual((await page.evaluate(shells)).sort(), [before, front.release].sort());
  const next = await phone.context.newPage();
  await page.close();
  phone.page = next;
  // A page beside the app, as it is closed: the browser changes over once nothing of the app is open, and it has come to rest.
  await next.goto("/");
  await until(async () => (await next.evaluate(shells)).join() === front.release, "the new release");
  await next.goto("/worker/outbox");
  assert.equal(await next.evaluate(() => document.body.dataset.release), front.release);
  await phone.offline();
  await next.goto("/worker/tasks");
  await next.locator("[data-stale]").waitFor();
  assert.equal(await next.evaluate(() => document.body.dataset.release), front.release);
  await phone.offline(false);
}

// Nothing stays, and nothing comes back of what the app was just about to keep.
async function withdrawn(visitor, phone, front) {
  const { page } = phone;
  front.held = [];
  await page.evaluate(async () => {
    for (const name of await caches.keys()) await (await caches.open(name)).delete("/worker/tasks");
    (await navigator.serviceWorker.ready).active.postMessage({ keep: ["/worker/tasks"] });
  });
  await until(() => front.held.length > 0, "fetching a page to keep");
  await page.goto("/worker/reset");
  await page.getByText("Done: the next page comes fresh").waitFor();
  const [release] = front.held;
  front.held = null;
  await release();
  await visitor.look(page, null, "worker-reset");
  const left = await page.evaluate(async () => [
    (await navigator.serviceWorker.getRegistrations()).length, (await caches.keys()).length,
    (await indexedDB.databases()).map(({ name }) => name),
  ]);
  assert.deepEqual(left, [0, 0, ["legwork-outbox"]]);
}
