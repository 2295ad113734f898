// A form that is sent without leaving its page: without a network, or when the server does not answer, what was typed
// stays where it is. Should the page itself get lost, this window remembers it. Without this, the browser sends the form.
const WAIT_MS = 30_000;
const form = document.querySelector("form[data-keep]");
const said = form.querySelector("[data-said]");
// Two people may use one window, and neither is to find what the other typed.
const NAME = `legwork form ${form.elements.whose?.value} ${location.pathname}`;

const entered = () => new URLSearchParams(new FormData(form)).toString();

function say(...parts) {
  said.replaceChildren(...parts);
  said.hidden = parts.length === 0;
}

function fill(text) {
  const values = new URLSearchParams(text);
  for (const field of form.elements) {
    if (!field.name || field.matches("button")) continue;
    if (field.matches("[type=checkbox], [type=radio]")) field.checked = values.has(field.name, field.value);
    else field.value = values.get(field.name) ?? "";
  }
  form.dispatchEvent(new Event("input"));
}

function forget() {
  sessionStorage.removeItem(NAME);
}

// What the server has refused is on the page already, with what is wrong about it.
function restore() {
  const kept = sessionStorage.getItem(NAME);
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
  sessionStorage.setItem(NAME, entered());
  say("Sending …");
  const request = { method: "POST", body: new URLSearchParams(entered()), signal: AbortSignal.timeout(WAIT_MS) };
  const answer = await fetch(form.action, request).catch(() => null);
  isSending = false;
  tell(answer);
}

function tell(answer) {
  const kept = "What you typed is still here: send it again later.";
  if (!answer) return say(`Not sent: there is no network, or the server does not answer. ${kept}`);
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
  event.preventDefault();
  // The script of every page would count it as sent.
  event.stopPropagation();
  send();
});
// A page that comes back by the back button is as it was when its form was sent.
window.addEventListener("pageshow", ({ persisted }) => { if (persisted) say(); });
restore();
