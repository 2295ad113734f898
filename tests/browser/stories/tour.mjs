// The pictures of docs/tour.md: LEGWORK_TEST_TOUR names the folder they are written to.
import { mkdir, writeFile } from "node:fs/promises";
import { signUp } from "./signing_up.mjs";

const FOLDER = process.env.LEGWORK_TEST_TOUR;
const SHOPS = [
  ["Photograph a storefront", "240 Bedford Ave", 40.7163, -73.9595, 2500],
  ["Count the shelves of a supermarket", "1 Havemeyer St", 40.7178, -73.9537, 3200],
  ["Is the billboard lit?", "88 Wythe Ave", 40.7221, -73.9576, 1800],
  ["Collect a sample", "61 Berry St", 40.7207, -73.9588, 4000],
];

function task([title, address, latitude, longitude, budget_cents]) {
  return {
    title, description: "Front of the shop, with the door and the opening hours in view.", category: "photography", budget_cents,
    location: { address, city: "Brooklyn", state: "NY", latitude, longitude },
  };
}

// A small picture. The browser itself makes WebP of it.
async function picture(page, path, name, element) {
  if (path) await page.goto(path);
  await page.setViewportSize({ width: 1200, height: 800 });
  const png = await (element ? page.locator(element).first() : page).screenshot();
  const blank = await page.context().newPage();
  await blank.goto("about:blank");
  const webp = await blank.evaluate(async (data) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
    canvas.getContext("2d").drawImage(image, 0, 0);
    return canvas.toDataURL("image/webp", 0.8).split(",")[1];
  }, png.toString("base64"));
  await blank.close();
  await writeFile(`${FOLDER}/${name}.webp`, Buffer.from(webp, "base64"));
}

export async function tour(visitor) {
  await mkdir(FOLDER, { recursive: true });
  const page = await visitor.window();
  await signUp(page, "tour@example.com");
  const key = async (path, fields) => {
    await page.goto(path);
    for (const [name, value] of Object.entries(fields)) await page.fill(`#${name}`, value);
    await page.click("main form[method=post] button:has-text('Make a')");
    return page.textContent(".secret");
  };
  const post = async (key, path, data) => (await page.request.post(path, { headers: { authorization: `Bearer ${key}` }, data })).json();
  const own = await key("/dashboard/test/keys", { name: "Server" });
  const ids = [];
  for (const shop of SHOPS) ids.push((await post(own, "/v1/tasks", task(shop))).id);
  await post(own, `/v1/test_helpers/tasks/${ids[0]}/advance`, { to: "proof_submitted" });
  await post(own, `/v1/test_helpers/tasks/${ids[1]}/advance`, { to: "completed" });
  const limited = { name: "Store audit bot", max_task_cents: "50", day: "200", approval_above_cents: "20" };
  const bot = await key("/dashboard/test/keys/new", limited);
  await post(bot, "/v1/tasks", task(SHOPS[1]));
  await picture(page, "/dashboard/test", "home");
  await picture(page, "/dashboard/test/tasks?map=1", "tasks");
  await picture(page, `/dashboard/test/tasks/${ids[0]}`, "task");
  await picture(page, "/dashboard/test/review", "review");
  await picture(page, "/dashboard/test/approvals", "approvals");
  await page.goto("/dashboard/test/keys");
  await page.click("a:text('Store audit bot')");
  await picture(page, null, "key");
  await page.context().close();
}
