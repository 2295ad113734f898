// Taking proof: what is wanted is ticked off, and what the phone does not allow is explained.
import { Phone, THERE } from "../phone.mjs";
import { World, picture } from "../world.mjs";
import { assert } from "../visit.mjs";

export async function workerCapture(visitor) {
  const world = new World(visitor.url);
  const worker = await world.worker("cara");
  const task = await world.begun(worker, ["photo", "video", "signature"]);
  const other = await world.begun(worker);
  const phone = await Phone.open(visitor, { disk: "256m" });
  try {
    await phone.signIn(worker);
    await everyType(visitor, phone, task);
    const types = (await world.proofs(task)).map((proof) => proof.type).sort();
    assert.deepEqual(types, ["photo", "signature", "video"]);
    await byKeyboard(world, phone, await world.begun(worker, ["photo", "signature"]));
    await farAway(phone, other);
    await badFiles(phone, other);
    await slowCamera(phone, other);
    await fullDisk(phone, other);
    await denied(visitor, phone, other);
  } finally {
    await phone.close();
  }
}

async function everyType(visitor, phone, task) {
  const { page } = phone;
  await phone.photo(task);
  // The browser forgets nothing that is ticked off.
  const done = page.locator("[data-wanted=photo][data-done]");
  await done.waitFor();
  await page.reload();
  await done.waitFor();
  await page.waitForFunction(() => document.querySelector("[data-live]").videoWidth > 0);
  await visitor.look(page, null, "worker-capture");
  await sideways(page);
  await page.setViewportSize({ width: 360, height: 740 });
  await page.waitForFunction(() => document.querySelector("[data-live]").videoWidth > 0);
  await handsOverAtTheEnd(page);
  await recordsNothing(page);
  await page.click("[data-shutter]");
  await page.locator("[data-seconds]", { hasText: /[1-9]/ }).waitFor();
  await page.click("[data-stop]");
  await page.locator("[data-use]").waitFor();
  await page.click("[data-retake]");
  await page.waitForFunction(() => document.querySelector("[data-live]").videoWidth > 0);
  // Whoever stops at once has a video all the same.
  await page.evaluate(() => { for (const name of ["shutter", "stop"]) document.querySelector(`[data-${name}]`).click(); });
  await page.click("[data-use]");
  const pad = page.locator("[data-pad]");
  await pad.waitFor();
  assert.ok(await page.locator("[data-signed]").isDisabled());
  const box = await pad.boundingBox();
  await page.mouse.move(box.x + 40, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + 160, box.y + 120, { steps: 5 });
  await page.mouse.up();
  await page.click("[data-signed]");
  await page.locator("[data-capture] [data-send]").waitFor();
  await visitor.look(page, null, "worker-capture-ready");
  await page.setViewportSize({ width: 360, height: 740 });
  await phone.send();
  await phone.arrives();
}

// An encoder that has nothing to show for a while: the seconds are counted all the same.
async function handsOverAtTheEnd(page) {
  await page.evaluate(() => {
    const { start } = MediaRecorder.prototype;
    MediaRecorder.prototype.start = function () { start.call(this); };
  });
}

// An encoder that never has a picture: nobody sends an empty file.
async function recordsNothing(page) {
  await page.evaluate(() => {
    const handler = Object.getOwnPropertyDescriptor(MediaRecorder.prototype, "ondataavailable");
    Object.defineProperty(MediaRecorder.prototype, "ondataavailable", {
      configurable: true,
      set() { Object.defineProperty(MediaRecorder.prototype, "ondataavailable", handler); },
    });
  });
  await page.click("[data-shutter]");
  await page.click("[data-stop]");
  await page.getByText("Nothing was recorded").waitFor();
}

// All of what the camera sees is in sight on a phone that is held sideways, also when the page is opened so.
async function sideways(page) {
  for (const [width, height] of [[740, 360], [667, 375], [844, 390]]) {
    await page.setViewportSize({ width, height });
    await page.reload();
    await page.waitForFunction(() => document.querySelector("[data-live]").videoWidth > 0);
    const hidden = await page.evaluate(() => {
      const box = (name) => document.querySelector(name).getBoundingClientRect();
      const [finder, shutters, tabs] = [box(".finder"), box(".shutters"), box(".tabs")];
      const top = tabs.top <= 0 ? tabs.bottom : 0;
      return Math.max(0, top - finder.top) + Math.max(0, finder.bottom - shutters.top);
    });
    assert.ok(hidden <= 2, `${hidden} px of the camera are hidden at ${width} x ${height}`);
  }
}

// Each step goes on where the one before has ended, and a signature can be a picture of one.
async function byKeyboard(world, phone, task) {
  const { page } = phone;
  const focused = (name) => page.waitForFunction((name) => document.activeElement.matches(`[data-${name}]`), name);
  await page.goto(`/worker/tasks/${task}/capture`);
  await page.waitForFunction(() => document.querySelector("[data-live]")?.videoWidth > 0);
  await page.locator("[data-where]", { hasText: /\d/ }).waitFor();
  await page.locator("[data-shutter]").focus();
  await page.keyboard.press("Enter");
  await focused("use");
  await page.keyboard.press("Enter");
  await focused("pick");
  assert.equal(await page.getAttribute("[data-pick]", "capture"), null);
  // More than a signature may have: it is made smaller.
  await page.setInputFiles("[data-pick]", { name: "signed.png", mimeType: "image/png", buffer: picture(960, 720) });
  await page.locator("[data-signed]:enabled").waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await focused("signed");
  await page.keyboard.press("Enter");
  await focused("send");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/worker/outbox");
  await phone.arrives(2);
  const signature = (await world.proofs(task)).find(({ type }) => type === "signature");
  const { device } = await world.call(world.developer, "GET", `/v1/tasks/${task}/proofs/${signature.id}/evidence`);
  assert.equal(device.source, "picker");
}

