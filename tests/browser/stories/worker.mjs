// A worker on a small phone: from signing up to the first payout. Every page of the app, in both languages.
import { assert } from "../visit.mjs";
import { PASSWORD } from "./signing_up.mjs";

const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, permissions: ["geolocation"], geolocation: { latitude: 40.7, longitude: -73.95 } };
const PLACE = { city: "Brooklyn", state: "NY", latitude: 40.7163, longitude: -73.9595, address: "240 Bedford Ave" };

// A developer whose live tasks are paid for at once, and an admin, who both use the API.
async function others(page) {
  const as = (key) => async (method, path, data) => {
    const reply = await page.request.fetch(path, { method, data, headers: { authorization: `Bearer ${key}` } });
    assert.ok(reply.ok(), `${method} ${path}: ${await reply.text()}`);
    return reply.json();
  };
  const account = { email: "shop@example.com", password: PASSWORD, name: "Shop" };
  const reply = await page.request.post("/v1/accounts/sign_up", { data: account });
  const { live_key: key } = await reply.json();
  const dev = as(key);
  await dev("PUT", "/v1/account/payment_method", { payment_method: "pm_card_visa" });
  return { dev, admin: as(process.env.LEGWORK_TEST_ADMIN_KEY) };
}

// What a thumb can hit, and nothing that moves while the page loads.
async function fits(page, what) {
  await page.setViewportSize(PHONE.viewport);
  await page.reload();
  const small = await page.evaluate(() => {
    const wanted = "button, .button, .tabs a, .offer, summary, a.tap, .crumbs a, select, input:not([type=hidden]):not([type=checkbox])";
    const all = [...document.querySelectorAll(wanted)].map((one) => [one.outerHTML.slice(0, 80), one.getBoundingClientRect()]);
    return all.filter(([, box]) => box.height > 0 && (box.height < 44 || box.width < 44)).map(([html]) => html);
  });
  assert.deepEqual(small, [], `${what}: targets of 44 pixels`);
  const shift = await page.evaluate(() => new Promise((resolve) => {
    let sum = 0;
    const observer = new PerformanceObserver((list) => { for (const entry of list.getEntries()) sum += entry.value; });
    observer.observe({ type: "layout-shift", buffered: true });
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(sum)));
  }));
  assert.ok(shift < 0.01, `${what}: layout shift ${shift}`);
}

// Another state of a page that is looked at in full elsewhere.
async function glance(visitor, page, path, name) {
  await page.setViewportSize(PHONE.viewport);
  await page.goto(path);
  await visitor.check(page, name);
  await visitor.picture(page, name);
}

async function signUp(visitor, page) {
  await page.goto("/worker");
  await fits(page, "front");
  await visitor.look(page, null, "worker-front");
  await page.click("text=Sign up");
  await visitor.look(page, "/worker/sign-in", "worker-sign-in");
  await glance(visitor, page, "/worker/password", "worker-password");
  await visitor.look(page, "/worker/sign-up", "worker-sign-up");
  await page.fill("#name", "Wanda <b>Walker</b>");
  await page.fill("#email", "wanda@example.com");
  await page.fill("#password", PASSWORD);
  await page.click("button:text('Sign up')");
  await page.waitForURL("**/worker/start");
  await fits(page, "start");
  await visitor.look(page, null, "worker-start");
  await glance(visitor, page, "/worker/tasks", "worker-tasks-empty");
  await visitor.look(page, "/worker/find", "worker-find-no-place");
  await glance(visitor, page, "/worker/earnings", "worker-earnings-empty");
}

async function becomeReady(visitor, page, admin) {
  await page.goto("/worker/verify");
  const picture = { name: "photo.png", mimeType: "image/png", buffer: await page.screenshot() };
  await visitor.look(page, null, "worker-verify");
  await page.setInputFiles("#identity", picture);
  await page.setInputFiles("#selfie", picture);
  await page.click("text=Send both");
  await page.waitForURL("**/worker/start");
  await glance(visitor, page, "/worker/verify", "worker-in-review");
  const worker = await page.getAttribute("body", "data-worker");
  await admin("POST", `/v1/admin/workers/${worker}/verify`, {});
  await visitor.look(page, "/worker/payout", "worker-payout");
  await page.click("text=Set it up");
  await page.click("text=Complete the account");
  await page.click("text=Back to the app");
  await page.waitForURL("**/worker/start");
  await page.goto("/worker/me#home");
  await page.click("[data-position]");
  await page.waitForFunction(() => document.querySelector("[data-latitude]").value === "40.7000");
  await page.click("button:text('Save')");
  await page.getByText("Saved.").waitFor();
  await page.goto("/worker/start");
  await page.getByText("You are ready").waitFor();
}

