// A new task that cannot be sent: nothing that was typed is lost.
import { assert } from "../visit.mjs";
import { Line } from "../line.mjs";
import { PASSWORD, signUp } from "./signing_up.mjs";

const TYPED = {
  title: "Count the shelves", description: "All of them, with the labels in view.", city: "Brooklyn", state: "NY",
  latitude: "40.7163", longitude: "-73.9595", budget: "30",
};
const FORM = "/dashboard/test/tasks/new";

export async function keptForm(visitor) {
  const line = new Line();
  const page = await visitor.window({ baseURL: await line.open(visitor.url), losesNetwork: true });
  await signUp(page, "kept@example.com");
  await page.goto(FORM);
  for (const [name, value] of Object.entries(TYPED)) await page.fill(`#${name}`, value);
  await page.check("[name=task_type][value=bounty]");
  await page.check("[name=proof_types][value=video]");
  await withoutNetwork(visitor, page, line);
  await withoutAnswer(page);
  await page.click("button:text('Create the task')");
  await page.getByText("The task is created.").waitFor();
  await page.getByText("$30.00").first().waitFor();
  await page.goto(FORM);
  assert.equal(await page.inputValue("#title"), "");
  await refused(page);
  await sessionEnds(page);
  await page.context().close();
  line.close();
}

async function isHere(page) {
  for (const [name, value] of Object.entries(TYPED)) assert.equal(await page.inputValue(`#${name}`), value, name);
  assert.ok(await page.isChecked("[name=task_type][value=bounty]"));
  assert.ok(await page.isChecked("[name=proof_types][value=video]"));
}

// The page stays, and is found again when the browser has lost it.
async function withoutNetwork(visitor, page, line) {
  line.cut();
  await page.click("button:text('Create the task')");
  await page.getByRole("alert").getByText("there is no network").waitFor();
  await visitor.check(page, "a task that was not sent");
  await visitor.picture(page, "new-task-not-sent");
  await isHere(page);
  await page.reload().catch(() => {});
  line.mend();
  await page.goto(FORM);
  await page.getByText("This was not sent, and is here again.").waitFor();
  await isHere(page);
  assert.equal(await page.textContent("[data-total]"), "$30.00");
}

async function withoutAnswer(page) {
  await page.route(`**${FORM}`, (route) => route.fulfill({ status: 503, body: "" }), { times: 1 });
  await page.click("button:text('Create the task')");
  await page.getByRole("alert").getByText("status 503").waitFor();
  await isHere(page);
}

// What the server refuses is told beside its field, as without scripts.
async function refused(page) {
  for (const [name, value] of Object.entries({ ...TYPED, latitude: "north" })) await page.fill(`#${name}`, value);
  await page.click("button:text('Create the task')");
  await page.locator("#latitude-fault").waitFor();
  await summedUp(page);
  assert.equal(await page.inputValue("#title"), TYPED.title);
  await page.goto(FORM);
  assert.equal(await page.inputValue("#title"), "");
}

// What is wrong stands at the top, in sight and with the focus, and leads to its field.
async function summedUp(page) {
  assert.match(await page.title(), /^Error: /);
  const link = page.getByRole("alert").getByRole("link", { name: /^Latitude: / });
  await page.locator("[role=alert]:focus").waitFor();
  await link.click();
  await page.locator("#latitude:focus").waitFor();
}

// Whoever has to sign in first finds what was typed, until it is sent.
async function sessionEnds(page) {
  const [place, url] = ["/dashboard/test/webhook", "https://hooks.example.com/legwork"];
  await page.goto(place);
  await page.fill("#url", url);
  await page.context().clearCookies();
  await page.click("button:text('Save')");
  // With its scripts.
  await page.waitForURL("**/sign-in**");
  await page.fill("#email", "kept@example.com");
  await page.fill("#password", PASSWORD);
  await page.click("button:text('Sign in')");
  await page.getByText("This was not sent, because your session had ended.").waitFor();
  assert.equal(await page.inputValue("#url"), url);
  await page.click("button:text('Save')");
  await page.getByText("The secret that signs every delivery").waitFor();
  await page.goto(place);
  assert.equal(await page.inputValue("#url"), url);
  assert.ok(!(await page.getByText("This was not sent").isVisible()));
}
