// Asks the function of docs/guides/webhooks.md, in the folder of the first argument, about deliveries: a
// JSON array of them on standard input, an array of verdicts on standard output.

import { readFileSync } from "node:fs";

const { isFromLegwork } = await import(`${process.argv[2]}/receiver.mjs`);

const verdicts = JSON.parse(readFileSync(0, "utf8")).map(({ secret, timestamp, signature, body, now }) =>
  isFromLegwork(secret, timestamp, signature, Buffer.from(body, "base64"), now ?? undefined),
);
console.log(JSON.stringify(verdicts));
