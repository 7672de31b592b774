// The callers and callees of one function.

import { button, element, foreign, search, table } from "./elements.js";
import { finder } from "./flame_graph.js";
import { amount, pValue, signed } from "./numbers.js";
import { neighbors } from "./calls.js";

// Rows of a table.
const MOST = 100;

// Fills the section; returns a function that shows a function of the data there.
export function callsView(section, { functions, calls, unit }) {
  const chosen = element("select");
  chosen.addEventListener("change", () => show(Number(chosen.value)));
  const columns = section.querySelector(".columns");
  const takesPart = new Set([...calls.caller, ...calls.callee]);
  const options = (find) => {
    const fitting = functions.name.flatMap((name, place) => (takesPart.has(place) && (!find || find(name)) ? [place] : []));
    chosen.replaceChildren(...fitting.map((place) => element("option", { value: place, textContent: functions.name[place] })));
    return fitting;
  };

  const row = ({ other, before, after, difference, interval, p }) => [
    button(foreign(functions.name[other]), () => show(other), { className: "name" }),
    amount(before, unit), amount(after, unit), signed(difference, unit),
    interval && `[${signed(interval[0], unit)}, ${signed(interval[1], unit)}]`,
    p === null ? null : pValue(p),
  ];
  const list = (title, of) => {
    const heads = ["Function", "Before", "After", "Difference", "95 % interval", "Adjusted p"];
    const content = of.length === 0 ? element("p", { className: "note", textContent: "None with at least 0.1 % of a side." })
      : element("div", { className: "wide" }, table(heads, of.slice(0, MOST).map(row)));
    return element("div", {}, element("h3", { textContent: title }), content);
  };

  function show(place) {
    if (![...chosen.options].some(({ value }) => Number(value) === place)) options(null);
    chosen.value = place;
    const { callers, callees } = neighbors(calls, place);
    columns.replaceChildren(list("Called by", callers), list("Calls", callees));
  }

  section.querySelector(".tools").append(
    search("Search", (text) => {
      const fitting = options(finder(text));
      if (fitting.length > 0) show(fitting[0]);
    }),
    element("label", {}, "Function ", chosen));
  section.hidden = takesPart.size === 0;
  const all = options(null);
  // The first of the table, unless it has neither callers nor callees.
  const first = functions.row.indexOf(0);
  if (!section.hidden) show(takesPart.has(first) ? first : all[0]);
  return (place) => {
    show(place);
    section.scrollIntoView({ block: "start" });
    chosen.focus({ preventScroll: true });
  };
}
