// One stream of events for all pages of a browser: whoever holds the lock listens, and tells the others.
// Over HTTP/1.1 a browser opens six connections to a host, so a stream for each page would freeze the seventh.
const indicator = document.querySelector("[data-live]");
const url = indicator.dataset.live;
// Every kind of event there is: the server knows them.
const types = indicator.dataset.types.split(" ");
// Two people may use one browser, each in a page of their own: neither hears of the other.
const { whose } = indicator.dataset;
const name = `legwork ${whose} ${url}`;
const channel = new BroadcastChannel(name);
const listeners = new Set();
const RETRY_MS = 10_000;
// What has come, newest last: a page that is opened, or is the next to lead, goes on from what it knows.
const recent = [];
const KEPT = 100;
let paused = false;
// What has happened that this page does not show yet.
let unseen = 0;
// Not "live": that is an environment.
const TOLD = { on: "up to date", off: "offline: trying again", wait: "connecting" };
const here = location.pathname + location.search;

let told = "";

function show(state) {
  // Whoever listens to the page is not told the same again.
  if (told === `${state} ${unseen}`) return;
  told = `${state} ${unseen}`;
  indicator.hidden = false;
  indicator.dataset.state = state in TOLD ? state : "off";
  if (state === "ended") say("your session has ended: ", "sign in again", `/sign-in?next=${encodeURIComponent(here)}`);
  else if (state === "other") say("somebody else has signed in since: ", "load the page again", here);
  else if (state === "on" && unseen > 0) say(`${unseen} new: `, "show", here);
  else indicator.textContent = TOLD[state];
}

function say(text, textContent, href) {
  indicator.replaceChildren(text, Object.assign(document.createElement("a"), { href, textContent }));
}

function receive(message) {
  if (message.state) show(message.state);
  if (!message.event || recent.some(({ id }) => id === message.event.id)) return;
  recent.push(message.event);
  if (recent.length > KEPT) recent.shift();
  if (!paused) for (const listener of listeners) listener(message.event);
}

// What has come after that event. One that this page does not know is newer than all of it.
function since(known) {
  if (known === indicator.dataset.latest) return recent;
  const at = recent.findIndex(({ id }) => id === known);
  return at < 0 ? [] : recent.slice(at + 1);
}

function latest() {
  return recent.at(-1)?.id ?? indicator.dataset.latest;
}

channel.addEventListener("message", ({ data }) => {
  if ("asks" in data) return leading?.(data.asks);
  receive(data);
});

// Only the leader has this: it tells newcomers how things stand.
let leading = null;

function lead() {
  return new Promise((resolve) => {
    let state = "wait";
    const say = (message) => { channel.postMessage(message); receive(message); };
    const turn = (next) => {
      state = next;
      say({ state });
      if (state in TOLD) return;
      // A page that is opened after signing in again is to lead.
      leading = null;
      resolve();
    };
    leading = (known) => {
      channel.postMessage({ state });
      for (const event of since(known)) channel.postMessage({ event });
    };
    turn("wait");
    listen(turn, (event) => say({ event }));
    window.addEventListener("offline", () => turn("off"));
  });
}

// A browser tries again by itself when a stream breaks off, but not when it is refused.
function listen(turn, tell) {
  const source = new EventSource(`${url}?after=${latest()}&whose=${whose}`);
  source.onopen = () => turn("on");
  source.onerror = async () => {
    turn("off");
    if (source.readyState !== EventSource.CLOSED) return;
    const ended = await whyEnded();
    if (ended) turn(ended);
    else setTimeout(() => listen(turn, tell), RETRY_MS);
  };
  for (const type of types) {
    source.addEventListener(type, (event) => {
      turn("on");
      tell(JSON.parse(event.data));
    });
  }
}

async function whyEnded() {
  const answer = await fetch(`/account?whose=${whose}`, { redirect: "manual" }).catch(() => null);
  if (answer?.type === "opaqueredirect") return "ended";
  return answer?.status === 409 ? "other" : null;
}

show("wait");
navigator.locks.request(name, lead);
channel.postMessage({ asks: latest() });

// To read the page again calls off whatever the browser is about to open: a click would be lost, or what a form says.
const LEAVING_MS = 10_000;
let leaving = false;
let stale = false;
window.addEventListener("beforeunload", () => {
  leaving = true;
  // It may have been a download.
  setTimeout(() => {
    leaving = false;
    if (stale) location.reload();
  }, LEAVING_MS);
});

function readAgain() {
  if (leaving) stale = true;
  else location.reload();
}

// A page about one task is read again when something happens to it.
const task = indicator.dataset.task;
if (task) {
  listeners.add((event) => {
    if ((event.data.task ?? event.data).id !== task) return;
    const busy = document.querySelector("details[open] textarea, textarea:focus, input:focus, [data-again]:not([hidden])");
    if (!busy) readAgain();
  });
}
// A page that waits for some kinds of event is read again when one comes. One on which somebody is about to decide is
// not: what they point at would move away, and the click would decide about something else.
if (indicator.dataset.reload) {
  const awaited = indicator.dataset.reload.split(" ");
  const decides = Array.from(document.querySelectorAll("[data-decides]"), (one) => one.dataset.decides);
  listeners.add((event) => {
    if (!awaited.includes(event.event)) return;
    if (decides.length === 0) return readAgain();
    // A task that ends is of interest where it is shown.
    if (event.event !== awaited[0] && !decides.includes((event.data.task ?? event.data).id)) return;
    unseen += 1;
    show("on");
  });
}

// The list of events grows at its top.
const list = document.querySelector("[data-events]");
if (list) {
  listeners.add((event) => {
    const about = event.data.task ?? event.data;
    if (list.dataset.type && list.dataset.type !== event.event) return;
    if (list.dataset.task && list.dataset.task !== about.id) return;
    document.querySelector("[data-empty]")?.remove();
    list.prepend(item(event, about));
    while (list.children.length > 200) list.lastElementChild.remove();
  });
  const pause = document.querySelector("[data-pause]");
  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.textContent = paused ? "Go on" : "Pause";
    if (!paused) location.reload();
  });
}

function item(event, about) {
  const element = (tag, text, parts = {}) => Object.assign(document.createElement(tag), { textContent: text, ...parts });
  const li = document.createElement("li");
  const head = element("p", "");
  head.append(element("strong", event.event));
  // Not every event is about a task.
  if (about.title) head.append(" ", element("a", about.title, { href: list.dataset.tasks + about.id }));
  const when = element("p", "", { className: "faint" });
  when.append(element("time", "now", { dateTime: event.created_at, title: event.created_at }), " · ", element("span", event.id, { className: "mono" }));
  const details = document.createElement("details");
  const pre = element("pre", "", { tabIndex: 0 });
  pre.append(element("code", JSON.stringify(event.data, null, 2)));
  details.append(element("summary", "JSON"), pre);
  li.append(head, when, details);
  return li;
}
