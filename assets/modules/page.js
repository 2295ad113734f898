// What every page of an app does when scripts run. Nothing here is needed: forms work without it.

// A second click on a button does not send a form twice. Its key would make that harmless anyway. A form whose
// request was stopped can be sent again: at once where the browser tells of it, and else after the time of a double
// click. What leads to no page, such as a download, is never told of.
const HELD_MS = window.navigation ? 10_000 : 1000;
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  if (form.dataset.sent) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = "1";
  const free = () => { delete form.dataset.sent; };
  window.navigation?.addEventListener("navigate", ({ signal }) => signal.addEventListener("abort", free), { once: true });
  setTimeout(free, HELD_MS);
});
// After the back button a form can be sent again.
window.addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});

// Buttons that copy what stands beside them.
for (const source of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) break;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "second";
  // The attribute may say both words in another language.
  const [copy, copied] = (source.dataset.copy || "Copy|Copied").split("|");
  button.textContent = copy;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(source.textContent.trim());
    button.textContent = copied;
    setTimeout(() => { button.textContent = copy; }, 2000);
  });
  (source.closest("pre") ?? source).after(button);
}

// A picture grows until it is closed. Without scripts it opens on its own.
document.addEventListener("click", (event) => {
  const asked = event.target.closest("a[data-zoom]");
  if (!asked || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  // A key names one picture, and closes whichever is open.
  const link = document.querySelector("a.zoomed") ?? asked;
  const box = link.getBoundingClientRect();
  // Who presses a key points at nothing.
  const [x, y] = event.detail > 0 ? [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height] : [0, 0];
  if (link.classList.toggle("zoomed")) link.scrollTo(x * link.scrollWidth - link.clientWidth / 2, y * link.scrollHeight - link.clientHeight / 2);
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.querySelector("a.zoomed")?.classList.remove("zoomed");
});

// Times stay right while a page is open.
const UNITS = [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]];
const lang = document.documentElement.lang;
const words = new Intl.RelativeTimeFormat(lang);
function relative(then) {
  const seconds = Math.round((then - Date.now()) / 1000);
  const size = Math.abs(seconds);
  if (size < 5) return lang === "es" ? "ahora" : "now";
  // As the server does: down, but for the first moments of a unit.
  const [largest] = UNITS.find(([unit]) => size >= unit);
  const rounded = Math.floor((size + Math.floor(largest / 50)) / largest) * largest;
  const [unit, name] = UNITS.find(([unit]) => rounded >= unit);
  const count = Math.floor(rounded / unit);
  return words.format(seconds > 0 ? count : -count, name);
}
// The clock of a page may be ahead of this one, as that of tests is: the difference is kept. Some moments are of
// another clock than the page, and say so. A page that was kept for later was made when it was saved.
const { now, saved } = document.documentElement.dataset;
const made = Date.parse(saved ?? "") || Date.now();
function showTimes() {
  for (const time of document.querySelectorAll("time[datetime]")) {
    const ahead = (Date.parse(time.dataset.now ?? now ?? "") || made) - made;
    time.textContent = relative(Date.parse(time.dateTime) - ahead);
  }
}
if (saved) showTimes();
setInterval(showTimes, 15000);

// On a phone the pages stand side by side, and the current one may be out of sight.
const menu = document.querySelector(".side nav ul");
const here = menu?.querySelector("[aria-current]");
if (here) menu.scrollLeft = here.offsetLeft - (menu.clientWidth - here.offsetWidth) / 2;

// The browser knows the time zone.
for (const field of document.querySelectorAll("[data-utc-offset]")) {
  const offset = String(-new Date().getTimezoneOffset());
  if ([...field.options].some((option) => option.value === offset)) field.value = offset;
}
