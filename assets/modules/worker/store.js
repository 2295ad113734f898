// The outbox: what was captured and has not arrived yet. It is on the disk before anything is sent, and it
// belongs to the worker who made it. Runs in pages and in the service worker.
const NAME = "legwork-outbox";
const channel = new BroadcastChannel(NAME);
let opening = null;

function open() {
  opening ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, 1);
    request.onupgradeneeded = () => {
      const db = request.result;
      db.createObjectStore("submissions", { keyPath: "id" }).createIndex("worker", "worker");
      db.createObjectStore("files", { keyPath: "id" }).createIndex("submission", "submission");
      // Apart from what is noted about them, so that noting progress does not write a video again.
      db.createObjectStore("blobs");
      db.createObjectStore("notes");
    };
    request.onsuccess = () => {
      const db = request.result;
      // A later release may change it, and a browser may close it: then it is opened again.
      db.onversionchange = () => { db.close(); opening = null; };
      db.onclose = () => { opening = null; };
      resolve(db);
    };
    request.onerror = () => { opening = null; reject(request.error); };
  });
  return opening;
}

const asked = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

// Resolves when everything is on the disk. `work` may await requests of this transaction and nothing else.
async function transaction(stores, mode, work) {
  const db = await open();
  const tx = db.transaction(stores, mode, { durability: "strict" });
  const done = new Promise((resolve, reject) => {
    tx.oncomplete = resolve;
    tx.onabort = () => reject(tx.error ?? new DOMException("aborted", "AbortError"));
  });
  // A transaction that fails is told of once, below.
  done.catch(() => {});
  let result;
  try {
    result = await work((name) => tx.objectStore(name));
  } catch (error) {
    try { tx.abort(); } catch { /* it has ended by itself */ }
    await done.catch((reason) => { if (reason?.name === "QuotaExceededError") throw reason; });
    throw error;
  }
  await done;
  if (mode === "readwrite") channel.postMessage("changed");
  return result;
}

// Calls back when this page or another one has changed something.
export function whenChanged(listener) {
  const own = new BroadcastChannel(NAME);
  own.onmessage = () => listener();
}

// A name that nobody else gives, also for the server.
export function newId() {
  return crypto.randomUUID().replaceAll("-", "");
}

// Keeps a captured file, in the place of an earlier one of its type. The submission is made with its first.
export function keep(submission, file, blob) {
  return transaction(["submissions", "files", "blobs"], "readwrite", async (store) => {
    const known = await asked(store("submissions").get(submission.id));
    if (!known) store("submissions").put(submission);
    const before = await asked(store("files").index("submission").getAll(submission.id));
    for (const old of before.filter((old) => old.type === file.type)) {
      store("files").delete(old.id);
      store("blobs").delete(old.id);
    }
    store("files").put(file);
    store("blobs").put(blob, file.id);
  });
}

// False when it was discarded meanwhile.
export function change(id, fields) {
  return transaction(["submissions"], "readwrite", async (store) => {
    const found = await asked(store("submissions").get(id));
    if (found) store("submissions").put({ ...found, ...fields });
    return Boolean(found);
  });
}

export function isKept(id) {
  return transaction(["submissions"], "readonly", async (store) => await asked(store("submissions").count(id)) > 0);
}

export function changeFile(id, fields) {
  return transaction(["files"], "readwrite", async (store) => {
    const found = await asked(store("files").get(id));
    if (found) store("files").put({ ...found, ...fields });
  });
}

// All of a worker, oldest first, with their files.
export function all(worker) {
  return transaction(["submissions", "files"], "readonly", async (store) => {
    const found = await asked(store("submissions").index("worker").getAll(worker));
    found.sort((one, other) => one.made_at.localeCompare(other.made_at));
    for (const submission of found) {
      submission.files = await asked(store("files").index("submission").getAll(submission.id));
    }
    return found;
  });
}

export function blobOf(file) {
  return transaction(["blobs"], "readonly", (store) => asked(store("blobs").get(file)));
}

// It has arrived: the files can go, and what became of it stays to be seen for a while.
export function arrived(id) {
  return transaction(["submissions", "files", "blobs"], "readwrite", async (store) => {
    const found = await asked(store("submissions").get(id));
    if (!found) return;
    store("submissions").put({ ...found, state: "sent", sent_at: new Date().toISOString(), error: null });
    await eachFile(store, id, (file) => store("files").put({ ...file, sent: file.size }));
  });
}

export function discard(id) {
  return transaction(["submissions", "files", "blobs"], "readwrite", (store) => remove(store, id));
}

// Discards what cannot arrive any more: something of it was never sent, it was refused, or the upload `gone` that it
// needs is not there. Answers with what was found, and whether it is removed.
export function withdraw(id, gone) {
  return transaction(["submissions", "files", "blobs"], "readwrite", async (store) => {
    const found = await asked(store("submissions").get(id));
    if (!found) return { removed: true, found: { files: [] } };
    found.files = await asked(store("files").index("submission").getAll(id));
    const mayArrive = found.state === "ready" && found.uploads && !Object.values(found.uploads).includes(gone);
    const removed = found.state !== "sent" && !mayArrive;
    if (removed) await remove(store, id);
    return { removed, found };
  });
}

async function remove(store, id) {
  store("submissions").delete(id);
  await eachFile(store, id, (file) => store("files").delete(file.id));
}

async function eachFile(store, submission, work) {
  for (const file of await asked(store("files").index("submission").getAll(submission))) {
    store("blobs").delete(file.id);
    work(file);
  }
}

export function note(name, value) {
  return transaction(["notes"], "readwrite", (store) => asked(store("notes").put(value, name)));
}

export function noted(name) {
  return transaction(["notes"], "readonly", (store) => asked(store("notes").get(name)));
}

// What has not arrived: also what cannot, until its worker has saved or discarded it.
export const isUnsent = (submission) => submission.state !== "sent";

const SHOWN_FOR = 24 * 60 * 60 * 1000;

export async function forgetOld(worker) {
  for (const submission of await all(worker)) {
    if (submission.state === "sent" && Date.now() - Date.parse(submission.sent_at) > SHOWN_FOR) await discard(submission.id);
  }
}
