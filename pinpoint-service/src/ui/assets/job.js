// Keeps the page of a job as the job is, without a reload. The service renders every part of it.

const root = document.querySelector("#job");
const news = document.querySelector("#news");
const tools = document.querySelector("#tools");

const wait = (time) => new Promise((done) => setTimeout(done, time));

const say = (text) => announce(news, text);

// The answer to a button: seen at once, and heard.
function show(text) {
  tools.querySelector("#done").textContent = text;
  say(text);
}

// Contents that the user has opened or typed are not the service's.
function isKept(element, name) {
  if (name !== "value") return name === "open";
  if (element.type === "range") return isMoving;
  return element.name === "key" || element === document.activeElement;
}

// Makes an element like another one. Common parts stay, with their focus and their scrolling, and
// so do those that the service marks as the same.
function take(old, fresh) {
  if (fresh.dataset && "same" in fresh.dataset) return;
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName || old.localName === "svg") {
    if (!old.isEqualNode(fresh)) old.replaceWith(fresh);
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  for (const { name, value } of fresh.attributes) {
    if (isKept(old, name)) continue;
    // A moved or typed value differs from its attribute.
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    else if (old.type !== "range") continue;
    if (name === "value" && "value" in old) old.value = value;
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !isKept(old, name)) old.removeAttribute(name);
  }
  // Removed elements make room first: an element that is moved loses the focus.
  const ids = new Set([...fresh.children].map(({ id }) => id));
  for (const child of [...old.children]) if (child.id && !ids.has(child.id)) child.remove();
  const known = new Map([...old.children].map((child) => [child.id, child]));
  let place = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const same = child.id ? known.get(child.id) : !place?.id && place;
    if (!same) {
      old.insertBefore(child, place);
      continue;
    }
    if (same !== place) old.insertBefore(same, place);
    const next = same.nextSibling;
    take(same, child);
    place = next;
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

let isBusy = false;
let isWanted = false;
let isLeft = false;
let looked = -1000;

// Looks again, at most once in a second unless the user asks.
async function look(atOnce) {
  isWanted = true;
  if (atOnce) looked = -1000;
  if (isBusy || isLeft) return;
  isBusy = true;
  while (isWanted && !isLeft) {
    await wait(Math.max(0, looked + 1000 - performance.now()));
    isWanted = false;
    looked = performance.now();
    await fetched().catch(() => {
      isWanted = true;
      looked = performance.now() + 1000 + 4000 * Math.random();
    });
  }
  isBusy = false;
}

// Events that the stream sends during the request would be newer than the answer, which would
// undo them. It resumes from the answer.
async function fetched() {
  close();
  try {
    await replaced();
  } finally {
    follow();
  }
}

function part(address) {
  address.hash = "";
  address.searchParams.set("fragment", "1");
  return fetch(address);
}

const jobOf = (text) => new DOMParser().parseFromString(text, "text/html").querySelector("#job");

async function replaced() {
  const answer = await part(new URL(location.href));
  if (answer.status === 429 || answer.status >= 500) {
    isWanted = true;
    looked = performance.now() + 1000 * (Number(answer.headers.get("retry-after")) || 5);
    return;
  }
  const text = await answer.text();
  const fresh = answer.ok && jobOf(text);
  if (!fresh || fresh.dataset.version !== root.dataset.version) {
    leave(fresh ? "The service has a newer version of this page." : "This page can no longer follow the job.");
    return;
  }
  take(root, fresh);
  openRun();
  say(root.querySelector("#answer").textContent);
  if (!isPast()) present(root);
}

// Puts changes in place.
function changed({ version, live, html }) {
  if (version !== root.dataset.version) {
    leave("The service has a newer version of this page.");
    return;
  }
  const fresh = root.cloneNode(false);
  fresh.dataset.live = live;
  const template = document.createElement("template");
  template.innerHTML = html;
  fresh.append(template.content);
  take(root, fresh);
  say(root.querySelector("#answer").textContent);
  present(root);
}

function leave(reason) {
  isLeft = true;
  close();
  offerReload(reason);
}

let source;
let failures = 0;
let again;

function close() {
  clearTimeout(again);
  source?.close();
  source = undefined;
}

