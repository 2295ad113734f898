// A webhook that nobody answers: what failed is seen, and sent again.
import { assert } from "../visit.mjs";
import { signUp } from "./signing_up.mjs";

export async function webhook(visitor) {
  const page = await visitor.window();
  await signUp(page, "webhook@example.com");
  await page.goto("/dashboard/test/webhook");
  // Nothing listens on this port.
  await page.fill("#url", "https://127.0.0.1:9/hooks");
  await page.click("button:text('Save')");
  await page.getByText("whsec_").first().waitFor();
  await page.goto("/dashboard/test");
  await page.click("text=Create it with one click");
  await page.getByText("The task is created.").waitFor();
  await page.locator("a[href*='/webhook/deliveries/']").first().click();
  const tried = () => page.locator("main ol.timeline li").count();
  const before = await until(page, async () => (await tried()) > 0, tried);
  await page.getByText("No answer").first().waitFor();
  await visitor.look(page, null, "delivery");
  await page.click("button:text('Send it again')");
  const after = await until(page, async () => (await tried()) > before, tried);
  assert.ok(after > before, "it was tried again");
  await page.context().close();
}

// Looks again until it is so, for ten seconds.
async function until(page, isSo, told) {
  for (let tries = 0; tries < 50 && !(await isSo()); tries += 1) {
    await page.waitForTimeout(200);
    await page.reload();
  }
  return told();
}
