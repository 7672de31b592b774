// Parts of a page. Foreign text is only ever the text of an element.

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// Foreign text, which may be written in any direction.
export function foreign(text) {
  return element("bdi", { textContent: text });
}

export function button(text, click, properties = {}) {
  const made = element("button", { type: "button", ...properties }, text);
  made.addEventListener("click", click);
  return made;
}

// A checkbox in its label.
export function tick(text, change) {
  const box = element("input", { type: "checkbox" });
  box.addEventListener("change", () => change(box.checked));
  return element("label", {}, box, ` ${text}`);
}

// A search field in its label.
export function search(text, input) {
  const field = element("input", { type: "search" });
  field.addEventListener("input", () => input(field.value));
  return element("label", {}, `${text} `, field);
}

// One of several choices, as radio buttons in a group; `choices` are pairs of value and text.
export function choice(label, name, choices, chosen, change) {
  const radio = ([value, text]) => {
    const made = element("input", { type: "radio", name, value, checked: value === chosen });
    made.addEventListener("change", () => change(value));
    return element("label", {}, made, ` ${text}`);
  };
  return element("fieldset", { className: "choice" }, element("legend", { textContent: label }), ...choices.map(radio));
}

// A table; cells are texts, elements, or null for unknown values.
export function table(heads, rows, caption) {
  const cell = (content, column) => {
    const made = element(column === 0 ? "th" : "td", column === 0 ? { scope: "row" } : { className: "number" });
    made.append(content ?? "–");
    return made;
  };
  const head = element("tr", {}, ...heads.map((textContent, column) => (
    element("th", { scope: "col", textContent, className: column === 0 ? "" : "number" }))));
  const body = rows.map((row) => element("tr", {}, ...row.map(cell)));
  return element("table", {},
    ...(caption ? [element("caption", { textContent: caption })] : []),
    element("thead", {}, head), element("tbody", {}, ...body));
}

// Replaces the children of an element. The focus stays on the element with the same `data-key`.
export function refill(place, ...children) {
  const focused = place.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  place.replaceChildren(...children);
  if (focused !== undefined) [...place.querySelectorAll("[data-key]")].find(({ dataset }) => dataset.key === focused)?.focus();
}

// The data with an id in the page.
export async function unpack(id) {
  const text = atob(document.getElementById(id).textContent);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

// The current colors of the page for a canvas: light or dark.
export function colors(names) {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

// Sizes a canvas, sharp on every screen, and returns its drawing context. One that has this size
// already is only cleared: another size costs memory.
export function prepare(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const sizes = { width: Math.round(width * ratio), height: Math.round(height * ratio) };
  for (const [name, size] of Object.entries(sizes)) if (canvas[name] !== size) canvas[name] = size;
  if (canvas.style.height !== `${height}px`) canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

// Calls a function once before the next picture, however often it is asked for.
export function once(draw) {
  let isAsked = false;
  return () => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      draw();
    });
  };
}
