// The service worker of the workers' app. A release has one set of files, taken whole or not at all: pages of
// another release are shown, but not kept. The next start uses the next release.
import { sendAll } from "./send.js";

// Filled in by the server.
const RELEASE = "{release}";
const FILES = "{files}".split(" ");

const SHELL = `legwork-shell-${RELEASE}`;
const PAGES = `legwork-pages-${RELEASE}`;
const OFFLINE = "/worker/offline";
const RESET = "/worker/reset";
// When a kept copy is there, the network has this long.
const PATIENCE = 4000;
// A copy that is younger is not fetched again only to be kept.
const FRESH = 5 * 60 * 1000;
const KEPT = /^\/worker\/(tasks|outbox)$|^\/worker\/tasks\/[0-9a-f]{32}(\/capture)?$/;

self.addEventListener("install", (event) => event.waitUntil(install()));

async function install() {
  const shell = await caches.open(SHELL);
  try {
    await shell.addAll([...FILES, OFFLINE]);
  } catch (error) {
    await caches.delete(SHELL);
    throw error;
  }
  // What the release before has kept is fetched anew, so that the next start may be without a network.
  for (const name of await others("legwork-pages-")) {
    const cache = await caches.open(name);
    await keep((await cache.keys()).map(({ url }) => new URL(url).pathname));
  }
}

async function others(prefix) {
  const names = await caches.keys();
  return names.filter((name) => name.startsWith(prefix) && name !== SHELL && name !== PAGES);
}

self.addEventListener("activate", (event) => event.waitUntil(activate()));

async function activate() {
  for (const name of await others("legwork-")) await caches.delete(name);
  await self.clients.claim();
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (url.origin !== self.location.origin) return;
  // Never stands between anybody and the way out.
  if (url.pathname === RESET) {
    withdrawn = true;
    return;
  }
  if (request.method === "POST" && url.pathname === "/worker/sign-out") return event.respondWith(signOut(request));
  if (request.method === "POST" && request.mode === "navigate") acted = true;
  if (request.method !== "GET") return;
  if (url.pathname.startsWith("/assets/")) event.respondWith(file(request));
  else if (request.mode === "navigate") event.respondWith(page(event, url));
});

// True between a form and the page that it leads to.
let acted = false;
// True once the page was asked for that removes what is kept: nothing is added behind it.
let withdrawn = false;

// Somebody else may use this phone next, once the server knows that this one has left.
async function signOut(request) {
  try {
    const response = await fetch(request);
    if (response.ok || response.type === "opaqueredirect") await forget();
    return response;
  } catch {
    return request.mode === "navigate" ? withoutNetwork() : Response.error();
  }
}

async function withoutNetwork() {
  return await caches.match(OFFLINE, { cacheName: SHELL }) ?? Response.error();
}

async function file(request) {
  return await caches.match(request, { cacheName: SHELL }) ?? fetch(request);
}

async function page(event, url) {
  const path = url.pathname;
  // A copy from before would deny what has just been done.
  const after = acted || url.searchParams.has("done");
  acted = false;
  const copy = url.searchParams.has("offset") ? undefined : await kept(path);
  const fetching = fetch(event.request).then((response) => {
    event.waitUntil(after ? renew(path) : save(url, response.clone()));
    return response;
  });
  try {
    const response = await (copy && !after ? Promise.race([fetching, late()]) : fetching);
    // A proxy whose server is gone says so.
    if (copy && response.status >= 502) return shown(copy);
    return response;
  } catch (error) {
    fetching.catch(() => {});
    if (copy) return shown(copy, error === LATE);
    return withoutNetwork();
  }
}

const LATE = new Error("late");

function late() {
  return new Promise((_, reject) => { setTimeout(() => reject(LATE), PATIENCE); });
}

// A copy says when it was saved, and whether the network is only slow; the page tells its reader.
async function shown(copy, isSlow = false) {
  const html = await copy.text();
  const saved = copy.headers.get("x-saved");
  const said = `<html data-saved="${saved}" ${isSlow ? "data-slow " : ""}`;
  return new Response(html.replace("<html ", said), { headers: copy.headers });
}

// What was done changes the page of a task, what can be taken for it, and the list.
function renew(path) {
  return keep([path, `${path}/capture`, "/worker/tasks"], 0);
}

async function save({ pathname: path, search }, response) {
  if (withdrawn) return;
  // What is gone is not shown any more.
  if (response.status === 404 || response.status === 410) await (await caches.open(PAGES)).delete(path);
  // What a page says once, after something was done, is not said again.
  if (search || !KEPT.test(path) || response.status !== 200 || response.type !== "basic") return;
  if (!response.headers.get("content-type")?.startsWith("text/html")) return;
  const html = await response.text();
  const body = html.match(/<body [^>]*>/)?.[0] ?? "";
  const [release, worker] = ["release", "worker"].map((name) => body.match(` data-${name}="([^"]*)"`)?.[1]);
  if (release !== RELEASE || !worker) return;
  await belongTo(worker);
  const headers = new Headers(response.headers);
  headers.set("x-saved", new Date().toISOString());
  await put(path, new Response(html, { headers }));
}

function kept(path) {
  return caches.match(path, { cacheName: PAGES });
}

async function put(path, response) {
  if (!withdrawn) await (await caches.open(PAGES)).put(path, response);
}

// Pages are of one worker. Another one who signs in finds none of them.
async function belongTo(worker) {
  const owner = await (await kept("/worker/owner"))?.text();
  if (owner === worker) return;
  if (owner) await forget();
  await put("/worker/owner", new Response(worker));
}

async function forget() {
  for (const name of [...await others("legwork-pages-"), PAGES]) await caches.delete(name);
}

async function keep(paths, fresh = FRESH) {
  for (const path of paths.filter((path) => KEPT.test(path)).slice(0, 200)) {
    const saved = Date.parse((await kept(path))?.headers.get("x-saved") ?? "");
    if (Date.now() - saved < fresh) continue;
    try {
      const response = await fetch(path, { headers: { accept: "text/html" }, redirect: "manual", credentials: "same-origin" });
      await save(new URL(path, self.location.origin), response);
    } catch {
      return;
    }
  }
}

self.addEventListener("message", (event) => {
  if (event.data.forget) event.waitUntil(forget());
  if (event.data.keep) event.waitUntil(keep(event.data.keep));
});

self.addEventListener("sync", (event) => {
  // The browser tries again after an error.
  const all = async () => { if (await sendAll() !== null) throw new Error("not everything is sent"); };
  if (event.tag === "outbox") event.waitUntil(all());
});

self.addEventListener("push", (event) => {
  const { id, title, body, url } = event.data?.json() ?? {};
  const options = { body, tag: id, data: { url }, icon: "/worker/icons/192.png", badge: "/worker/icons/192.png" };
  event.waitUntil(self.registration.showNotification(title ?? "Legwork", options));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(openPage(event.notification.data?.url));
});

// Only pages of ours, whatever the message says.
async function openPage(path) {
  const url = new URL(typeof path === "string" && path.startsWith("/worker") ? path : "/worker", self.location.origin);
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const open = windows.find((client) => new URL(client.url).pathname.startsWith("/worker"));
  if (!open) return self.clients.openWindow(url.href);
  // A browser may refuse to bring it to the front: then it is only led there.
  await open.focus().catch(() => {});
  return open.navigate(url.href);
}
