// Tracks in the order and shape in which they are shown. The user's changes are kept by name, since
// another trace has other tracks at the same place:
//
//   { originalIndex, visualIndex, hidden, expanded, trackName }

// The default arrangement of tracks, in the order of the trace: the first thread, tracks of no
// thread (less than -1 for a node), then the others. Of these, in a trace, those that have events
// alone (-1) are folded: there are dozens.
export function untouched(tracks) {
  const rank = (place) => (place === 0 ? 0 : tracks[place].nodes?.every((node) => node < -1) ? 1 : 2);
  const ranks = tracks.map((_, place) => rank(place));
  const all = tracks.map(({ name: trackName, nodes }, place) => ({
    originalIndex: place, visualIndex: place, hidden: false, trackName,
    expanded: place === 0 || !nodes || nodes.some((node) => node !== -1),
  }));
  return ordered(all, all.map((_, place) => place).toSorted((a, b) => ranks[a] - ranks[b]));
}

// The kept arrangement, for the tracks of this trace: by name; of several with one name, in their
// order. Unknown ones stay in their own order (`own`), after the ordered ones.
export function restored(own, kept) {
  const byName = new Map();
  for (const it of kept) byName.set(it.trackName, [...(byName.get(it.trackName) ?? []), it]);
  const found = own.map((it) => {
    const old = byName.get(it.trackName)?.shift();
    const { hidden, expanded } = old ?? it;
    return { ...it, hidden, expanded, old: old?.visualIndex ?? Infinity };
  });
  const order = found.toSorted((a, b) => (a.old === b.old ? a.visualIndex - b.visualIndex : a.old - b.old));
  return found.map(({ old, ...it }) => ({ ...it, visualIndex: order.findIndex(({ originalIndex }) => originalIndex === it.originalIndex) }));
}

// The place of the track of another trace that corresponds to one of these: the one with the same
// name, of several in the same order; null where there is none.
export function counterpart(tracks, place, others) {
  const of = (all) => all.flatMap(({ name }, at) => (name === tracks[place].name ? [at] : []));
  return of(others)[of(tracks).indexOf(place)] ?? null;
}

// The places of the tracks in the order in which they are shown: [2, 0, 1] for the third first.
export function order(tracks) {
  return tracks.toSorted((a, b) => a.visualIndex - b.visualIndex).map(({ originalIndex }) => originalIndex);
}

// The same tracks in this order.
export function ordered(tracks, places) {
  return tracks.map((it) => ({ ...it, visualIndex: places.indexOf(it.originalIndex) }));
}

// A track one place up (-1) or down (1).
export function moved(tracks, originalIndex, by) {
  const places = order(tracks);
  const from = places.indexOf(originalIndex);
  const to = from + by;
  if (to < 0 || to >= places.length) return tracks;
  [places[from], places[to]] = [places[to], places[from]];
  return ordered(tracks, places);
}

export function changed(tracks, originalIndex, change) {
  return tracks.map((it) => (it.originalIndex === originalIndex ? { ...it, ...change } : it));
}

// The place of each visible track, from the top: its head, and its rows below unless it is folded.
// Folded, only its outermost row is shown.
export function arrangement(tracks, rowCounts, { head, row, most }) {
  let top = 0;
  const shown = order(tracks).map((place) => tracks[place]).filter(({ hidden }) => !hidden);
  const placed = shown.map(({ originalIndex, expanded }) => {
    const rows = Math.min(expanded ? rowCounts[originalIndex] : 1, most);
    const it = { track: originalIndex, top, bodyTop: top + head, rows, expanded };
    top += head + rows * row;
    return it;
  });
  return { placed, height: top };
}
