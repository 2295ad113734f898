// The console: what a split comes to. Without it, the page lists examples.

// Whoever has typed a reason stays on this page, and signs in on another.
function signInAgain() {
  const next = encodeURIComponent(location.pathname);
  const link = Object.assign(document.createElement("a"), { href: `/admin/sign-in?next=${next}`, target: "_blank", textContent: "sign in on another page" });
  return ["Your session has ended: ", link, ", and go on here."];
}

for (const field of document.querySelectorAll("[data-split]")) {
  const amount = field.querySelector("input");
  const result = field.querySelector("[data-result]");
  const slider = document.createElement("input");
  slider.type = "range";
  slider.min = 1;
  slider.max = field.dataset.most;
  slider.value = amount.value || Math.round(field.dataset.most / 2);
  slider.setAttribute("aria-label", "Share that is paid");
  amount.after(slider);
  let asked = 0;
  async function tell() {
    const mine = (asked += 1);
    const url = `${field.dataset.split}?paid_cents=${encodeURIComponent(amount.value)}`;
    const answer = await fetch(url, { redirect: "manual" }).catch(() => null);
    const text = answer?.ok ? await answer.text() : null;
    if (mine !== asked) return;
    if (text !== null) result.textContent = text;
    else if (!answer) result.textContent = "You are offline, so this cannot tell who gets how much.";
    else if (answer.type === "opaqueredirect") result.replaceChildren(...signInAgain());
  }
  let soon;
  function changed() {
    clearTimeout(soon);
    soon = setTimeout(tell, 120);
    const split = document.querySelector("input[name=decision][value=split]");
    if (split) split.checked = true;
  }
  slider.addEventListener("input", () => { amount.value = slider.value; changed(); });
  amount.addEventListener("input", () => { slider.value = amount.value; changed(); });
}
