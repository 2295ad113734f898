// What was written into a form that came too late, because the session had ended, is there again once its writer comes back
// from signing in. Forms are sent by the browser, as without this. Keys, passwords and codes are never remembered.
const NAME = "legwork draft";
const SECRET = "[type=hidden], [type=password], [autocomplete=one-time-code]";
const forms = [...document.querySelectorAll("form[data-draft]")];

// A browser may refuse to keep anything.
function stored(use) {
  try {
    return use(sessionStorage);
  } catch {
    return null;
  }
}

// Two people may use one window, and neither is to find what the other wrote.
const about = (form) => `${form.elements.whose?.value} ${form.getAttribute("action")}`;

const fields = (form) => [...form.elements].filter((field) => field.name && !field.matches(`button, ${SECRET}`));

function remember(form) {
  const names = new Set(fields(form).map(({ name }) => name));
  const values = [...new FormData(form)].filter(([name]) => names.has(name));
  stored((store) => store.setItem(NAME, JSON.stringify([about(form), values])));
}

function fill(form, values) {
  const given = (name) => values.filter(([found]) => found === name).map(([, value]) => value);
  for (const field of fields(form)) {
    if (field.matches("[type=checkbox], [type=radio]")) field.checked = given(field.name).includes(field.value);
    else field.value = given(field.name)[0] ?? "";
  }
  form.closest("details")?.setAttribute("open", "");
  form.querySelector("[data-again]").hidden = false;
}

const isBack = () => document.referrer !== "" && /\/sign-in(\/|$)/.test(new URL(document.referrer).pathname);

function restore() {
  const text = stored((store) => store.getItem(NAME));
  // Whoever is on a page without having signed in was not late.
  stored((store) => store.removeItem(NAME));
  if (!text || !isBack()) return;
  const [whose, values] = JSON.parse(text);
  const form = forms.find((form) => about(form) === whose);
  if (form) fill(form, values);
}

for (const form of forms) form.addEventListener("submit", () => remember(form));
restore();
