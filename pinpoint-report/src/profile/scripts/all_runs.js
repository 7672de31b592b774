// What all runs say of the rows of a tree: the page draws one run a side, and its trees are of
// these. Rows are found by their place, step by step from those of the first level; a place is null
// where nothing is known.
//
//   const rows = rowsOfEntries(data, charts)("call tree", "", [before, after]);
//   let place = rows.first;
//   for (const kind of [task, layout]) place = rows.placeOf(place, kind);
//   rows.known(place)    // { what: "total", difference, interval, p }, or null
//
// In a call tree the total is compared on each path; from the bottom up, what a function or event
// took by itself: altogether on the first level, and below it on each way on which it was called.

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
  };
  return (tree, grouping) => rowsIn(known, tree, (name) => {
    const of = groups[grouping];
    return row(of, of?.name.indexOf(name) ?? -1);
  });
}

// Charts of timelines: the track that is selected on the sides.
export function rowsOfEntries({ entries }, charts) {
  const { kinds, own, groups } = entries;
  const key = (track, id) => `${track} ${id}`;
  const places = new Map(kinds.id.map((id, place) => [key(kinds.track[place], id), place]));
  const ownRows = new Map(own.kind.map((kind, at) => [kind, at]));
  const callers = callerPathsOf(entries.caller_paths);
  const calls = callsOf(entries.paths);
  return (tree, grouping, tracks) => {
    const [track, ...others] = new Set(tracks.flatMap((it) => it?.all_runs ?? []));
    if (track === undefined || others.length > 0) return rowsIn(null, tree, () => null);
    const split = splitBy(charts, grouping);
    const indexOf = ({ id }) => (split.ids.has(id) ? null : places.get(key(track, id)) ?? null);
    const ownOf = (of) => row(own, ownRows.get(of) ?? -1);
    return rowsIn({ calls, callers, own: ownOf, indexOf }, tree, (name) => {
      const of = groups[grouping];
      // A bottom-up tree has all of an id in one of its groups.
      if (tree === "bottom-up" && split.groups.has(name)) return null;
      return row(of, of?.name.findIndex((it, at) => it === name && of.track[at] === track) ?? -1);
    });
  };
}

// The ids that are in several groups, whose rows are parts of what is known of the id, and these
// groups.
function splitBy(charts, grouping) {
  const groupsOf = new Map();
  for (const kind of grouping ? charts.flatMap(({ kinds }) => kinds) : []) {
    if (!groupsOf.has(kind.id)) groupsOf.set(kind.id, new Set());
    groupsOf.get(kind.id).add(kind[grouping]);
  }
  const split = [...groupsOf].filter(([, groups]) => groups.size > 1);
  return { ids: new Set(split.map(([id]) => id)), groups: new Set(split.flatMap(([, groups]) => [...groups])) };
}

// Paths of a call tree as columns, each with the row of the path within which it is, or -1.
function callsOf(paths) {
  const key = (within, kind) => `${within} ${kind}`;
  const rows = new Map(paths.within.map((within, at) => [key(within, paths.kind[at]), at]));
  return { outermost: -1, known: (at) => row(paths, at), called: (within, kind) => rows.get(key(within, kind)) ?? null };
}

function row(columns, at) {
  if (!columns || at < 0) return null;
  return { difference: columns.difference[at], interval: columns.interval[at], p: columns.p[at] };
}

function rowsIn(known, tree, ofGroup) {
  const isCallTree = tree === "call tree";
  const say = (what, change) => change && { what, difference: change.difference, interval: change.interval, p: change.p };

  // The place of a row inside of a row at `place`. Groups are no places of their own.
  function placeOf(place, kind) {
    if (!kind || place === null) return place;
    const of = known.indexOf(kind);
    if (of === null || of < 0) return null;
    return isCallTree ? known.calls.called(place, of) : known.callers.placeOf(place, of);
  }

  function knownAt(place) {
    if (place === null || place === undefined) return null;
    if (isCallTree) return say("total", known.calls.known(place));
    return say("self", place.path < 0 ? known.own(place.callee) : known.callers.known(place));
  }

  // In a call tree a group has the outermost rows alone, and what has no group all kinds of things.
  const group = (name) => (isCallTree || name === "" ? null : say("self", ofGroup(name)));
  const first = isCallTree ? known?.calls.outermost : undefined;
  return { first: known ? first : null, placeOf, known: knownAt, group };
}
