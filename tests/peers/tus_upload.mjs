// Sends a file with tus-js-client: one order to a line of standard input, the URL of the upload to a line of
// standard output. It stops after the first piece and goes on with a new client, as an app does that was closed.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const tus = createRequire(`${process.argv[2]}/`)("tus-js-client");

function send(order, more) {
  return new Promise((resolve, reject) => {
    const upload = new tus.Upload(readFileSync(order.file), {
      endpoint: order.endpoint,
      headers: { Authorization: `Bearer ${order.token}` },
      metadata: { task_id: order.task_id, proof_type: order.proof_type, filename: "ü, 1.mp4" },
      chunkSize: order.chunk_size,
      retryDelays: [0, 100, 300],
      onError: reject,
      onSuccess: () => resolve(upload.url),
      ...more(() => upload, resolve),
    });
    upload.start();
  });
}

async function sendInTwo(order) {
  const url = await send(order, (upload, resolve) => ({
    uploadDataDuringCreation: order.during_creation,
    onChunkComplete: () => upload().abort().then(() => resolve(upload().url)),
  }));
  return send(order, () => ({ uploadUrl: url }));
}

async function sendAndTerminate(order) {
  const url = await send(order, () => ({}));
  await tus.Upload.terminate(url, { headers: { Authorization: `Bearer ${order.token}` } });
  return url;
}

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  const sent = order.terminate ? sendAndTerminate(order) : sendInTwo(order);
  console.log(JSON.stringify({ url: await sent.catch((error) => String(error)) }));
}
