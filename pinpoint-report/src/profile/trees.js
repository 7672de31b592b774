// The trees of a track: callers, callees and their times, inside a window of time.
//
// Pure functions of a track's entries, the table of their kinds, and the options. They count as the
// Performance panel of DevTools does, so that both show the same times.
//
// A track is the entries of one thread, events and calls alike, as columns:
//
//   starts     µs, ascending; of entries that start together the longest comes first
//   durations  µs; 0 for an instant
//   kinds      for each entry its place in the table of kinds
//   depths     how many entries are open around it; 0 for the outermost
//
// A kind is an object with the common properties of entries:
//
//   id         the identity of entries: `f:NAME@SCRIPT:LINE:COLUMN` of a call,
//              `NAME:LABEL` of a console timestamp, else the event's name
//   name       the text that is shown and searched
//   category   "scripting", "rendering", "painting", "loading", "gc", "idle", "network", …
//   domain, url, file, module, owner    by which rows can be grouped; "" where unknown
//
// An entry lies in the one that is open when it starts. For example, `parse` from 0 to
// 100 with `next` from 10 to 40 inside it:
//
//   callTree({ starts: [0, 10], durations: [100, 30], kinds: [0, 1] },
//            [{ id: "f:parse@3:1:0", … }, { id: "f:next@3:9:0", … }], { from: 0, to: 120 })
//
// gives a root of 120 whose own 20 are idle; in it `parse`, total 100 and self 70; in that
// `next`, 30 and 30.
//
// Options, each of which may be missing:
//
//   from, to    the window in µs; entries are cut at its ends (the extent of the track)
//   text        rows of the first level whose name or place lacks it are left out
//   least       entries shorter than this many µs are passed over; their children count
//               for the entry around them
//   categories  a Set: entries of other categories are passed over in the same way
//               (all but "network")
//   group       "category", "domain", "url", "file", "module" or "owner": rows of the
//               first level stand in groups

// The error of sums of times in µs: less than traces can resolve.
const INEXACT = 1e-4;

/**
 * A row of a tree.
 *
 * `first` is the first of its entries, and -1 in the root and in a group; `count` is their
 * number. `children` is a Map by the rows' ids.
 */
class Row {
  constructor(id, kind, first, group = "") {
    this.id = id;
    this.kind = kind;
    this.first = first;
    this.group = group;
    this.count = 0;
    this.self = 0;
    this.total = 0;
    this.children = new Map();
  }
}

/**
 * The call tree, by path: the root is the window, and its own time is idle.
 * Entries of one path are one row, whose self is its total minus that of its children.
 */
export function callTree(track, kinds, options = {}) {
  const { from, to } = windowOf(track, options);
  const id = idsOf(kinds, options.group);
  const group = groupsOf(kinds, options.group);
  const root = new Row("", -1, -1);
  root.self = root.total = to - from;
  const open = [root];
  walk(track, kinds, options, {
    enter(entry, duration) {
      const parent = open.at(-1);
      const row = rowIn(parent.children, id, group, track.kinds[entry], entry);
      row.count += 1;
      row.self += duration;
      row.total += duration;
      parent.self -= duration;
      open.push(row);
    },
    leave: () => open.pop(),
  });
  root.children = matching(root.children, kinds, options.text);
  if (options.group) root.children = grouped(root.children, (row) => row.total);
  return root;
}

/**
 * The bottom-up tree: a row for each id, with its own time and the total of
 * its outermost entries. Rows without own time are left out. The callers of a row are
 * found by [`callers`]. An id that is in two groups is two rows, so that each group has
 * its own cost; DevTools does so for third parties alone.
 */
export function bottomUp(track, kinds, options = {}) {
  const { from, to } = windowOf(track, options);
  const id = idsOf(kinds, options.group);
  const group = groupsOf(kinds, options.group);
  const root = new Row("", -1, -1);
  root.total = to - from;
  const self = [to - from];
  const rows = root.children;
  const open = new Map();
  walk(track, kinds, options, {
    enter(entry, duration) {
      const row = rowIn(rows, id, group, track.kinds[entry], entry);
      row.count += 1;
      const outer = open.get(row.id) ?? 0;
      if (outer === 0) row.total += duration;
      open.set(row.id, outer + 1);
      self[self.length - 1] -= duration;
      self.push(duration);
    },
    leave(entry) {
      const row = rows.get(id[track.kinds[entry]]);
      row.self += self.pop();
      open.set(row.id, open.get(row.id) - 1);
    },
  });
  root.self = self[0];
  for (const [key, row] of rows) if (row.self <= 0) rows.delete(key);
  root.children = matching(rows, kinds, options.text);
  if (options.group) root.children = grouped(root.children, (row) => row.self);
  return root;
}

/**
 * The callers of a row of a bottom-up tree, as a Map by their ids. `path` holds the row's id,
 * then its caller's, and so on outwards; callers are in no groups. Entries at the outermost
 * level have no caller.
 *
 * Time that an inner call of the same function has counted is not counted again: of a
 * recursion's total, an outer caller has the time after the inner call.
 */
export function callers(track, kinds, options, path) {
  const id = idsOf(kinds);
  const called = idsOf(kinds, options.group);
  const { from, to } = windowOf(track, options);
  const none = groupsOf(kinds);
  const rows = new Map();
  const open = [];
  const self = [0];
  let counted = from;
  walk(track, kinds, options, {
    enter(entry, duration) {
      self[self.length - 1] -= duration;
      self.push(duration);
      open.push(entry);
    },
    leave(entry) {
      const own = self.pop();
      open.pop();
      const caller = open.at(-path.length);
      if (caller === undefined || called[track.kinds[entry]] !== path[0]) return;
      for (let out = 1; out < path.length; out += 1) {
        if (id[track.kinds[open.at(-out)]] !== path[out]) return;
      }
      const row = rowIn(rows, id, none, track.kinds[caller], caller);
      const end = Math.min(track.starts[entry] + track.durations[entry], to);
      row.count += 1;
      row.self += own;
      row.total += end - Math.max(track.starts[entry], counted);
      counted = end;
    },
  });
  return rows;
}

