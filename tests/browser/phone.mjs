// A phone: Chromium with a camera and a position that are made up.
import { createRequire } from "node:module";
import { execFileSync } from "node:child_process";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PATIENCE } from "./visit.mjs";
import { PASSWORD, until } from "./world.mjs";

const require = createRequire(`${process.env.LEGWORK_TEST_NODE_MODULES}/`);
const { chromium } = require("playwright-core");

export const THERE = { latitude: 40.716, longitude: -73.9595, accuracy: 20 };
const ALLOWED = ["camera", "geolocation", "notifications"];

// A small disk in memory, where this machine lets us mount one.
function mounted(folder, size) {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", folder], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

export class Phone {
  static async open(visitor, { permissions = ALLOWED, geolocation = THERE, url = visitor.url, disk = null } = {}) {
    const phone = new Phone();
    Object.assign(phone, { visitor, options: { permissions, geolocation, url } });
    phone.profile = await mkdtemp(join(tmpdir(), "legwork-phone-"));
    phone.hasDisk = disk !== null && mounted(phone.profile, disk);
    await phone.start();
    return phone;
  }

  async start() {
    const { url, ...options } = this.options;
    this.context = await chromium.launchPersistentContext(this.profile, {
      executablePath: process.env.LEGWORK_TEST_CHROMIUM ?? "chromium",
      args: ["--no-sandbox", "--disable-gpu", "--use-fake-device-for-media-stream"],
      baseURL: url, viewport: { width: 360, height: 740 }, hasTouch: true, reducedMotion: "reduce", ...options,
    });
    this.context.setDefaultTimeout(PATIENCE);
    this.page = this.context.pages()[0] ?? await this.context.newPage();
    this.page.on("pageerror", (error) => this.visitor.problems.push(`${this.page.url()}: ${error.message}`));
    this.page.on("console", (message) => {
      // Policies are never broken. What the network does here is meant to happen.
      const text = message.text();
      const own = text.includes("the server responded with a status of") || text.includes("net::ERR_");
      if (message.type() === "error" && !own) this.visitor.problems.push(`${this.page.url()}: ${text}`);
    });
    return this.page;
  }

  async signIn(worker) {
    await this.page.goto("/worker/sign-in");
    await this.page.fill("#email", worker.email);
    await this.page.fill("#password", PASSWORD);
    await this.page.click("main form button:not(.plain)");
    await this.page.waitForURL((url) => !url.pathname.endsWith("/sign-in"));
  }

  // Waits until the app works without a network, with these pages.
  async keep(...paths) {
    await this.page.goto("/worker/tasks");
    const all = ["/worker/tasks", "/worker/outbox", ...paths];
    await until(() => this.page.evaluate(async (paths) => {
      await navigator.serviceWorker.ready;
      const [name] = (await caches.keys()).filter((name) => name.startsWith("legwork-pages-"));
      if (!name) return false;
      const cache = await caches.open(name);
      const found = await Promise.all(paths.map((path) => cache.match(path)));
      return found.every(Boolean);
    }, all), `keeping ${all}`);
  }

  // A page as it is now. When this machine is busy, the network seems slow to the app, and a copy comes.
  async see(path) {
    await until(async () => {
      await this.page.goto(path);
      return this.page.evaluate(() => !document.documentElement.dataset.saved);
    }, `${path} as it is now`);
  }

  async offline(isOffline = true) {
    await this.context.setOffline(isOffline);
  }

  // Takes a photo on the page of a task, and uses it.
  async photo(task) {
    await this.page.goto(`/worker/tasks/${task}/capture`);
    await this.page.waitForFunction(() => document.querySelector("[data-live]")?.videoWidth > 0);
    await this.page.locator("[data-where]", { hasText: /\d/ }).waitFor();
    await this.page.click("[data-shutter]");
    await this.page.click("[data-use]");
  }

  async send() {
    await this.page.click("[data-capture] [data-send]");
    await this.page.waitForURL("**/worker/outbox");
  }

  async pick(task, name, buffer, mimeType = "image/png") {
    await this.readyToPick(task);
    await this.page.setInputFiles("[data-pick]", { name, mimeType, buffer });
    await this.page.click("[data-use]");
  }

  async readyToPick(task) {
    await this.page.goto(`/worker/tasks/${task}/capture`);
    await this.page.locator("label:has([data-pick])").waitFor();
    await this.page.locator("[data-where]", { hasText: /\d/ }).waitFor();
  }

  async arrives(count = 1) {
    try {
      await this.page.locator(".badge.good").nth(count - 1).waitFor();
    } catch (error) {
      throw new Error(`${this.page.url()}: ${await this.page.innerText("main")}`, { cause: error });
    }
  }

  // Not a byte more goes onto its disk, until it is emptied.
  async fill() {
    const file = await open(join(this.profile, "ballast"), "w");
    for (const size of [65_536, 4096]) {
      const block = Buffer.alloc(size);
      const full = (error) => { if (error.code !== "ENOSPC") throw error; return { bytesWritten: 0 }; };
      while ((await file.write(block).catch(full)).bytesWritten > 0);
    }
    await file.close();
  }

  async empty() {
    await rm(join(this.profile, "ballast"));
  }

  // As when the battery dies: nobody is asked.
  async kill() {
    const found = execFileSync("pgrep", ["-f", `user-data-dir=${this.profile}`], { encoding: "utf8" });
    for (const pid of found.trim().split("\n")) {
      try { process.kill(Number(pid), "SIGKILL"); } catch { /* it went with its parent */ }
    }
    await this.context.close().catch(() => {});
    await rm(join(this.profile, "SingletonLock"), { force: true });
  }

  async close() {
    await this.context.close();
    if (this.hasDisk) execFileSync("umount", ["-l", this.profile]);
    await rm(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
