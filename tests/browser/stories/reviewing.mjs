// Several proofs without a mouse: approve, take back, reject with a template, next and previous.
import { assert } from "../visit.mjs";
import { Line } from "../line.mjs";
import { PASSWORD, until } from "../world.mjs";
import { signUp } from "./signing_up.mjs";

export async function createWithProof(page) {
  await page.goto("/dashboard/test/tasks/new");
  await page.fill("#title", "<script>alert(1)</script> & \"quotes\"");
  await page.fill("#description", "<img src=x onerror=alert(1)>");
  await page.fill("#city", "Brooklyn");
  await page.fill("#state", "NY");
  await page.fill("#latitude", "40.7163");
  await page.fill("#longitude", "-73.9595");
  await page.fill("#budget", "30");
  assert.equal(await page.textContent("[data-payout]"), "$25.20");
  await page.press("#title", "Enter");
  await page.click("button:text('Advance to the proof')");
  await page.getByText("There is proof.").waitFor();
  return page.url().split("/").pop().split("?")[0];
}

// How long a proof that has just come cannot be decided.
const DOUBLE_CLICK = 600;
const UNDO = 5_000;
// How long what was sent by a page that was left has to arrive.
const ARRIVAL = 2_000;

export async function reviewing(visitor) {
  await decisions(visitor);
  await oneAtATime(visitor);
  await withoutNetwork(visitor);
}

async function decisions(visitor) {
  const page = await visitor.window();
  await signUp(page, "reviewer@example.com");
  const tasks = [];
  for (let count = 0; count < 3; count += 1) tasks.push(await createWithProof(page));
  // A decision waits for five seconds of the page's clock, and this one stands still.
  await page.clock.install();
  await page.goto("/dashboard/test/review");
  await page.clock.pauseAt(Date.now() + 60_000);
  await page.getByText("1 of 3", { exact: true }).waitFor();
  await page.keyboard.press("j");
  await page.getByText("2 of 3", { exact: true }).waitFor();
  await lastFirst(page);
  await page.keyboard.press("k");
  await page.getByText("1 of 3", { exact: true }).waitFor();
  // Approved, taken back, approved again.
  await page.keyboard.press("a");
  await page.getByText("2 of 3", { exact: true }).waitFor();
  await page.click("text=Undo");
  await page.getByText("1 of 3", { exact: true }).waitFor();
  await page.clock.runFor(DOUBLE_CLICK);
  await page.keyboard.press("a");
  await page.getByText("2 of 3", { exact: true }).waitFor();
  await page.clock.runFor(DOUBLE_CLICK);
  const sent = page.waitForResponse((response) => response.url().endsWith("/reject"));
  await page.keyboard.press("r");
  await page.keyboard.press("2");
  await page.getByText("3 of 3", { exact: true }).waitFor();
  await page.clock.runFor(5_000);
  await sent;
  await page.clock.resume();
  await page.goto(`/dashboard/test/tasks/${tasks[1]}`);
  await page.getByText("does not show what the task asks for").first().waitFor();
  await page.goto(`/dashboard/test/tasks/${tasks[0]}`);
  await page.getByText("Done: the proof counts").waitFor();
  await backToTheForm(page);
  await moneyAsItIsShown(page);
  await asAProgram(page);
  await visitor.look(page, "/dashboard/test", "home");
  await visitor.look(page, "/dashboard/test/tasks", "tasks");
  await visitor.look(page, "/dashboard/test/tasks/new", "new-task");
  await page.context().close();
}

// Whoever decides the last one comes to those that still wait, and can take it back there.
async function lastFirst(page) {
  await page.keyboard.press("j");
  await page.getByText("3 of 3", { exact: true }).waitFor();
  await page.keyboard.press("a");
  await page.getByText("1 of 3", { exact: true }).waitFor();
  await page.click("text=Undo");
  await page.getByText("3 of 3", { exact: true }).waitFor();
  await page.clock.runFor(DOUBLE_CLICK);
  await page.keyboard.press("k");
  await page.getByText("2 of 3", { exact: true }).waitFor();
}

