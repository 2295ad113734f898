// Takes what a task asks for: each file is in the outbox before the next one is taken, and before anything
// is sent.
import { Camera, PHOTO_BYTES, VIDEO_BYTES, shrunk } from "./camera.js";
import { NEAR, Position, between } from "./position.js";
import { Signature } from "./signature.js";
import { all, change, keep, newId, noted } from "./store.js";
import { distance, size, word } from "./words.js";

const root = document.querySelector("[data-capture]");
const part = (name) => root.querySelector(`[data-${name}]`);
const { task, title, due, status } = root.dataset;
const { worker } = document.body.dataset;
const types = root.dataset.types.split(" ");
const place = { latitude: Number(root.dataset.latitude), longitude: Number(root.dataset.longitude) };
const needsPosition = types.some((type) => type !== "signature");
const ENDINGS = { "image/jpeg": "jpg", "image/png": "png", "video/mp4": "mp4", "video/quicktime": "mov" };

const camera = new Camera(part("live"));
const pad = new Signature(part("pad"), ({ isEmpty }) => { part("signed").disabled = isEmpty; });
const position = new Position(showPosition);
let draft;
let type;
// What was taken and not used yet.
let taken = null;
let recording = null;

// Where the keyboard goes on in each phase. Whoever has no pointer cannot sign, and chooses a file.
const FIRST = { aim: "shutter", pick: "pick", record: "stop", look: "use", sign: "pick", ready: "send" };

// One thing at a time: "aim", "record", "look", "sign" or "ready"; "pick" where there is no camera to aim with.
function turn(phase) {
  const focused = document.activeElement;
  root.dataset.phase = phase;
  for (const shown of root.querySelectorAll("[data-phases]")) shown.hidden = !shown.dataset.phases.split(" ").includes(phase);
  if (phase !== "aim" && phase !== "record") camera.end();
  showReady();
  if (root.contains(focused) && focused.closest("[hidden]")) focusOn(part(FIRST[phase]));
  showFinder();
}

// On a phone that is held sideways, the camera would be below what can be seen.
const low = window.matchMedia("(max-height: 500px)");
function showFinder() {
  if (low.matches) root.querySelector(".finder").scrollIntoView({ block: "nearest" });
}
low.addEventListener("change", showFinder);

// The button that was pressed is hidden now. To begin again at the top of the page would be a long way.
function focusOn(target) {
  root.tabIndex = -1;
  (target.disabled ? root : target).focus();
}

function tell(name, values) {
  const trouble = part("trouble");
  trouble.hidden = !name;
  trouble.textContent = name ? word(name, values) : "";
}

// Position.

function showPosition({ state }) {
  const latest = position.latest();
  const where = part("where");
  if (latest && state !== "denied") {
    const meters = between(latest, place);
    where.textContent = word("distance", { distance: distance(meters), accuracy: distance(latest.accuracy_meters) });
    const far = meters - latest.accuracy_meters > NEAR;
    part("far").hidden = !far;
    part("far").textContent = far ? word("far", { distance: distance(meters) }) : "";
  } else {
    where.textContent = word(`position_${state}`);
  }
  part("approximate").hidden = state !== "approximate";
  part("locate").hidden = state === "waiting" || state === "known";
  showReady();
}

// Taking.

async function begin(next) {
  type = next;
  taken = null;
  tell(null);
  for (const item of root.querySelectorAll("[data-wanted]")) item.toggleAttribute("data-current", item.dataset.wanted === type);
  part("what").textContent = word(`take_${type}`);
  part("pick").accept = type === "video" ? "video/mp4,video/quicktime" : "image/*";
  // A signature may be a file that is there already; the rest is taken now.
  const isSignature = type === "signature";
  if (isSignature) part("pick").removeAttribute("capture");
  else part("pick").setAttribute("capture", "environment");
  part("pick-from").textContent = word(isSignature ? "pick_file" : "pick");
  if (isSignature) {
    pad.clear();
    return turn("sign");
  }
  if (type === "video" && !Camera.recordsVideo()) return lack("video_unsupported");
  turn("aim");
  try {
    await camera.begin(type);
  } catch (error) {
    lack(error.name === "NotAllowedError" ? "camera_denied" : "camera_missing");
  }
}

function lack(reason) {
  turn("pick");
  tell(reason);
}

async function shoot() {
  if (recording) return recording.stop();
  if (type === "photo") return look(await camera.photo(), "camera", new Date());
  const at = new Date();
  tell(null);
  turn("record");
  try {
    recording = camera.record((seconds) => { part("seconds").textContent = `${Math.floor(seconds)} s`; });
    look(await recording.done, "camera", at);
  } catch (error) {
    tell(error.name === "EncodingError" ? "nothing_recorded" : "camera_missing");
    turn("aim");
  } finally {
    recording = null;
  }
}

