// Sends the outbox, one page at a time, and goes on where it was after anything. Runs in pages and in the
// service worker.
import { all, arrived, blobOf, change, changeFile, isKept, noted, withdraw } from "./store.js";

const LOCK = "legwork-outbox";
const SMALLEST = 64 * 1024;
const LARGEST = 4 * 1024 * 1024;
// A part that takes longer is cut off and sent again in smaller ones.
const PART_MS = 60_000;
// An upload that is gone is begun again this often in one go.
const BEGINNINGS = 3;
// What may work later, if nothing is changed.
const LATER = ["RATE_LIMITED", "TOO_MANY_UPLOADS", "UNAVAILABLE", "CHECKSUM_MISMATCH", "OFFSET_MISMATCH", "UPLOAD_INCOMPLETE"];
const GONE = ["UPLOAD_NOT_FOUND", "UPLOAD_GONE"];

// Why something was not sent. `kind` is "later", "signed_out", "refused" or "discarded".
class Unsent extends Error {
  constructor(kind, code, message, retryAfter) {
    super(message);
    Object.assign(this, { kind, code, retryAfter });
  }
}

let queued = null;

// Sends what is ready. Whoever calls while it waits for its turn gets the same answer: when to try again, in
// seconds, or null when nothing is left that could be sent.
export function sendAll() {
  queued ??= navigator.locks.request(LOCK, () => {
    queued = null;
    return run();
  });
  return queued;
}

async function run() {
  const worker = await noted("worker");
  if (!worker) return null;
  let wait = null;
  for (const submission of await all(worker)) {
    if (submission.state !== "ready") continue;
    try {
      await change(submission.id, { trying: true });
      await send(submission);
    } catch (error) {
      const unsent = error instanceof Unsent ? error : new Unsent("later", "FAILED", String(error));
      if (unsent.kind === "discarded") {
        await deleteUploads(submission);
        continue;
      }
      await note(submission, unsent);
      if (unsent.kind === "signed_out") return null;
      // Without a network the next one would fail as well.
      if (unsent.code === "OFFLINE") return unsent.retryAfter ?? 5;
      if (unsent.kind === "later") wait = Math.max(wait ?? 0, unsent.retryAfter ?? 5);
    }
  }
  return wait;
}

function note(submission, { kind, code, message }) {
  const error = { code, message, at: new Date().toISOString() };
  const waited = submission.waited || code === "OFFLINE";
  return change(submission.id, { state: kind === "refused" ? "refused" : "ready", trying: false, waited, error });
}

async function send(submission) {
  if (submission.start) await start(submission);
  // What had all been sent before lacks only the answer: uploads that are used up cannot be asked for.
  if (submission.uploads && await finish(submission, submission.uploads)) return;
  const uploads = {};
  for (const file of submission.files) uploads[file.type] = await upload(submission, file);
  // From here on it may arrive, and whoever discards it has to ask the server.
  if (!await change(submission.id, { uploads })) throw new Unsent("discarded", "DISCARDED", "");
  if (await finish(submission, uploads)) return;
  throw new Unsent("later", "UPLOAD_GONE", "");
}

// The task was not begun yet when the worker lost the network.
async function start(submission) {
  const response = await ask(submission, `/worker/tasks/${submission.task}/begin`, { method: "POST" });
  if (!response.ok) {
    const error = await refusal(response);
    if (error.code !== "INVALID_TASK_STATE") throw error;
  }
  await change(submission.id, { start: false });
}

// Answers with the id of the upload when all of the file is there.
async function upload(submission, file) {
  const blob = await blobOf(file.id);
  if (!blob) throw new Unsent("refused", "FILE_MISSING", "");
  for (let count = 0; count < BEGINNINGS; count += 1) {
    try {
      const place = file.upload ?? await begin(submission, file);
      file.upload = place;
      await sendParts(submission, file, blob);
      return place.split("/").pop();
    } catch (error) {
      if (!GONE.includes(error.code)) throw error;
      // The file is still here, so it is sent from its beginning.
      file.upload = null;
      file.round = (file.round ?? 0) + 1;
      await changeFile(file.id, { upload: null, round: file.round, sent: 0 });
    }
  }
  throw new Unsent("later", "UPLOAD_GONE", "");
}

// The key makes a repeat harmless: an answer that was lost leaves no second upload.
async function begin(submission, file) {
  const metadata = `task_id ${btoa(submission.task)},proof_type ${btoa(file.type)}`;
  const response = await ask(submission, "/worker/uploads", {
    method: "POST",
    headers: {
      "upload-length": String(file.size),
      "upload-metadata": metadata,
      "idempotency-key": `${file.id}-${file.round ?? 0}`,
    },
  });
  if (!response.ok) throw await refusal(response);
  const place = response.headers.get("location");
  await changeFile(file.id, { upload: place });
  return place;
}

