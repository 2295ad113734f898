// What was written into a form that came too late, because the session had ended, is there again once its writer comes back
// from signing in. Forms are sent by the browser, as without this. Keys, passwords, codes and files are never remembered.
const NAME = "legwork draft";
const NOT_KEPT = "[type=hidden], [type=password], [type=file], [autocomplete=one-time-code]";
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

const fields = (form) => [...form.elements].filter((field) => field.name && !field.matches(`button, ${NOT_KEPT}`));

const keep = (draft) => stored((store) => store.setItem(NAME, JSON.stringify(draft)));

function remember(form) {
  const names = new Set(fields(form).map(({ name }) => name));
  const values = [...new FormData(form)].filter(([name]) => names.has(name));
  keep({ about: about(form), values });
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

// Only who has sent a form without a session is led to a page to sign in that says so.
const isLate = () => /\/sign-in$/.test(location.pathname) && new URLSearchParams(location.search).get("done") === "ended";

function restore() {
  const draft = stored((store) => JSON.parse(store.getItem(NAME)));
  if (!draft) return;
  if (isLate()) return keep({ ...draft, late: true });
  const form = forms.find((form) => about(form) === draft.about);
  // Other pages may come before the one with the form, such as that of a second factor.
  if (draft.late && !form) return;
  if (draft.late) fill(form, draft.values);
  // Whoever was not late has sent it.
  stored((store) => store.removeItem(NAME));
}

for (const form of forms) form.addEventListener("submit", () => remember(form));
restore();
