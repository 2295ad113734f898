// Texts come from the page, so that each language is written in one place, on the server.
const texts = JSON.parse(document.querySelector("#texts")?.textContent ?? "{}");

export function word(name, values = {}) {
  const text = texts[name] ?? "";
  return Object.entries(values).reduce((text, [key, value]) => text.replaceAll(`{${key}}`, value), text);
}

export const language = document.documentElement.lang || "en";

export function size(bytes) {
  const unit = bytes >= 1e6 ? ["megabyte", 1e6] : ["kilobyte", 1e3];
  const digits = bytes >= 1e6 && bytes < 1e7 ? 1 : 0;
  const format = { style: "unit", unit: unit[0], maximumFractionDigits: digits };
  return new Intl.NumberFormat(language, format).format(bytes / unit[1]);
}

export function distance(meters) {
  const near = meters < 1000;
  const format = { style: "unit", unit: near ? "meter" : "kilometer", maximumFractionDigits: near || meters >= 10000 ? 0 : 1 };
  return new Intl.NumberFormat(language, format).format(near ? meters : meters / 1000);
}

// Today the hour is enough.
export function moment(at) {
  const date = new Date(at);
  const today = date.toDateString() === new Date().toDateString();
  const format = today ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" };
  return new Intl.DateTimeFormat(language, format).format(date);
}

export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// Asks with a dialog of ours. Answers whether somebody said yes.
export function ask(text, yes, no) {
  const dialog = element("dialog", {}, element("p", { textContent: text }));
  const form = element("form", { method: "dialog", className: "actions" });
  form.append(
    element("button", { value: "no", className: "second", textContent: no }),
    element("button", { value: "yes", className: "danger", textContent: yes }),
  );
  dialog.append(form);
  dialog.setAttribute("aria-label", text);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
  });
}
