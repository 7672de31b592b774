// The form of a new job: looks up the input, and keeps it in the address.
const begin = (form) => {
  const longest = 12000; // The most letters of an address that the service reads.

  const typed = () => {
    const all = new FormData(form);
    return [...all].filter(([name, value]) => value && !["key", "form_token", "do"].includes(name));
  };

  // The fields that a part is made from: `name`, or `name=field`; all of them where it names none.
  const asked = (part) => {
    const all = new URLSearchParams(typed());
    const wanted = part.dataset.fields;
    if (!wanted) return all;
    const some = new URLSearchParams();
    for (const pair of wanted.split(" ")) {
      const [name, field = name] = pair.split("=");
      if (all.get(field)) some.set(name, all.get(field));
    }
    return some;
  };

  // The estimate changes as one types: screen readers read out its first sentence, and not at each
  // change.
  const estimate = document.querySelector("#estimate");
  const spoken = document.createElement("p");
  spoken.className = "unseen";
  spoken.setAttribute("role", "status");
  estimate.removeAttribute("role");
  estimate.after(spoken);
  const tell = (isSignedOut) => {
    if (isSignedOut) {
      estimate.textContent = "You are signed out. Press a button of the form to sign in again. What you typed is kept.";
    }
    const text = (estimate.querySelector("p") ?? estimate).textContent;
    announce(spoken, text);
  };

  // A browser without a clipboard for this page shows no buttons for it.
  const offerCopies = (part) => {
    for (const button of part.querySelectorAll("[data-copy]")) button.hidden = !navigator.clipboard;
  };

  // Results for an earlier form are hidden. Suggestions stay.
  const forget = (part) => {
    if (part.localName === "datalist") return;
    part.textContent = "Not available at the moment. It is tried again with the next change.";
  };

  const parts = [...document.querySelectorAll("[data-source]")].map((part) => {
    // Values that the page has not looked up, as where its address filled the form, are looked up
    // at once.
    const isMade = ["/new/estimate", "/new/commands"].includes(part.dataset.source);
    let known = isMade || !part.firstElementChild ? "" : `${asked(part)}`;
    let running;
    const update = async () => {
      const query = `${asked(part)}`;
      if (query === known) return;
      known = query;
      running?.abort();
      running = new AbortController();
      part.setAttribute("aria-busy", "true");
      if (part === estimate) part.textContent = "Estimating. This takes up to a minute.";
      try {
        const answer = await fetch(`${part.dataset.source}?${query}`, { signal: running.signal });
        if (answer.ok) part.innerHTML = await answer.text();
        else {
          known = undefined;
          forget(part);
        }
        if (part === estimate) tell(answer.status === 401);
      } catch (error) {
        if (error.name === "AbortError") return;
        known = undefined; // Asked for again with the next change.
        forget(part);
        if (part === estimate) tell(false);
      }
      part.removeAttribute("aria-busy");
      offerCopies(part);
    };
    return [part, update];
  });

  const keep = () => {
    const query = new URLSearchParams(typed());
    const path = `/new?${query}`;
    if (path.length > longest) return;
    for (const link of document.querySelectorAll("[data-kind]")) {
      query.set("kind", link.dataset.kind);
      link.href = `/new?${query}`;
    }
    // The place that a link of this page leads to is not part of what was typed.
    history.replaceState(null, "", path + location.hash);
    // After a new sign-in, the form is as it was.
    form.action = path;
  };

  // An estimate takes a processor for some seconds, perhaps during a benchmark: it waits for a
  // pause in typing, and the one before is given up.
  let waiting;
  let waitingForEstimate;
  const changed = () => {
    clearTimeout(waiting);
    clearTimeout(waitingForEstimate);
    waiting = setTimeout(() => {
      keep();
      for (const [part, update] of parts) if (part !== estimate) update();
    }, 500);
    waitingForEstimate = setTimeout(() => {
      for (const [part, update] of parts) if (part === estimate) update();
    }, 1500);
  };
  form.addEventListener("input", changed);
  form.addEventListener("submit", keep);
  // Values from the page, or restored by the browser.
  changed();

  document.addEventListener("click", async ({ target }) => {
    if (!target.matches("[data-copy]")) return;
    await navigator.clipboard.writeText(target.previousElementSibling.textContent);
    target.textContent = "Copied";
  });
  offerCopies(document);
};

const form = document.querySelector("#new");
if (form) begin(form);
