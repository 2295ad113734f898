// A browser, and what is looked at on every page.
import { createRequire } from "node:module";
import { mkdir } from "node:fs/promises";
import { strict as assert } from "node:assert";
import { faint, outside, small } from "./fits.mjs";

const require = createRequire(`${process.env.LEGWORK_TEST_NODE_MODULES}/`);
const { chromium } = require("playwright-core");
const { source: AXE } = require("axe-core");

export const PATIENCE = 120_000;
const WIDTHS = [360, 1280];
const PHONE = 360;
// 1280 pixels at a zoom of 400 %.
const NARROW = 320;
const SCHEMES = ["light", "dark"];
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const PICTURES = process.env.LEGWORK_TEST_SCREENSHOTS;

export async function open(url) {
  const browser = await chromium.launch({
    executablePath: process.env.LEGWORK_TEST_CHROMIUM ?? "chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
  if (PICTURES) await mkdir(PICTURES, { recursive: true });
  return new Visitor(browser, url);
}

class Visitor {
  problems = [];
  visited = new Set();

  constructor(browser, url) {
    this.browser = browser;
    this.url = url;
  }

  // A window of its own, with no cookies yet. Where requests are meant to fail, the browser may say so.
  async window({ losesNetwork = false, ...options } = {}) {
    const context = await this.browser.newContext({ baseURL: this.url, reducedMotion: "reduce", ...options });
    // So long that it ends only a story that fails, however busy the machine is.
    context.setDefaultTimeout(PATIENCE);
    // A connection that was kept may be closed just when it is used again.
    const fetch = context.request.fetch.bind(context.request);
    context.request.fetch = (path, more) => fetch(path, { maxRetries: 3, ...more });
    const page = await context.newPage();
    // A page that hears of something may read itself again just when another one is asked for.
    const goto = page.goto.bind(page);
    page.goto = (...asked) => goto(...asked).catch((error) => {
      if (!/interrupted by another navigation|ERR_ABORTED/.test(error.message)) throw error;
      return page.goto(...asked);
    });
    page.on("pageerror", (error) => this.problems.push(`${page.url()}: ${error.message}`));
    page.on("console", (message) => {
      // The browser itself says that a page has a status of its own, such as 404, or that a stream was refused.
      const own = /the server responded with a status of 4|EventSource's response has a MIME type/.test(message.text())
        || (losesNetwork && /net::ERR_|a status of 503/.test(message.text()));
      if (message.type() === "error" && !own) this.problems.push(`${page.url()}: ${message.text()}`);
    });
    return page;
  }

  // Opens a page and looks at it in every width and scheme.
  async look(page, path, name) {
    if (path) await page.goto(path);
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      for (const colorScheme of SCHEMES) {
        await page.emulateMedia({ colorScheme });
        await this.check(page, `${name} at ${width} ${colorScheme}`);
        await this.picture(page, `${name}-${width}-${colorScheme}`);
      }
    }
    await page.emulateMedia({ colorScheme: "light" });
    await this.lookClosely(page, name);
    await page.setViewportSize({ width: 1280, height: 800 });
    this.visited.add(name);
  }

  // What little room there is, and letters twice as large.
  async lookClosely(page, name) {
    await page.setViewportSize({ width: NARROW, height: 800 });
    await this.fits(page, `${name} at ${NARROW}`, [outside, faint]);
    await this.picture(page, `${name}-${NARROW}`);
    await page.setViewportSize({ width: PHONE, height: 800 });
    await page.evaluate(() => { document.documentElement.style.fontSize = "200%"; });
    await this.fits(page, `${name} with large text`, [outside]);
    await this.picture(page, `${name}-large`);
    await page.evaluate(() => { document.documentElement.style.fontSize = ""; });
  }

  async fits(page, what, looks) {
    for (const look of looks) {
      for (const found of await page.evaluate(look)) this.problems.push(`${what}: ${found}`);
    }
  }

  async picture(page, name) {
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/${name}.png`, fullPage: true });
  }

  async check(page, what) {
    const isPhone = page.viewportSize().width <= PHONE;
    await this.fits(page, what, isPhone ? [outside, small, faint] : [outside]);
    const violations = await this.violations(page);
    for (const { id, nodes } of violations) {
      const first = nodes.map((node) => node.html.slice(0, 120)).slice(0, 3).join(" | ");
      this.problems.push(`${what}: ${id}: ${first}`);
    }
  }

  // What axe finds. It is half a megabyte, so each document reads it once.
  async violations(page) {
    if (!await page.evaluate(() => "axe" in window)) await page.evaluate(`${AXE};0`);
    return page.evaluate(async (tags) => {
      const { violations } = await window.axe.run({ runOnly: tags, resultTypes: ["violations"] });
      return violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html }) => ({ html })) }));
    }, RULES);
  }

  close() {
    return this.browser.close();
  }
}

export { assert };