async function sendParts(submission, file, blob) {
  let offset = await offsetOf(submission, file);
  let [most, ceiling] = [4 * SMALLEST, LARGEST];
  await changeFile(file.id, { sent: offset });
  while (offset < file.size) {
    const begun = performance.now();
    try {
      offset = await sendPart(submission, file, blob.slice(offset, offset + most), offset);
    } catch (error) {
      if (most === SMALLEST || error.code !== "OFFLINE" || !navigator.onLine) throw error;
      // Smaller parts may get through where larger ones are cut off.
      ceiling = most = Math.max(most / 2, SMALLEST);
      offset = await offsetOf(submission, file);
      continue;
    }
    // About two seconds a part: a cut loses little, and a fast network is used.
    const took = performance.now() - begun;
    if (took < 1000) most = Math.min(most * 2, ceiling);
    if (took > 4000) most = Math.max(most / 2, SMALLEST);
    await changeFile(file.id, { sent: offset });
  }
}

async function offsetOf(submission, file) {
  const response = await ask(submission, file.upload, { method: "HEAD" });
  if (response.ok) return Number(response.headers.get("upload-offset"));
  // The answer to HEAD has no body to say why.
  if (response.status === 404 || response.status === 410) throw new Unsent("later", "UPLOAD_GONE", "");
  throw await refusal(response);
}

async function sendPart(submission, file, part, offset) {
  const bytes = await part.arrayBuffer();
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  const response = await ask(submission, file.upload, {
    method: "PATCH",
    headers: {
      "content-type": "application/offset+octet-stream",
      "upload-offset": String(offset),
      "upload-checksum": `sha256 ${btoa(String.fromCharCode(...new Uint8Array(digest)))}`,
    },
    body: bytes,
  });
  if (response.ok) return Number(response.headers.get("upload-offset"));
  const error = await refusal(response);
  // Another page, or what was thought to be lost, was faster.
  if (error.code === "OFFSET_MISMATCH") return offsetOf(submission, file);
  throw error;
}

// Sent twice, it counts once: the submission has an id. False when an upload is gone, and has to be sent anew.
async function finish(submission, uploads) {
  const { waited } = submission;
  const record = (file) => ({ ...file.record, queued_offline: file.record.queued_offline || Boolean(waited) });
  const captures = Object.fromEntries(submission.files.map((file) => [file.type, record(file)]));
  const { position } = submission;
  const body = { submission_id: submission.id, ...uploads, captures };
  if (position) {
    body.gps_latitude = position.latitude;
    body.gps_longitude = position.longitude;
    body.gps_accuracy_meters = position.accuracy_meters;
  }
  const response = await ask(submission, `/worker/tasks/${submission.task}/proofs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (response.ok) {
    await arrived(submission.id);
    return true;
  }
  const error = await refusal(response);
  if (!GONE.includes(error.code) && error.code !== "UPLOAD_INCOMPLETE") throw error;
  await change(submission.id, { uploads: null });
  return false;
}

// Takes a submission back, also while it is sent. Answers "discarded"; "arrived" when that was too late; or "unknown"
// when only the server knows, and cannot be asked.
export async function takeBack(id, gone = null) {
  const { removed, found } = await withdraw(id, gone);
  if (removed) {
    await deleteUploads(found);
    return "discarded";
  }
  if (found.state === "sent") return "arrived";
  const [upload] = Object.values(found.uploads);
  try {
    if (await hasArrived(found, upload)) return "arrived";
  } catch (error) {
    if (error.kind !== "refused" && error.kind !== "discarded") return "unknown";
  }
  return takeBack(id, upload);
}

// All of it was sent. What the server deletes cannot become proof any more. What it does not have was used up, or is too
// old: the last request, sent again, tells which, and cannot make a proof of it.
async function hasArrived(submission, upload) {
  const response = await fetchFor(submission, `/worker/uploads/${upload}`, { method: "DELETE" });
  if (response.ok) return false;
  if (response.status !== 404 && response.status !== 410) throw new Unsent("later", `STATUS_${response.status}`, "");
  return finish(submission, submission.uploads);
}

// Without a network they stay, and the server deletes them after a while.
async function deleteUploads(submission) {
  for (const { upload } of submission.files) {
    if (upload) await fetchFor(submission, upload, { method: "DELETE" }).catch(() => {});
  }
}

// Somebody may discard it at any time: nothing more is sent of it then.
async function ask(submission, path, options) {
  if (!await isKept(submission.id)) throw new Unsent("discarded", "DISCARDED", "");
  return fetchFor(submission, path, options);
}

// Every request says for whom it is: the server refuses it when somebody else is signed in by now.
async function fetchFor(submission, path, { headers, ...options }) {
  const all = { "tus-resumable": "1.0.0", "x-legwork-worker": submission.worker, accept: "application/json", ...headers };
  let response;
  try {
    response = await fetch(path, { ...options, headers: all, redirect: "manual", signal: AbortSignal.timeout(PART_MS) });
  } catch {
    throw new Unsent("later", "OFFLINE", "");
  }
  // A page that needs somebody who is signed in leads to where one signs in.
  if (response.type === "opaqueredirect" || response.status === 401) throw new Unsent("signed_out", "SIGNED_OUT", "");
  return response;
}

async function refusal(response) {
  const told = await response.json().catch(() => ({}));
  const code = told.error?.code ?? `STATUS_${response.status}`;
  const details = (told.error?.details ?? []).map(({ field, message }) => `${field}: ${message}`);
  const message = [told.error?.message, ...details].filter(Boolean).join(" · ");
  const later = LATER.includes(code) || response.status >= 500;
  const wait = Number(response.headers.get("retry-after")) || undefined;
  return new Unsent(later || GONE.includes(code) ? "later" : "refused", code, message, wait);
}
