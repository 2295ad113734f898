// From the empty dashboard to a proof on the screen, and on to a task that is paid. With scripts off, too.
import { assert } from "../visit.mjs";
import { until } from "../world.mjs";
import { signUp } from "./signing_up.mjs";

export async function firstTask(visitor) {
  for (const javaScriptEnabled of [false, true]) {
    const page = await visitor.window({ javaScriptEnabled });
    await signUp(page, `first-${javaScriptEnabled}@example.com`);
    await page.click("text=Open your dashboard");
    await page.click("text=Show me the curl");
    assert.match(await page.textContent("pre"), /Bearer svc_test_[0-9a-f]{64}/);
    await page.click("text=Create it with one click");
    await page.getByText("The task is created.").waitFor();
    await page.click("button:text('Advance to the proof')");
    await page.getByText("There is proof.").waitFor();
    const image = page.locator("figure img").first();
    await image.waitFor();
    if (javaScriptEnabled) {
      await image.evaluate((one) => one.decode());
      await visitor.look(page, null, "task");
    }
    await page.click("text=Review the proof");
    await page.getByRole("heading", { name: "Photograph a storefront" }).waitFor();
    if (javaScriptEnabled) await visitor.look(page, null, "review");
    await page.click("button:has-text('Approve and pay')");
    if (javaScriptEnabled) {
      // Whoever leaves sends the decision at once, and the page they go to may be there before it.
      await page.getByText("Approved:").waitFor();
    } else {
      await page.getByText("Nothing waits for you").waitFor();
    }
    await until(async () => {
      await page.goto("/dashboard/test/tasks");
      return page.locator(".badge", { hasText: "Completed" }).count();
    }, "a completed task");
    await page.goto("/dashboard/test/tasks?status=completed&q=storefront&category=photography");
    await page.click("td a");
    await page.getByText("Done: the proof counts").waitFor();
    await page.context().close();
  }
}