// A live task that workers see.
async function post(dev, more) {
  const task = { title: "Photograph a storefront", description: "Front of the shop.", instructions: "- Door open\n- Opening hours in view", category: "photography", budget_cents: 2500, location: PLACE, ...more };
  const { id } = await dev("POST", "/v1/tasks", task);
  while ((await dev("GET", `/v1/tasks/${id}`)).status !== "posted") await new Promise((resolve) => setTimeout(resolve, 50));
  return id;
}

async function accept(visitor, page, dev) {
  const id = await post(dev, {});
  await post(dev, { title: "<img src=x onerror=alert(1)> Bounty", task_type: "bounty", required_skills: ["driving"] });
  await page.goto("/worker/find");
  await page.click("text=Search around me");
  await page.waitForURL("**latitude=40.7*");
  await visitor.look(page, null, "worker-find");
  await page.click("text=Radar");
  await page.locator("svg.radar").waitFor();
  await visitor.look(page, null, "worker-radar");
  await glance(visitor, page, "/worker/find?radius_km=0.1", "worker-find-empty");
  await page.goto("/worker/find");
  await page.click("text=Photograph a storefront");
  await visitor.look(page, null, "worker-offer");
  await page.click("button:text('Accept')");
  await page.getByText("The task is yours.").waitFor();
  await visitor.look(page, null, "worker-assigned");
  await page.click("button:text('Start')");
  await page.getByText("Started.").waitFor();
  await fits(page, "task");
  return id;
}

async function prove(visitor, page, dev, id) {
  const [cookie] = (await page.context().cookies()).filter((one) => one.name === "__Host-legwork_worker");
  assert.ok(cookie.secure && cookie.httpOnly && cookie.sameSite === "Lax");
  const buffer = await page.screenshot();
  const sent = await page.request.post(`/v1/worker/tasks/${id}/proofs`, {
    headers: { authorization: `Bearer ${cookie.value}` },
    multipart: { photo: { name: "p.png", mimeType: "image/png", buffer }, gps_latitude: "40.7163", gps_longitude: "-73.9595" },
  });
  assert.equal(sent.status(), 201, await sent.text());
  const { data: [proof] } = await sent.json();
  return `/v1/tasks/${id}/proofs/${proof.id}`;
}

// The session has ended while she wrote. What she wrote is there again, in view.
async function disputedTooLate(page, id) {
  await page.click("details:has(#statement) summary");
  await page.fill("#statement", "The door is <b>whole</b>.");
  await page.context().clearCookies();
  await page.click("button:text('Send the dispute')");
  await page.waitForURL("**/worker/sign-in**");
  await page.fill("#email", "wanda@example.com");
  await page.fill("#password", PASSWORD);
  await page.press("#password", "Enter");
  await page.waitForURL(`**/worker/tasks/${id}`);
  await page.getByText("This was not sent, because your session had ended.").waitFor();
  assert.equal(await page.inputValue("#statement"), "The door is <b>whole</b>.");
}

export async function worker(visitor) {
  const page = await visitor.window(PHONE);
  const { dev, admin } = await others(page);
  await signUp(visitor, page);
  await becomeReady(visitor, page, admin);
  const id = await accept(visitor, page, dev);
  const first = await prove(visitor, page, dev, id);
  await glance(visitor, page, `/worker/tasks/${id}`, "worker-in-review-task");
  await dev("POST", `${first}/reject`, { reason: "The door is cut off." });
  await visitor.look(page, `/worker/tasks/${id}`, "worker-rejected");
  await disputedTooLate(page, id);
  const second = await prove(visitor, page, dev, id);
  await glance(visitor, page, "/worker/earnings", "worker-earnings-waiting");
  await dev("POST", `${second}/approve`, {});
  await glance(visitor, page, `/worker/tasks/${id}`, "worker-completed");
  await visitor.look(page, "/worker/earnings", "worker-earnings");
  await page.getByText("$21.00").first().waitFor();
  await visitor.look(page, "/worker/tasks", "worker-tasks");
  await visitor.look(page, "/worker/me", "worker-me");
  await visitor.look(page, "/worker/me/data", "worker-data");
  await page.goto("/worker/me/factor");
  await page.click("text=Set it up");
  await page.locator(".qr svg").waitFor();
  await visitor.look(page, null, "worker-factor");
  await inSpanish(visitor, page, id);
  await page.goto("/worker/me");
  // Not the button of another session.
  await page.click("button:text-is('Salir')");
  await page.waitForURL("**/worker/sign-in*");
  await page.context().close();
}

async function inSpanish(visitor, page, id) {
  await page.goto("/worker/me");
  await page.click("button:text('Español')");
  await page.waitForURL("**/worker/me");
  await page.setViewportSize(PHONE.viewport);
  for (const path of ["start", "find", `tasks/${id}`, "tasks", "earnings", "me", "me/data", "me/factor", "payout", "verify"]) {
    await page.goto(`/worker/${path}`);
    assert.equal(await page.getAttribute("html", "lang"), "es");
    await visitor.check(page, `worker ${path} in Spanish`);
    await visitor.picture(page, `worker-es-${path.replaceAll("/", "-")}`);
  }
}
