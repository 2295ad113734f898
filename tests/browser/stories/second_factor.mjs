// A developer and an admin turn the second factor on, and sign in with a code.
import { createHmac } from "node:crypto";
import { assert } from "../visit.mjs";
import { PASSWORD, signUp } from "./signing_up.mjs";

// The code of an authenticator app (RFC 6238). A code works once, so the next one is asked for ahead of time.
function code(secret, ahead = 0) {
  const bits = [...secret.replace(/=+$/, "")].map((letter) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + ahead));
  const hash = createHmac("sha1", key).update(counter).digest();
  const at = hash[19] & 15;
  return String((hash.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

async function setUp(page, path) {
  await page.goto(path);
  await page.click("button:text('Set it up')");
  const shown = async () => (await page.textContent(".secret")).replaceAll(" ", "");
  const secret = await shown();
  // The app may have it by now.
  await page.reload();
  assert.equal(await shown(), secret);
  await page.fill("#code", "000000");
  await page.click("button:text('Turn it on')");
  await page.locator("#code-fault").waitFor();
  await page.fill("#code", code(secret));
  await page.click("button:text('Turn it on')");
  await page.getByRole("heading", { name: "Recovery codes" }).first().waitFor();
  return secret;
}

// Recovery codes are shown once, and whoever has lost them this way is told how to get others.
async function loseTheCodes(page) {
  await page.reload();
  await page.getByText("make new ones with the next code of your app").waitFor();
}

export async function secondFactor(visitor) {
  const page = await visitor.window();
  await signUp(page, "factor@example.com");
  const secret = await setUp(page, "/account/factor");
  await visitor.look(page, null, "factor-on");
  await loseTheCodes(page);
  await page.click("text=Sign out");
  await page.fill("#email", "factor@example.com");
  await page.fill("#password", PASSWORD);
  await page.click("button:text('Sign in')");
  await page.locator("#code").waitFor();
  await visitor.look(page, null, "sign-in-code");
  await page.fill("#password", PASSWORD);
  await page.fill("#code", code(secret, 1));
  await page.click("button:text('Sign in')");
  await page.waitForURL("**/dashboard/test");
  await page.context().close();
  await ofAnAdmin(visitor);
}

async function ofAnAdmin(visitor) {
  const page = await visitor.window();
  await page.goto("/admin/sign-in");
  await page.fill("#key", process.env.LEGWORK_TEST_SECOND_ADMIN_KEY);
  await page.click("button:text('Sign in')");
  await page.waitForURL("**/admin/queue");
  await visitor.look(page, "/admin/factor", "console-factor");
  const secret = await setUp(page, "/admin/factor");
  await loseTheCodes(page);
  await page.click("text=Sign out");
  await page.fill("#key", process.env.LEGWORK_TEST_SECOND_ADMIN_KEY);
  await page.click("button:text('Sign in')");
  await page.locator("#code").waitFor();
  await page.fill("#key", process.env.LEGWORK_TEST_SECOND_ADMIN_KEY);
  await page.fill("#code", code(secret, 1));
  await page.click("button:text('Sign in')");
  await page.waitForURL("**/admin/queue");
  assert.match(page.url(), /admin\/queue/);
  await page.context().close();
}
