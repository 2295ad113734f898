// An owner hands a limited key to a program, and decides what it may spend.
import { assert } from "../visit.mjs";
import { signUp } from "./signing_up.mjs";

const TASK = {
  title: "Count the <i>shelves</i>", description: "All of them, with the labels in view.", category: "retail_audit",
  location: { address: "240 Bedford Ave", city: "Brooklyn", state: "NY", latitude: 40.7163, longitude: -73.9595 },
};

export async function limitedKey(visitor) {
  const page = await visitor.window();
  await signUp(page, "owner@example.com");
  await page.goto("/dashboard/test/keys");
  await page.click("a.button:text('Make a limited key')");
  await page.fill("#name", "Store audit bot");
  await page.fill("#max_task_cents", "50,000");
  await page.fill("#day", "30,000");
  await page.fill("#approval_above_cents", "20");
  await page.click("button:text('Make a limited test key')");
  await page.locator("#max_task_cents-fault").waitFor();
  await visitor.look(page, null, "key-new");
  await page.fill("#day", "200,000");
  await page.click("button:text('Make a limited test key')");
  const key = await page.textContent(".secret");
  for (const budget_cents of [4500, 3000, 1500]) await created(page, key, { budget_cents });
  await visitor.look(page, "/dashboard/test/keys", "keys-limited");
  await page.goto("/dashboard/test");
  await page.getByText("tasks of limited keys wait for your yes").waitFor();
  await page.click("a:text('Decide')");
  await visitor.look(page, null, "approvals");
  await nothingMoves(page, key);
  await page.click("button:has-text('Approve $30.00')");
  await page.getByText("You have approved the task.").waitFor();
  await doubleClick(page);
  for (let left = 2; left > 0; left -= 1) {
    await page.locator("button:has-text('Refuse')").nth(left - 1).waitFor();
    await page.locator("button:has-text('Refuse')").first().click();
    await page.getByText("You have refused the task.").waitFor();
    await page.goto("/dashboard/test/approvals");
  }
  await page.getByText("Nothing waits for your yes").waitFor();
  await page.goto("/dashboard/test/approvals?status=all");
  await page.getByText("Refused", { exact: true }).last().waitFor();
  await page.click("a:text('Store audit bot')");
  await page.getByText("Spent today").waitFor();
  await page.click("button:text('Pause it')");
  await page.getByText("The key is paused.").waitFor();
  await visitor.look(page, null, "key");
  await visitor.look(page, "/dashboard/test/usage", "usage");
  await page.click("a:text('Statement to print')");
  await visitor.look(page, null, "statement");
  await visitor.look(page, "/dashboard/test/tasks?map=1", "tasks-map");
  await page.context().close();
}

async function created(page, key, more) {
  const created = await page.request.post("/v1/tasks", { headers: { authorization: `Bearer ${key}` }, data: { ...TASK, ...more } });
  assert.equal(created.status(), 201, await created.text());
}

// Another task comes while somebody points at a button: the button stays where it is, and the page says what has come.
async function nothingMoves(page, key) {
  await page.locator("[data-live][data-state=on]").waitFor();
  const button = page.locator("button:has-text('Approve $30.00')");
  await button.focus();
  const before = await button.boundingBox();
  await created(page, key, { title: "Dear, and new", budget_cents: 4900 });
  await page.getByText("1 new: show").waitFor();
  assert.deepEqual(await button.boundingBox(), before);
  assert.ok(await button.evaluate((one) => one === document.activeElement), "the focus stays");
  assert.equal(await page.getByText("Dear, and new").count(), 0);
  await page.click("[data-live] a");
  await page.getByRole("link", { name: "Dear, and new" }).waitFor();
}

async function doubleClick(page) {
  await secondClickDoesNothing(page, page.locator("button:has-text('Approve')").first());
  await page.locator("button:has-text('Refuse')").nth(1).waitFor();
}

// The second half of a double click comes to where the next page has a button by now. The half second in which that does
// nothing is held until it has come.
export async function secondClickDoesNothing(page, button) {
  await button.scrollIntoViewIfNeeded();
  const box = await button.boundingBox();
  await button.evaluate((one) => {
    one.style.animation = "none";
    one.getBoundingClientRect();
    one.style.animation = "";
    for (const settling of one.getAnimations()) settling.pause();
  });
  const sent = [];
  const note = (request) => { if (request.method() === "POST") sent.push(request.url()); };
  page.on("request", note);
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
  await button.evaluate((one) => { for (const settling of one.getAnimations()) settling.finish(); });
  assert.deepEqual(sent, []);
  page.off("request", note);
}
