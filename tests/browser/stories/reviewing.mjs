// Several proofs without a mouse: approve, take back, reject with a template, next and previous.
import { assert } from "../visit.mjs";
import { signUp } from "./signing_up.mjs";

async function createWithProof(page) {
  await page.goto("/dashboard/test/tasks/new");
  await page.fill("#title", "<script>alert(1)</script> & \"quotes\"");
  await page.fill("#description", "<img src=x onerror=alert(1)>");
  await page.fill("#city", "Brooklyn");
  await page.fill("#state", "NY");
  await page.fill("#latitude", "40.7163");
  await page.fill("#longitude", "-73.9595");
  await page.fill("#budget", "30");
  assert.equal(await page.textContent("[data-payout]"), "$25.20");
  await page.click("button:text('Create the task')");
  await page.click("button:text('Advance to the proof')");
  await page.getByText("There is proof.").waitFor();
  return page.url().split("/").pop().split("?")[0];
}

export async function reviewing(visitor) {
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
  await page.keyboard.press("k");
  await page.getByText("1 of 3", { exact: true }).waitFor();
  // Approved, taken back, approved again.
  await page.keyboard.press("a");
  await page.getByText("2 of 3", { exact: true }).waitFor();
  await page.click("text=Undo");
  await page.getByText("1 of 3", { exact: true }).waitFor();
  await page.keyboard.press("a");
  await page.getByText("2 of 3", { exact: true }).waitFor();
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
  await page.getByText("Done: you approved the proof").waitFor();
  await visitor.look(page, "/dashboard/test", "home");
  await visitor.look(page, "/dashboard/test/tasks", "tasks");
  await visitor.look(page, "/dashboard/test/tasks/new", "new-task");
  await page.context().close();
}
