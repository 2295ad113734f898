// Keys of one letter are listed, and can be turned off: by the keyboard, by the mouse, in the dashboard and in the console.
import { assert } from "../visit.mjs";
import { createWithProof } from "./reviewing.mjs";
import { signUp } from "./signing_up.mjs";

export async function keys(visitor) {
  const page = await visitor.window();
  await signUp(page, "keys@example.com");
  for (let count = 0; count < 2; count += 1) await createWithProof(page);
  await page.goto("/dashboard/test/review");
  await listed(visitor, page);
  await turnedOff(page);
  await remembered(page);
  await turnedOnInTheAccount(page);
  await page.context().close();
  await ofTheConsole(visitor);
}

const help = (page) => page.getByRole("dialog", { name: "Keyboard" });
const isFocused = (page, field) => page.locator(field).evaluate((one) => one === document.activeElement);

async function listed(visitor, page) {
  await page.keyboard.press("?");
  await help(page).waitFor();
  const shown = await help(page).locator("dt, dd").allTextContents();
  const expected = ["j", "Next", "z", "Zoom", "a", "Approve and pay $25.20", "r", "Reject: why?", "?", "This list"];
  for (const text of expected) assert.ok(shown.includes(text), `${text} in ${shown}`);
  for (const width of [320, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    await visitor.check(page, `list of keys at ${width}`);
    await visitor.picture(page, `key-help-${width}`);
  }
  // What is behind the list hears none of them.
  await page.keyboard.press("a");
  assert.equal(await page.locator(".toast").count(), 0);
}

async function turnedOff(page) {
  await page.getByLabel("Use keys of one letter").press("Space");
  await page.keyboard.press("Escape");
  await help(page).waitFor({ state: "hidden" });
  await nothingHappens(page);
  await page.focus("#reason");
  await page.keyboard.press("1");
  assert.equal(await page.inputValue("#reason"), "1");
  await page.fill("#reason", "");
}

async function nothingHappens(page) {
  await page.getByText("1 of 2", { exact: true }).waitFor();
  for (const key of ["j", "z", "r", "?", "a"]) await page.keyboard.press(key);
  assert.equal(await page.locator(".toast, .zoomed, dialog[open]").count(), 0);
  assert.ok(!await isFocused(page, "#reason"));
  await page.getByText("1 of 2", { exact: true }).waitFor();
}

async function remembered(page) {
  await page.reload();
  await nothingHappens(page);
  await page.goto("/dashboard/test/tasks");
  await page.keyboard.press("/");
  await page.keyboard.press("n");
  assert.ok(!await isFocused(page, "#q"));
  assert.match(page.url(), /\/tasks$/);
}

async function turnedOnInTheAccount(page) {
  await page.goto("/account");
  const box = page.locator("main").getByLabel("Use keys of one letter");
  assert.ok(!await box.isChecked());
  await box.check();
  await page.goto("/dashboard/test/tasks");
  await page.keyboard.press("/");
  assert.ok(await isFocused(page, "#q"));
}

async function ofTheConsole(visitor) {
  const page = await visitor.window();
  await page.goto("/admin/sign-in");
  await page.fill("#key", process.env.LEGWORK_TEST_ADMIN_KEY);
  await page.click("button:text('Sign in')");
  await page.waitForURL("**/admin/queue");
  await page.goto("/admin/accounts");
  await page.click("button:text('Keyboard')");
  await help(page).getByText("E-mail address or ID").waitFor();
  await help(page).getByLabel("Use keys of one letter").uncheck();
  await help(page).getByText("Close").click();
  await page.keyboard.press("/");
  assert.ok(!await isFocused(page, "#q"));
  await page.context().close();
}
