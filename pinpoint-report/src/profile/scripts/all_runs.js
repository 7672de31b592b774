// The comparison of all runs by the rows of a tree: the page draws one run a side, and its trees
// are of these. Rows are found by their place, step by step from those of the first level; a place
// is null where nothing is known.
//
//   const rows = rowsOfEntries(data)("call tree", "", [before, after]);
//   let place = rows.first;
//   for (const kind of [task, layout]) place = rows.placeOf(place, kind);
//   rows.known(place)    // { what: "total", difference, interval, p }, or null
//
// In a call tree the total is compared on each path; from the bottom up, the self time of a
// function or event: altogether on the first level, and below it on each way on which it was
// called. Rows in several groups are compared in each; their callers are not.

import { callerPathsOf } from "./caller_paths.js";
import { pathsOf } from "./paths.js";

// Where some run has no timeline: functions by samples, on all threads together. Events are on no
// stack.
export function rowsOfSamples({ functions, groups, stacks, paths, caller_paths: callerPaths }) {
  const known = {
    calls: { outermost: 0, ...pathsOf(stacks, paths) },
    callers: callerPathsOf(callerPaths),
    own: (of) => (functions.row[of] < 0 ? null : row(functions, of)),
    indexOf: ({ function: of }) => of,
    isSplit: () => false,
  };
  return (tree, grouping) => {
    const of = groups[grouping];
    return rowsIn({ ...known, group: (name) => row(of, of?.name.indexOf(name) ?? -1) }, tree);
  };
}

// Charts of timelines: the track that is selected on the sides.
export function rowsOfEntries({ entries }) {
  const { kinds, own, groups } = entries;
  const key = (track, id) => `${track} ${id}`;
  const places = new Map(kinds.id.map((id, place) => [key(kinds.track[place], id), place]));
  const ownRows = new Map(own.kind.map((kind, at) => [kind, at]));
  const callers = callerPathsOf(entries.caller_paths);
  const calls = callsOf(entries.paths);
  return (tree, grouping, tracks) => {
    const [track, ...others] = new Set(tracks.flatMap((it) => it?.all_runs ?? []));
    if (track === undefined || others.length > 0) return rowsIn(null, tree);
    const of = groups[grouping];
    const split = new Set(of?.split);
    return rowsIn({
      threads: entries.threads[track],
      calls,
      callers,
      indexOf: ({ id }) => places.get(key(track, id)) ?? null,
      own: (kind) => row(own, ownRows.get(kind) ?? -1),
      group: (name) => row(of, of?.name.findIndex((it, at) => it === name && of.track[at] === track) ?? -1),
      isSplit: (kind) => split.has(kind),
      part: (kind, name) => row(of.parts, of.parts.name.findIndex((it, at) => it === name && of.parts.kind[at] === kind)),
    }, tree);
  };
}

// Paths of a call tree as columns, each with the row of its enclosing path, or -1.
function callsOf(paths) {
  const key = (within, kind) => `${within} ${kind}`;
  const rows = new Map(paths.within.map((within, at) => [key(within, paths.kind[at]), at]));
  return { outermost: -1, known: (at) => row(paths, at), called: (within, kind) => rows.get(key(within, kind)) ?? null };
}

function row(columns, at) {
  if (!columns || at < 0) return null;
  return { difference: columns.difference[at], interval: columns.interval[at], p: columns.p[at] };
}

// The known rows of a tree; empty where `known` is null.
function rowsIn(known, tree) {
  const isCallTree = tree === "call tree";
  const say = (what, change) => change && { what, difference: change.difference, interval: change.interval, p: change.p };
  const first = known && (isCallTree ? known.calls.outermost : { group: "" });

  // The place of a row inside of a row at `place`.
  function placeOf(place, kind) {
    if (place === null || place.part !== undefined) return null;
    const of = known.indexOf(kind);
    if (of === null || of < 0) return null;
    // The rows of a grouped call tree that are in several groups are parts of a path.
    if (isCallTree) return known.isSplit(of) ? null : known.calls.called(place, of);
    if (place.group === undefined) return known.callers.placeOf(place, of);
    return known.isSplit(of) ? { part: of, group: place.group } : known.callers.placeOf(undefined, of);
  }

  // The place of a group, which is on the first level.
  const inGroup = (name) => (isCallTree || first === null ? first : { group: name });

  function knownAt(place) {
    if (place === null) return null;
    if (isCallTree) return say("total", known.calls.known(place));
    if (place.part !== undefined) return say("self", known.part(place.part, place.group));
    return say("self", place.path < 0 ? known.own(place.callee) : known.callers.known(place));
  }

  // In a call tree a group only has the outermost rows, and rows without a group are of all kinds.
  const group = (name) => (isCallTree || name === "" || !known ? null : say("self", known.group(name)));
  // The number of threads of a run that are taken together.
  return { threads: known?.threads ?? 1, first, placeOf, inGroup, known: knownAt, group };
}
