// Reviews without a mouse: the next proof is loaded beforehand, and a decision can be taken back for five
// seconds before it is sent. Without this, the forms of the page do the same, one page at a time.
import { isKey } from "./keys.js";

const UNDO_MS = 5000;
// The second half of a double click is not meant for the proof that has come meanwhile.
const DOUBLE_CLICK_MS = 600;
const policy = window.trustedTypes?.createPolicy("legwork", {
  // Only for pages that our own server has rendered.
  createHTML: (html) => html,
});

// In this window, so that they outlive the page: decisions that the server has not answered yet, and reasons that were
// typed, both by the proof they are about.
const DECISIONS = "legwork decisions";
const REASONS = "legwork reasons";
// A page that was left sends what waits. That has this long to arrive before anybody is told that it did not.
const ARRIVAL_MS = 2000;

const loaded = new Map();
// Decisions that can still be taken back, by the proof they are about.
const waiting = new Map();
// True from a decision until the next one is possible.
let decided = false;
let shows = 0;

const root = () => document.querySelector("[data-review]");
const isSignIn = (response) => new URL(response.url).pathname === "/sign-in";
const aboutOf = (form) => form.action.replace(/\/[^/]+$/, "");
const kept = (name) => JSON.parse(sessionStorage.getItem(name) ?? "{}");

function keep(name, about, value) {
  const { [about]: _, ...rest } = kept(name);
  sessionStorage.setItem(name, JSON.stringify(value ? { ...rest, [about]: value } : rest));
}

async function load(url) {
  const response = await fetch(url, { headers: { accept: "text/html" } });
  if (!response.ok || isSignIn(response)) throw new Error("no proof", { cause: response });
  return parsed(response);
}

async function parsed(response) {
  const html = await response.text();
  return new DOMParser().parseFromString(policy ? policy.createHTML(html) : html, "text/html");
}

// Pages and their pictures are fetched while somebody looks at the one before.
function preload(url) {
  if (!url || loaded.has(url)) return;
  const loading = load(url).then((page) => {
    for (const image of page.querySelectorAll("img.proof")) new Image().src = image.getAttribute("src");
    return page;
  });
  loaded.set(url, loading);
  // Whoever wants to see it is told, or it is there at the next try.
  loading.catch(() => { if (loaded.get(url) === loading) loaded.delete(url); });
}

// What is told when a page cannot be loaded.
let unloaded = null;

async function show(url, isOnward = false) {
  const mine = (shows += 1);
  unloaded?.remove();
  preload(url);
  const loading = loaded.get(url);
  loaded.delete(url);
  try {
    const page = await loading;
    // Somebody went elsewhere while it was loaded.
    if (mine !== shows) return;
    if (isOnward && isDecided(page)) return goOn(page.querySelector("[data-review]").dataset.next);
    const main = document.importNode(page.querySelector("main"), true);
    // The script that listens goes on with the one that it knows.
    const listening = document.querySelector("main [data-live]");
    if (listening) main.querySelector("[data-live]")?.replaceWith(listening);
    document.querySelector("main").replaceWith(main);
    document.title = page.title;
    history.pushState(null, "", url);
    begin();
    main.focus();
  } catch (error) {
    if (mine !== shows) return;
    // Leaving would lose what was decided, without a word.
    if (!error.cause) stay(url, isOnward);
    else if (isSignIn(error.cause) && waiting.size > 0) sendAll();
    else location.href = url;
  }
}

// What can still be taken back, or is on its way, still waits on the pages of the server.
const isDecided = (page) => [...page.querySelectorAll("[data-decision]")].some((form) => aboutOf(form) in kept(DECISIONS));

// To the first from here that is not decided, if there is one.
function goOn(url) {
  if (url) show(url, true);
  else finish();
}

// Without a network, the browser has only a page of its own to show.
function stay(url, isOnward) {
  unloaded = tell("The proof could not be loaded. You are offline.", null, [["Try again", () => show(url, isOnward)]]);
  begin();
}

function begin() {
  preload(root()?.dataset.next);
  fillReason();
  if (!decided) return;
  const forms = document.querySelector("[data-decisions]");
  if (forms) forms.inert = true;
  setTimeout(() => {
    decided = false;
    if (forms) forms.inert = false;
  }, DOUBLE_CLICK_MS);
}

// Whoever comes back to a rejection finds what they wrote.
function fillReason() {
  const reason = document.querySelector("#reason");
  if (reason && !reason.value) reason.value = kept(REASONS)[aboutOf(reason.form)] ?? "";
}

// A decision that waits is taken out, to be sent or to be forgotten.
function take(about) {
  const decision = waiting.get(about);
  waiting.delete(about);
  clearTimeout(decision.timer);
  decision.toast.remove();
  return decision;
}

function send(about) {
  return post(about, take(about));
}

