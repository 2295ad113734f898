// A developer, a worker and an admin add a passkey and sign in with it.
import { assert } from "../visit.mjs";
import { PASSWORD, signUp } from "./signing_up.mjs";

// A window with an authenticator of its own, which says yes.
async function withKey(visitor, options = {}) {
  const page = await visitor.window(options);
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("WebAuthn.enable");
  const { authenticatorId } = await cdp.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true,
      isUserVerified: true, automaticPresenceSimulation: true,
    },
  });
  return { page, cdp, authenticatorId };
}

async function add(page, path, words) {
  await page.goto(path);
  await page.fill("#name", "My phone");
  await page.click(`button:text-is('${words}')`);
  await page.locator("pre code").waitFor();
  assert.match(await page.textContent("table"), /My phone/);
}

export async function passkeys(visitor) {
  await ofADeveloper(visitor);
  await ofAWorker(visitor);
  await ofAnAdmin(visitor);
  await whereThereAreNone(visitor);
}

async function ofADeveloper(visitor) {
  const { page, cdp, authenticatorId } = await withKey(visitor);
  await signUp(page, "passkey@example.com");
  await add(page, "/account/passkeys", "Add a passkey");
  await visitor.look(page, null, "passkeys-added");
  // The same authenticator is not added twice.
  await page.goto("/account/passkeys");
  await page.fill("#name", "Again");
  await page.click("button:text-is('Add a passkey')");
  await page.getByText("This passkey is known already.").waitFor();
  await page.click("text=Sign out");
  await page.waitForURL("**/sign-in");
  // Whoever is not recognised stays out, and can try again.
  await cdp.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: false });
  await page.click("text=Sign in with a passkey");
  await page.getByText("It was cancelled").waitFor();
  await cdp.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: true });
  await page.click("text=Sign in with a passkey");
  await page.waitForURL("**/dashboard/test");
  await page.click("text=Sign out");
  await page.fill("#email", "passkey@example.com");
  await page.fill("#password", PASSWORD);
  await page.click("button:text-is('Sign in')");
  await page.locator("#code").waitFor();
  await visitor.look(page, null, "sign-in-factor");
  await page.click("text=Use a passkey");
  await page.waitForURL("**/dashboard/test");
  // It is also given again, before something dangerous.
  await page.goto("/account/again?next=/account/passkeys");
  await visitor.look(page, null, "again");
  await page.click("text=Use a passkey");
  await page.waitForURL("**/account/passkeys");
  await page.click("button:text('Remove')");
  await page.getByText("The passkey is removed.").waitFor();
  await page.context().close();
}

async function ofAWorker(visitor) {
  const { page } = await withKey(visitor, { locale: "es-ES" });
  await page.goto("/worker/sign-up");
  await page.fill("#name", "Wanda");
  await page.fill("#email", "passkey-worker@example.com");
  await page.fill("#password", PASSWORD);
  await page.click("main form button.full");
  await page.waitForURL("**/worker/start");
  await add(page, "/worker/me/passkeys", "Añadir una llave de acceso");
  await visitor.look(page, null, "worker-passkeys");
  await page.context().clearCookies();
  await page.goto("/worker/sign-in");
  await page.click("text=Entrar con una llave de acceso");
  await page.waitForURL("**/worker/tasks");
  await page.context().close();
}

async function ofAnAdmin(visitor) {
  const { page } = await withKey(visitor);
  const enter = async () => {
    await page.goto("/admin/sign-in");
    await page.fill("#key", process.env.LEGWORK_TEST_FOURTH_ADMIN_KEY);
    await page.click("button:text-is('Sign in')");
  };
  await enter();
  await page.waitForURL("**/admin/queue");
  await add(page, "/admin/passkeys", "Add a passkey");
  await page.click("text=Sign out");
  await enter();
  await page.locator("#code").waitFor();
  await page.click("text=Use a passkey");
  await page.waitForURL("**/admin/queue");
  await visitor.look(page, "/admin/passkeys", "admin-passkeys");
  await visitor.look(page, "/admin/again?next=/admin/passkeys", "admin-again");
  await page.click("text=Use a passkey");
  await page.waitForURL("**/admin/passkeys");
  await page.context().close();
}

// Numbers have no passkeys, and without scripts there are none. The password still works.
async function whereThereAreNone(visitor) {
  const numbers = await visitor.window({ baseURL: visitor.url.replace("localhost", "127.0.0.1") });
  await numbers.goto("/sign-in");
  const link = numbers.locator("[data-note] a");
  assert.equal(await link.getAttribute("href"), `${visitor.url}/sign-in`);
  assert.ok(await numbers.locator("text=Sign in with a passkey").isHidden());
  await numbers.context().close();
  const plain = await visitor.window({ javaScriptEnabled: false });
  await plain.goto("/sign-in");
  await plain.getByText("Passkeys need JavaScript.").waitFor();
  await plain.fill("#email", "nobody@example.com");
  await plain.fill("#password", PASSWORD);
  await plain.click("button:text-is('Sign in')");
  await plain.getByRole("alert").waitFor();
  await plain.context().close();
}
