// Overlays above the flame charts of both sides. An overlay is an object with a type:
//
//   { type: "selected", side, entry }             only one
//   { type: "ruler", time }                       only one; the time is one of the base
//   { type: "difference", side, entry, text }     a function whose difference is certain
//   { type: "scheduled", side, from, to }         only one: the scheduler of the selected task
//   { type: "label", side, entry, text }          a note on an entry,
//   { type: "range", side, window, text }         a note on a range of time,
//   { type: "link", side, from, to }              a link from one entry to another
//
// An entry is { track, entry }.

const ONLY_ONE = new Set(["selected", "scheduled", "ruler"]);

export class Overlays {
  #all = [];

  // Adds an overlay, and returns it. One of a unique type replaces the other.
  add(overlay) {
    if (ONLY_ONE.has(overlay.type)) this.removeAll(overlay.type);
    this.#all.push(overlay);
    return overlay;
  }

  remove(overlay) { this.#all = this.#all.filter((it) => it !== overlay); }

  removeAll(type) { this.#all = this.#all.filter((it) => it.type !== type); }

  of(type) { return this.#all.filter((it) => it.type === type); }

  get all() { return [...this.#all]; }
}

// The drawing of the overlays on one side: a pure function of them and of the view.
//
// view: { window, offset: added to a time of the base, width, height,
//         box: ({ track, entry }) => { start, duration, top, height }, or null where it is hidden }
export function shapes(overlays, side, view) {
  const { window, width, height, offset, box } = view;
  const scale = width / (window.max - window.min);
  const across = (time) => (time - window.min) * scale;
  const boxOf = (entry) => {
    const it = box(entry);
    if (!it || it.start > window.max || it.start + it.duration < window.min) return null;
    const x = Math.max(0, across(it.start));
    return { x, y: it.top, width: Math.max(2, Math.min(width, across(it.start + it.duration)) - x), height: it.height };
  };
  // From the begin of one entry to that of another; invisible ends are at the edge.
  const arrow = ({ from, to }) => {
    const [begin, end] = [placeOf(from), placeOf(to)];
    if (!begin || !end) return [];
    return [{ shape: "arrow", ...begin, width: end.x - begin.x, height: end.y - begin.y }];
  };
  const placeOf = (entry) => {
    const it = box(entry);
    if (!it) return null;
    return { x: Math.max(0, Math.min(width, across(it.start))), y: it.top + it.height / 2 };
  };
  const draw = {
    link: arrow,
    scheduled: arrow,
    label: ({ entry, text }) => [{ shape: "outline", ...boxOf(entry) }, { shape: "note", ...boxOf(entry), text }],
    range: ({ window: range, text }) => {
      if (range.max < window.min || range.min > window.max) return [];
      const [x, end] = [Math.max(0, across(range.min)), Math.min(width, across(range.max))];
      return [{ shape: "band", x, y: 0, width: end - x, height, text }];
    },
    selected: ({ entry }) => [{ shape: "outline", ...boxOf(entry) }],
    difference: ({ entry, text }) => [{ shape: "outline", ...boxOf(entry) }, { shape: "note", ...boxOf(entry), text }],
    ruler: ({ time }) => {
      const x = across(time + offset);
      return x < 0 || x > width ? [] : [{ shape: "line", x, y: 0, width: 1, height }];
    },
  };
  const here = overlays.filter((it) => it.type === "ruler" || it.side === side);
  return here.flatMap((it) => draw[it.type](it).filter(({ x }) => x !== undefined).map((shape) => ({ type: it.type, ...shape })));
}
