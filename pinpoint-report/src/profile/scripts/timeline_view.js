// The flame charts of both sides, one above the other, with their windows.

import { button, colours, element, foreign, once, prepare, search, tick } from "./elements.js";
import { list } from "./breadcrumbs.js";
import { annotationsView } from "./annotations_view.js";
import { busy, callersOf, commonMarks, decode } from "./chart.js";
import { finder, fit } from "./flame_graph.js";
import { entryAt, layout, neighbour, ticks } from "./flame_chart.js";
import { amount, signed } from "./numbers.js";
import { Overlays, shapes } from "./overlays.js";
import { drawShape } from "./shapes_view.js";
import { arrangement, changed, restored, untouched } from "./tracks.js";
import { tracksView } from "./tracks_view.js";
import { treesView } from "./trees_view.js";
import { Windows, length, shifted, stretched } from "./windows.js";

const RULER = 20;
const SIZES = { head: 18, row: 16, most: 60 };
const INKS = ["tone-3", "tone-1", "tone0", "tone1", "tone3", "paper", "ink", "dark-ink", "light-ink", "soft", "line", "card", "link"];
const MINIMAP = 28;
// The width of a character, more or less, in pixels.
const CHARACTER = 6.8;
// Functions that are pointed out.
const MOST_FOUND = 5;
// How entries look: by the difference of their function, and dim where they are not searched.
const LOOKS = [false, true].flatMap((isDim) => [-3, 0, 3].map((tone) => ({ tone, isDim })));
// Callers that are named.
const MOST_CALLERS = 30;

const time = (us) => amount(us * 1000, "nanoseconds");

