// A webhook that nobody answers: what failed is seen, and sent again.
import { assert } from "../visit.mjs";
import { PASSWORD, until } from "../world.mjs";
import { signUp } from "./signing_up.mjs";

export async function webhook(visitor) {
  const page = await visitor.window();
  await signUp(page, "webhook@example.com");
  await page.goto("/dashboard/test/webhook");
  // Nothing listens on this port.
  await page.fill("#url", "https://127.0.0.1:9/hooks");
  await page.click("button:text('Save')");
  await page.getByText("whsec_").first().waitFor();
  await afterPassword(page);
  await page.goto("/dashboard/test");
  await page.click("text=Create it with one click");
  await page.getByText("The task is created.").waitFor();
  await page.locator("a[href*='/webhook/deliveries/']").first().click();
  const before = await triedMoreThan(page, 0);
  await page.getByText("No answer").first().waitFor();
  await visitor.look(page, null, "delivery");
  await page.click("button:text('Send it again')");
  await triedMoreThan(page, before);
  await page.context().close();
}

// A form that has waited for the password is sent again by the browser, with all that it held.
async function afterPassword(page) {
  await page.goto("/account/again");
  await page.evaluate(() => {
    const waiting = { again_action: "/dashboard/test/webhook", url: "https://127.0.0.1:9/other" };
    for (const [name, value] of Object.entries(waiting)) {
      document.forms[0].append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
    }
  });
  await page.fill("#password", PASSWORD);
  await page.click("text=Go on");
  await page.getByText("whsec_").first().waitFor();
  assert.equal(await page.inputValue("#url"), "https://127.0.0.1:9/other");
}

// Loads the page again until it shows more attempts, and tells how many.
function triedMoreThan(page, count) {
  return until(async () => {
    await page.goto(page.url());
    const tried = await page.locator("main ol.timeline li").count();
    return tried > count && tried;
  }, "another attempt");
}
