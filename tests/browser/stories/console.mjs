// An admin signs in, claims an application and decides it, and looks at every page of the console.
import { secondClickDoesNothing } from "./limited_key.mjs";
import { assert } from "../visit.mjs";

const PAGES = [
  ["/admin/queue?kind=dispute", "console-queue-empty"],
  ["/admin/accounts", "console-accounts"],
  ["/admin/accounts?q=nobody@example.com", "console-accounts-none"],
  ["/admin/workers", "console-workers"],
  ["/admin/tasks", "console-tasks"],
  ["/admin/jobs", "console-jobs"],
  ["/admin/notices", "console-notices"],
  ["/admin/audit", "console-audit"],
  ["/admin/reports", "console-reports"],
  ["/admin/health", "console-health"],
];

// A worker who has sent documents. The picture is one of the page that is open.
async function apply(page, email = "grace@example.com", name = "Grace <b>Hopper</b>") {
  const post = (path, options) => page.request.post(path, options);
  const person = { email, password: "correct horse battery", name };
  const signedUp = await post("/v1/workers", { data: person });
  assert.equal(signedUp.status(), 201, await signedUp.text());
  const { token, worker } = await signedUp.json();
  const picture = (name) => ({ name: `${name}.png`, mimeType: "image/png", buffer: pictures[name] });
  const pictures = { identity: await page.screenshot(), selfie: await page.screenshot({ clip: { x: 0, y: 0, width: 400, height: 500 } }) };
  const sent = await post("/v1/worker/verification", {
    headers: { authorization: `Bearer ${token}` },
    multipart: { identity: picture("identity"), selfie: picture("selfie") },
  });
  assert.equal(sent.status(), 201, await sent.text());
  return worker.id;
}

const AS_ADMIN = { headers: { authorization: `Bearer ${process.env.LEGWORK_TEST_ADMIN_KEY}` } };

async function statusOf(page, worker) {
  const answer = await page.request.get(`/v1/admin/workers/${worker}`, AS_ADMIN);
  return (await answer.json()).worker.status;
}

// The second click of a double click would fall on the next applicant, whose documents nobody has seen.
async function aDoubleClickDecidesOnce(page) {
  const applicants = [await apply(page, "ann@example.com", "Ann"), await apply(page, "bea@example.com", "Bea")];
  const verified = async () => {
    const all = await Promise.all(applicants.map((worker) => statusOf(page, worker)));
    return all.filter((status) => status === "verified").length;
  };
  await page.goto("/admin/queue?kind=worker_verification");
  await page.goto(`${await page.getAttribute("td.lead a", "href")}?kind=worker_verification`);
  const button = page.locator("button:text('Verify')");
  await button.click();
  await page.getByText("The worker is verified.").waitFor();
  await page.getByText("Claimed by").waitFor();
  await secondClickDoesNothing(page, button);
  assert.equal(await verified(), 1);
  // Whoever means it goes on.
  await button.press("Enter");
  await page.waitForURL("**/admin/queue?done=verify*");
  assert.equal(await verified(), 2);
}

// As large as it is, or as the window.
async function aPictureGrows(page, picture) {
  const before = await picture.boundingBox();
  await picture.click();
  const after = await picture.boundingBox();
  assert.ok(after.width > before.width * 1.5 && after.height > before.height * 1.5, `${before.width} to ${after.width}`);
  await page.keyboard.press("Escape");
  assert.deepEqual(await picture.boundingBox(), before);
}

export async function console(visitor) {
  const page = await visitor.window();
  await visitor.look(page, "/admin/sign-in", "console-sign-in");
  await apply(page);
  await page.goto("/admin");
  await page.fill("#key", "svc_admin_wrong");
  await page.click("button:text('Sign in')");
  await page.getByRole("alert").waitFor();
  await page.fill("#key", process.env.LEGWORK_TEST_ADMIN_KEY);
  await page.click("button:text('Sign in')");
  await page.waitForURL("**/admin/queue");
  await visitor.look(page, null, "console-queue");
  for (const [path, name] of PAGES) await visitor.look(page, path, name);
  await page.goto("/admin/workers");
  await page.click("text=Hopper");
  await visitor.look(page, null, "console-worker");
  await page.goto("/admin/accounts");
  await page.click(".table a");
  await visitor.look(page, null, "console-account");
  await page.goto("/admin/queue");
  await page.click("text=Claim next");
  await page.getByText("Claimed by").waitFor();
  await visitor.look(page, null, "console-verification");
  await aPictureGrows(page, page.locator("img.proof").first());
  await page.fill("#note", "The names agree.");
  await page.click("button:text('Verify')");
  await page.getByText("The worker is verified.").waitFor();
  await visitor.look(page, null, "console-all-clear");
  await aDoubleClickDecidesOnce(page);
  await page.click("text=Sign out");
  await page.waitForURL("**/admin/sign-in");
  await page.context().close();
}
