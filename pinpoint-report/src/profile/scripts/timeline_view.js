// The flame charts of both sides, one above the other, with their windows.

import { button, colors, element, foreign, once, prepare, refill, search, tick } from "./elements.js";
import { list } from "./breadcrumbs.js";
import { annotationsView } from "./annotations_view.js";
import { callersOf, commonMarks, decode } from "./chart.js";
import { LOOKS, SIZES, entriesView } from "./entries_view.js";
import { finder } from "./flame_graph.js";
import { entryAt, momentText, neighbor, step, ticks } from "./flame_chart.js";
import { minimapView } from "./minimap_view.js";
import { amount, signed } from "./numbers.js";
import { Overlays, shapes } from "./overlays.js";
import { drawShape } from "./shapes_view.js";
import { forget, keep, kept } from "./kept_tracks.js";
import { arrangement, changed, counterpart, restored, untouched } from "./tracks.js";
import { tracksView } from "./tracks_view.js";
import { treesView } from "./trees_view.js";
import { Windows, length, shifted, stretched } from "./windows.js";

const RULER = 20;
const INKS = ["tone-3", "tone0", "tone3", "many", "paper", "ink", "dark-ink", "light-ink", "soft", "line", "card", "link"];
// Highlighted functions.
const MOST_FOUND = 5;
const NO_TRACK = { name: "", starts: [], durations: [], kinds: [], depths: [], rows: [] };
// Callers that are named.
const MOST_CALLERS = 30;

const time = (us) => amount(us * 1000, "nanoseconds");