async function farAway(phone, task) {
  await phone.context.setGeolocation({ latitude: 40.8, longitude: -73.95, accuracy: 1500 });
  await phone.page.goto(`/worker/tasks/${task}/capture`);
  await phone.page.getByText("You seem to be 9.3").waitFor();
  await phone.page.getByText("only an approximate position").waitFor();
  await phone.context.setGeolocation(THERE);
}

async function badFiles(phone, task) {
  const { page } = phone;
  await phone.readyToPick(task);
  await page.setInputFiles("[data-pick]", { name: "a.jpg", mimeType: "image/jpeg", buffer: Buffer.alloc(11_000_000, "no picture") });
  await page.getByText("This file cannot be used").waitFor();
  // A picture over 10 MB is made smaller.
  await page.setInputFiles("[data-pick]", { name: "big.png", mimeType: "image/png", buffer: picture(2000, 1800) });
  await page.click("[data-use]");
  await page.locator("[data-capture] [data-send]").waitFor();
  const size = await page.evaluate(() => new Promise((resolve) => {
    indexedDB.open("legwork-outbox").onsuccess = ({ target }) => {
      const files = target.result.transaction("files").objectStore("files").getAll();
      files.onsuccess = () => resolve(files.result.at(-1).size && files.result.find((file) => file.record.source === "picker").size);
    };
  }));
  assert.ok(size > 100_000 && size <= 10_000_000, `${size}`);
}

// Somebody picks a picture while the camera begins. It stays, whatever comes of the camera, which does not stay on.
async function slowCamera(phone, task) {
  const { page } = phone;
  await page.goto(`/worker/tasks/${task}/capture`);
  await page.evaluate(() => {
    const { getUserMedia } = MediaDevices.prototype;
    MediaDevices.prototype.getUserMedia = async function slow(...wanted) {
      window.camera = await getUserMedia.apply(this, wanted);
      await new Promise((resolve, reject) => { Object.assign(window, { begin: resolve, fail: reject }); });
      return window.camera;
    };
  });
  for (const outcome of ["begin", "fail"]) {
    await page.locator("[data-wanted=photo] button").click();
    await page.waitForFunction((outcome) => outcome in window, outcome);
    await page.setInputFiles("[data-pick]", { name: "small.png", mimeType: "image/png", buffer: picture(20, 20) });
    await page.locator("[data-use]").waitFor();
    await page.evaluate(async (outcome) => {
      window[outcome](new DOMException("in use", "NotReadableError"));
      delete window.begin;
      delete window.fail;
      await new Promise((resolve) => { setTimeout(resolve); });
    }, outcome);
    assert.ok(await page.locator("[data-use]").isVisible(), `after ${outcome}`);
    if (outcome === "begin") assert.ok(await page.evaluate(() => window.camera.getTracks().every(({ readyState }) => readyState === "ended")));
  }
}

// A phone without room. Where no disk could be mounted, its browser tells of it as if it were full. The picture is so large
// that what the browser itself deletes meanwhile makes no room for it.
async function fullDisk(phone, task) {
  const { page } = phone;
  console.log(`the full disk is ${phone.hasDisk ? "real" : "simulated"}`);
  await page.goto(`/worker/tasks/${task}/capture`);
  if (!phone.hasDisk) await simulateFullDisk(page);
  await page.locator("[data-wanted=photo] button").click();
  if (phone.hasDisk) await phone.fill();
  await page.setInputFiles("[data-pick]", { name: "large.png", mimeType: "image/png", buffer: picture(1800, 1800) });
  await page.click("[data-use]");
  await page.getByText(/the phone (is|may be) full/i).waitFor();
  // There is room again, and the picture is still there.
  if (phone.hasDisk) await phone.empty();
  await page.click("[data-use]");
  await page.locator("[data-capture] [data-send]").waitFor();
}

async function simulateFullDisk(page) {
  await page.evaluate(() => {
    const { put } = IDBObjectStore.prototype;
    IDBObjectStore.prototype.put = function full(...values) {
      if (this.name !== "blobs") return put.apply(this, values);
      IDBObjectStore.prototype.put = put;
      throw new DOMException("full", "QuotaExceededError");
    };
  });
}

async function denied(visitor, phone, task) {
  const { page, context } = phone;
  await context.clearPermissions();
  await context.grantPermissions([]);
  await page.goto(`/worker/tasks/${task}/capture`);
  await page.locator("[data-wanted=photo] button").click();
  await page.getByText("The camera is not allowed").waitFor();
  await page.getByText("The position is not allowed").waitFor();
  await visitor.look(page, null, "worker-capture-denied");
}
