// Keys of one letter: links, buttons and fields say which one they answer to. Software that types what somebody says
// would press them by accident, so they can be turned off (WCAG 2.1.4). The browser remembers it, for all its pages.
const STORED = "legwork keys";
const help = document.querySelector("[data-keys-help]");

function stored() {
  try {
    return localStorage.getItem(STORED);
  } catch {
    // A browser may refuse to remember anything.
    return null;
  }
}

let areOff = stored() === "off";

function show() {
  document.documentElement.classList.toggle("keys-off", areOff);
  for (const box of document.querySelectorAll("[data-keys-switch]")) box.checked = !areOff;
}

function turn(off) {
  areOff = off;
  try {
    localStorage.setItem(STORED, off ? "off" : "on");
  } catch {
    // Then it holds for this page.
  }
  show();
}

// Whether a press counts as a key of one letter. A key that is held is one key.
export function isKey(event) {
  return !areOff && !event.repeat && !event.ctrlKey && !event.metaKey && !event.altKey && !help.open;
}

// Several pictures may answer to the same key: the first one does.
const targetOf = (key) => document.querySelector(`[data-key="${CSS.escape(key)}"]`);

document.addEventListener("keydown", (event) => {
  if (!isKey(event) || event.target.closest("input, textarea, select, [contenteditable]")) return;
  const target = targetOf(event.key);
  if (!target) return;
  event.preventDefault();
  if (target.matches("input, select, textarea")) target.focus();
  else target.click();
});

// What a key does, in the words of what it presses.
function wordsOf(target) {
  const words = (target.labels?.[0] ?? target).cloneNode(true);
  for (const key of words.querySelectorAll("kbd")) key.remove();
  return target.dataset.keyName ?? words.textContent.trim();
}

function listed(target) {
  const [key, what] = ["dt", "dd"].map((tag) => document.createElement(tag));
  key.append(Object.assign(document.createElement("kbd"), { textContent: target.dataset.key }));
  what.textContent = wordsOf(target);
  return [key, what];
}

function openHelp() {
  const targets = [...document.querySelectorAll("[data-key]")].filter((one) => one === targetOf(one.dataset.key));
  help.querySelector("dl").replaceChildren(...targets.flatMap(listed));
  help.showModal();
}

document.querySelector("[data-keys-button]").addEventListener("click", openHelp);
document.addEventListener("change", ({ target }) => {
  if (target.matches("[data-keys-switch]")) turn(!target.checked);
});
window.addEventListener("storage", ({ key, newValue }) => {
  if (key !== STORED) return;
  areOff = newValue === "off";
  show();
});
// Without this module there are no keys to speak of.
for (const part of document.querySelectorAll("[data-needs-keys]")) part.hidden = false;
show();
