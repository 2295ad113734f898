// The page of the outbox: what waits, how far it is, why it does not go on, and how to save it.
import { all, blobOf, change, discard, isUnsent, whenChanged } from "./store.js";
import { ask, moment, size, word } from "./words.js";

const { worker } = document.body.dataset;
const list = document.querySelector("[data-outbox]");
const [itemTemplate, fileTemplate] = ["item", "file"].map((name) => document.querySelector(`template[data-${name}]`));

const sendNow = () => document.dispatchEvent(new Event("legwork:send"));

async function show() {
  const submissions = await all(worker);
  const focused = document.activeElement?.closest("[data-id]")?.dataset.id;
  list.replaceChildren(...submissions.reverse().map(item));
  document.querySelector("[data-empty]").hidden = submissions.length > 0;
  document.querySelector("[data-send]").hidden = !submissions.some(({ state }) => state === "ready" || state === "refused");
  if (focused) list.querySelector(`[data-id="${CSS.escape(focused)}"] a`)?.focus();
}

const TONES = { draft: "wait", ready: "wait", sending: "wait", refused: "bad", sent: "good" };

function item(submission) {
  const li = itemTemplate.content.firstElementChild.cloneNode(true);
  const part = (name) => li.querySelector(`[data-${name}]`);
  const { id, task, title, due, error } = submission;
  const state = submission.state === "ready" && submission.trying ? "sending" : submission.state;
  li.dataset.id = id;
  Object.assign(part("title"), { textContent: title, href: `/worker/tasks/${task}` });
  part("state").textContent = word(`state_${state}`);
  part("state").classList.add(TONES[state]);
  part("due").textContent = state === "sent"
    ? word("sent_at", { time: moment(submission.sent_at) })
    : due ? word("must_arrive", { time: moment(due) }) : "";
  part("error").hidden = !error || state === "sent";
  part("error").textContent = error ? told(error) : "";
  part("signin").hidden = error?.code !== "SIGNED_OUT";
  part("files").append(...submission.files.map((file) => fileItem(file, state)));
  part("go-on").hidden = state !== "draft";
  part("go-on").href = `/worker/tasks/${task}/capture`;
  part("discard").hidden = !isUnsent(submission);
  part("discard").addEventListener("click", () => drop(submission));
  return li;
}

// In the worker's language where there are words for it, and else as the server said it.
function told({ code, message, at }) {
  const text = word(`error_${code}`) || word("error_other", { message: message || code });
  return `${text} (${moment(at)})`;
}

function fileItem(file, state) {
  const li = fileTemplate.content.firstElementChild.cloneNode(true);
  const part = (name) => li.querySelector(`[data-${name}]`);
  part("what").textContent = word(`type_${file.type}`);
  Object.assign(part("progress"), { max: file.size, value: file.sent });
  part("progress").setAttribute("aria-label", word(`type_${file.type}`));
  part("bytes").textContent = word("bytes", { sent: size(file.sent), size: size(file.size) });
  part("save").hidden = state === "sent";
  part("save").setAttribute("aria-label", `${word("save")}: ${word(`type_${file.type}`)}`);
  part("save").addEventListener("click", () => save(file));
  return li;
}

async function save(file) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await blobOf(file.id));
  link.download = file.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

async function drop(submission) {
  if (await ask(word("discard_ask", { title: submission.title }), word("discard"), word("keep"))) await discard(submission.id);
}

// What was refused is tried again, too: the task may be open again.
document.querySelector("[data-send]").addEventListener("click", async () => {
  for (const { id, state } of await all(worker)) {
    if (state === "refused") await change(id, { state: "ready", error: null });
  }
  sendNow();
});

// A browser may clear what it has not promised to keep.
async function tellStorage() {
  const place = document.querySelector("[data-storage]");
  const kept = await navigator.storage?.persist?.();
  place.textContent = word(kept ? "storage_kept" : "storage_may_go");
}

let soon = null;
whenChanged(() => {
  clearTimeout(soon);
  soon = setTimeout(show, 50);
});
await show();
await tellStorage();