/**
 * The direct callees of the entries of an id, as a Map by the rows' ids. Of calls inside each
 * other only the outermost count for the total.
 */
export function callees(track, kinds, options, caller) {
  const id = idsOf(kinds);
  const none = groupsOf(kinds);
  const rows = new Map();
  const open = [];
  const inside = new Map();
  const self = [0];
  walk(track, kinds, options, {
    enter(entry, duration) {
      self[self.length - 1] -= duration;
      self.push(duration);
      const called = open.length > 0 && id[track.kinds[open.at(-1)]] === caller;
      open.push(entry);
      if (!called) return;
      const row = rowIn(rows, id, none, track.kinds[entry], entry);
      row.count += 1;
      const outer = inside.get(row.id) ?? 0;
      if (outer === 0) row.total += duration;
      inside.set(row.id, outer + 1);
    },
    leave(entry) {
      const own = self.pop();
      open.pop();
      if (open.length === 0 || id[track.kinds[open.at(-1)]] !== caller) return;
      const row = rows.get(id[track.kinds[entry]]);
      row.self += own;
      inside.set(row.id, inside.get(row.id) - 1);
    },
  });
  return rows;
}

/**
 * A row for each entry, instants too, in the order of time: columns of entries, their depths
 * among the rows, own and total times in µs. The text is searched in rows of depth 0, which
 * stay with all of their children.
 */
export function eventLog(track, kinds, options = {}) {
  const log = { entries: [], depths: [], selfs: [], totals: [] };
  const found = finder(kinds, options.text);
  const open = [];
  let shown = false;
  const add = (entry, duration) => {
    if (open.length === 0) shown = found(track.kinds[entry]);
    if (!shown) return -1;
    log.depths.push(open.length);
    log.selfs.push(duration);
    log.totals.push(duration);
    return log.entries.push(entry) - 1;
  };
  walk(track, kinds, options, {
    enter(entry, duration) {
      const place = add(entry, duration);
      const parent = open.at(-1) ?? -1;
      if (parent >= 0) log.selfs[parent] -= duration;
      open.push(place);
    },
    leave: () => open.pop(),
    instant: (entry) => add(entry, 0),
  });
  return log;
}

/** The requested window, or all of the track. */
function windowOf(track, { from, to }) {
  let first = 0;
  let last = 0;
  if (from === undefined || to === undefined) {
    first = track.starts[0] ?? 0;
    last = first;
    for (let entry = 0; entry < track.starts.length; entry += 1) {
      last = Math.max(last, track.starts[entry] + track.durations[entry]);
    }
  }
  return { from: from ?? first, to: to ?? last };
}

/** Walks the entries in the window, each with its duration there, from outer to inner. */
function walk(track, kinds, options, { enter, leave, instant }) {
  const { from, to } = windowOf(track, options);
  const { starts, durations } = track;
  const least = options.least ?? 0;
  const passed = kinds.map(({ category }) =>
    options.categories ? !options.categories.has(category) : category === "network");
  const open = [];
  const ends = [];
  for (let entry = 0; entry < starts.length; entry += 1) {
    const start = starts[entry];
    const end = start + durations[entry];
    if (start > to) break;
    if (end < from) continue;
    // A sum of fractions may be a little more than the next one's start.
    while (open.length > 0 && ends.at(-1) <= start + INEXACT) {
      ends.pop();
      leave(open.pop());
    }
    if (passed[track.kinds[entry]] || durations[entry] < least) continue;
    if (durations[entry] > 0) {
      enter(entry, Math.min(end, to) - Math.max(start, from));
      open.push(entry);
      ends.push(end);
    } else {
      instant?.(entry);
    }
  }
  while (open.length > 0) leave(open.pop());
}

/** The row of a kind in a Map, made if it is missing. */
function rowIn(rows, id, group, kind, entry) {
  let row = rows.get(id[kind]);
  if (!row) rows.set(id[kind], (row = new Row(id[kind], kind, entry, group[kind])));
  return row;
}

/** The id of each kind, with its group where rows of several groups are distinct. */
function idsOf(kinds, group) {
  return kinds.map((kind) => (group && kind[group] ? `${kind.id}/${kind[group]}` : kind.id));
}

function groupsOf(kinds, group) {
  return kinds.map((kind) => (group ? (kind[group] ?? "") : ""));
}

/** Returns whether a kind's name or place has the text, in any case. */
function finder(kinds, text) {
  if (!text) return () => true;
  const wanted = text.toLowerCase();
  const has = (value) => (value ?? "").toLowerCase().includes(wanted);
  const found = kinds.map(({ name, url, file }) => has(name) || has(url) || has(file));
  return (kind) => found[kind];
}

function matching(rows, kinds, text) {
  const found = finder(kinds, text);
  return new Map([...rows].filter(([, row]) => found(row.kind)));
}

/** Rows in groups, whose totals add up the result of `part` for each. */
function grouped(rows, part) {
  const groups = new Map();
  for (const [id, row] of rows) {
    let group = groups.get(row.group);
    if (!group) groups.set(row.group, (group = new Row(row.group, -1, -1, row.group)));
    group.children.set(id, row);
    group.count += row.count;
    group.self += row.self;
    group.total += part(row);
  }
  return groups;
}
