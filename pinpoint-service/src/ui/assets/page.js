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

// Listens to server-sent events of JSON. A connection that is lost is opened again: at first by
// the browser, and after an answer that is an error less and less often, at times that differ
// from page to page. Handlers are named as the events are; the `state` handler is told whether
// the connection is there.
function listen(url, handlers, state = connected) {
  let waits = 1000;
  let source;
  const open = () => {
    source = new EventSource(url);
    source.onopen = () => {
      waits = 1000;
      state(true);
    };
    source.onerror = () => {
      state(false);
      if (source.readyState !== EventSource.CLOSED) return;
      setTimeout(open, waits * (0.5 + Math.random()));
      waits = Math.min(2 * waits, 60000);
    };
    for (const [name, handle] of Object.entries(handlers)) {
      source.addEventListener(name, (event) => handle(JSON.parse(event.data), event));
    }
  };
  open();
  addEventListener("pagehide", () => source.close());
  return () => source.close();
}

// A quiet note while what is shown may be out of date. A connection that comes back within
// seconds is not worth one.
let lost;
function connected(is) {
  const note = document.querySelector("#connection");
  clearTimeout(lost);
  if (is) note.textContent = "";
  else lost = setTimeout(() => (note.textContent = "Not connected: what is shown may be old."), 5000);
}
