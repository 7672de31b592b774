// The list of tracks of both sides: shown or hidden, folded or not, and their order.

import { button, element, foreign, refill, table, tick } from "./elements.js";
import { changed, moved, order } from "./tracks.js";

// `arranged` returns the arrangement of the tracks of each side; `arrange` changes those of one,
// and `rearrange` restores the default of any first report. `selected` returns the place of the
// track of a side whose trees are shown; `select` shows those of another.
export function tracksView(section, charts, { arranged, arrange, rearrange, selected, select }) {
  const place = section.querySelector(".tracks .wide");
  // The label of a control includes its track: there are dozens.
  const named = (control, text, name, key) => {
    control.ariaLabel = `${text}: ${name}`;
    control.dataset.key = `${text} ${key}`;
  };

  function show() {
    const sides = charts.map(({ tracks }, side) => {
      const rows = order(arranged()[side]).map((track) => {
        const { hidden, expanded } = arranged()[side][track];
        const name = tracks[track].name || "thread";
        const chosen = button(foreign(name), () => select(side, track), { className: "name", title: "Trees of this track" });
        chosen.ariaCurrent = String(selected(side) === track);
        chosen.dataset.key = `track ${side} ${track}`;
        const go = (by, text) => {
          const made = button(text, () => arrange(side, (all) => moved(all, track, by)), { className: "name" });
          named(made, text, name, `${side} ${track}`);
          return made;
        };
        const box = (text, isTicked, change) => {
          const label = tick(text, change);
          const input = label.querySelector("input");
          input.checked = isTicked;
          named(input, text, name, `${side} ${track}`);
          return label;
        };
        return [
          chosen,
          String(tracks[track].starts.length),
          box("shown", !hidden, (isShown) => arrange(side, (all) => changed(all, track, { hidden: !isShown }))),
          box("unfolded", expanded, (isOpen) => arrange(side, (all) => changed(all, track, { expanded: isOpen }))),
          element("span", {}, go(-1, "up"), " ", go(1, "down")),
        ];
      });
      return table(["Track", "Entries", "Shown", "Unfolded", "Order"], rows, ["Before", "After"][side]);
    });
    const reset = button("Reset", rearrange);
    reset.dataset.key = "reset";
    const note = element("p", { className: "note" }, "The browser keeps this for the next report. ", reset);
    refill(place, note, ...sides);
  }

  show();
  return { show };
}
