// Where this phone gets notices. The server forgets it when the sign-in ends that told it.
import { note, noted } from "./store.js";

const { session, worker } = document.body.dataset;

// Answers whether the server has it.
export async function store(subscription) {
  const response = await fetch("/worker/push", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ endpoint: subscription.endpoint, keys: subscription.toJSON().keys }),
    redirect: "manual",
  });
  if (response.ok) await note("push", { session, worker });
  return response.ok;
}

// After another sign-in the server is told again. Notices that somebody else wanted on this phone stop.
export async function renew() {
  const registration = await navigator.serviceWorker?.getRegistration("/worker");
  const subscription = await registration?.pushManager?.getSubscription();
  const told = await noted("push");
  if (!subscription || told?.session === session) return;
  if (told && told.worker !== worker) await subscription.unsubscribe();
  else await store(subscription);
}
