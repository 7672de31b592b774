// The flame charts in the page, unpacked and joined.
//
// Entries of a trace have keys, by which DevTools finds them in the file: `r-INDEX` for an event,
// `s-INDEX` for an entry made of two, `l-FRAME` for a frame, `p-PROCESS-THREAD-SAMPLE-NODE` for a
// call.

import { rowsOf } from "./flame_chart.js";

// Times of the page's data are tenths of a microsecond.
const TENTH = 10;

// The node of an entry that is not a call.
const EVENT = -1;
const TWO_EVENTS = -2;
const FRAME = -3;
const NODES = { r: EVENT, s: TWO_EVENTS, l: FRAME };

// A chart with its tracks in the form for trees and flame charts; times in µs since the run began.
export function decode({ tracks, kinds, marks, window, stacks, ...rest }) {
  const decoded = tracks.map((track) => {
    // Loops: to map half a million numbers by a function takes several times as long.
    const count = track.starts.length;
    const [starts, durations] = [new Float64Array(count), new Float64Array(count)];
    let last = 0;
    for (let entry = 0; entry < count; entry += 1) {
      last += track.starts[entry];
      starts[entry] = last / TENTH;
      durations[entry] = track.durations[entry] / TENTH;
    }
    const made = {
      ...track, starts, durations, kinds: new Uint32Array(track.kinds), depths: new Int32Array(track.depths), ...keysOf(track, stacks),
    };
    return { ...made, rows: rowsOf(made) };
  });
  let end = 1;
  for (const { starts, durations } of decoded) {
    for (let at = 0; at < starts.length; at += 1) end = Math.max(end, starts[at] + durations[at]);
  }
  const begin = decoded.reduce((least, { starts }) => Math.min(least, starts[0] ?? least), end);
  return {
    ...rest, kinds, tracks: decoded, bounds: { min: begin, max: end }, window: windowIn(window, begin, end),
    marks: marks.map(({ name, start, duration }) => ({ name, start: start / TENTH, duration: duration / TENTH })),
  };
}

// The part of the window that counts in the recording; null where that is all or nothing.
function windowIn(window, begin, end) {
  if (!window) return null;
  const [min, max] = [Math.max(begin, window[0] / TENTH), Math.min(end, window[1] / TENTH)];
  return min < max ? { min, max } : null;
}

// The columns of which keys are made, a Map of the entries that another one scheduled, and one of
// those whose events carry a stack.
function keysOf({ sources, nodes, scheduled, called }, stacks) {
  if (!sources) return {};
  const last = [0, 0];
  const from = new Int32Array(sources.length);
  for (let entry = 0; entry < sources.length; entry += 1) {
    const of = nodes[entry] >= 0 ? 1 : 0;
    last[of] += sources[entry];
    from[entry] = last[of];
  }
  const parents = scheduled?.entry.map((entry, at) => (
    [entry, { task: scheduled.task[at], track: scheduled.track[at], entry: scheduled.by[at] }]));
  let entry = 0;
  const carried = called?.entry.map((since, at) => {
    entry += since;
    return [entry, stacks[called.stack[at]]];
  });
  return { sources: from, nodes: new Float64Array(nodes), scheduled: new Map(parents), called: new Map(carried) };
}

// The key of an entry; null where the file has no events.
export function entryKey({ tracks }, { track, entry }) {
  const { process, thread, sources, nodes } = tracks[track];
  if (!sources) return null;
  switch (nodes[entry]) {
    case EVENT: return `r-${sources[entry]}`;
    case TWO_EVENTS: return `s-${sources[entry]}`;
    case FRAME: return `l-${sources[entry]}`;
    default: return `p-${process}-${thread}-${sources[entry]}-${nodes[entry]}`;
  }
}

// Returns whether DevTools finds the entry of a key again: it cannot read those of calls that were
// sampled for an event alone, whose sample is -1.
export const isFindable = (key) => key !== null && !key.includes("--");

// The entry of a key; null if the chart does not have it.
export function entryOfKey({ tracks }, key) {
  const event = /^([rsl])-(\d+)$/.exec(key);
  const call = /^p-(-?\d+)-(-?\d+)-(-?\d+)-(\d+)$/.exec(key);
  if (!event && !call) return null;
  const [source, node] = event
    ? [Number(event[2]), NODES[event[1]]] : [Number(call[3]), Number(call[4])];
  for (let track = 0; track < tracks.length; track += 1) {
    const { process, thread, sources, nodes } = tracks[track];
    if (!sources || (call && (process !== Number(call[1]) || thread !== Number(call[2])))) continue;
    const entry = sources.findIndex((it, at) => it === source && nodes[at] === node);
    if (entry >= 0) return { track, entry };
  }
  return null;
}

// The callers of an entry, the innermost first: [{ task, track, entry }, …]. The scheduler of a
// task comes before its callers, with the name of the task. Cycles end. The stack that an event
// carries, [{ call }, …], names the lines that called it: it stands for all entries around it, up
// to the scheduler of the task.
export function callersOf(chart, place) {
  const around = entriesAround(chart, place);
  const carried = chart.tracks[place.track].called?.get(place.entry);
  if (!carried) return around;
  const scheduler = around.findIndex(({ task }) => task !== undefined);
  return [...carried.map((call) => ({ call })), ...(scheduler < 0 ? [] : around.slice(scheduler))];
}

function entriesAround({ tracks }, { track, entry }) {
  const found = [];
  const seen = new Set();
  let at = { track, entry };
  while (at && !seen.has(`${at.track} ${at.entry}`)) {
    seen.add(`${at.track} ${at.entry}`);
    if (seen.size > 1) found.push(at);
    const by = tracks[at.track].scheduled?.get(at.entry);
    at = by && !seen.has(`${by.track} ${by.entry}`) ? by : parentOf(tracks[at.track], at);
  }
  return found;
}

// The entry around another: the last of the row above that does not begin later.
function parentOf({ depths, rows }, { track, entry }) {
  const above = rows[depths[entry] - 1];
  if (!above) return null;
  let [least, most] = [0, above.length];
  while (least < most) {
    const middle = (least + most) >> 1;
    if (above[middle] > entry) most = middle;
    else least = middle + 1;
  }
  return least === 0 ? null : { track, entry: above[least - 1] };
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

// The busy part of the track in each of so many equal pieces of a window.
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

// Rows of two trees by their ids, those that moved most first. A row that only one side has counts
// as zero on the other.
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
