// Asks npm's standardwebhooks, through the function of docs/guides/webhooks.md in the folder of the first
// argument: one delivery to a line of standard input, one verdict to a line of standard output. A
// verdict that is text tells what went wrong otherwise.

import { createInterface } from "node:readline";
import { isDeepStrictEqual } from "node:util";

const { readDelivery } = await import(`${process.argv[2]}/library.mjs`);

function verdict({ secret, headers, body }) {
  const raw = Buffer.from(body, "base64");
  try {
    const event = readDelivery(secret, headers, raw);
    return isDeepStrictEqual(event, JSON.parse(raw)) || "the library read another event";
  } catch (error) {
    return error.name === "WebhookVerificationError" ? false : String(error);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(verdict(JSON.parse(line))));
}
