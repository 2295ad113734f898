// Pages that hear of what happens: all of it, and without getting in the way.
import { assert } from "../visit.mjs";
import { signUp } from "./signing_up.mjs";

export async function live(visitor) {
  const page = await visitor.window();
  await signUp(page, "live@example.com");
  await oneStream(visitor, page);
  await page.locator("[data-events] a").first().click();
  await aFormIsOnItsWay(page);
  await beforeItListened(page);
  await anotherPerson(page);
  await sessionEnds(page);
  await page.context().close();
}

// The event is there before the answer. Reading the page again then would lose what the answer says.
async function aFormIsOnItsWay(page) {
  const heard = new Promise((resolve) => { page.exposeFunction("heard", resolve); });
  const whose = await page.locator("[data-live]").getAttribute("data-whose");
  await page.addInitScript((whose) => {
    const channel = new BroadcastChannel(`legwork ${whose} /dashboard/test/events/stream`);
    channel.addEventListener("message", ({ data }) => { if (data.event) window.heard(); });
  }, whose);
  await page.reload();
  await page.locator("[data-live][data-state=on]").waitFor();
  await page.route("**/advance", async (route) => {
    const response = await route.fetch({ maxRedirects: 0 });
    await heard;
    await route.fulfill({ response });
  }, { times: 1 });
  await page.click("button:text('Advance to the proof')");
  await page.getByText("The task has moved on.").waitFor();
}

// The next request for it, which waits to be continued.
function held(page, what) {
  return new Promise((resolve) => { page.route(what, resolve, { times: 1 }); });
}

// What happens between the reading of a page and its stream is not missed.
async function beforeItListened(page) {
  const task = page.url().split("?")[0];
  const asked = held(page, /\/events\/stream/);
  await page.goto(task);
  const stream = await asked;
  const sent = { form: { to: "completed" }, headers: { origin: new URL(task).origin } };
  const advanced = await page.request.post(`${task}/advance`, sent);
  assert.ok(advanced.ok(), await advanced.text());
  await stream.continue();
  await page.getByText("Done: the proof counts").waitFor();
}

// Two pages of one browser, one stream. The one that is opened later is told of what it missed.
async function oneStream(visitor, page) {
  const other = await page.context().newPage();
  const streams = [];
  for (const one of [page, other]) one.on("request", (request) => { if (request.url().includes("/events/stream")) streams.push(request.url()); });
  await page.goto("/dashboard/test/events");
  await page.locator("[data-live][data-state=on]").waitFor();
  assert.equal(await page.textContent("[data-live]"), "up to date", "live is the other environment");
  const asked = held(other, /\/live[^/]*\.js/);
  await other.goto("/dashboard/test/events", { waitUntil: "commit" });
  const script = await asked;
  const third = await page.context().newPage();
  await third.goto("/dashboard/test/tasks/new");
  await third.goto("/dashboard/test");
  await third.click("text=Create it with one click");
  const created = (one) => one.locator("[data-events]").getByText("task.created").waitFor();
  await created(page);
  await script.continue();
  await created(other);
  assert.equal(streams.length, 1, "one stream for all pages");
  await visitor.look(page, null, "events");
  await third.close();
  await other.close();
}

// Somebody else signs in while a page is open: neither page hears of what is the other's, and no form mixes them up.
async function anotherPerson(page) {
  const events = await page.context().newPage();
  await events.goto("/dashboard/test/events");
  await events.locator("[data-live][data-state=on]").waitFor();
  const shown = await events.locator("[data-events] > li").count();
  await page.goto("/dashboard/test/keys");
  const other = await page.context().newPage();
  await signUp(other, "other@example.com");
  await other.goto("/dashboard/test/events");
  await other.locator("[data-live][data-state=on]").waitFor();
  const third = await page.context().newPage();
  await third.goto("/dashboard/test");
  await third.click("text=Create it with one click");
  await other.locator("[data-events]").getByText("task.created").waitFor();
  assert.equal(await events.locator("[data-events] > li").count(), shown, "what happens to one is not told to the other");
  await page.fill("#name", "Nobody's");
  await page.locator("main form", { has: page.locator("#name") }).getByRole("button").click();
  await page.getByText("You have signed in as other@example.com since").waitFor();
  await page.click("text=Load the page again");
  await page.waitForURL("**/keys");
  for (const one of [events, other, third]) await one.close();
}

// The stream of events is refused then, and nobody is left to think that it comes back.
async function sessionEnds(page) {
  await page.goto("/dashboard/test/events");
  await page.locator(".live[data-state=on]").waitFor();
  const form = await page.context().newPage();
  await form.goto("/dashboard/test/tasks/new");
  const other = await page.context().newPage();
  await other.goto("/account");
  await other.click("text=Sign out");
  await other.close();
  await page.getByText("your session has ended").waitFor();
  // Nor is the page to sign in drawn where the map should be.
  await form.fill("#title", "Kept");
  await form.fill("#latitude", "40.7");
  await form.fill("#longitude", "-73.9");
  await form.locator("#longitude").blur();
  await form.getByText("Your session has ended: sign in on another page").waitFor();
  assert.equal(await form.locator("[data-map] input").count(), 0);
  await form.close();
  await page.click("text=sign in again");
  await page.waitForURL("**/sign-in?next=*");
}
