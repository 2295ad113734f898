// Somebody signs up and in, with a cookie that only our own pages send.
import { assert } from "../visit.mjs";

export const PASSWORD = "correct horse battery";

export async function signUp(page, email) {
  await page.goto("/sign-up");
  await page.fill("#name", "Ada Lovelace");
  await page.fill("#email", email);
  await page.fill("#password", PASSWORD);
  await page.click("text=Create account");
  await page.getByRole("heading", { name: "Welcome" }).waitFor();
}

export async function signingUp(visitor) {
  const page = await visitor.window();
  await signUp(page, "ada@example.com");
  await visitor.look(page, null, "welcome");
  const [cookie] = await page.context().cookies();
  assert.equal(cookie.name, "__Host-legwork_dev");
  assert.ok(cookie.secure && cookie.httpOnly && cookie.sameSite === "Lax");
  await page.click("text=Open your dashboard");
  await visitor.look(page, null, "home-empty");
  await page.click("text=Sign out");
  await page.waitForURL("**/sign-in");
  await page.goto("/dashboard/live");
  await page.fill("#email", "ada@example.com");
  await page.fill("#password", "wrong password");
  await page.click("button:text('Sign in')");
  await page.getByRole("alert").waitFor();
  assert.equal(await page.inputValue("#email"), "ada@example.com");
  await page.fill("#password", PASSWORD);
  await page.click("button:text('Sign in')");
  await page.waitForURL("**/dashboard/live");
  await page.context().close();
}
