// The table of functions: searched, sorted and shortened.

import { finder } from "./flame_graph.js";
import { button, element, search, tick } from "./elements.js";

// The default number of rows.
const FEW = 50;

// Activates the table of the page. `choose` is called with the row of a function whose callers and
// callees are requested.
export function functionsView(section, choose) {
  const table = section.querySelector("table");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const state = { find: null, certainOnly: false, isWhole: false };
  const count = element("span", { role: "status" });
  const all = button("", () => { state.isWhole = true; show(); });

  const show = () => {
    const fits = (row) => (!state.find || state.find(row.cells[0].textContent))
      && (!state.certainOnly || row.className === "certain");
    const fitting = [...body.rows].filter(fits);
    const shown = new Set(state.isWhole ? fitting : fitting.slice(0, FEW));
    for (const row of rows) row.hidden = !shown.has(row);
    count.textContent = fitting.length === 0 ? "no function" : `${shown.size} of ${fitting.length}`;
    all.hidden = shown.size === fitting.length;
    all.textContent = `Show all ${fitting.length}`;
  };

  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const isNumber = rows.some((row) => "value" in row.cells[column].dataset);
    if (column > 0 && !isNumber) return;
    const sort = button(head.textContent, () => {
      const isDown = head.ariaSort !== "descending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
      body.append(...rows.toSorted(ordering(column, isDown)));
      show();
    });
    head.replaceChildren(sort);
  });
  for (const row of rows) {
    const name = row.cells[0].querySelector("bdi");
    const open = button("", () => choose(Number(row.dataset.row)), { className: "name", title: "Callers and callees" });
    name.replaceWith(open);
    open.append(name);
  }
  section.querySelector(".tools").append(
    search("Search", (text) => { state.find = finder(text); show(); }),
    tick("certain only", (certainOnly) => { state.certainOnly = certainOnly; show(); }),
    count, all);
  addEventListener("beforeprint", () => rows.forEach((row) => { row.hidden = false; }));
  addEventListener("afterprint", show);
  show();
}

// By the number of a column, or by name; rows without a number come last.
export function ordering(column, isDown) {
  const value = (row) => {
    const cell = row.cells[column];
    return "value" in cell.dataset ? Number(cell.dataset.value) : null;
  };
  return (a, b) => {
    const [first, second] = [value(a), value(b)];
    if (first === null && second === null) {
      const order = a.cells[column].textContent.localeCompare(b.cells[column].textContent);
      return column === 0 && isDown ? -order : order;
    }
    if (first === null || second === null) return first === null ? 1 : -1;
    return isDown ? second - first : first - second;
  };
}
