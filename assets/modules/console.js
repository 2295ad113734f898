// The console: pictures that grow, and what a split comes to. Without it, pictures open on their own and the
// page lists examples.

for (const link of document.querySelectorAll("a[data-zoom]")) {
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    link.firstElementChild.classList.toggle("zoomed");
  });
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
    const answer = await fetch(`${field.dataset.split}?paid_cents=${encodeURIComponent(amount.value)}`);
    const text = await answer.text();
    if (answer.ok && mine === asked) result.textContent = text;
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
