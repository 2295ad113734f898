// From the empty dashboard to a proof on the screen, and on to a task that is paid. With scripts off, too.
import { assert } from "../visit.mjs";
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
      assert.ok(await image.evaluate((one) => one.complete && one.naturalWidth > 0), "the picture is shown");
      await visitor.look(page, null, "task");
    }
    await page.click("text=Review the proof");
    await page.getByRole("heading", { name: "Photograph a storefront" }).waitFor();
    if (javaScriptEnabled) await visitor.look(page, null, "review");
    await page.click("button:has-text('Approve and pay')");
    if (javaScriptEnabled) {
      await page.getByText("Approved.").waitFor();
      const sent = page.waitForResponse((response) => response.url().endsWith("/approve"));
      await page.goto("/dashboard/test/tasks");
      await sent.catch(() => {});
    } else {
      await page.getByText("Nothing waits for you").waitFor();
    }
    await page.goto("/dashboard/test/tasks");
    await page.locator(".badge", { hasText: "Completed" }).first().waitFor();
    await page.goto("/dashboard/test/tasks?status=completed&q=storefront&category=photography");
    await page.click("td a");
    await page.getByText("Done: you approved the proof").waitFor();
    await page.context().close();
  }
}
