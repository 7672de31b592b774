// The list of tracks of both sides: shown or hidden, folded or not, and their order.

import { button, element, foreign, table, tick } from "./elements.js";
import { changed, moved, order } from "./tracks.js";

// `arranged` gives how the tracks of each side stand; `arrange` changes those of one.
export function tracksView(section, charts, arranged, arrange) {
  const place = section.querySelector(".tracks .wide");
  const box = (text, isTicked, change) => {
    const label = tick(text, change);
    label.querySelector("input").checked = isTicked;
    return label;
  };

  function show() {
    const sides = charts.map(({ tracks }, side) => {
      const rows = order(arranged()[side]).map((track) => {
        const { hidden, expanded } = arranged()[side][track];
        const go = (by, text) => button(text, () => arrange(side, (all) => moved(all, track, by)), { className: "name" });
        return [
          element("span", {}, foreign(tracks[track].name || "thread")),
          String(tracks[track].starts.length),
          box("shown", !hidden, (isShown) => arrange(side, (all) => changed(all, track, { hidden: !isShown }))),
          box("unfolded", expanded, (isOpen) => arrange(side, (all) => changed(all, track, { expanded: isOpen }))),
          element("span", {}, go(-1, "up"), " ", go(1, "down")),
        ];
      });
      return table(["Track", "Entries", "Shown", "Unfolded", "Order"], rows, ["Before", "After"][side]);
    });
    place.replaceChildren(...sides);
  }

  show();
  return { show };
}
