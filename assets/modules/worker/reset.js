// Withdraws the app from this browser: its service worker and the pages it kept. The outbox stays.
const done = document.querySelector("[data-reset-done]");
for (const registration of await navigator.serviceWorker?.getRegistrations() ?? []) await registration.unregister();
for (const name of await globalThis.caches?.keys() ?? []) await caches.delete(name);
done.hidden = false;
document.querySelector("[data-reset-busy]").remove();
