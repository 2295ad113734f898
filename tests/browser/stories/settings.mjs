// Keys, webhook, payment, clock, and the account.
import { assert } from "../visit.mjs";
import { until } from "../world.mjs";
import { PASSWORD, signUp } from "./signing_up.mjs";

export async function settings(visitor) {
  const page = await visitor.window();
  await signUp(page, "settings@example.com");
  await page.goto("/dashboard/test/keys");
  await page.fill("#name", "<b>Robot</b>");
  await page.click("button:text('Make a test key')");
  assert.match(await page.textContent(".secret"), /^svc_test_/);
  await stopped(page);
  await visitor.look(page, "/dashboard/test/keys", "keys");
  await visitor.look(page, "/dashboard/test/webhook", "webhook");
  await page.fill("#url", "not a url");
  await page.locator("form[action$='/webhook'] input[type=url]").evaluate((input) => { input.type = "text"; });
  await page.click("button:text('Save')");
  await page.locator("#url-fault").waitFor();
  assert.equal(await page.inputValue("#url"), "not a url");
  await visitor.look(page, "/dashboard/test/payment", "payment");
  await visitor.look(page, "/dashboard/test/clock", "clock");
  await page.click("text=Advance an hour");
  await page.getByText("1 hour ahead").waitFor();
  await visitor.look(page, "/dashboard/live", "home-live");
  await visitor.look(page, "/dashboard/test/review", "review-empty");
  await account(visitor, page);
  await page.context().close();
}

// A form is sent once, and again when somebody has stopped the browser before the server answered.
async function stopped(page) {
  const asked = [];
  page.on("request", (request) => { if (request.method() === "POST") asked.push(request.url()); });
  await page.goto("/dashboard/test/keys");
  await page.fill("#name", "Stopped");
  await page.route("**/keys", () => {}, { times: 1 });
  const press = (times) => page.evaluate((times) => {
    for (let count = 0; count < times; count += 1) document.querySelector("form:has(#name)").requestSubmit();
  }, times);
  await press(2);
  await until(() => asked.length > 0, "the request");
  assert.equal(asked.length, 1);
  const session = await page.context().newCDPSession(page);
  await session.send("Page.stopLoading");
  await press(1);
  await page.locator(".secret").waitFor();
  assert.equal(asked.length, 2);
  await session.detach();
}

async function account(visitor, page) {
  await visitor.look(page, "/account", "account");
  await page.goto("/account/factor");
  await page.click("text=Set it up");
  await page.locator(".qr svg").waitFor();
  await visitor.look(page, null, "factor");
  await page.goto("/account");
  await page.fill("#current_password", "wrong password");
  await page.fill("#password", "another good password");
  await page.click("text=Change it");
  await page.locator("#current_password-fault").waitFor();
  await page.fill("#current_password", PASSWORD);
  await page.fill("#password", "another good password");
  await page.click("text=Change it");
  await page.getByText("Your password is changed.").waitFor();
}