// The back button brings back what was entered, with its sums.
async function backToTheForm(page) {
  await page.goto("/dashboard/test/tasks/new");
  await page.fill("#budget", "50");
  await page.fill("#city", "Queens");
  await page.goto("/dashboard/test/tasks");
  await page.goBack();
  assert.equal(await page.inputValue("#city"), "Queens");
  assert.equal(await page.textContent("[data-payout]"), "$42.00");
}

// The form takes money as pages show it, and shows no sum for what the server refuses.
async function moneyAsItIsShown(page) {
  await page.goto("/dashboard/test/tasks/new");
  for (const [given, total] of [["$1,234.50", "$1,234.50"], ["$ 30", "$30.00"], ["25.", "$25.00"], ["1e3", "–"], ["12,34", "–"], ["5.001", "–"]]) {
    await page.fill("#budget", given);
    assert.equal(await page.textContent("[data-total]"), total, given);
  }
}

// The same task from a program has all that was entered, and nothing that was not.
async function asAProgram(page) {
  await page.goto("/dashboard/test/tasks/new");
  const curl = async () => JSON.parse((await page.textContent("[data-curl]")).match(/-d '([^]*)'$/)[1]);
  assert.deepEqual((await curl()).location, { city: "", state: "" });
  await page.fill("#latitude", "0");
  await page.click("summary:text('Skills and metadata')");
  await page.fill("#metadata", '{"order": 4711, "rush": true, "notes": [null]}');
  assert.equal((await curl()).location.latitude, 0);
  assert.deepEqual((await curl()).metadata, { order: 4711, rush: true, notes: [null] });
  assert.match(await page.textContent("[data-python]"), /"rush": True,\s+"notes": \[\s+None\s+\]/);
}

