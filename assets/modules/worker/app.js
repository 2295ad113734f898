// On every page of a worker who is signed in: the outbox is sent when it can be, pages are kept for when there
// is no network, and signing out asks first when work would wait.
import { all, forgetOld, isUnsent, note, noted, whenChanged } from "./store.js";
import { sendAll } from "./send.js";
import { renew } from "./subscription.js";
import { ask, element, moment, word } from "./words.js";

const { now, saved, slow } = document.documentElement.dataset;
const { worker } = document.body.dataset;

// How far the clock of this device is behind the server's. A page knows when it was made.
function clock() {
  const [visit] = performance.getEntriesByType("navigation");
  const made = Date.parse(now ?? "");
  if (saved || !visit || !made) return null;
  const between = performance.timeOrigin + (visit.requestStart + visit.responseStart) / 2;
  return { offset_ms: Math.round(made - between), at: new Date().toISOString() };
}

async function remember() {
  await note("worker", worker);
  const measured = clock();
  if (measured) await note("clock", measured);
}

// Quiet hours are by the clock of this phone. It is told when it has moved: by daylight saving, or with the worker.
async function tellClock() {
  const offset = -new Date().getTimezoneOffset();
  const told = `${worker} ${offset}`;
  if (saved || (await noted("utc_offset")) === told) return;
  const body = new URLSearchParams({ utc_offset_minutes: offset });
  const answer = await fetch("/worker/me/clock", { method: "POST", body });
  if (answer.ok) await note("utc_offset", told);
}

// A page from the cache says from when it is, and why it is not a newer one.
function tellAge() {
  const notice = document.querySelector("[data-stale]");
  if (!saved || !notice) return;
  const at = moment(saved);
  const offerNew = (name) => {
    const link = element("a", { href: location.href, className: "tap", textContent: word("show_now") });
    notice.replaceChildren(word(name, { at }), " ", link);
  };
  if (slow === undefined) notice.textContent = notice.dataset.stale.replace("{}", at);
  else offerNew("stale_slow");
  notice.hidden = false;
  // It is not loaded by itself: somebody may be in the middle of something.
  window.addEventListener("online", () => offerNew("stale_online"));
}

async function count() {
  const unsent = (await all(worker)).filter(isUnsent).length;
  for (const place of document.querySelectorAll("[data-outbox-count]")) {
    place.hidden = unsent === 0;
    place.textContent = String(unsent);
  }
  return unsent;
}

let timer = null;
let failures = 0;

async function send() {
  clearTimeout(timer);
  const wait = await sendAll();
  failures = wait === null ? 0 : failures + 1;
  // Twice as long after each failure, at most five minutes. Whatever changes sends at once.
  if (wait !== null) timer = setTimeout(send, Math.min(wait * 1000 * 2 ** (failures - 1), 300_000));
}

function sendWhenPossible() {
  window.addEventListener("online", () => { failures = 0; send(); });
  document.addEventListener("visibilitychange", () => { if (document.visibilityState === "visible") send(); });
  document.addEventListener("legwork:send", () => { failures = 0; send(); });
  send();
}

// Forms that end with a worker who is signed out: signing out, and deleting the account.
function askBeforeSignOut() {
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-unsent]")) return;
    event.preventDefault();
    event.stopPropagation();
    signOutBy(event.target);
  }, true);
}

async function signOutBy(form) {
  const unsent = await count();
  const text = word(unsent === 1 ? "sign_out_unsent_one" : "sign_out_unsent", { count: unsent });
  if (unsent > 0 && !(await ask(text, word("sign_out_anyway"), word("stay")))) return;
  // Whoever deletes the account gives the password. The next page says whether it was right.
  if (form.querySelector("input:not([type=hidden])")) {
    form.submit();
    return;
  }
  const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams() }).catch(() => null);
  if (answer?.ok) {
    await leave();
    location.href = answer.url;
    return;
  }
  form.parentElement.querySelector("[data-trouble]")?.remove();
  const trouble = element("p", { className: "bad", role: "alert", textContent: word("sign_out_offline") });
  trouble.dataset.trouble = "";
  form.before(trouble);
}

// Somebody else may use this phone next: pages are forgotten and notices stop. The outbox stays, locked to
// its worker.
async function leave() {
  const registration = await navigator.serviceWorker?.getRegistration("/worker");
  registration?.active?.postMessage({ forget: true });
  await note("worker", null);
  const subscription = await registration?.pushManager?.getSubscription().catch(() => null);
  await subscription?.unsubscribe().catch(() => {});
}

// The pages of own tasks are kept, so that they open without a network.
function keepPages(registration) {
  const paths = new Set(["/worker/tasks", "/worker/outbox"]);
  for (const { pathname } of document.querySelectorAll('a[href^="/worker/tasks/"]')) {
    const own = pathname.match(/^\/worker\/tasks\/[0-9a-f]{32}/)?.[0];
    if (own) paths.add(own).add(`${own}/capture`);
  }
  registration.active?.postMessage({ keep: [...paths], from: location.pathname });
}

// The only script that is named by another one.
const SERVICE_WORKER = "/worker/sw.js";
const policy = window.trustedTypes?.createPolicy("legwork", { createScriptURL: () => SERVICE_WORKER });

async function work() {
  if (!navigator.serviceWorker) return;
  const options = { scope: "/worker", type: "module", updateViaCache: "none" };
  // A browser that is busy, or has no room, may refuse: the app works all the same, with a network.
  await navigator.serviceWorker.register(policy?.createScriptURL("") ?? SERVICE_WORKER, options).catch(() => {});
  keepPages(await navigator.serviceWorker.ready);
}

// Where a browser can install the app, a page may offer it.
function offerToInstall() {
  const place = document.querySelector("[data-install]");
  if (!place) return;
  window.addEventListener("beforeinstallprompt", (event) => {
    event.preventDefault();
    const button = element("button", { type: "button", className: "second", textContent: word("install") });
    button.addEventListener("click", async () => {
      await event.prompt();
      place.hidden = true;
    });
    place.replaceChildren(element("p", { textContent: word("install_why") }), button);
    place.hidden = false;
  });
}

if (document.querySelector("[data-left]")) await leave();

if (worker) {
  tellAge();
  offerToInstall();
  if (document.querySelector("[data-push]")) import("./push.js");
  askBeforeSignOut();
  if (document.readyState === "complete") work();
  else window.addEventListener("load", work);
  await remember();
  await forgetOld(worker);
  await count();
  whenChanged(count);
  sendWhenPossible();
  // Without a network, the next page tells it.
  await tellClock().catch(() => {});
  if (!saved) await renew().catch(() => {});
}
