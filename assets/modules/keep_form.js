// A form that is sent without leaving its page: without a network, or when the server does not answer, what was typed
// stays where it is. Should the page itself get lost, this window remembers it. Without this, the browser sends the form.
const WAIT_MS = 30_000;
const form = document.querySelector("form[data-keep]");
const said = form.querySelector("[data-said]");
// Two people may use one window, and neither is to find what the other typed.
const NAME = `legwork form ${form.elements.whose?.value} ${new URL(form.action).pathname}`;

const entered = () => new URLSearchParams(new FormData(form)).toString();

function say(...parts) {
  said.replaceChildren(...parts);
  said.hidden = parts.length === 0;
}

function fill(text) {
  const values = new URLSearchParams(text);
  for (const field of form.elements) {
    if (!field.name || field.matches("button")) continue;
    if (field.matches("[type=checkbox], [type=radio]")) field.checked = values.getAll(field.name).includes(field.value);
    else field.value = values.get(field.name) ?? "";
  }
  form.dispatchEvent(new Event("input"));
}

// A browser may refuse to keep anything.
function stored(use) {
  try {
    return use(sessionStorage);
  } catch {
    return null;
  }
}

const forget = () => stored((store) => store.removeItem(NAME));

// What the server has refused is on the page already, with what is wrong about it.
function restore() {
  const kept = stored((store) => store.getItem(NAME));
  if (form.dataset.keep !== "new") return forget();
  if (kept === null) return;
  fill(kept);
  const anew = Object.assign(document.createElement("button"), { type: "button", className: "plain", textContent: "Begin anew" });
  anew.addEventListener("click", () => {
    forget();
    location.assign(location.pathname);
  });
  say("This was not sent, and is here again. ", anew);
}

function signIn() {
  const href = `/sign-in?next=${encodeURIComponent(location.pathname)}`;
  return Object.assign(document.createElement("a"), { href, target: "_blank", textContent: "sign in on another page" });
}

let isSending = false;

// To send it twice is harmless: the form has a key.
async function send() {
  if (isSending) return;
  isSending = true;
  stored((store) => store.setItem(NAME, entered()));
  say("Sending …");
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), WAIT_MS);
  const request = { method: "POST", body: new URLSearchParams(entered()), signal: abort.signal };
  const answer = await fetch(form.action, request).catch(() => null);
  clearTimeout(timer);
  const isBusy = answer?.status === 429 || (answer?.status === 409 && (await isThisForm(answer)));
  isSending = false;
  if (isBusy) return say("The server is still busy with it. What you typed is still here: send it again in a moment.");
  tell(answer);
}

// The same form with a problem, not the page that says that another person has signed in since.
const isThisForm = (answer) => answer.text().then((page) => page.includes("data-keep"), () => false);

function tell(answer) {
  const kept = "What you typed is still here: send it again later.";
  if (!answer) return say("No answer: there is no network, or the server is slow. What you typed is still here. Send it again: it happens once.");
  if (answer.status >= 500) return say(`Not sent: the server answered with status ${answer.status}. ${kept}`);
  if (new URL(answer.url).pathname === "/sign-in") return say("Not sent: your session has ended. What you typed is still here: ", signIn(), ", and send it again.");
  if (!answer.redirected) {
    // Refused, and without effect. The page of the answer says why.
    return form.submit();
  }
  forget();
  location.assign(answer.url);
}

form.addEventListener("submit", (event) => {
  // Another button than the one that sends.
  if (event.submitter?.name) return;
  event.preventDefault();
  // The script of every page would count it as sent.
  event.stopPropagation();
  send();
});
// A page that comes back by the back button is as it was when its form was sent.
window.addEventListener("pageshow", ({ persisted }) => { if (persisted) say(); });
restore();
