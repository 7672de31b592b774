// The trees of the selected track, of both sides in the visible window.

import { button, choice, element, foreign, refill, search, table, tick } from "./elements.js";
import { joined } from "./chart.js";
import { amount, pValue, signed, signedWithInterval } from "./numbers.js";
import { rowsOfEntries, rowsOfSamples } from "./all_runs.js";
import { bottomUp, callTree, callers, eventLog } from "../trees.js";

const TREES = [["call tree", "call tree"], ["bottom-up", "bottom-up"], ["third party", "third party"], ["event log", "event log"]];
const GROUPS = ["", "category", "domain", "url", "file", "module", "owner"];

// As in trees, without the network: categories unrelated to a thread's time.
const CATEGORIES = ["scripting", "rendering", "painting", "loading", "gc", "messaging", "idle", "other"];

// Rows of one level.
const MOST = 200;

const time = (us) => amount(us * 1000, "nanoseconds");
const change = (us) => signed(us * 1000, "nanoseconds");

// Fills the parts of the section. `look` returns the selection: [{ track, place, kinds, window },
// …] of both sides; the place of a missing track is null. Returns a function that redraws it.
export function treesView(section, data, look) {
  const allRuns = data.entries ? rowsOfEntries(data) : rowsOfSamples(data);
  // The cost of entries of timelines is known as time, whatever the profiles count.
  const unit = data.entries ? "nanoseconds" : data.unit;
  const state = { tree: "call tree", text: "", group: "", least: 0, without: new Set(), open: new Set() };
  const place = section.querySelector(".tree");

  const options = (window) => ({ from: window.min, to: window.max, text: state.text, group: groupingOf() || undefined, least: state.least * 1000, categories: new Set(CATEGORIES.filter((it) => !state.without.has(it))) });
  const build = ({ track, kinds, window }) => {
    const make = state.tree === "call tree" ? callTree : bottomUp;
    return make(track, kinds, options(window));
  };

  function show() {
    const sides = look();
    if (state.tree === "event log") {
      place.replaceChildren(...sides.map((side, at) => log(side, ["Before", "After"][at])));
      return;
    }
    const roots = sides.map(build);
    const known = allRuns(state.tree, groupingOf(), sides.map(({ place, track }) => (place === null ? undefined : track)));
    // Without some entries, others have a larger self time than in the comparison. Those that are
    // too short for the page are missing, too: the totals of others are the same without them.
    const isWhole = state.least === 0 && state.without.size === 0
      && (state.tree === "call tree" || data.charts.every(({ shortest }) => shortest === 0));
    const rows = [];
    const add = (level, path, ids, place, depth) => {
      for (const row of level.slice(0, MOST)) {
        const key = [...path, row.id].join("\n");
        const kind = kindOf(row, sides);
        // From the function whose callers these are outwards: groups are not callers.
        const outer = kind ? [...ids, row.id] : ids;
        const within = kind ? known.placeOf(place, kind) : known.inGroup(row.id);
        const inAll = isWhole ? inAllRuns(known, kind, row, within) : null;
        rows.push(line(row, kind, depth, key, inAll));
        if (state.open.has(key)) add(below(sides, row, outer), [...path, row.id], outer, within, depth + 1);
      }
      if (level.length > MOST) rows.push([element("span", { className: "note", textContent: `… ${level.length - MOST} more` }), ...new Array(8).fill("")]);
    };
    add(joined(roots[0].children, roots[1].children), [], [], known.first, 0);
    const heads = ["Function or event", "Before", "After", "Difference", "Self before", "Self after", "Self difference", "In all runs [95 %]", "Adjusted p"];
    const idle = roots.map(({ self }) => time(self));
    const together = isWhole && known.threads > 1 ? ` In all runs: up to ${known.threads} threads together, whose names differ in numbers at most.` : "";
    const made = rows.length === 0 ? element("p", { className: "note", textContent: "Nothing in this window." })
      : table(heads, rows, `${tracksInWords(sides)}. Nothing ran for ${idle[0]} before and ${idle[1]} after.${together}`);
    refill(place, made);
  }

  // The comparison of a row. The filter may show only a part of a group.
  function inAllRuns(known, kind, row, place) {
    if (kind) return known.known(place);
    return state.text === "" ? known.group(row.id) : null;
  }

  // The selected track, which may be missing on one side.
  function tracksInWords(sides) {
    const [before, after] = sides.map(({ track }) => track.name || "thread");
    if (sides[0].place === null) return `${after}, which only the run after has`;
    return sides[1].place === null ? `${before}, which only the run before has` : before;
  }

  // The kind of a row; null for a group.
  function kindOf(row, sides) {
    const side = row.sides[0] ? 0 : 1;
    return row.sides[side].kind < 0 ? null : sides[side].kinds[row.sides[side].kind];
  }

  const groupingOf = () => (state.tree === "third party" ? "owner" : state.group);
  const isTree = (row) => state.tree === "call tree" || row.sides.find(Boolean).kind < 0;

  // Returns whether a row can be opened. Callers are looked for only then: that takes a walk.
  const mayHold = (row) => !isTree(row) || row.sides.some((side) => side?.children.size > 0);

  // The children of a row: its callees; from the bottom up, its callers. `ids` begin with the
  // function whose callers these are.
  function below(sides, row, ids) {
    if (isTree(row)) return joined(...row.sides.map((side) => side?.children ?? new Map()));
    const whole = (window) => ({ ...options(window), text: "" });
    return joined(...sides.map(({ track, kinds, window }) => callers(track, kinds, whole(window), ids)));
  }

  function line(row, kind, depth, key, inAll) {
    const { selfs, totals, id } = row;
    const has = mayHold(row);
    const name = kind ? kind.name || "(anonymous)" : id || "(none)";
    const isOpen = state.open.has(key);
    const toggle = () => {
      if (isOpen) state.open.delete(key);
      else state.open.add(key);
      show();
    };
    const label = has
      ? button(element("span", {}, isOpen ? "▾ " : "▸ ", foreign(name)), toggle, { className: "name", ariaExpanded: String(isOpen) })
      : element("span", { className: "leaf" }, foreign(name));
    label.dataset.key = key;
    const indented = element("span", { className: `depth depth${Math.min(depth, 12)}` }, label);
    return [
      indented, time(totals[0]), time(totals[1]), change(totals[1] - totals[0]),
      time(selfs[0]), time(selfs[1]), change(selfs[1] - selfs[0]),
      inAll && `${inAll.what} ${signedWithInterval(inAll, unit)}`,
      inAll && inAll.p !== null ? pValue(inAll.p) : null,
    ];
  }

  function log({ track, kinds, window }, title) {
    const { entries, depths, selfs, totals } = eventLog(track, kinds, options(window));
    const rows = entries.slice(0, MOST).map((entry, at) => [
      element("span", { className: `depth depth${Math.min(depths[at], 12)}` }, foreign(kinds[track.kinds[entry]].name || "(anonymous)")),
      time(track.starts[entry]), time(totals[at]), time(selfs[at]),
    ]);
    const more = entries.length > MOST ? `, the first ${MOST} of ${entries.length}` : "";
    return table(["Entry", "Start", "Total", "Self"], rows, title + more);
  }

  const grouping = element("select", {}, ...GROUPS.map((value) => element("option", { value, textContent: value || "not grouped" })));
  grouping.addEventListener("change", () => { state.group = grouping.value; state.open.clear(); show(); });
  const least = element("input", { type: "number", min: "0", step: "0.1", value: "0", className: "short" });
  least.addEventListener("input", () => { state.least = Number(least.value) || 0; show(); });
  section.querySelector(".tree-tools").append(
    choice("Tree", "tree", TREES, state.tree, (tree) => { state.tree = tree; state.open.clear(); show(); }),
    search("Filter", (text) => { state.text = text; show(); }),
    element("label", {}, "Grouped by ", grouping),
    element("label", {}, "At least ", least, " ms"),
    element("fieldset", { className: "choice" }, element("legend", { textContent: "Categories" }), ...CATEGORIES.map((category) => {
      const label = tick(category, (isTicked) => {
        if (isTicked) state.without.delete(category);
        else state.without.add(category);
        show();
      });
      label.querySelector("input").checked = true;
      return label;
    })));
  return show;
}