// Fills the section. `choose` is called with a function whose callers are asked for.
export function timelineView(section, data, choose) {
  const charts = data.charts.map(decode);
  const { functions, unit } = data;
  const windows = new Windows();
  const overlays = new Overlays();
  const canvases = [...section.querySelectorAll(".chart canvas")];
  const minimap = section.querySelector(".minimap");
  const readout = section.querySelector(".readout");
  let arranged = charts.map(({ tracks }) => untouched(tracks));
  const places = [null, null];
  const state = { track: charts.map(() => 0), selected: null, hits: null, isDragged: false };
  section.hidden = false;

  const kindOf = (side, { track, entry }) => charts[side].kinds[charts[side].tracks[track].kinds[entry]];
  const nameOf = (side, { track, entry }) => {
    const { starts, durations } = charts[side].tracks[track];
    return `${kindOf(side, { track, entry }).name || "(anonymous)"}, from ${time(starts[entry])}, ${time(durations[entry])}`;
  };
  const describe = (side, entry) => {
    const { function: of } = kindOf(side, entry);
    const moved = functions.certain[of] ? `; in all runs ${signed(functions.difference[of], unit)} by itself` : "";
    return `${["Before", "After"][side]}: ${nameOf(side, entry)}${moved}`;
  };

  // From where an entry was called, in words.
  const callersInWords = (side, entry) => {
    const callers = callersOf(charts[side], entry);
    const named = callers.slice(0, MOST_CALLERS).map(({ task, ...caller }) => (
      `${task === undefined ? "" : `${task || "a task"} of `}${kindOf(side, caller).name || "(anonymous)"}`));
    if (callers.length > MOST_CALLERS) named.push("…");
    return named.length === 0 ? "" : `; called from ${named.join(" ‹ ")}`;
  };

  const view = (side) => {
    const canvas = canvases[side];
    const width = canvas.parentElement.clientWidth;
    const { placed, height } = places[side];
    const box = ({ track, entry }) => {
      const place = placed.find((it) => it.track === track);
      const { starts, durations, depths } = charts[side].tracks[track];
      if (!place || depths[entry] >= place.rows) return null;
      const top = RULER + place.bodyTop + depths[entry] * SIZES.row;
      return { start: starts[entry], duration: durations[entry], top, height: SIZES.row - 1 };
    };
    return { window: windows.timeline(side), offset: side === 0 ? 0 : windows.offset, width, height: RULER + height, box };
  };

  // How each kind looks, by its place in LOOKS.
  const looksOf = (side) => Uint8Array.from(charts[side].kinds, ({ function: of }, kind) => {
    const tone = functions.certain[of] ? Math.sign(functions.difference[of]) * 3 : 0;
    const isDim = state.hits !== null && !state.hits[side][kind];
    return LOOKS.findIndex((it) => it.tone === tone && it.isDim === isDim);
  });
  let looks = charts.map((_, side) => looksOf(side));

  function drawSide(side) {
    places[side] = arrangement(arranged[side], charts[side].tracks.map(({ rows }) => rows.length), SIZES);
    const canvas = canvases[side];
    const { window, width, height } = view(side);
    const context = prepare(canvas, width, height);
    const ink = colours(INKS);
    context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    context.textBaseline = "middle";
    drawRuler(context, window, width, height, ink, charts[side].bounds.min);
    for (const place of places[side].placed) drawTrack(context, side, place, window, width, ink);
    for (const shape of shapes(overlays.all, side, view(side))) drawShape(context, shape, ink);
    const selected = state.selected?.side === side ? ` Selected: ${describe(side, state.selected.entry)}` : "";
    canvas.setAttribute("aria-label", `Flame chart ${["before", "after"][side]}, ${time(length(window))} are seen.${selected}`);
  }

  function drawRuler(context, window, width, height, ink, begin) {
    context.fillStyle = ink.soft;
    const since = { min: window.min - begin, max: window.max - begin };
    for (const moment of ticks(since, width)) {
      const x = (moment - since.min) * width / length(window);
      context.fillText(time(moment), x + 3, RULER / 2);
      context.fillStyle = ink.line;
      context.fillRect(x, 0, 1, height);
      context.fillStyle = ink.soft;
    }
  }

  function drawTrack(context, side, place, window, width, ink) {
    const track = charts[side].tracks[place.track];
    context.fillStyle = ink.card;
    context.fillRect(0, RULER + place.top, width, SIZES.head);
    context.fillStyle = state.track[side] === place.track ? ink.link : ink.ink;
    context.fillText(`${place.expanded ? "▾" : "▸"} ${track.name || "thread"}`, 4, RULER + place.top + SIZES.head / 2);
    // Measuring thousands of texts would take longer than drawing them.
    const widthOf = (text) => text.length * CHARACTER;
    for (const { entry, row, x, width: wide, isMany, look } of layout(track, track.rows.slice(0, place.rows), window, width, looks[side])) {
      const { tone, isDim } = LOOKS[look];
      const y = RULER + place.bodyTop + row * SIZES.row;
      context.globalAlpha = isDim ? 0.3 : 1;
      context.fillStyle = isMany ? ink["tone-1"] : ink[`tone${tone}`];
      context.fillRect(x, y, Math.max(1, wide - (wide > 3 ? 1 : 0)), SIZES.row - 1);
      context.globalAlpha = 1;
      if (wide < 24 || isMany) continue;
      const { name } = charts[side].kinds[track.kinds[entry]];
      context.fillStyle = tone === 0 ? ink["dark-ink"] : ink["light-ink"];
      context.fillText(fit(name || "(anonymous)", wide - 6, widthOf), x + 3, y + SIZES.row / 2);
    }
  }

  // How busy the selected track of a side is in what the handles can reach: it is asked for in
  // every picture, and is seldom another.
  const known = charts.map(() => null);
  function busyOf(side, width) {
    const [track, reach] = [state.track[side], windows.minimap(side)];
    const is = known[side];
    if (!is || is.track !== track || is.width !== width || is.reach.min !== reach.min || is.reach.max !== reach.max) {
      known[side] = { track, reach, width, parts: busy(charts[side].tracks[track], reach, Math.max(1, Math.floor(width))) };
    }
    return known[side].parts;
  }

  // Both sides' first tracks over what the handles can reach, and what is seen of it.
  function drawMinimap() {
    const width = minimap.parentElement.clientWidth;
    const context = prepare(minimap, width, 2 * MINIMAP);
    const ink = colours(INKS);
    charts.forEach((_, side) => {
      const reach = windows.minimap(side);
      busyOf(side, width).forEach((part, x) => {
        context.fillStyle = side === 0 ? ink["tone-3"] : ink.tone3;
        context.fillRect(x, (side + 1) * MINIMAP - part * (MINIMAP - 3), 1, part * (MINIMAP - 3));
      });
      const seen = windows.timeline(side);
      const across = (moment) => (moment - reach.min) * width / length(reach);
      context.fillStyle = ink.paper;
      context.globalAlpha = 0.7;
      context.fillRect(0, side * MINIMAP, across(seen.min), MINIMAP);
      context.fillRect(across(seen.max), side * MINIMAP, width, MINIMAP);
      context.globalAlpha = 1;
    });
    const [from, to] = ["min", "max"].map((end) => (windows.timeline(0)[end] - windows.minimap(0).min) * width / length(windows.minimap(0)));
    context.strokeStyle = ink.link;
    context.lineWidth = 2;
    context.strokeRect(Math.max(1, from), 1, Math.max(2, to - from - 2), 2 * MINIMAP - 2);
    minimap.setAttribute("aria-label", `All that can be reached: ${time(length(windows.minimap(0)))}. Arrows move what is seen, plus and minus zoom.`);
  }

  const showTrees = treesView(section, data, () => charts.map((chart, side) => ({
    track: chart.tracks[state.track[side]], kinds: chart.kinds, window: windows.timeline(side),
  })));
  let treesAsked = 0;
  const draw = once(() => {
    drawSide(0);
    drawSide(1);
    drawMinimap();
  });
  // Trees are built when they are opened, and when the window rests.
  const trees = section.querySelector(".trees");
  const update = () => {
    draw();
    clearTimeout(treesAsked);
    if (trees.open) treesAsked = setTimeout(showTrees, 150);
  };
  trees.addEventListener("toggle", update);

  function select(side, entry) {
    state.selected = entry && { side, entry };
    overlays.removeAll("selected");
    overlays.removeAll("scheduled");
    if (entry) {
      overlays.add({ type: "selected", side, entry });
      const scheduler = callersOf(charts[side], entry).find(({ task }) => task !== undefined);
      if (scheduler) overlays.add({ type: "scheduled", side, from: scheduler, to: entry });
      state.track[side] = entry.track;
      readout.textContent = describe(side, entry) + callersInWords(side, entry);
    }
    update();
  }

  // The entry of a side at a point; or the head of a track there.
  function at(side, event) {
    const box = canvases[side].getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top - RULER];
    const { window, width } = view(side);
    const moment = window.min + x * length(window) / width;
    const place = places[side].placed.findLast(({ top }) => y >= top);
    if (!place) return { moment };
    if (y < place.bodyTop) return { moment, head: place.track };
    const track = charts[side].tracks[place.track];
    const row = Math.floor((y - place.bodyTop) / SIZES.row);
    const entry = row < place.rows ? entryAt(track, track.rows, row, moment, length(window) / width) : null;
    return { moment, entry: entry === null ? null : { track: place.track, entry } };
  }

  // Tracks of the same name stand in the same way on both sides.
  function arrange(side, change) {
    arranged[side] = change(arranged[side]);
    const names = charts[1 - side].tracks.map(({ name }) => name);
    arranged[1 - side] = restored(names, arranged[side]);
    tracks.show();
    update();
  }

  canvases.forEach((canvas, side) => {
    let held = null;
    canvas.addEventListener("pointerdown", (event) => {
      held = { x: event.clientX, window: windows.timeline(side), offset: windows.offset, isMoved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const { moment, entry } = at(side, event);
      overlays.add({ type: "ruler", time: side === 0 ? moment : moment - windows.offset });
      if (entry) readout.textContent = describe(side, entry);
      if (held && (held.isMoved || Math.abs(event.clientX - held.x) > 3)) {
        held.isMoved = true;
        const by = (held.x - event.clientX) * length(held.window) / view(side).width;
        if (state.isDragged && side === 1) windows.drag(held.offset + by - windows.offset);
        else windows.show(side, shifted(held.window, by));
      }
      draw();
    });
    canvas.addEventListener("pointerup", (event) => {
      const { head, entry } = at(side, event);
      if (!held?.isMoved) {
        if (head !== undefined) {
          const isShown = state.track[side] === head;
          state.track[side] = head;
          arrange(side, (all) => (isShown ? changed(all, head, { expanded: !all[head].expanded }) : all));
        } else select(side, entry ?? null);
      }
      held = null;
    });
    canvas.addEventListener("pointerleave", () => { overlays.removeAll("ruler"); draw(); });
    canvas.addEventListener("dblclick", (event) => {
      const { entry } = at(side, event);
      if (entry) goTo(side, entry);
    });
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return;
      event.preventDefault();
      const { moment } = at(side, event);
      const window = windows.timeline(side);
      if (event.shiftKey) windows.show(side, shifted(window, (event.deltaX || event.deltaY) * length(window) / 1000));
      else windows.show(side, stretched(window, 1.002 ** event.deltaY, moment));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => key(side, event));
  });

  function goTo(side, { track, entry }) {
    const { starts, durations } = charts[side].tracks[track];
    const room = durations[entry] * 0.1;
    windows.show(side, { min: starts[entry] - room, max: starts[entry] + durations[entry] + room });
  }

  function key(side, event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const window = windows.timeline(side);
    const middle = (window.min + window.max) / 2;
    const chosen = state.selected?.side === side ? state.selected.entry : null;
    const actions = {
      "+": () => windows.show(side, stretched(window, 0.5, middle)),
      "-": () => windows.show(side, stretched(window, 2, middle)),
      a: () => windows.show(side, shifted(window, -length(window) / 4)),
      d: () => windows.show(side, shifted(window, length(window) / 4)),
      Enter: () => chosen && goTo(side, chosen),
      Escape: () => select(side, null),
    };
    Object.assign(actions, { w: actions["+"], "=": actions["+"], s: actions["-"] });
    if (actions[event.key]) actions[event.key]();
    else if (event.key.startsWith("Arrow")) {
      const track = chosen?.track ?? state.track[side];
      const { rows } = charts[side].tracks[track];
      const entry = chosen ? neighbour(charts[side].tracks[track], rows, chosen.entry, event.key) : rows[0][0];
      select(side, { track, entry });
      const { starts, durations } = charts[side].tracks[track];
      if (starts[entry] > window.max || starts[entry] + durations[entry] < window.min) {
        windows.show(side, shifted(window, starts[entry] - middle));
      }
    } else return;
    event.preventDefault();
  }

  minimap.addEventListener("keydown", (event) => {
    const names = { ArrowLeft: "a", ArrowRight: "d" };
    key(0, { key: names[event.key] ?? event.key, preventDefault: () => event.preventDefault() });
  });
  let brushed = null;
  const reached = (event) => {
    const box = minimap.getBoundingClientRect();
    const reach = windows.minimap(0);
    return reach.min + (event.clientX - box.left) * length(reach) / box.width;
  };
  minimap.addEventListener("pointerdown", (event) => { brushed = reached(event); minimap.setPointerCapture(event.pointerId); });
  minimap.addEventListener("pointermove", (event) => {
    if (brushed === null) return;
    const now = reached(event);
    if (now !== brushed) windows.show(0, { min: Math.min(brushed, now), max: Math.max(brushed, now) });
  });
  minimap.addEventListener("pointerup", () => { brushed = null; });

  function showCrumbs() {
    const all = list(windows.breadcrumbs);
    const crumb = (it, place) => element("li", {}, button(
      `${place === 0 ? "all, " : ""}${time(length(it.window))}`, () => windows.activateBreadcrumb(it),
      place === all.length - 1 ? { className: "name", ariaCurrent: "true" } : { className: "name" }));
    section.querySelector(".crumbs").replaceChildren(element("ol", { className: "path" }, ...all.map(crumb)));
  }

  const enter = button("Go into this window", () => windows.addBreadcrumb());
  const found = element("span", { role: "status" });
  const aligns = [["begin", "at the begins"], ...commonMarks(charts).map(({ name }, at) => [`mark ${at}`, `at ${name}`]), ["hand", "by hand: drag the lower one"]];
  const align = element("select", {}, ...aligns.map(([value, textContent]) => element("option", { value, textContent })));
  align.addEventListener("change", () => {
    state.isDragged = align.value === "hand";
    if (align.value === "begin") windows.alignBegins();
    if (align.value.startsWith("mark")) windows.alignMarks(...commonMarks(charts)[Number(align.value.slice(5))].times);
  });
  const linked = tick("moved together", (isLinked) => windows.link(isLinked));
  linked.querySelector("input").checked = true;
  const whole = button("Show all", () => windows.show(0, windows.minimap(0)));
  section.querySelector(".tools").append(
    linked, element("label", {}, "Side by side ", align), whole, enter,
    search("Search", (text) => {
      const find = finder(text);
      state.hits = find && charts.map(({ kinds }) => kinds.map(({ name }) => find(name)));
      looks = charts.map((_, side) => looksOf(side));
      const counts = state.hits?.map((hits, side) => charts[side].tracks.reduce((sum, { kinds }) => sum + kinds.filter((kind) => hits[kind]).length, 0));
      found.textContent = counts ? `${counts[0]} before, ${counts[1]} after` : "";
      draw();
    }),
    found, button("Callers and callees", () => {
      const chosen = state.selected ? kindOf(state.selected.side, state.selected.entry).function : -1;
      if (chosen >= 0) choose(chosen);
    }));

  [...section.querySelectorAll(".run")].forEach((note, side) => {
    const { run, shortest } = charts[side];
    note.textContent = `run ${run}${shortest > 0 ? `; calls shorter than ${time(shortest / 10)} are left out for want of room` : ""}`;
  });
  pointOut();
  let restore = () => {};
  const annotate = section.querySelector(".annotate");
  if (charts.some(({ trace }) => trace)) {
    restore = annotationsView(annotate, { charts, windows, overlays, selected: () => state.selected, nameOf, goTo, changed: draw });
  } else annotate.remove();
  const tracks = tracksView(section, charts, () => arranged, arrange);
  windows.listen((change) => {
    enter.disabled = windows.timeline(0).min === windows.minimap(0).min && windows.timeline(0).max === windows.minimap(0).max;
    if (change === "minimap" || change === "loaded") showCrumbs();
    update();
  });
  windows.load(charts.map(({ bounds }) => bounds));
  restore();
  for (const canvas of [...canvases, minimap]) new ResizeObserver(draw).observe(canvas.parentElement);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  addEventListener("beforeprint", draw);

  // The longest call of each function whose difference is certain, where it takes more.
  function pointOut() {
    const certain = functions.certain.flatMap((is, place) => (is ? [place] : []));
    for (const place of certain.slice(0, MOST_FOUND)) {
      const side = functions.difference[place] < 0 ? 0 : 1;
      let longest = null;
      charts[side].tracks.forEach(({ kinds, durations }, track) => kinds.forEach((kind, entry) => {
        if (charts[side].kinds[kind].function !== place) return;
        if (!longest || durations[entry] > charts[side].tracks[longest.track].durations[longest.entry]) longest = { track, entry };
      }));
      if (longest) overlays.add({ type: "difference", side, entry: longest, text: signed(functions.difference[place], unit) });
    }
  }
}
