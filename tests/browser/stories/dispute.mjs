// A live task from the form to a dispute, which two admins race for and one splits. The worker is a program.
import { assert } from "../visit.mjs";
import { signUp } from "./signing_up.mjs";

const PLACE = { gps_latitude: "40.7163", gps_longitude: "-73.9595" };

async function expect(status, answer) {
  assert.equal(answer.status(), status, `${answer.url()}: ${await answer.text()}`);
  return answer.json();
}

// Verified, and ready to be paid.
async function readyWorker(page) {
  const person = { email: "lin@example.com", password: "correct horse battery", name: "Lin", home_latitude: 40.7163, home_longitude: -73.9595 };
  const { token, worker } = await expect(201, await page.request.post("/v1/workers", { data: person }));
  const headers = { authorization: `Bearer ${token}` };
  const { url } = await expect(201, await page.request.post("/v1/worker/payout_account", { headers, data: {} }));
  await page.goto(new URL(url).pathname);
  await page.click("button:text('Complete the account')");
  await page.waitForLoadState();
  const admin = { authorization: `Bearer ${process.env.LEGWORK_TEST_ADMIN_KEY}` };
  await expect(200, await page.request.post(`/v1/admin/workers/${worker.id}/verify`, { headers: admin, data: {} }));
  return (path, options = { data: {} }) => page.request.post(path, { headers, ...options });
}

async function paidTask(page) {
  await page.goto("/dashboard/live/tasks/new");
  await page.fill("#title", "Photograph the door");
  await page.fill("#description", "The whole door, from across the street.");
  await page.fill("#city", "Brooklyn");
  await page.fill("#state", "NY");
  await page.fill("#latitude", "40.7163");
  await page.fill("#longitude", "-73.9595");
  await page.locator("#longitude").blur();
  await page.locator("[data-map] svg").waitFor();
  await page.fill("#budget", "40");
  await page.click("button:text('Create the task and pay')");
  await page.waitForURL("**/tasks/*?done=created");
  const id = page.url().split("/").pop().split("?")[0];
  await page.click("a:has-text('Pay $40.00')");
  await page.fill("#card", "4242 4242 4242 4242");
  await visitorLooks(page, "pay");
  await page.click("button:has-text('Pay $40.00')");
  await page.click("a:text('Go to the task')");
  await page.getByRole("heading", { name: "Photograph the door" }).waitFor();
  return id;
}

let visitorLooks = async () => {};

// The page hears of it.
async function posted(page, id) {
  await page.goto(`/dashboard/live/tasks/${id}`);
  await page.locator(".badge", { hasText: "Posted" }).waitFor();
}

export async function dispute(visitor) {
  visitorLooks = (page, name) => visitor.look(page, null, name);
  const page = await visitor.window();
  await signUp(page, "dispute@example.com");
  const worker = await readyWorker(page);
  const id = await paidTask(page);
  await posted(page, id);
  const photo = { name: "door.png", mimeType: "image/png", buffer: await page.screenshot() };
  await expect(200, await worker(`/v1/worker/tasks/${id}/accept`));
  await expect(200, await worker(`/v1/worker/tasks/${id}/start`));
  await expect(201, await worker(`/v1/worker/tasks/${id}/proofs`, { multipart: { photo, ...PLACE } }));
  // The page of the task reads itself again, which could call off the next one.
  await page.locator(".badge", { hasText: "Proof submitted" }).first().waitFor();
  await page.goto(`/dashboard/live/review?task=${id}`);
  await page.keyboard.press("r");
  const sent = page.waitForResponse((response) => response.url().endsWith("/reject"));
  await page.keyboard.press("2");
  await sent;
  const statement = { data: { statement: "The <b>whole</b> door is in the picture." } };
  await expect(200, await worker(`/v1/worker/tasks/${id}/dispute`, statement));
  await page.goto(`/dashboard/live/tasks/${id}`);
  await page.fill("#statement", "It shows a window.");
  await page.click("button:text('Keep my statement')");
  await page.getByText("Your statement is kept.").waitFor();
  await decide(visitor);
  // The page hears of it, and is read again by itself.
  await page.getByText("Half of it is there.").first().waitFor();
  await page.getByText("The dispute is decided: the worker gets a part").waitFor();
  await page.context().close();
}

async function admin(visitor, key) {
  const page = await visitor.window();
  await page.goto("/admin/sign-in");
  await page.fill("#key", key);
  await page.click("button:text('Sign in')");
  await page.waitForURL("**/admin/queue");
  return page;
}

// Of two admins, one has the claim.
async function decide(visitor) {
  const first = await admin(visitor, process.env.LEGWORK_TEST_ADMIN_KEY);
  const second = await admin(visitor, process.env.LEGWORK_TEST_THIRD_ADMIN_KEY);
  await first.goto("/admin/queue?kind=dispute");
  await first.click("text=Claim next");
  await first.getByText("Claimed by").waitFor();
  await second.goto(first.url());
  await second.getByText("has claimed it").waitFor();
  assert.equal(await second.locator("input[name=decision]").count(), 0);
  await visitor.look(first, null, "console-dispute");
  await first.check("input[name=decision][value=split]");
  await first.fill("#paid_cents", "2000");
  await first.fill("#note", "Half of it is there.");
  await withoutASession(first);
  await sentTooLate(first);
  await first.locator("button:text('Decide')").press("Enter");
  await first.getByText("The dispute is decided.").waitFor();
  await first.context().close();
  await second.context().close();
}

// What was typed stays when the session has ended, and goes on when there is one again.
async function withoutASession(page) {
  const cookies = await page.context().cookies();
  await page.context().clearCookies();
  await page.fill("#paid_cents", "1999");
  await page.getByText("Your session has ended: sign in on another page").waitFor();
  assert.equal(await page.locator("[data-result] input").count(), 0);
  await page.context().addCookies(cookies);
  await page.fill("#paid_cents", "2000");
  await page.locator("[data-result]", { hasText: "goes back to the developer" }).waitFor();
}

// What was sent after the session had ended is there again after signing in, even if another page comes first.
async function sentTooLate(page) {
  const item = page.url();
  await page.context().clearCookies();
  await page.click("button:text('Decide')");
  await page.waitForURL("**/admin/sign-in**");
  await page.goto("/admin/sign-in");
  await page.fill("#key", process.env.LEGWORK_TEST_ADMIN_KEY);
  await page.press("#key", "Enter");
  await page.waitForURL("**/admin/queue");
  await page.goto(item);
  await page.getByText("This was not sent, because your session had ended.").waitFor();
  assert.equal(await page.inputValue("#note"), "Half of it is there.");
  assert.equal(await page.inputValue("#paid_cents"), "2000");
  assert.ok(await page.isChecked("input[name=decision][value=split]"));
}
