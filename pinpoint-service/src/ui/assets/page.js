// What all pages have in common.

// A form that is on its way is not sent again, however often its button is pressed.
addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  if (form.dataset.sent) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = "true";
  // The browser may show this page again as it was, when one goes back to it.
  addEventListener("pageshow", () => delete form.dataset.sent, { once: true });
});