async function picked(file) {
  if (!file) return;
  tell(null);
  try {
    // Shown where others sign, and used as what they draw is.
    if (type === "signature") return pad.show(await createImageBitmap(file), new Date(file.lastModified));
    const isPhoto = type === "photo";
    if (!isPhoto && !ENDINGS[file.type]?.startsWith("m")) return tell("bad_file");
    if (!isPhoto && file.size > VIDEO_BYTES) return tell("too_large", { most: size(VIDEO_BYTES) });
    look(isPhoto ? await shrunk(file) : file, "picker", new Date(file.lastModified));
  } catch {
    tell("bad_file", { most: size(PHOTO_BYTES) });
  }
}

function look(blob, source, at) {
  show(null);
  taken = { blob, source, at };
  turn("look");
  show(blob);
}

function show(blob) {
  for (const shown of [part("shot"), part("clip")]) {
    if (shown.src) URL.revokeObjectURL(shown.src);
    shown.removeAttribute("src");
    shown.hidden = true;
  }
  if (!blob) return;
  const shown = blob.type.startsWith("video") ? part("clip") : part("shot");
  shown.hidden = false;
  shown.src = URL.createObjectURL(blob);
}

// Keeping.

async function use({ blob, source, at }) {
  const clock = await noted("clock");
  const file = {
    id: newId(), submission: draft.id, worker, task, type, mime: blob.type, size: blob.size, sent: 0, upload: null,
    name: `legwork-${task.slice(-8)}-${type}.${ENDINGS[blob.type] ?? "bin"}`,
    record: {
      captured_at: at.toISOString(),
      clock_offset_ms: clock?.offset_ms ?? null,
      source,
      queued_offline: !navigator.onLine,
      fixes: [...position.fixes],
    },
  };
  const { files, ...submission } = draft;
  try {
    await keep(submission, file, blob);
  } catch (error) {
    // Browsers do not always say that the disk is full. The picture stays on the screen: it can be saved, or used again when there is room.
    return tell(error.name === "QuotaExceededError" ? "disk_full" : "not_kept");
  }
  navigator.storage?.persist?.();
  draft.files = [...files.filter((old) => old.type !== type), file];
  next();
}

const has = (wanted) => draft.files.some((file) => file.type === wanted);

function next() {
  show(null);
  for (const item of root.querySelectorAll("[data-wanted]")) {
    const done = has(item.dataset.wanted);
    item.toggleAttribute("data-done", done);
    item.querySelector("[data-state]").textContent = word(done ? "taken" : "missing");
    item.querySelector("button").textContent = word(done ? "again" : "take");
  }
  const missing = types.find((wanted) => !has(wanted));
  if (missing) return begin(missing);
  tell(null);
  turn("ready");
}

// The most exact position that came with the files, or that is known now.
function bestPosition() {
  const fixes = draft.files.flatMap((file) => file.record.fixes);
  fixes.sort((one, other) => one.accuracy_meters - other.accuracy_meters);
  return fixes[0] ?? position.best();
}

function showReady() {
  if (root.dataset.phase !== "ready") return;
  const lacks = needsPosition && !bestPosition();
  part("send").disabled = lacks;
  part("lacks").hidden = !lacks;
}

async function send() {
  await change(draft.id, { state: "ready", due: due || null, position: needsPosition ? bestPosition() : null, error: null });
  const registration = await navigator.serviceWorker?.getRegistration("/worker");
  // Where it exists, the browser sends even after this page is closed.
  await registration?.sync?.register("outbox").catch(() => {});
  location.href = "/worker/outbox";
}

// Going on where somebody was, also after the browser was killed.

async function resume() {
  const known = (await all(worker)).filter((submission) => submission.task === task);
  if (known.some((submission) => submission.state === "ready" || submission.state === "refused")) {
    part("waits").hidden = false;
  }
  draft = known.find((submission) => submission.state === "draft") ?? {
    id: newId(), worker, task, title, due: due || null, state: "draft", made_at: new Date().toISOString(),
    start: status === "assigned", error: null, files: [],
  };
  next();
}

part("shutter").addEventListener("click", shoot);
part("stop").addEventListener("click", shoot);
part("turn").addEventListener("click", () => camera.turn().catch(() => begin(type)));
part("pick").addEventListener("change", ({ target }) => { picked(target.files[0]).finally(() => { target.value = ""; }); });
part("retake").addEventListener("click", () => { show(null); begin(type); });
part("use").addEventListener("click", () => use(taken));
part("clear").addEventListener("click", () => pad.clear());
part("signed").addEventListener("click", async () => use({ blob: await pad.png(), ...pad.origin() }));
part("send").addEventListener("click", send);
part("locate").addEventListener("click", () => position.begin());
for (const item of root.querySelectorAll("[data-wanted]")) {
  item.querySelector("button").addEventListener("click", () => { show(null); begin(item.dataset.wanted); });
}
window.addEventListener("pagehide", () => { camera.end(); position.end(); });
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible" && root.dataset.phase === "aim") begin(type);
});

if (needsPosition) position.begin();
await resume();