async function post(about, decision) {
  const { action, body, from, title, what } = decision;
  const lost = `Not ${what.toLowerCase()}: “${title}”.`;
  let response;
  try {
    response = await fetch(action, { method: "POST", body: new URLSearchParams(body), keepalive: true });
  } catch {
    return offerAgain(about, decision, `${lost} You are offline.`);
  }
  if (response.status >= 500) return offerAgain(about, decision, `${lost} The server answered with status ${response.status}.`);
  keep(DECISIONS, about, null);
  const { searchParams } = new URL(response.url);
  if (isSignIn(response)) {
    const { pathname, search } = new URL(from);
    const href = `/sign-in?next=${encodeURIComponent(pathname + search)}`;
    tell(`${lost} Your session has ended: sign in, and decide again.`, { href, text: "Sign in" });
  } else if (searchParams.get("done") === "elsewhere") {
    keep(REASONS, about, null);
    const href = action.replace(/\/review\/([^/]+)\/.*$/, "/tasks/$1");
    const decided = (await parsed(response)).querySelector("[data-decided]")?.textContent;
    tell(`${lost} It was decided elsewhere in the meantime${decided ? `: ${decided}` : "."}`, { href, text: "See the task" });
  } else if (!response.ok) {
    const why = (await parsed(response)).querySelector("main [role=alert], main h1 + p")?.textContent;
    tell(`${lost} ${why ?? `The server answered with status ${response.status}.`}`, { href: from, text: "Back to it" });
  } else {
    keep(REASONS, about, null);
  }
}

// It stays until it is sent or somebody lets it go. To send it twice is harmless: its form has a key.
function offerAgain(about, decision, text) {
  tell(text, null, [
    ["Try again", () => post(about, decision)],
    ["Back to it", () => show(decision.from)],
    ["Close", () => keep(DECISIONS, about, null)],
  ]);
}

// What was decided on a page that was left, perhaps without a network. Whoever sees the proof again and decides it anew
// need not be told.
async function tellLeft(left) {
  for (const [about, decision] of left) {
    const page = await load(decision.from).catch(() => null);
    const isCurrent = kept(DECISIONS)[about]?.body === decision.body && !waiting.has(about);
    // Nobody can say now. The next page looks again.
    if (!page || !isCurrent) continue;
    const isOpen = [...page.querySelectorAll("[data-decision]")].some((form) => aboutOf(form) === about);
    if (isOpen) offerAgain(about, decision, `Not ${decision.what.toLowerCase()}: “${decision.title}”. It was not sent when you left the page.`);
    else keep(DECISIONS, about, null);
  }
}

function sendAll() {
  for (const about of [...waiting.keys()]) send(about);
}

// Under each other at the lower edge; what was not done stays until it is closed. A button closes it, too.
function tell(text, link, buttons = [["Close", () => {}]], role = "alert") {
  let place = document.querySelector(".toasts");
  if (!place) {
    place = document.createElement("div");
    place.className = "toasts";
    document.body.append(place);
  }
  const toast = document.createElement("div");
  toast.className = "toast";
  toast.setAttribute("role", role);
  const words = document.createElement("span");
  words.textContent = text;
  toast.append(words);
  if (link) toast.append(Object.assign(document.createElement("a"), { href: link.href, textContent: link.text }));
  for (const [name, act] of buttons) {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: name });
    button.addEventListener("click", () => {
      toast.remove();
      act();
    });
    toast.append(button);
  }
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
  const { next, all } = root().dataset;
  // Others may wait before the last one at hand, and more than those at hand after it.
  if (next) show(next);
  else goOn(all);
}, true);

function decide(form, body) {
  const about = aboutOf(form);
  // Whoever goes back and decides otherwise means the later one.
  if (waiting.has(about)) take(about);
  const from = about.replace(/\/review\/([^/]+)\/.*$/, "/review?task=$1");
  // It may have marks that turn text around: not the quotes beside it.
  const [what, title] = [form.dataset.decision, `\u2068${root().querySelector("h1").textContent}\u2069`];
  const decision = { action: form.action, body: body.toString(), from, title, what };
  if (body.get("reason")) keep(REASONS, about, body.get("reason"));
  keep(DECISIONS, about, decision);
  const undo = () => {
    take(about);
    keep(DECISIONS, about, null);
    show(from);
  };
  const toast = tell(`${what}: “${title}”.`, null, [["Undo", undo]], "status");
  waiting.set(about, { ...decision, toast, timer: setTimeout(() => send(about), UNDO_MS) });
}

// Nothing is left to look at until what was decided is sent.
function finish() {
  const done = document.createElement("h1");
  done.textContent = "That was the last one.";
  const more = document.createElement("p");
  const tasks = Object.assign(document.createElement("a"), { href: root().dataset.all.replace(/review$/, "tasks"), textContent: "look at your tasks" });
  more.append("Proof shows up here as soon as a worker sends it. Until then, ", tasks, ".");
  root().replaceChildren(done, more);
  shows += 1;
  begin();
}

// What is waiting to be sent is sent at once when somebody leaves.
window.addEventListener("pagehide", sendAll);
window.addEventListener("popstate", () => { location.reload(); });

document.addEventListener("keydown", (event) => {
  const reason = event.target.closest("#reason");
  if (event.key === "Escape") reason?.blur();
  // After r, a digit in the empty field chooses a template.
  if (!reason || reason.value || !isKey(event) || !/^[1-9]$/.test(event.key)) return;
  const chosen = document.querySelectorAll("[data-template]")[Number(event.key) - 1];
  if (!chosen) return;
  event.preventDefault();
  chosen.form.requestSubmit(chosen);
});

// The next one is here already, and what was decided can still be taken back there.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-step], a[data-onward]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  show(link.getAttribute("href"), "onward" in link.dataset);
});

const left = Object.entries(kept(DECISIONS));
if (left.length > 0) setTimeout(() => tellLeft(left), ARRIVAL_MS);
begin();
