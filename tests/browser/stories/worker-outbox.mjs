// Nothing that was captured is lost: without a network, when the browser is killed, when the session ends, when
// the server restarts, and when somebody else uses the phone.
import { Phone } from "../phone.mjs";
import { World, picture, sha256, until } from "../world.mjs";
import { assert } from "../visit.mjs";

export async function workerOutbox(visitor) {
  const world = new World(visitor.url);
  const [wanda, otto] = [await world.worker("wanda"), await world.worker("otto")];
  const phone = await Phone.open(visitor);
  try {
    await phone.signIn(wanda);
    await offlineAndKilled(visitor, world, phone, wanda);
    await sessionEnds(world, phone, wanda);
    await serverRestarts(world, phone, wanda);
    await sharedPhone(world, phone, wanda, otto);
    await refused(visitor, world, phone, wanda);
    await discarded(world, phone, wanda);
    await discardedTooLate(world, phone, wanda);
  } finally {
    await phone.close();
  }
}

async function offlineAndKilled(visitor, world, phone, wanda) {
  const task = await world.begun(wanda);
  await phone.keep(`/worker/tasks/${task}`, `/worker/tasks/${task}/capture`);
  await phone.offline();
  await phone.page.goto(`/worker/tasks/${task}`);
  await phone.page.locator("[data-stale]").waitFor();
  await phone.page.getByText("Stand across the street").waitFor();
  await phone.page.goto("/worker/earnings");
  await phone.page.getByRole("heading", { name: "No network" }).waitFor();
  await phone.photo(task);
  await phone.send();
  await phone.page.getByText("No network. It goes on by itself").waitFor();
  await visitor.look(phone.page, null, "worker-outbox-offline");
  await phone.page.setViewportSize({ width: 360, height: 740 });
  const size = await phone.page.locator("progress").getAttribute("max");
  await phone.kill();
  assert.equal((await world.proofs(task)).length, 0);
  await phone.start();
  await phone.page.goto("/worker/outbox");
  // The browser had no time to write its cookies. The outbox was written before.
  if (phone.page.url().includes("/sign-in")) await phone.signIn(wanda);
  await phone.page.goto("/worker/outbox");
  await phone.arrives();
  const [proof] = await world.proofs(task);
  assert.equal(String(proof.file_size_bytes ?? size), size);
  const { device } = await world.call(world.developer, "GET", `/v1/tasks/${task}/proofs/${proof.id}/evidence`);
  assert.equal(device.source, "camera");
  assert.equal(device.queued_offline, true);
  assert.ok(device.fixes.length > 0 && Math.abs(device.clock_offset_ms) < 5000, JSON.stringify(device));
}

async function sessionEnds(world, phone, wanda) {
  const task = await world.begun(wanda);
  await phone.photo(task);
  // Another device signs this one out.
  const { data } = await world.call(wanda.token, "GET", "/v1/worker/sessions");
  for (const session of data.filter((one) => !one.current)) {
    await world.call(wanda.token, "DELETE", `/v1/worker/sessions/${session.id}`);
  }
  await phone.page.click("[data-capture] [data-send]");
  await phone.page.waitForURL("**/worker/sign-in**");
  await phone.signIn(wanda);
  await phone.page.goto("/worker/outbox");
  await phone.arrives(2);
  assert.equal((await world.proofs(task)).length, 1);
}

async function serverRestarts(world, phone, wanda) {
  const task = await world.begun(wanda);
  const bytes = picture(900, 900);
  // Half of it is sent when the server dies.
  let dying = null;
  await phone.context.route("**/worker/uploads/*", async (route) => {
    const isSecond = Number(route.request().headers()["upload-offset"]) > 0;
    if (route.request().method() === "PATCH" && isSecond && !dying) {
      dying = world.restart();
      return route.abort();
    }
    return route.continue();
  });
  await phone.pick(task, "front.png", bytes);
  await phone.send();
  await until(() => dying !== null, "the restart");
  await dying;
  await phone.page.click("main [data-send]");
  await phone.arrives(3);
  await phone.context.unroute("**/worker/uploads/*");
  const proofs = await world.proofs(task);
  assert.equal(proofs.length, 1);
  assert.equal(await world.hashOf(proofs[0]), sha256(bytes));
}

