// "Search around me" and "use my position": asks the phone where it is, and fills two fields. A form that
// says so is sent then. Without this, both fields can be typed.
for (const button of document.querySelectorAll("[data-position]")) {
  if (!navigator.geolocation) break;
  const form = button.closest("form");
  const said = form.querySelector("[data-position-said]");
  const tell = (text) => { said.textContent = text; };
  button.hidden = false;
  button.addEventListener("click", () => {
    tell(button.dataset.wait);
    navigator.geolocation.getCurrentPosition(({ coords }) => {
      // About ten metres: more is nobody's business.
      form.querySelector("[data-latitude]").value = coords.latitude.toFixed(4);
      form.querySelector("[data-longitude]").value = coords.longitude.toFixed(4);
      tell("");
      if (button.dataset.position === "send") form.requestSubmit();
    }, () => tell(button.dataset.denied), { enableHighAccuracy: false, timeout: 20000, maximumAge: 60000 });
  });
}
