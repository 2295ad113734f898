// Reviews without a mouse: the next proof is loaded beforehand, and a decision can be taken back for five
// seconds before it is sent. Without this, the forms of the page do the same, one page at a time.
const UNDO_MS = 5000;
// The second half of a double click is not meant for the proof that has come meanwhile.
const DOUBLE_CLICK_MS = 600;
const policy = window.trustedTypes?.createPolicy("legwork", {
  // Only for pages that our own server has rendered.
  createHTML: (html) => html,
});

const loaded = new Map();
// Decisions that can still be taken back, by the proof they are about.
const waiting = new Map();
// True from a decision until the next one is possible.
let decided = false;
let shows = 0;

const root = () => document.querySelector("[data-review]");
const isSignIn = (response) => new URL(response.url).pathname === "/sign-in";

// Pages and their pictures are fetched while somebody looks at the one before.
function preload(url) {
  if (!url || loaded.has(url)) return;
  const loading = fetch(url, { headers: { accept: "text/html" } }).then(async (response) => {
    if (!response.ok || isSignIn(response)) throw new Error("no proof", { cause: response });
    const html = await response.text();
    const page = new DOMParser().parseFromString(policy ? policy.createHTML(html) : html, "text/html");
    for (const image of page.querySelectorAll("img.proof")) new Image().src = image.getAttribute("src");
    return page;
  });
  // Whoever wants to see it is told.
  loading.catch(() => {});
  loaded.set(url, loading);
}

async function show(url) {
  const mine = (shows += 1);
  preload(url);
  const loading = loaded.get(url);
  loaded.delete(url);
  try {
    const page = await loading;
    // Somebody went elsewhere while it was loaded.
    if (mine !== shows) return;
    const main = document.importNode(page.querySelector("main"), true);
    document.querySelector("main").replaceWith(main);
    document.title = page.title;
    history.pushState(null, "", url);
    begin();
    main.focus();
  } catch (error) {
    // Leaving would lose what was decided, without a word.
    if (error.cause && isSignIn(error.cause) && waiting.size > 0) sendAll();
    else location.href = url;
  }
}

function begin() {
  preload(root()?.dataset.next);
  if (!decided) return;
  const forms = document.querySelector("[data-decisions]");
  if (forms) forms.inert = true;
  setTimeout(() => {
    decided = false;
    if (forms) forms.inert = false;
  }, DOUBLE_CLICK_MS);
}

// A decision that waits is taken out, to be sent or to be forgotten.
function take(about) {
  const decision = waiting.get(about);
  waiting.delete(about);
  clearTimeout(decision.timer);
  decision.toast.remove();
  return decision;
}

async function send(about) {
  const { action, body, from, title, what } = take(about);
  const again = { href: from, text: "Back to it" };
  const lost = `Not ${what.toLowerCase()}: “${title}”.`;
  let response;
  try {
    response = await fetch(action, { method: "POST", body, keepalive: true });
  } catch {
    return tell(`${lost} You are offline.`, again);
  }
  const { searchParams } = new URL(response.url);
  if (isSignIn(response)) {
    const { pathname, search } = new URL(from);
    again.href = `/sign-in?next=${encodeURIComponent(pathname + search)}`;
    again.text = "Sign in";
    tell(`${lost} Your session has ended: sign in, and decide again.`, again);
  } else if (searchParams.get("done") === "elsewhere") {
    again.href = action.replace(/\/review\/([^/]+)\/.*$/, "/tasks/$1");
    again.text = "See the task";
    tell(`${lost} It was decided elsewhere in the meantime.`, again);
  } else if (!response.ok) {
    tell(`${lost} The server answered with status ${response.status}.`, again);
  }
}

function sendAll() {
  for (const about of [...waiting.keys()]) send(about);
}

// Under each other at the lower edge; what was not done stays until it is closed.
function tell(text, link, undo) {
  let place = document.querySelector(".toasts");
  if (!place) {
    place = document.createElement("div");
    place.className = "toasts";
    document.body.append(place);
  }
  const toast = document.createElement("div");
  toast.className = "toast";
  toast.setAttribute("role", undo ? "status" : "alert");
  const words = document.createElement("span");
  words.textContent = text;
  toast.append(words);
  if (link) toast.append(Object.assign(document.createElement("a"), { href: link.href, textContent: link.text }));
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = undo ? "Undo" : "Close";
  button.addEventListener("click", undo ?? (() => toast.remove()));
  toast.append(button);
  place.append(toast);
  return toast;
}

// Before the script of every page, which would count it as sent.
document.addEventListener("submit", (event) => {
  const form = event.target.closest("[data-decision]");
  if (!form) return;
  const body = new URLSearchParams(new FormData(form));
  if (event.submitter?.name) body.set(event.submitter.name, event.submitter.value);
  if (form.action.endsWith("/reject") && !body.get("reason").trim() && !body.get("template")) return;
  event.preventDefault();
  event.stopPropagation();
  if (decided) return;
  decided = true;
  decide(form, body);
  const { next } = root().dataset;
  if (next) show(next);
  else finish();
}, true);

function decide(form, body) {
  const about = form.action.replace(/\/[^/]+$/, "");
  // Whoever goes back and decides otherwise means the later one.
  if (waiting.has(about)) take(about);
  const from = about.replace(/\/review\/([^/]+)\/.*$/, "/review?task=$1");
  const [what, title] = [form.dataset.decision, root().querySelector("h1").textContent];
  const toast = tell(`${what}: “${title}”.`, null, () => {
    take(about);
    show(from);
  });
  waiting.set(about, { action: form.action, body, from, title, toast, what, timer: setTimeout(() => send(about), UNDO_MS) });
}

// The last one: nothing is left to look at until it is sent.
function finish() {
  const done = document.createElement("h1");
  done.textContent = "That was the last one.";
  root().replaceChildren(done);
  shows += 1;
  begin();
}

// What is waiting to be sent is sent at once when somebody leaves.
window.addEventListener("pagehide", sendAll);
window.addEventListener("popstate", () => { location.reload(); });

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || !root()) return;
  const typing = event.target.closest("input, textarea, select");
  const reason = document.querySelector("#reason");
  // After r, a digit in the empty field chooses a template.
  if (typing === reason && reason && !reason.value && /^[1-9]$/.test(event.key)) {
    const chosen = document.querySelectorAll("[data-template]")[Number(event.key) - 1];
    if (!chosen) return;
    event.preventDefault();
    chosen.form.requestSubmit(chosen);
    return;
  }
  if (event.key === "Escape" && typing) typing.blur();
  if (typing) return;
  if (event.key === "j" && root().dataset.next) show(root().dataset.next);
  if (event.key === "k" && root().dataset.previous) show(root().dataset.previous);
  if (event.key === "z") for (const image of document.querySelectorAll("[data-zoom]")) image.classList.toggle("zoomed");
});

begin();
