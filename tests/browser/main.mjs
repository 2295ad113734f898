// Visits every page with a real browser: node main.mjs URL [STORY...]
// LEGWORK_TEST_SCREENSHOTS names a folder for pictures of every page, LEGWORK_TEST_TOUR one for those of docs/tour.md.
// A story may print RESTART: then the server is to be killed and started again, and a line written to this program.
import { open } from "./visit.mjs";
import { console as adminConsole } from "./stories/console.mjs";
import { frontDoor } from "./stories/front_door.mjs";
import { signingUp } from "./stories/signing_up.mjs";
import { firstTask } from "./stories/first_task.mjs";
import { keptForm } from "./stories/kept_form.mjs";
import { keys } from "./stories/keys.mjs";
import { live } from "./stories/live.mjs";
import { limitedKey } from "./stories/limited_key.mjs";
import { webhook } from "./stories/webhook.mjs";
import { secondFactor } from "./stories/second_factor.mjs";
import { passkeys } from "./stories/passkeys.mjs";
import { dispute } from "./stories/dispute.mjs";
import { tour } from "./stories/tour.mjs";
import { settings } from "./stories/settings.mjs";
import { reviewing } from "./stories/reviewing.mjs";
import { worker } from "./stories/worker.mjs";
import { workerCapture } from "./stories/worker-capture.mjs";
import { workerCuts } from "./stories/worker-cuts.mjs";
import { workerOutbox } from "./stories/worker-outbox.mjs";
import { workerShell } from "./stories/worker-shell.mjs";
import { workerStory } from "./stories/worker-story.mjs";

const STORIES = {
  frontDoor, signingUp, firstTask, keptForm, reviewing, keys, settings, live, limitedKey, webhook, dispute, secondFactor, passkeys, adminConsole,
  worker, workerShell, workerCapture, workerOutbox, workerCuts, workerStory,
};

if (process.env.LEGWORK_TEST_TOUR) STORIES.tour = tour;

// Some waits have no end of their own.
const STORY = 10 * 60_000;
const tooLong = () => new Promise((_, reject) => {
  setTimeout(() => reject(new Error("it does not come to an end")), STORY).unref();
});

const [url, ...wanted] = process.argv.slice(2);
const visitor = await open(url);
let failed = 0;
for (const [name, story] of Object.entries(STORIES)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const begun = Date.now();
  try {
    await Promise.race([story(visitor), tooLong()]);
  } catch (error) {
    failed += 1;
    console.log(`FAILED ${name}: ${error.stack}`);
  }
  console.log(`${name}: ${((Date.now() - begun) / 1000).toFixed(1)} s`);
}
for (const problem of visitor.problems) console.log(`PROBLEM ${problem}`);
await visitor.close();
process.exit(failed + visitor.problems.length > 0 ? 1 : 0);
