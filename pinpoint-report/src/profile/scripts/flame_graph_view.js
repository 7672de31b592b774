// The flame graph on its canvas, with its tools, its text and its table.

import { button, choice, colors, element, foreign, once, prepare, search, table, tick } from "./elements.js";
import { finder, fit, flameGraph, found, layout, neighbor, pathTo, shownChildren, stackAt } from "./flame_graph.js";
import { amount, pValue, relative, signed, signedWithInterval } from "./numbers.js";
import { certainStacks, pathsOf } from "./paths.js";

const ROW = 20;
const MODES = [["difference", "what moved"], ["before", "before"], ["after", "after"]];
const TONES = [-4, -3, -2, -1, 0, 1, 2, 3, 4];
const INKS = [...TONES.map((it) => `tone${it}`), "paper", "ink", "dark-ink", "light-ink", "soft", "link"];

// Fills the section. `choose` is called with a function whose callers are requested.
export function flameGraphView(section, { functions, stacks, paths: columns, unit }, choose) {
  const canvas = section.querySelector("canvas");
  const readout = section.querySelector(".readout");
  const paths = pathsOf(stacks, columns);
  const graph = flameGraph(stacks, certainStacks(stacks, paths, functions.certain));
  const state = { mode: graph.moved[0] > 0 ? "difference" : "after", root: 0, certainOnly: false };
  let [selected, hovered, hits, picture] = [0, null, null, { rectangles: [], rows: 1 }];

  const name = (place) => (place === 0 ? "all" : functions.name[stacks.function[place]]);
  const describe = (place) => {
    const [before, after] = [graph.before[place], graph.after[place]];
    const own = stacks.after[place] - stacks.before[place];
    const where = place === 0 ? "" : functions.place[stacks.function[place]];
    const percent = relative(before, after);
    return `${name(place)}${where ? ` (${where})` : ""}: ${amount(before, unit)} before, ${amount(after, unit)} after, `
      + `${signed(after - before, unit)}${percent ? ` (${percent})` : ""}${inAllRuns(place)}; by itself ${signed(own, unit)}`;
  };

  // The certainty of a stack's difference, where there are enough runs.
  const inAllRuns = (place) => {
    const path = paths.known(place);
    if (!path?.interval) return path?.isCertain ? ", certain" : "";
    const p = path.p === null ? "" : `, adjusted p ${pValue(path.p)}`;
    return `; estimate ${signedWithInterval(path, unit)}${p}, ${path.isCertain ? "certain" : "not certain"}`;
  };

  const draw = once(() => {
    const width = canvas.parentElement.clientWidth;
    picture = layout(graph, state, width);
    const context = prepare(canvas, width, picture.rows * ROW);
    const ink = colors(INKS);
    context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    context.textBaseline = "middle";
    const widthOf = (text) => context.measureText(text).width;
    for (const it of picture.rectangles) drawOne(context, it, ink, widthOf);
    outline(context, selected, ink.link, 2);
    if (hovered !== null) outline(context, hovered, ink.ink, 1);
  });

  function drawOne(context, { place, row, x, width, tone: level, isAncestor }, ink, widthOf) {
    const dimmed = isAncestor || (hits && !hits.isFound[place]);
    context.globalAlpha = dimmed ? 0.4 : 1;
    context.fillStyle = ink[`tone${level}`];
    context.fillRect(x, row * ROW, Math.max(0.5, width - (width > 3 ? 1 : 0)), ROW - 1);
    context.globalAlpha = 1;
    if (width < 24) return;
    const difference = graph.after[place] - graph.before[place];
    const long = `${name(place)}  ${signed(difference, unit)}`;
    const label = widthOf(long) <= width - 8 ? long : fit(name(place), width - 8, widthOf);
    context.fillStyle = Math.abs(level) >= 3 && !dimmed ? ink["light-ink"] : ink["dark-ink"];
    if (dimmed) context.fillStyle = ink.ink;
    context.fillText(label, x + 4, row * ROW + ROW / 2);
  }

  function outline(context, place, color, line) {
    const it = picture.rectangles.find((rectangle) => rectangle.place === place);
    if (!it) return;
    context.strokeStyle = color;
    context.lineWidth = line;
    context.strokeRect(it.x + line / 2, it.row * ROW + line / 2, Math.max(1, it.width - line - 1), ROW - 1 - line);
  }

  // Updates the picture, the words and the table after a new selection.
  function update() {
    draw();
    readout.textContent = describe(hovered ?? selected);
    canvas.setAttribute("aria-label", `Flame graph, ${MODES.find(([mode]) => mode === state.mode)[1]}. Selected: ${describe(selected)}`);
  }

  function zoom(place) {
    state.root = place;
    select(place);
    called();
  }

  function select(place) {
    selected = place;
    update();
    section.querySelector(".way").replaceChildren(way());
  }

  // The stack that is zoomed into, each of its functions a button that zooms there.
  function way() {
    const path = pathTo(graph, state.root);
    const shown = path.length > 8 ? [...path.slice(0, 3), null, ...path.slice(-4)] : path;
    const item = (place) => element("li", {}, place === null ? "…"
      : button(foreign(name(place)), () => zoom(place), { className: "name" }));
    const list = element("ol", { className: "path" }, ...shown.map(item));
    list.setAttribute("aria-label", "Zoomed into");
    return list;
  }

  // The table: the callees of the stack that is zoomed into.
  function called() {
    const rows = shownChildren(graph, state.root, state).slice(0, 100).map((place) => [place, paths.known(place)]).map(([place, path]) => [
      button(foreign(name(place)), () => zoom(place), { className: "name" }),
      amount(graph.before[place], unit), amount(graph.after[place], unit),
      signed(graph.after[place] - graph.before[place], unit), relative(graph.before[place], graph.after[place]),
      path?.interval && signedWithInterval(path, unit), path && path.p !== null ? pValue(path.p) : null,
      signed(stacks.after[place] - stacks.before[place], unit),
    ]);
    const heads = ["Function", "Before", "After", "Difference", "Part", "Estimate [95 %]", "Adjusted p", "By itself"];
    section.querySelector(".called").replaceChildren(
      table(heads, rows, `Called from ${name(state.root)}; the name of a function leads into it`));
  }

  const changed = () => { update(); called(); };
  const everything = button("Show all", () => zoom(0));
  const callers = button("Callers and callees", () => {
    if (selected !== 0) choose(stacks.function[selected]);
  });
  const result = element("span", { role: "status" });
  section.querySelector(".tools").append(
    choice("Width", "flame-graph-mode", MODES, state.mode, (mode) => { state.mode = mode; changed(); }),
    tick("only what is certain", (certainOnly) => { state.certainOnly = certainOnly; changed(); }),
    search("Search", (text) => {
      const find = finder(text);
      hits = find && found(graph, functions.name, find, state.mode);
      result.textContent = hits ? `${hits.count} stacks, ${(100 * hits.part).toFixed(1)} %` : "";
      update();
    }),
    result, everything, callers);
  section.querySelector(".tools").after(element("nav", { className: "way" }));
  section.querySelector(".way").setAttribute("aria-label", "The stack that is zoomed into");
  section.querySelector(".legend").append(legend());

  const at = (event) => {
    const place = canvas.getBoundingClientRect();
    return stackAt(picture, event.clientX - place.left, Math.floor((event.clientY - place.top) / ROW));
  };
  canvas.addEventListener("pointermove", (event) => { hovered = at(event); update(); });
  canvas.addEventListener("pointerleave", () => { hovered = null; update(); });
  canvas.addEventListener("click", (event) => {
    const place = at(event);
    if (place !== null) zoom(place);
  });
  canvas.addEventListener("keydown", (event) => {
    if (event.key === "Enter") zoom(selected);
    else if (event.key === "Escape") zoom(stacks.parent[state.root]);
    else {
      const next = neighbor(graph, state, selected, event.key);
      if (next === selected && !event.key.startsWith("Arrow")) return;
      hovered = null;
      // Out of the picture: the picture follows.
      const isShown = picture.rectangles.some(({ place }) => place === next);
      if (isShown) select(next);
      else zoom(next);
    }
    event.preventDefault();
  });
  new ResizeObserver(draw).observe(canvas.parentElement);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  addEventListener("beforeprint", draw);
  section.hidden = false;
  zoom(0);
}

// The meaning of the colors, in words.
function legend() {
  const words = ["less than half", "", "", "", "as before", "", "", "", "more than twice"];
  const key = TONES.map((it, place) => [element("span", { className: "key", ariaHidden: true }), words[place], it]);
  return element("p", { className: "note" }, "After, a stack takes ",
    ...key.flatMap(([square, text, it]) => {
      square.dataset.tone = it;
      return text ? [square, `${text} `] : [square];
    }),
    "· Enter or a click zooms in, Escape out; arrows move.");
}
