// One task from beginning to end, with a developer at a desk and a worker on a phone: created, accepted, captured
// without a network, sent, rejected, tried again, rejected, disputed, split, paid.
import { Phone } from "../phone.mjs";
import { World, until } from "../world.mjs";
import { assert } from "../visit.mjs";
import { signUp } from "./signing_up.mjs";

export async function workerStory(visitor) {
  const world = new World(visitor.url);
  const worker = await world.worker("stella");
  const desk = await visitor.window({ javaScriptEnabled: false });
  const phone = await Phone.open(visitor);
  try {
    await signUp(desk, "desk@example.com");
    const task = await create(world, desk);
    await phone.signIn(worker);
    await accept(phone, task);
    await captureOffline(phone, task);
    await reject(desk, "The sign is too dark to read.");
    await phone.see(`/worker/tasks/${task}`);
    await phone.page.getByText("The sign is too dark to read.").first().waitFor();
    await phone.photo(task);
    await phone.send();
    await phone.arrives(2);
    await reject(desk, "Still too dark.");
    await dispute(phone, task);
    await split(world, task);
    await paid(world, phone, worker, task);
  } finally {
    await phone.close();
    await desk.context().close();
  }
}

async function create(world, desk) {
  await desk.goto("/dashboard/live/tasks/new");
  const fields = {
    title: "Photograph the new sign", description: "All of it.", city: "Brooklyn", state: "NY",
    latitude: "40.7163", longitude: "-73.9595", budget: "30",
  };
  for (const [name, value] of Object.entries(fields)) await desk.fill(`#${name}`, value);
  await desk.click("button:text('Create')");
  const pay = await desk.getAttribute("a:has-text('Pay $')", "href");
  const task = new URL(desk.url()).pathname.split("/").pop();
  await desk.goto(new URL(pay, world.url).pathname);
  await desk.fill("#card", "4242424242424242");
  await desk.click("button");
  return task;
}

async function accept(phone, task) {
  const { page } = phone;
  const offered = page.locator("form[action$='/accept'] button");
  await until(async () => { await page.goto(`/worker/find/${task}`); return await offered.count() > 0; }, "the offer");
  await offered.click();
  await page.waitForURL(`**/worker/tasks/${task}**`);
  await page.click("form[action$='/start'] button");
  await page.locator(`a[href$="/capture"]`).first().waitFor();
}

async function captureOffline(phone, task) {
  await phone.keep(`/worker/tasks/${task}`, `/worker/tasks/${task}/capture`);
  await phone.offline();
  await phone.photo(task);
  await phone.send();
  await phone.page.getByText("No network. It goes on").waitFor();
  await phone.offline(false);
  await phone.arrives();
}

async function reject(desk, reason) {
  await desk.goto("/dashboard/live/review");
  await desk.fill("#reason", reason);
  await desk.click("button.danger:text('Reject')");
  await desk.getByText("Nothing waits for you").waitFor();
}

async function dispute(phone, task) {
  const { page } = phone;
  await phone.see(`/worker/tasks/${task}`);
  const form = page.locator(`form[action$="/dispute"]`);
  if (!(await form.isVisible())) await page.locator("details:has(form[action$='/dispute']) > summary").click();
  await form.locator("textarea").fill("The sign is lit at night. The photo shows it.");
  await form.locator("button").click();
  await page.getByText("The sign is lit at night").first().waitFor();
}

// An admin gives half to each.
async function split(world, task) {
  const body = { decision: "split", paid_cents: 1500, note: "Both have a point." };
  await world.call(world.admin, "POST", `/v1/admin/disputes/${task}/decide`, body);
}

async function paid(world, phone, worker, task) {
  await phone.see(`/worker/tasks/${task}`);
  await phone.page.getByText("the pay is split, and $12.60 of it is yours").first().waitFor();
  const earned = await until(async () => {
    const { payouts } = await world.call(worker.token, "GET", "/v1/worker/earnings");
    return payouts.find((payout) => payout.task_id === task);
  }, "the payout");
  assert.equal(earned.amount_cents, 1260, JSON.stringify(earned));
}
