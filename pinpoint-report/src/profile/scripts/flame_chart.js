// A flame chart: what ran when, of one run. What is drawn is a pure function of a track and a
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

// The first place of a row whose entry fits; all that follow do, too.
function firstWhere(row, fits) {
  let [least, most] = [0, row.length];
  while (least < most) {
    const middle = (least + most) >> 1;
    if (fits(row[middle])) most = middle;
    else least = middle + 1;
  }
  return least;
}

// The rectangles of a track in a window, in so many pixels of width: entry, row, place and width.
//
// Entries narrower than a pixel are drawn as one with those that follow in the same pixel:
// `count` says how many entries may be there. So the cost is that of the pixels and rows,
// however many entries there are.
export function layout(track, rows, window, width) {
  const scale = width / (window.max - window.min);
  const { starts, durations } = track;
  const rectangles = [];
  rows.forEach((row, depth) => {
    // Entries of one depth end in the order in which they begin.
    let place = firstWhere(row, (entry) => starts[entry] + durations[entry] >= window.min);
    while (place < row.length && starts[row[place]] <= window.max) {
      const entry = row[place];
      const from = Math.max(0, (starts[entry] - window.min) * scale);
      const to = Math.min(width, (starts[entry] + durations[entry] - window.min) * scale);
      if (to - from >= 1) {
        rectangles.push({ entry, row: depth, x: from, width: to - from, count: 1 });
        place += 1;
        continue;
      }
      const pixel = Math.floor(from) + 1;
      const end = window.min + pixel / scale;
      const next = Math.max(place + 1, firstWhere(row, (it) => starts[it] >= end));
      rectangles.push({ entry, row: depth, x: pixel - 1, width: 1, count: next - place });
      place = next;
    }
  });
  return rectangles;
}

// The entry at a time in a row; none between two.
export function entryAt(track, rows, row, time, slack = 0) {
  const entries = rows[row] ?? [];
  const place = firstWhere(entries, (entry) => track.starts[entry] + track.durations[entry] + slack >= time);
  const entry = entries[place];
  return entry !== undefined && track.starts[entry] - slack <= time ? entry : null;
}

// The entry that a key leads to: before and after in its row, out to the one around it, in to
// the first that it holds.
export function neighbour(track, rows, entry, key) {
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

// The moments of a ruler: round ones, at least so many pixels apart.
export function ticks(window, width, apart = 90) {
  const least = (window.max - window.min) * apart / width;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].find((it) => it * power >= least) * power;
  const first = Math.ceil(window.min / step);
  const count = Math.floor(window.max / step) - first + 1;
  return Array.from({ length: Math.max(0, count) }, (_, place) => (first + place) * step);
}