async function statusOf(page, task) {
  const reply = await page.context().request.get(`/dashboard/test/tasks/${task}`);
  return (await reply.text()).match(/class="badge[^>]*>([^<]*)/)[1];
}

// Nobody decides two proofs with one click, and what is not done does not look done.
async function oneAtATime(visitor) {
  const page = await visitor.window();
  await signUp(page, "careful@example.com");
  const tasks = [];
  for (let count = 0; count < 3; count += 1) tasks.push(await createWithProof(page));
  const sent = [];
  page.on("request", (request) => { if (request.method() === "POST") sent.push(request.url()); });
  const status = (at) => statusOf(page, tasks[at]);
  await page.clock.install();
  await page.goto("/dashboard/test/review");
  await page.clock.pauseAt(Date.now() + 60_000);
  await doubleClick(page);
  await heldKey(page);
  assert.deepEqual(sent, []);
  // Each has its own five seconds.
  const first = page.waitForResponse((response) => response.url().endsWith("/approve"));
  await page.clock.runFor(UNDO - 2 * DOUBLE_CLICK + 100);
  await first;
  assert.equal(sent.length, 1);
  assert.equal(await page.locator(".toast").count(), 1);
  await page.click("text=Undo");
  await page.getByText("1 of 2", { exact: true }).waitFor();
  await page.clock.runFor(DOUBLE_CLICK);
  await elsewhere(page);
  assert.equal(await status(1), "Proof rejected");
  await page.clock.runFor(DOUBLE_CLICK);
  await sessionEnds(page, visitor);
  await signInAgain(page);
  assert.deepEqual([await status(0), await status(1), await status(2)], ["Completed", "Proof rejected", "Proof submitted"]);
  await page.context().close();
}

// The second click comes to where the next proof has its button by now.
async function doubleClick(page) {
  const approve = page.locator("button[data-key=a]");
  const box = await approve.boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await approve.click();
  await page.getByText("2 of 3", { exact: true }).waitFor();
  await page.mouse.click(x, y);
  await page.evaluate(() => document.querySelector("form[data-decision]").requestSubmit());
  await page.getByText("2 of 3", { exact: true }).waitFor();
  assert.equal(await page.locator(".toast").count(), 1);
  await page.clock.runFor(DOUBLE_CLICK);
}

async function heldKey(page) {
  await page.keyboard.down("a");
  await page.getByText("3 of 3", { exact: true }).waitFor();
  await page.clock.runFor(DOUBLE_CLICK);
  await page.keyboard.down("a");
  await page.keyboard.up("a");
  await page.getByText("3 of 3", { exact: true }).waitFor();
  assert.equal(await page.locator(".toast").count(), 2);
}

async function elsewhere(page) {
  await page.evaluate(async () => {
    const form = document.querySelector("form[data-decision=Rejected]");
    await fetch(form.action, { method: "POST", body: new URLSearchParams({ reason: "Too dark." }) });
  });
  await page.keyboard.press("a");
  await page.getByText("2 of 2", { exact: true }).waitFor();
  await page.clock.runFor(UNDO);
  const told = page.getByRole("alert").filter({ hasText: "decided elsewhere in the meantime: You have rejected the proof." });
  await told.getByText("See the task").waitFor();
  await told.getByText("Close").click();
}

async function sessionEnds(page, visitor) {
  await page.keyboard.press("a");
  await page.getByText("That was the last one.").waitFor();
  await page.context().clearCookies();
  await page.clock.runFor(UNDO);
  const told = page.getByRole("alert").filter({ hasText: "Your session has ended" });
  await told.getByText("Sign in", { exact: true }).waitFor();
  await page.clock.resume();
  await visitor.look(page, null, "review-session-ended");
  await told.getByText("Sign in", { exact: true }).click();
}

async function signInAgain(page) {
  await page.fill("#email", "careful@example.com");
  await page.fill("#password", PASSWORD);
  await page.click("button:text('Sign in')");
  await page.waitForURL("**/review?task=*");
}

// Nothing that was decided or written is lost without a word.
async function withoutNetwork(visitor) {
  const line = new Line();
  const page = await visitor.window({ baseURL: await line.open(visitor.url), losesNetwork: true });
  await signUp(page, "tunnel@example.com");
  const tasks = [];
  for (let count = 0; count < 3; count += 1) tasks.push(await createWithProof(page));
  await page.clock.install();
  await page.goto("/dashboard/test/review");
  await page.clock.pauseAt(Date.now() + 60_000);
  await undoKeepsTheReason(page);
  const told = await cutOff(page, line, tasks[1]);
  for (const task of tasks) assert.equal(await statusOf(page, task), "Proof submitted");
  await told.filter({ hasText: "Not rejected" }).getByText("Try again").click();
  await until(async () => await statusOf(page, tasks[0]) === "Proof rejected", "the rejection");
  await page.goto(`/dashboard/test/tasks/${tasks[0]}`);
  await page.getByText("The third row is cut off.").first().waitFor();
  await leftUnsent(page);
  await until(async () => await statusOf(page, tasks[1]) === "Completed", "the approval");
  await page.context().close();
  line.close();
}

async function undoKeepsTheReason(page) {
  await page.fill("#reason", "The third row is cut off.");
  await page.click("button.danger:text('Reject')");
  await page.getByText("2 of 3", { exact: true }).waitFor();
  assert.equal(await page.inputValue("#reason"), "");
  await page.click("text=Undo");
  await page.getByText("1 of 3", { exact: true }).waitFor();
  assert.equal(await page.inputValue("#reason"), "The third row is cut off.");
}

// The next proof is there already, and the one after it is not. Answers with what is told.
async function cutOff(page, line, next) {
  const loaded = page.waitForResponse((response) => response.url().endsWith(next));
  await page.reload();
  await (await loaded).finished();
  assert.equal(await page.inputValue("#reason"), "The third row is cut off.");
  line.cut();
  await page.click("button.danger:text('Reject')");
  await page.getByText("2 of 3", { exact: true }).waitFor();
  await page.clock.runFor(DOUBLE_CLICK);
  await page.keyboard.press("a");
  const told = page.getByRole("alert");
  await told.filter({ hasText: "The proof could not be loaded" }).waitFor();
  await page.clock.runFor(UNDO);
  await told.filter({ hasText: "Not rejected" }).waitFor();
  await told.filter({ hasText: "Not approved" }).waitFor();
  line.mend();
  return told;
}

// The approval was never sent. The next time that there is something to review, its reviewer hears of it.
async function leftUnsent(page) {
  await page.goto("/dashboard/test/review");
  await page.getByText("1 of 2", { exact: true }).waitFor();
  await page.clock.runFor(ARRIVAL);
  const told = page.getByRole("alert").filter({ hasText: "It was not sent when you left the page" });
  await told.getByText("Try again").click();
}
