// The flame charts that the page holds, unpacked and joined.

import { rowsOf } from "./flame_chart.js";

// Times of the page's data are tenths of a microsecond.
const TENTH = 10;

// A chart with its tracks as trees and flame charts want them; times in µs since the run began.
export function decode({ tracks, kinds, marks, ...rest }) {
  const decoded = tracks.map((track) => {
    let last = 0;
    const starts = Float64Array.from(track.starts, (since) => {
      last += since;
      return last / TENTH;
    });
    const durations = Float64Array.from(track.durations, (duration) => duration / TENTH);
    const made = { ...track, starts, durations, kinds: Uint32Array.from(track.kinds), depths: Uint32Array.from(track.depths) };
    return { ...made, rows: rowsOf(made) };
  });
  let end = 1;
  for (const { starts, durations } of decoded) {
    for (let at = 0; at < starts.length; at += 1) end = Math.max(end, starts[at] + durations[at]);
  }
  const begin = decoded.reduce((least, { starts }) => Math.min(least, starts[0] ?? least), end);
  return {
    ...rest, kinds, tracks: decoded, bounds: { min: begin, max: end },
    marks: marks.map(({ name, start, duration }) => ({ name, start: start / TENTH, duration: duration / TENTH })),
  };
}

// Marks of the same name on both sides, as pairs of times: the first of each name.
export function commonMarks([before, after]) {
  const first = new Map(after.marks.toReversed().map((mark) => [mark.name, mark]));
  const seen = new Set();
  return before.marks.flatMap(({ name, start }) => {
    if (seen.has(name) || !first.has(name)) return [];
    seen.add(name);
    return [{ name, times: [start, first.get(name).start] }];
  });
}

// The part of each of so many equal pieces of a window in which the track did something.
export function busy(track, window, pieces) {
  const parts = new Float64Array(pieces);
  const piece = (window.max - window.min) / pieces;
  for (const entry of track.rows[0] ?? []) {
    const from = Math.max(track.starts[entry], window.min);
    const to = Math.min(track.starts[entry] + track.durations[entry], window.max);
    for (let at = Math.floor((from - window.min) / piece); at < pieces && window.min + at * piece < to; at += 1) {
      const begin = window.min + at * piece;
      parts[at] += (Math.min(to, begin + piece) - Math.max(from, begin)) / piece;
    }
  }
  return parts;
}

// Rows of two trees by their ids, those that moved most first. A row that only one side has
// counts as nothing on the other.
export function joined(before, after) {
  const ids = new Set([...before.keys(), ...after.keys()]);
  const rows = [...ids].map((id) => {
    const sides = [before.get(id), after.get(id)];
    const [selfs, totals] = ["self", "total"].map((value) => sides.map((row) => row?.[value] ?? 0));
    return { id, sides, selfs, totals };
  });
  const moved = ({ totals, selfs }) => Math.max(Math.abs(totals[1] - totals[0]), Math.abs(selfs[1] - selfs[0]));
  const size = ({ totals }) => Math.max(...totals);
  return rows.toSorted((a, b) => moved(b) - moved(a) || size(b) - size(a));
}