// Fills the section. `choose` is called with a function whose callers are requested.
export function timelineView(section, data, choose) {
  const charts = data.charts.map(decode);
  const { functions, unit } = data;
  const windows = new Windows();
  const overlays = new Overlays();
  const canvases = [...section.querySelectorAll(".chart canvas")];
  const minimap = section.querySelector(".minimap");
  const readout = section.querySelector(".readout");
  const storage = () => localStorage;
  const arranged = charts.map(({ tracks }) => restored(untouched(tracks), kept(storage)));
  arranged[1] = restored(arranged[1], arranged[0]);
  const places = [null, null];
  const state = { track: [0, counterpart(charts[0].tracks, 0, charts[1].tracks)], selected: null, hits: null, isDragged: false };
  const drawEntries = charts.map(entriesView);
  // The selected track of a side; an empty one if it has no track of that name.
  const selectedTrack = (side) => ({ place: state.track[side], track: charts[side].tracks[state.track[side]] ?? NO_TRACK });
  const drawMinimap = minimapView(minimap, charts, windows, selectedTrack);
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

  // The callers of an entry, in words.
  const callersInWords = (side, entry) => {
    const callers = callersOf(charts[side], entry);
    const named = callers.slice(0, MOST_CALLERS).map(({ task, call, ...caller }) => (
      call ?? `${task === undefined ? "" : `${task || "a task"} of `}${kindOf(side, caller).name || "(anonymous)"}`));
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

  // The look of each kind, by its place in LOOKS.
  const looksOf = (side) => Uint8Array.from(charts[side].kinds, ({ function: of }, kind) => {
    const tone = functions.certain[of] ? Math.sign(functions.difference[of]) * 3 : 0;
    const isDim = state.hits !== null && !state.hits[side][kind];
    return LOOKS.findIndex((it) => it.tone === tone && it.isDim === isDim);
  });
  let looks = charts.map((_, side) => looksOf(side));

  function drawSide(side, ink) {
    places[side] = arrangement(arranged[side], charts[side].tracks.map(({ rows }) => rows.length), SIZES);
    const canvas = canvases[side];
    const { window, width, height } = view(side);
    const context = prepare(canvas, width, height);
    context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    context.textBaseline = "middle";
    drawRuler(context, window, width, height, ink, charts[side].bounds.min);
    for (const place of places[side].placed) drawHead(context, side, place, width, ink);
    drawEntries[side](context, { ...places[side], window, width, top: RULER, looks: looks[side], ink, ratio: devicePixelRatio });
    for (const shape of shapes(overlays.all, side, view(side))) drawShape(context, shape, ink);
    const selected = state.selected?.side === side ? ` Selected: ${describe(side, state.selected.entry)}` : "";
    canvas.setAttribute("aria-label", `Flame chart ${["before", "after"][side]}, ${time(length(window))} are seen.${selected}`);
  }

  function drawRuler(context, window, width, height, ink, begin) {
    context.fillStyle = ink.soft;
    const since = { min: window.min - begin, max: window.max - begin };
    const apart = step(since, width);
    for (const moment of ticks(since, apart)) {
      const x = (moment - since.min) * width / length(window);
      context.fillText(momentText(moment, apart), x + 3, RULER / 2);
      context.fillStyle = ink.line;
      context.fillRect(x, 0, 1, height);
      context.fillStyle = ink.soft;
    }
  }

  function drawHead(context, side, place, width, ink) {
    context.fillStyle = ink.card;
    context.fillRect(0, RULER + place.top, width, SIZES.head);
    context.fillStyle = state.track[side] === place.track ? ink.link : ink.ink;
    const { name, rows } = charts[side].tracks[place.track];
    const cut = place.expanded && rows.length > place.rows ? ` (the outer ${place.rows} of ${rows.length} rows)` : "";
    context.fillText(`${place.expanded ? "▾" : "▸"} ${name || "thread"}${cut}`, 4, RULER + place.top + SIZES.head / 2);
  }

  const showTrees = treesView(section, data, () => charts.map((chart, side) => ({
    ...selectedTrack(side), kinds: chart.kinds, window: windows.timeline(side),
  })));
  let treesAsked = 0;
  const draw = once(() => {
    const ink = colors(INKS);
    drawSide(0, ink);
    drawSide(1, ink);
    drawMinimap(ink);
    minimap.setAttribute("aria-label", `All that can be reached: ${time(length(windows.minimap(0)))}. Arrows move what is seen, plus and minus zoom.`);
  });
  // Trees are built when they are opened, and when the window rests.
  const trees = section.querySelector(".trees");
  const update = () => {
    draw();
    clearTimeout(treesAsked);
    if (trees.open) treesAsked = setTimeout(showTrees, 150);
  };
  trees.addEventListener("toggle", update);

  // The track of both sides whose trees are shown.
  function selectTrack(side, track) {
    if (state.track[side] === track) return;
    state.track[side] = track;
    state.track[1 - side] = counterpart(charts[side].tracks, track, charts[1 - side].tracks);
    tracks.show();
  }

  function select(side, entry) {
    state.selected = entry && { side, entry };
    overlays.removeAll("selected");
    overlays.removeAll("scheduled");
    if (entry) {
      overlays.add({ type: "selected", side, entry });
      const scheduler = callersOf(charts[side], entry).find(({ task }) => task !== undefined);
      if (scheduler) overlays.add({ type: "scheduled", side, from: scheduler, to: entry });
      selectTrack(side, entry.track);
      readout.textContent = describe(side, entry) + callersInWords(side, entry);
    } else readout.textContent = "";
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

  // Tracks of the same name have the same arrangement on both sides.
  function arrange(side, change) {
    arranged[side] = change(arranged[side]);
    arranged[1 - side] = restored(arranged[1 - side], arranged[side]);
    keep(storage, [arranged[side], arranged[1 - side]]);
    tracks.show();
    update();
  }

  function rearrange() {
    forget(storage);
    charts.forEach(({ tracks: all }, side) => { arranged[side] = untouched(all); });
    arranged[1] = restored(arranged[1], arranged[0]);
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
        if (movesOffset(side)) windows.drag(held.offset + by - windows.offset);
        else windows.show(side, shifted(held.window, by));
      }
      draw();
    });
    canvas.addEventListener("pointerup", (event) => {
      const { head, entry } = at(side, event);
      if (!held?.isMoved) {
        if (head !== undefined) {
          const isShown = state.track[side] === head;
          selectTrack(side, head);
          arrange(side, (all) => (isShown ? changed(all, head, { expanded: !all[head].expanded }) : all));
        } else select(side, entry ?? null);
      }
      held = null;
    });
    canvas.addEventListener("pointercancel", () => { held = null; });
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

  // Returns whether a movement of a side moves it along the other.
  const movesOffset = (side) => state.isDragged && side === 1 && windows.isLinked;

  function goTo(side, { track, entry }) {
    const { starts, durations } = charts[side].tracks[track];
    const room = durations[entry] * 0.1;
    windows.reveal(side, { min: starts[entry] - room, max: starts[entry] + durations[entry] + room });
  }

  function key(side, event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const window = windows.timeline(side);
    const middle = (window.min + window.max) / 2;
    const chosen = state.selected?.side === side ? state.selected.entry : null;
    const move = (sign) => (movesOffset(side) ? windows.drag(sign * length(window) / 50)
      : windows.show(side, shifted(window, sign * length(window) / 4)));
    const actions = {
      "+": () => windows.show(side, stretched(window, 0.5, middle)),
      "-": () => windows.show(side, stretched(window, 2, middle)),
      a: () => move(-1),
      d: () => move(1),
      Enter: () => chosen && goTo(side, chosen),
      Escape: () => select(side, null),
    };
    Object.assign(actions, { w: actions["+"], "=": actions["+"], s: actions["-"] });
    if (actions[event.key]) actions[event.key]();
    else if (event.key.startsWith("Arrow")) {
      const track = chosen?.track ?? state.track[side] ?? 0;
      const { rows } = charts[side].tracks[track];
      const entry = chosen ? neighbor(charts[side].tracks[track], rows, chosen.entry, event.key) : rows[0]?.[0];
      event.preventDefault();
      if (entry === undefined) return;
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

  function showCrumbs() {
    const all = list(windows.breadcrumbs);
    const crumb = (it, place) => {
      const made = button(
        `${place === 0 ? "all, " : ""}${time(length(it.window))}`, () => windows.activateBreadcrumb(it),
        place === all.length - 1 ? { className: "name", ariaCurrent: "true" } : { className: "name" });
      made.dataset.key = place;
      return element("li", {}, made);
    };
    refill(section.querySelector(".crumbs"), element("ol", { className: "path" }, ...all.map(crumb)));
  }

  const enter = button("Go into this window", () => windows.addBreadcrumb());
  const found = element("span", { role: "status" });
  const counted = charts.map(({ window }) => window);
  const isCounted = counted.every((window) => window);
  const aligns = [["begin", "aligned at the start"], ...(isCounted ? [["window", "aligned at the window that counts"]] : []), ...commonMarks(charts).map(({ name }, at) => [`mark ${at}`, `aligned at ${name}`]), ["hand", "aligned by hand: drag the lower one"]];
  const align = element("select", {}, ...aligns.map(([value, textContent]) => element("option", { value, textContent })));
  align.addEventListener("change", () => {
    state.isDragged = align.value === "hand";
    if (align.value === "begin") windows.alignBegins();
    if (align.value === "window") windows.alignMarks(...counted.map(({ min }) => min));
    if (align.value.startsWith("mark")) windows.alignMarks(...commonMarks(charts)[Number(align.value.slice(5))].times);
  });
  const linked = tick("move together", (isLinked) => windows.link(isLinked));
  linked.querySelector("input").checked = true;
  const whole = button("Show all", () => windows.show(0, windows.minimap(0)));
  section.querySelector(".tools").append(
    linked, element("label", {}, "Both sides ", align), whole, enter,
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
  const tracks = tracksView(section, charts, {
    arranged: () => arranged, arrange, rearrange, selected: (side) => state.track[side],
    select(side, track) {
      selectTrack(side, track);
      update();
    },
  });
  windows.listen((change) => {
    enter.disabled = windows.timeline(0).min === windows.minimap(0).min && windows.timeline(0).max === windows.minimap(0).max;
    if (change === "minimap" || change === "loaded") showCrumbs();
    update();
  });
  windows.load(charts.map(({ bounds }) => bounds));
  restore();
  showCounted();
  for (const canvas of [...canvases, minimap]) new ResizeObserver(draw).observe(canvas.parentElement);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  addEventListener("beforeprint", draw);

  // Shows the window that counts first, of both sides as long as the longer one.
  function showCounted() {
    const side = counted.findIndex((window) => window);
    if (side < 0) return;
    const { min } = counted[side];
    if (isCounted) {
      windows.alignMarks(...counted.map((window) => window.min));
      align.value = "window";
    }
    windows.show(side, { min, max: min + Math.max(...counted.filter((window) => window).map(length)) });
  }

  // Highlights the longest call of each function whose difference is certain, on the side where it
  // takes more.
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
