// The page of the outbox: what waits, how far it is, why it does not go on, and how to save it.
import { all, blobOf, change, isUnsent, whenChanged } from "./store.js";
import { takeBack } from "./send.js";
import { ask, moment, size, word } from "./words.js";

const { worker } = document.body.dataset;
const list = document.querySelector("[data-outbox]");

const sendNow = () => document.dispatchEvent(new Event("legwork:send"));

// What is shown stays where it is, and only what it says changes: whoever is on a button stays there while numbers
// come in, and finds back to it from a dialog.
async function show() {
  const submissions = (await all(worker)).reverse();
  const focused = document.activeElement;
  arrange(list, submissions, item);
  for (const submission of submissions) fill(itemOf(list, submission.id), submission);
  document.querySelector("[data-empty]").hidden = submissions.length > 0;
  showButton(new Set(submissions.map(({ state }) => state)));
  // What has arrived cannot get lost here.
  document.querySelector("[data-storage]").hidden = !submissions.some(isUnsent);
  if (focused && (!focused.isConnected || focused.closest("[hidden]"))) goOn(focused);
}

// What was refused is not on its way: to send it once more is another attempt.
function showButton(states) {
  const button = document.querySelector("[data-send]");
  button.hidden = !states.has("ready") && !states.has("refused");
  button.textContent = states.has("ready") ? word("send_now") : word("send_again");
  button.classList.toggle("second", !states.has("ready"));
}

// The button that somebody was on is gone, with its item or without.
function goOn(focused) {
  const id = focused.closest("[data-id].card")?.dataset.id;
  const here = id && itemOf(list, id)?.querySelector("[data-title]");
  (here ?? document.querySelector("main")).focus();
}

function itemOf(place, id) {
  return [...place.children].find((li) => li.dataset.id === id);
}

// Makes the items that are missing, and removes those that are not wanted. Their order never changes.
function arrange(place, wanted, make) {
  for (const li of [...place.children]) {
    if (!wanted.some(({ id }) => id === li.dataset.id)) li.remove();
  }
  for (const [at, one] of wanted.entries()) {
    if (itemOf(place, one.id)) continue;
    const li = make(one);
    li.dataset.id = one.id;
    place.insertBefore(li, place.children[at] ?? null);
  }
}

const made = (name) => document.querySelector(`template[data-${name}]`).content.firstElementChild.cloneNode(true);

function item(submission) {
  const li = made("item");
  li.querySelector("[data-discard]").addEventListener("click", () => drop(submission));
  return li;
}

const TONES = { draft: "wait", ready: "wait", sending: "wait", refused: "bad", sent: "good" };

function fill(li, submission) {
  const part = (name) => li.querySelector(`[data-${name}]`);
  const { task, title, due, error } = submission;
  const state = submission.state === "ready" && submission.trying ? "sending" : submission.state;
  Object.assign(part("title"), { textContent: title, href: `/worker/tasks/${task}` });
  part("state").textContent = word(`state_${state}`);
  part("state").className = `badge ${TONES[state]}`;
  part("due").textContent = state === "sent"
    ? word("sent_at", { time: moment(submission.sent_at) })
    : due && state !== "refused" ? word("must_arrive", { time: moment(due) }) : "";
  part("error").hidden = !error || state === "sent";
  part("error").textContent = error ? told(error) : "";
  part("signin").hidden = error?.code !== "SIGNED_OUT";
  arrange(part("files"), submission.files, fileItem);
  for (const file of submission.files) fillFile(itemOf(part("files"), file.id), file, state);
  part("go-on").hidden = state !== "draft";
  part("go-on").href = `/worker/tasks/${task}/capture`;
  part("discard").hidden = !isUnsent(submission);
}

// In the worker's language where there are words for it, and else as the server said it.
function told({ code, message, at }) {
  const text = word(`error_${code}`) || word("error_other", { message: message || code });
  return `${text} (${moment(at)})`;
}

function fileItem(file) {
  const li = made("file");
  li.querySelector("[data-save]").addEventListener("click", () => save(file));
  return li;
}

function fillFile(li, file, state) {
  const part = (name) => li.querySelector(`[data-${name}]`);
  part("what").textContent = word(`type_${file.type}`);
  Object.assign(part("progress"), { max: file.size, value: file.sent });
  part("progress").setAttribute("aria-label", word(`type_${file.type}`));
  part("bytes").textContent = word("bytes", { sent: size(file.sent), size: size(file.size) });
  part("save").hidden = state === "sent";
  part("save").setAttribute("aria-label", `${word("save")}: ${word(`type_${file.type}`)}`);
}

async function save(file) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await blobOf(file.id));
  link.download = file.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

async function drop({ id, title }) {
  if (!await ask(word("discard_ask", { title: isolated(title) }), word("discard"), word("keep"))) return;
  const outcome = await takeBack(id);
  const notice = document.querySelector("[data-outcome]");
  notice.hidden = outcome === "discarded";
  notice.textContent = notice.hidden ? "" : word(`discard_${outcome}`, { title: isolated(title) });
}

// It may have marks that turn text around: not the quotes beside it.
const isolated = (text) => `\u2068${text}\u2069`;

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
