// Notices on this phone: asks the browser, and tells the server where to send them.
import { store } from "./subscription.js";
import { element, word } from "./words.js";

const place = document.querySelector("[data-push]");

function bytes(base64) {
  const plain = atob(base64.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
}

function tell(name, isBad = false) {
  const status = place.querySelector("[role=status]");
  status.textContent = word(name);
  status.className = isBad ? "fault" : "faint";
}

async function subscribe(registration) {
  if (await Notification.requestPermission() !== "granted") return tell("push_denied", true);
  try {
    const { public_key: key } = await (await fetch("/worker/push")).json();
    const options = { userVisibleOnly: true, applicationServerKey: bytes(key) };
    const subscription = await registration.pushManager.subscribe(options);
    const isStored = await store(subscription);
    if (!isStored) await subscription.unsubscribe();
    tell(isStored ? "push_on" : "push_failed", !isStored);
    show(registration);
  } catch {
    tell("push_failed", true);
  }
}

async function unsubscribe(registration) {
  const subscription = await registration.pushManager.getSubscription();
  const { endpoint } = subscription ?? {};
  await subscription?.unsubscribe();
  if (endpoint) {
    const body = JSON.stringify({ endpoint });
    await fetch("/worker/push", { method: "DELETE", headers: { "content-type": "application/json" }, body, redirect: "manual" }).catch(() => {});
  }
  tell("push_off");
  show(registration);
}

async function show(registration) {
  const isOn = Boolean(await registration.pushManager.getSubscription());
  const button = element("button", { type: "button", className: "second", textContent: word(isOn ? "push_stop" : "push_start") });
  button.addEventListener("click", () => (isOn ? unsubscribe : subscribe)(registration));
  place.querySelector("button")?.remove();
  place.append(button);
}

if (place && navigator.serviceWorker && globalThis.PushManager) {
  place.append(element("p", { role: "status", className: "faint" }));
  place.hidden = false;
  const registration = await navigator.serviceWorker.ready;
  tell(await registration.pushManager.getSubscription() ? "push_on" : "push_off");
  await show(registration);
}