function follow() {
  const isSeen = document.visibilityState === "visible" || isSubscribed;
  // The past does not change, but the job may end.
  const address = root.dataset.live ?? (isSubscribed ? events : undefined);
  if (isLeft || !isSeen || !address) {
    close();
    // Nothing more will come.
    if (!address) connected(true);
    return;
  }
  if (source) return;
  clearTimeout(again);
  // From the state of the page on.
  source = new EventSource(address);
  source.onopen = () => {
    failures = 0;
    connected(true);
  };
  source.addEventListener("changes", ({ data }) => {
    const change = JSON.parse(data);
    if (isPast()) events = change.live;
    else changed(change);
  });
  source.addEventListener("look", () => (isPast() ? ask() : look()));
  source.onerror = () => {
    close();
    failures += 1;
    connected(false);
    again = setTimeout(follow, pause(failures));
  };
}

// The past, and single runs, without a reload.
async function go(address, focus) {
  history[focus === undefined ? "replaceState" : "pushState"](null, "", address);
  await look(true);
  while (isBusy) await wait(20);
  if (focus) document.querySelector(focus)?.focus();
}

const isPast = () => new URL(location.href).searchParams.has("at");

// The events of the job as it is now, until it ends; nothing before they are known.
let events;
let isSubscribed = false;
let subscribe;

// Takes note of the job as it is now, whatever moment the page shows.
function present(job) {
  const wentOn = events;
  events = job.dataset.live;
  subscribe.hidden = !("Notification" in window) || !events;
  if (wentOn && !events) ended(job);
}

// Asks for the job as it is now, while the page shows its past.
async function ask() {
  close();
  try {
    const address = new URL(location.href);
    address.searchParams.delete("at");
    const answer = await part(address);
    if (!answer.ok) throw new Error(answer.statusText);
    present(jobOf(await answer.text()));
    follow();
  } catch {
    failures += 1;
    again = setTimeout(follow, pause(failures));
  }
}

function ended(job) {
  if (!isSubscribed) return;
  subscription(false);
  const body = job.querySelector("#answer").textContent;
  try {
    new Notification(job.querySelector("#title").textContent, { body });
  } catch {
    // Phones have notifications for programs that are installed only.
  }
}

function subscription(is) {
  isSubscribed = is;
  subscribe.setAttribute("aria-pressed", String(is));
}

// Details of a run, above the page until they are closed.
function openRun() {
  const run = root.querySelector("dialog#run");
  if (!run || run.matches(":modal")) return;
  run.removeAttribute("open");
  run.showModal();
}

let moved;
let isMoving = false;

function begin() {
  document.addEventListener("visibilitychange", follow);
  addEventListener("pagehide", close);
  addEventListener("pageshow", follow);
  root.addEventListener("input", ({ target }) => {
    if (target.id !== "at") return;
    root.querySelector("#moment").textContent = target.value;
    clearTimeout(moved);
    isMoving = true;
    moved = setTimeout(async () => {
      moved = undefined;
      const address = new URL(location.href);
      if (target.value === target.max) address.searchParams.delete("at");
      else address.searchParams.set("at", target.value);
      await go(address);
      if (!moved) isMoving = false;
    }, 150);
  });
  root.addEventListener("click", (event) => {
    const link = event.target.closest(".squares a, .past a");
    if (!link || isLeft || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(link.href, "");
  });
  root.addEventListener("click", (event) => {
    if (!event.target.matches("#run [data-close]") || isLeft) return;
    event.preventDefault();
    event.target.closest("dialog").close();
  });
  // Escape closes it, too. The focus goes back to the square.
  root.addEventListener("close", ({ target }) => go(target.querySelector("[data-close]").href, ""), true);
  addEventListener("popstate", () => look(true));

  // For scripts only.
  let copy;
  [copy, subscribe] = tools.querySelectorAll("button");
  tools.hidden = false;
  copy.hidden = !navigator.clipboard;
  copy.addEventListener("click", async () => {
    const copied = navigator.clipboard.writeText(location.href).then(
      () => "Link copied.",
      () => "Your browser does not allow that. Copy the address of the page.",
    );
    show(await copied);
  });
  subscribe.hidden = true;
  if (!isPast()) present(root);
  openRun();
  subscribe.addEventListener("click", async () => {
    const wants = !isSubscribed;
    subscription(wants && (await Notification.requestPermission()) === "granted");
    if (isSubscribed) show("You will be notified when it ends, while this page is open.");
    else show(wants ? "Your browser does not allow notifications from this page." : "You will not be notified.");
  });
  follow();
}

if (root) begin();
