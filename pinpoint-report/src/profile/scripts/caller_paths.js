// The comparison of functions or entries by their callers, from the inside out: the self time of
// calls with certain callers is compared over the runs. Paths are columns, each after the one
// without its outermost caller:
//
//   { within: [-1, 0], caller: [1, 0], callee: [2, 1], difference: [9, 9], interval: [[7, 11], null], p: [0.01, null] }
//
// are 2 called by 1, and the same where 0 called 1. Smaller paths have none.

// A place in a bottom-up tree is { callee, path }: the one whose callers are next, and the row of
// the path so far, -1 without callers; null where nothing is known.
export function callerPathsOf(paths) {
  const key = (within, callee, caller) => `${within} ${callee} ${caller}`;
  const rows = new Map(paths.within.map((within, row) => [key(within, paths.callee[row], paths.caller[row]), row]));

  // The place of a row inside of a row at `place`, which is undefined for rows of the first level.
  function placeOf(place, of) {
    if (place === undefined) return { callee: of, path: -1 };
    if (place === null) return null;
    const row = rows.get(key(place.path, place.callee, of));
    return row === undefined ? null : { callee: of, path: row };
  }

  // The difference at a place with callers.
  function known(place) {
    if (!place || place.path < 0) return null;
    const { difference, interval, p } = paths;
    return { difference: difference[place.path], interval: interval[place.path], p: p[place.path] };
  }

  return { placeOf, known };
}
