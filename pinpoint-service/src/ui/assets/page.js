// The common script of all pages.

// A form under way is not sent again, however often its button is pressed. It can be sent again
// when it was stopped, and when one goes back to the page.
addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  if (form.dataset.sent) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = "true";
  const free = () => delete form.dataset.sent;
  setTimeout(free, 5000);
  addEventListener("pageshow", free, { once: true });
});

// Changes a live region. Screen readers read such changes out: at most one in five seconds, all
// regions of the page together, and of one region the last.
const unspoken = new Map();
let isSpeaking = false;
function speak(region, change) {
  unspoken.delete(region);
  unspoken.set(region, change);
  if (isSpeaking) return;
  isSpeaking = true;
  const next = () => {
    const [[region, change] = []] = unspoken;
    if (!region) {
      isSpeaking = false;
      return;
    }
    unspoken.delete(region);
    const before = region.textContent;
    change(region);
    setTimeout(next, region.textContent === before ? 0 : 5000);
  };
  next();
}

// Sets the text of a live region, unless it is there.
function announce(region, text) {
  speak(region, () => {
    if (region.textContent !== text) region.textContent = text;
  });
}

// The pause after so many failures: longer and longer, and differently on each page, so that pages
// do not come back all at once.
function pause(failures) {
  return Math.min(60000, 500 * 2 ** failures) * (0.5 + Math.random() / 2);
}

// Listens to server-sent events of JSON while the page can be seen. A connection that is lost is
// opened again. Handlers are named as the events are. Returns a function that ends it.
function listen(url, handlers) {
  let failures = 0;
  let source;
  let again;
  const close = () => {
    clearTimeout(again);
    source?.close();
    source = undefined;
  };
  const open = () => {
    close();
    source = new EventSource(url);
    source.onopen = () => {
      failures = 0;
      connected(true);
    };
    source.onerror = () => {
      close();
      failures += 1;
      connected(false);
      again = setTimeout(open, pause(failures));
    };
    for (const [name, handle] of Object.entries(handlers)) {
      source.addEventListener(name, (event) => handle(JSON.parse(event.data)));
    }
  };
  const look = () => {
    if (document.visibilityState !== "visible") close();
    else if (!source) open();
  };
  document.addEventListener("visibilitychange", look);
  addEventListener("pagehide", close);
  addEventListener("pageshow", look);
  look();
  return () => {
    close();
    document.removeEventListener("visibilitychange", look);
    removeEventListener("pageshow", look);
  };
}

// A quiet note while the page may be out of date. A connection that comes back within seconds needs
// none.
let lost;
function connected(is) {
  const note = document.querySelector("#connection");
  if (is) {
    clearTimeout(lost);
    lost = undefined;
    unspoken.delete(note);
    note.textContent = "";
  } else {
    lost ??= setTimeout(announce, 5000, note, "Not connected. This page may be out of date.");
  }
}

// Says that the page is no longer updated, and why.
function offerReload(reason) {
  connected(true);
  speak(document.querySelector("#connection"), (note) => {
    const link = document.createElement("a");
    link.href = location.href;
    link.textContent = "Reload";
    note.replaceChildren(`${reason} `, link);
  });
}