async function sharedPhone(world, phone, wanda, otto) {
  const task = await world.begun(wanda);
  await phone.keep(`/worker/tasks/${task}`, `/worker/tasks/${task}/capture`);
  await phone.offline();
  await phone.photo(task);
  await phone.send();
  await phone.page.getByText("No network. It goes on").waitFor();
  // The server is not asked before she has signed out.
  await phone.context.route("**/worker/uploads", (route) => route.abort());
  await phone.offline(false);
  await phone.page.goto("/worker/me");
  await phone.page.click("form[action='/worker/sign-out'] button");
  await phone.page.getByText("One proof has not been sent").waitFor();
  await phone.page.click("dialog .danger");
  await phone.page.waitForURL(/sign-in|\/worker$/);
  await phone.context.unroute("**/worker/uploads");
  await phone.signIn(otto);
  await phone.page.goto("/worker/outbox");
  await phone.page.getByText("Nothing waits").waitFor();
  assert.equal((await world.proofs(task)).length, 0, "nobody sends the work of others");
  await phone.keep();
  await phone.offline();
  await phone.page.goto(`/worker/tasks/${task}`);
  await phone.page.getByRole("heading", { name: "No network" }).waitFor();
  await phone.offline(false);
  await phone.page.goto("/worker/me");
  await phone.page.click("form[action='/worker/sign-out'] button");
  await phone.page.waitForURL(/sign-in|\/worker$/);
  await phone.signIn(wanda);
  await phone.page.goto("/worker/outbox");
  await phone.arrives(4);
  assert.equal((await world.proofs(task)).length, 1);
}

// It came too late: the worker reads why, and saves the file.
async function refused(visitor, world, phone, wanda) {
  const task = await world.begun(wanda);
  await phone.photo(task);
  await world.call(wanda.token, "POST", `/v1/worker/tasks/${task}/release`, {});
  await phone.send();
  await phone.page.getByText("The task is not yours any more").first().waitFor();
  await visitor.look(phone.page, null, "worker-outbox-refused");
  assert.equal(await phone.page.textContent("main [data-send]"), "Try again");
  assert.equal(await phone.page.getByText("Must arrive by").count(), 0);
  await phone.page.setViewportSize({ width: 360, height: 740 });
  const [download] = await Promise.all([phone.page.waitForEvent("download"), phone.page.click("[data-save]:visible")]);
  assert.match(download.suggestedFilename(), /photo\.jpg$/);
  await phone.page.click("[data-discard]:visible");
  await phone.page.click("dialog .danger");
  await phone.page.locator(".badge.bad").waitFor({ state: "detached" });
}

const isOnDiscard = (page) => page.evaluate(() => Boolean(document.activeElement.matches("[data-discard]")));

// What is discarded while it is sent does not arrive. Until then, the button stays where somebody's focus is.
async function discarded(world, phone, wanda) {
  const { page, context } = phone;
  const task = await world.begun(wanda);
  const parts = [];
  await context.route("**/worker/uploads/*", (route) => {
    if (route.request().method() === "PATCH" && parts.length < 3) parts.push(route);
    else route.continue();
  });
  const part = (at) => until(() => parts[at], `part ${at}`);
  const progress = (bytes) => page.waitForFunction((bytes) => document.querySelector("progress").value > bytes, bytes);
  await phone.pick(task, "front.png", picture(900, 900));
  await phone.send();
  await part(0);
  const place = new URL(parts[0].request().url()).pathname.replace("/worker/", "/v1/worker/");
  await page.locator("[data-discard]:visible").focus();
  await page.keyboard.press("Enter");
  await page.locator("dialog").waitFor();
  await parts[0].continue();
  await progress(0);
  await page.keyboard.press("Escape");
  await page.locator("dialog").waitFor({ state: "detached" });
  assert.ok(await isOnDiscard(page), "after the dialog");
  const before = await page.evaluate(() => document.querySelector("progress").value);
  await (await part(1)).continue();
  await progress(before);
  assert.ok(await isOnDiscard(page), "while it is sent");
  await part(2);
  await page.keyboard.press("Enter");
  await page.click("dialog .danger");
  await until(() => page.evaluate((task) => !document.querySelector(`[data-outbox] a[href="/worker/tasks/${task}"]`), task), "discarding");
  await parts[2].continue();
  // Whoever sends has the lock.
  await page.evaluate(() => navigator.locks.request("legwork-outbox", () => {}));
  await context.unroute("**/worker/uploads/*");
  assert.equal((await world.proofs(task)).length, 0);
  const headers = { authorization: `Bearer ${wanda.token}`, "tus-resumable": "1.0.0" };
  await until(async () => [404, 410].includes((await fetch(world.url + place, { method: "HEAD", headers })).status), "deleting the upload");
}

// The server has the proof, and only its answer is on the way: that is told.
async function discardedTooLate(world, phone, wanda) {
  const { page, context } = phone;
  const task = await world.begun(wanda);
  let answer;
  const answered = new Promise((resolve) => { answer = resolve; });
  await context.route("**/proofs", async (route) => {
    const response = await route.fetch();
    answer(() => route.fulfill({ response }));
  }, { times: 1 });
  await phone.photo(task);
  await phone.send();
  const goOn = await answered;
  await page.locator("[data-discard]:visible").click();
  await page.click("dialog .danger");
  await page.getByText("Too late: the proof").waitFor();
  await goOn();
  await phone.arrives(5);
  assert.equal((await world.proofs(task)).length, 1);
}
