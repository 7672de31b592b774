// A flame chart: the calls of one run over time. The drawing is a pure function of a track and a
// window. A track is columns of entries (see trees.js):
//
//   { starts: µs, ascending, durations: µs, kinds, depths }

// Prepares a track for drawing: its entries by depth, each row in the order of time. Those
// without a depth (-1) are in no row.
export function rowsOf(track) {
  const counts = [];
  for (const depth of track.depths) {
    if (depth < 0) continue;
    while (counts.length <= depth) counts.push(0);
    counts[depth] += 1;
  }
  const rows = counts.map((count) => new Int32Array(count));
  const filled = counts.map(() => 0);
  for (let entry = 0; entry < track.depths.length; entry += 1) {
    const depth = track.depths[entry];
    if (depth < 0) continue;
    rows[depth][filled[depth]] = entry;
    filled[depth] += 1;
  }
  return rows;
}

// The first place of a row whose entry fits; all that follow fit, too.
function firstWhere(row, fits) {
  let [least, most] = [0, row.length];
  while (least < most) {
    const middle = (least + most) >> 1;
    if (fits(row[middle])) most = middle;
    else least = middle + 1;
  }
  return least;
}

// The first place from here on that begins at a time or later. The search doubles its steps: the
// place is usually near.
function firstFrom(row, starts, from, time) {
  let [least, step] = [from, 1];
  while (least + step < row.length && starts[row[least + step]] < time) {
    least += step;
    step *= 2;
  }
  let most = Math.min(row.length, least + step);
  while (least < most) {
    const middle = (least + most) >> 1;
    if (starts[row[middle]] >= time) most = middle;
    else least = middle + 1;
  }
  return least;
}

// Rectangles narrower than this, in pixels, are drawn as one where they touch and look alike.
const NARROW = 3;

// The rectangles of a track in a window, in so many pixels of width: entry, row, place and width.
// `looks` has a number for each kind: kinds of one number look alike.
//
// Entries narrower than a pixel are one rectangle with those that follow in the same pixel: it has
// `isMany`, and the look of the first. `count` is the maximum number of entries in a rectangle, and
// `isCut` says whether it continues after the window. So the cost is that of the pixels and rows,
// not of the entries.
export function layout(track, rows, window, width, looks) {
  const scale = width / (window.max - window.min);
  const { starts, durations, kinds } = track;
  const fromOf = (entry) => Math.max(0, (starts[entry] - window.min) * scale);
  const endOf = (entry) => (starts[entry] + durations[entry] - window.min) * scale;
  const wideOf = (entry) => Math.min(width, endOf(entry)) - fromOf(entry);
  const rectangles = [];
  let last = null;
  const add = (entry, row, x, wide, count, isMany, isCut) => {
    const look = looks[kinds[entry]];
    if (last && wide < NARROW && last.isNarrow && last.look === look && last.isMany === isMany && last.row === row
      && x - last.x - last.width < 0.5) {
      last.width = x + wide - last.x;
      last.count += count;
      last.isCut = isCut;
      return;
    }
    last = { entry, row, x, width: wide, count, isMany, isCut, look, isNarrow: wide < NARROW };
    rectangles.push(last);
  };
  rows.forEach((row, depth) => {
    // Entries of one depth end in the order in which they begin.
    let place = firstWhere(row, (entry) => starts[entry] + durations[entry] >= window.min);
    while (place < row.length && starts[row[place]] <= window.max) {
      const entry = row[place];
      const from = fromOf(entry);
      const end = endOf(entry);
      const to = Math.min(width, end);
      if (to - from >= 1) {
        add(entry, depth, from, to - from, 1, false, end > width);
        place += 1;
        continue;
      }
      const pixel = Math.floor(from) + 1;
      let next = firstFrom(row, starts, place + 1, window.min + pixel / scale);
      // The last of them may be wide: then it is drawn separately.
      if (next - 1 > place && wideOf(row[next - 1]) >= 1) next -= 1;
      add(entry, depth, pixel - 1, 1, next - place, next - place > 1, end > width);
      place = next;
    }
  });
  return rectangles;
}

// The entry at a time in a row; null between two.
export function entryAt(track, rows, row, time, slack = 0) {
  const entries = rows[row] ?? [];
  const place = firstWhere(entries, (entry) => track.starts[entry] + track.durations[entry] + slack >= time);
  const entry = entries[place];
  return entry !== undefined && track.starts[entry] - slack <= time ? entry : null;
}

// The entry that a key leads to: before and after in its row, out to the one around it, in to its
// first child.
export function neighbor(track, rows, entry, key) {
  const row = track.depths[entry];
  const place = rows[row].indexOf(entry);
  const end = track.starts[entry] + track.durations[entry];
  switch (key) {
    case "ArrowLeft": return rows[row][place - 1] ?? entry;
    case "ArrowRight": return rows[row][place + 1] ?? entry;
    case "ArrowUp": return row === 0 ? entry : entryAt(track, rows, row - 1, track.starts[entry]) ?? entry;
    case "ArrowDown": {
      const below = rows[row + 1] ?? [];
      const inside = below[firstWhere(below, (it) => track.starts[it] >= track.starts[entry])];
      return inside !== undefined && track.starts[inside] < end ? inside : entry;
    }
    default: return entry;
  }
}

// The distance between the ticks of a ruler: a round time, and at least so many pixels.
export function step(window, width, apart = 90) {
  const least = (window.max - window.min) * apart / width;
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].find((it) => it * power >= least) * power;
}

// The moments of a ruler in a window.
export function ticks(window, apart) {
  const first = Math.ceil(window.min / apart);
  const count = Math.floor(window.max / apart) - first + 1;
  return Array.from({ length: Math.max(0, count) }, (_, place) => (first + place) * apart);
}

// A tick of a ruler, with the digits by which it differs from its neighbors.
export function momentText(moment, apart) {
  const [unit, name] = [[1e6, "s"], [1e3, "ms"], [1, "µs"]].find(([least]) => Math.max(Math.abs(moment), apart) >= least) ?? [1, "µs"];
  const digits = Math.max(0, Math.ceil(-Math.log10(apart / unit) - 1e-9));
  return `${(moment / unit).toFixed(digits)} ${name}`;
}
