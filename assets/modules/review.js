// Reviews without a mouse: the next proof is loaded beforehand, and a decision can be taken back for five
// seconds before it is sent. Without this, the forms of the page do the same, one page at a time.
const UNDO_MS = 5000;
const policy = window.trustedTypes?.createPolicy("legwork", {
  // Only for pages that our own server has rendered.
  createHTML: (html) => html,
});

const loaded = new Map();
let waiting = null;

const root = () => document.querySelector("[data-review]");

// Pages and their pictures are fetched while somebody looks at the one before.
function preload(url) {
  if (!url || loaded.has(url)) return;
  loaded.set(url, fetch(url, { headers: { accept: "text/html" } }).then(async (response) => {
    if (!response.ok) throw new Error(`status ${response.status}`);
    const html = await response.text();
    const page = new DOMParser().parseFromString(policy ? policy.createHTML(html) : html, "text/html");
    for (const image of page.querySelectorAll("img.proof")) new Image().src = image.getAttribute("src");
    return page;
  }));
}

async function show(url) {
  preload(url);
  try {
    const page = await loaded.get(url);
    loaded.delete(url);
    const main = document.importNode(page.querySelector("main"), true);
    document.querySelector("main").replaceWith(main);
    document.title = page.title;
    history.pushState(null, "", url);
    begin();
    main.focus();
  } catch {
    location.href = url;
  }
}

function begin() {
  preload(root()?.dataset.next);
}

// What is waiting to be sent is sent at once when somebody leaves.
function send() {
  if (!waiting) return;
  const { action, body, toast } = waiting;
  clearTimeout(waiting.timer);
  waiting = null;
  toast.remove();
  fetch(action, { method: "POST", body, keepalive: true, redirect: "manual" }).then((response) => {
    if (response.type !== "opaqueredirect" && !response.ok) tell(`It was not sent: status ${response.status}.`);
  }, () => tell("It was not sent: you are offline. Reload the page and decide again."));
}

function tell(text, undo) {
  const toast = document.createElement("div");
  toast.className = "toast";
  toast.setAttribute("role", "status");
  const words = document.createElement("span");
  words.textContent = text;
  toast.append(words);
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = undo ? "Undo" : "Close";
  button.addEventListener("click", undo ?? (() => toast.remove()));
  toast.append(button);
  document.body.append(toast);
  return toast;
}

document.addEventListener("submit", (event) => {
  const form = event.target.closest("[data-decision]");
  if (!form) return;
  const body = new URLSearchParams(new FormData(form));
  if (event.submitter?.name) body.set(event.submitter.name, event.submitter.value);
  if (form.action.endsWith("/reject") && !body.get("reason").trim() && !body.get("template")) return;
  event.preventDefault();
  send();
  const from = location.href;
  const toast = tell(`${form.dataset.decision}.`, () => {
    clearTimeout(waiting.timer);
    toast.remove();
    waiting = null;
    show(from);
  });
  waiting = { action: form.action, body, toast, timer: setTimeout(send, UNDO_MS) };
  const { next } = root().dataset;
  if (next) show(next);
  else finish();
});

// The last one: nothing is left to look at until it is sent.
function finish() {
  const done = document.createElement("p");
  done.className = "notice";
  done.textContent = "That was the last one.";
  root().replaceChildren(done);
}

window.addEventListener("pagehide", send);
window.addEventListener("popstate", () => { location.reload(); });

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !root()) return;
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
