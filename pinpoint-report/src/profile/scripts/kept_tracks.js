// The user's arrangement of a report's tracks, for the next report. The browser keeps it, by the
// names of tracks: other traces have others.

const KEY = "pinpoint.tracks";

// Names differ from trace to trace where numbers are in them: the oldest are dropped.
const MOST = 500;

const isTrack = (it) => typeof it?.trackName === "string" && Number.isFinite(it.visualIndex)
  && typeof it.hidden === "boolean" && typeof it.expanded === "boolean";

// The kept tracks, in the order in which they were shown. `storage` returns the browser's; some
// keep nothing for files, and throw.
export function kept(storage) {
  try {
    const all = JSON.parse(storage().getItem(KEY) ?? "[]");
    return Array.isArray(all) ? all.filter(isTrack).slice(0, MOST) : [];
  } catch {
    return [];
  }
}

// Keeps the tracks of both sides, those of the changed side first, and after them the kept ones of
// others.
export function keep(storage, [tracks, others]) {
  const byPlace = (all) => all.toSorted((a, b) => a.visualIndex - b.visualIndex);
  const names = new Set();
  const all = [byPlace(tracks), byPlace(others), kept(storage)].flatMap((of) => {
    const more = of.filter(({ trackName }) => !names.has(trackName));
    more.forEach(({ trackName }) => names.add(trackName));
    return more;
  });
  const listed = all.slice(0, MOST).map((it, visualIndex) => ({ ...it, visualIndex }));
  try {
    storage().setItem(KEY, JSON.stringify(listed));
  } catch {
    // Then only this report has it.
  }
}

export function forget(storage) {
  try {
    storage().removeItem(KEY);
  } catch {
    // Nothing is kept.
  }
}
