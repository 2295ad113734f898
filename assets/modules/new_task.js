// The split of the budget, and the same task as a program would create it, while somebody types.
const form = document.querySelector("[data-new-task]");
const split = form.querySelector("[data-split]");

function dollars(cents) {
  return `$${(cents / 100).toLocaleString("en-US", { minimumFractionDigits: 2 })}`;
}

// `25`, `25.50` and `$1,234.50`. The server reads them by the same rule; nothing else is an amount.
function cents(text) {
  const [, whole, part = ""] = /^(?:\$\s*)?(\d{1,12}|\d{1,3}(?:,\d{3}){1,3})(?:\.(\d{0,2}))?$/.exec(text) ?? [];
  return whole && Number(whole.replaceAll(",", "")) * 100 + Number(part.padEnd(2, "0"));
}

function task() {
  const data = new FormData(form);
  const text = (name) => (data.get(name) ?? "").trim();
  const task = { title: text("title"), description: text("description"), category: text("category") };
  if (text("instructions")) task.instructions = text("instructions");
  task.location = { city: text("city"), state: text("state") };
  // What is missing is left out, and what is no number stays as it is: the server says what is wrong with it.
  for (const name of ["latitude", "longitude"]) {
    if (text(name)) task.location[name] = Number.isNaN(Number(text(name))) ? text(name) : Number(text(name));
  }
  if (text("address")) task.location.address = text("address");
  task.budget_cents = cents(text("budget"));
  if (text("task_type") === "bounty") task.task_type = "bounty";
  if (text("priority")) task.priority = text("priority");
  if (text("deadline")) task.deadline = `${text("deadline")}:00Z`;
  task.proof_types = data.getAll("proof_types");
  const skills = data.getAll("required_skills");
  if (skills.length > 0) task.required_skills = skills;
  if (text("metadata")) task.metadata = parsed(text("metadata"));
  return task;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

// As JSON, but for the words that Python writes otherwise.
function python(value, indent = "  ") {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const known = Object.entries(value).filter(([, one]) => one !== undefined);
  const parts = known.map(([name, one]) => (Array.isArray(value) ? "" : `${JSON.stringify(name)}: `) + python(one, `${indent}  `));
  return parts.length === 0 ? open + close : `${open}\n${indent}${parts.join(`,\n${indent}`)}\n${indent.slice(2)}${close}`;
}

function show() {
  const now = task();
  const percent = Number(now.task_type === "bounty" ? split.dataset.bounty : split.dataset.standard);
  const fee = Math.floor((now.budget_cents * percent + 50) / 100);
  const parts = { total: now.budget_cents, fee, payout: now.budget_cents - fee };
  for (const [name, amount] of Object.entries(parts)) {
    split.querySelector(`[data-${name}]`).textContent = now.budget_cents === undefined ? "–" : dollars(amount);
  }
  const json = JSON.stringify(now, null, 2);
  const quoted = json.replaceAll("'", "'\\''");
  form.querySelector("[data-curl]").textContent =
    `curl ${location.origin}/v1/tasks \\\n  -H "Authorization: Bearer $LEGWORK_KEY" \\\n  -d '${quoted}'`;
  form.querySelector("[data-python]").textContent =
    `import os, requests\n\nrequests.post(\n  "${location.origin}/v1/tasks",\n  headers={"Authorization": "Bearer " + os.environ["LEGWORK_KEY"]},\n  json=${python(now)})`;
}

form.addEventListener("input", show);
show();
// After the back button a browser fills in what was entered before, and only then tells.
window.addEventListener("pageshow", () => {
  show();
  if (place.every((field) => field.value)) draw();
});

// The place on a map, which the server draws. A click moves the pin there.
const map = form.querySelector("[data-map]");
const policy = window.trustedTypes?.createPolicy("legwork", {
  // Only for what our own server has drawn.
  createHTML: (html) => html,
});
const place = ["latitude", "longitude"].map((name) => form.elements[name]);
let drawn = 0;

async function draw() {
  const mine = (drawn += 1);
  const query = new URLSearchParams(place.map((field) => [field.name, field.value.trim()]));
  const answer = await fetch(`${map.dataset.map}?${query}`, { redirect: "manual" }).catch(() => null);
  const html = answer?.ok ? await answer.text() : null;
  if (mine !== drawn) return;
  if (html === null) return showNoMap(answer);
  const page = new DOMParser().parseFromString(policy ? policy.createHTML(html) : html, "text/html");
  map.replaceChildren(...Array.from(page.body.children, (child) => document.importNode(child, true)));
  form.querySelector("[data-map-hint]").hidden = !map.firstElementChild;
}

// What was typed stays: whoever has to sign in again does so on another page.
function showNoMap(answer) {
  if (answer && answer.type !== "opaqueredirect") return;
  const told = Object.assign(document.createElement("p"), { className: "hint" });
  const next = encodeURIComponent(location.pathname);
  const link = Object.assign(document.createElement("a"), { href: `/sign-in?next=${next}`, target: "_blank", textContent: "sign in on another page" });
  told.append(...(answer ? ["Your session has ended: ", link, ", and go on here."] : ["You are offline, so there is no map."]));
  map.replaceChildren(told);
  form.querySelector("[data-map-hint]").hidden = true;
}

// The map is drawn around the pin; its scale is told by the ring, which is 500 m wide.
function moved(event) {
  const svg = event.target.closest("svg");
  if (!svg) return;
  const box = svg.getBoundingClientRect();
  const ring = svg.querySelector(".ring");
  const meters = 500 / Number(ring.getAttribute("r")) * (svg.viewBox.baseVal.width / box.width);
  const [latitude, longitude] = place.map((field) => Number(field.value));
  const east = (event.clientX - box.left - box.width / 2) * meters;
  const north = (box.top + box.height / 2 - event.clientY) * meters;
  const degree = 111320;
  place[0].value = (latitude + north / degree).toFixed(6);
  place[1].value = (longitude + east / (degree * Math.cos(latitude * Math.PI / 180))).toFixed(6);
  show();
  draw();
}

form.querySelector("[data-map-button]").hidden = true;
for (const field of place) field.addEventListener("change", draw);
map.addEventListener("click", moved);
