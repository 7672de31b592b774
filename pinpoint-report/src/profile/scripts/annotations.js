// Annotations as DevTools keeps them in a trace, under `metadata.modifications`:
//
//   { entriesModifications: { hiddenEntries, expandableEntries }, initialBreadcrumb,
//     annotations: { entryLabels: [{ entry, label }],
//                    labelledTimeRanges: [{ bounds: { min, max, range }, label }],
//                    linksBetweenEntries: [{ entryFrom, entryTo }] } }
//
// Entries are keys (chart.js); times are µs of the trace's clock. Here they are overlays of the
// types label, range and link (overlays.js), with times since the run began. Unknown modifications
// are named, and stay in the file as they are; so do entries that are hidden in DevTools, which are
// drawn here.

import { isInside, list } from "./breadcrumbs.js";
import { entryKey, entryOfKey } from "./chart.js";
import { afterSpace, bytesOf, isList, isObject, membersOf, textOf, withMember } from "./json_members.js";
import { shifted } from "./windows.js";

const KNOWN = {
  "": ["entriesModifications", "initialBreadcrumb", "annotations"],
  entriesModifications: ["hiddenEntries", "expandableEntries"],
  annotations: ["entryLabels", "labelledTimeRanges", "linksBetweenEntries"],
};

// The identities of the items of each list.
const SAME = {
  entryLabels: ({ entry, label }) => JSON.stringify([entry, label]),
  labelledTimeRanges: ({ bounds, label }) => JSON.stringify([bounds?.min, bounds?.max, label]),
  linksBetweenEntries: ({ entryFrom, entryTo }) => JSON.stringify([entryFrom, entryTo]),
};

const LIST_OF = { label: "entryLabels", range: "labelledTimeRanges", link: "linksBetweenEntries" };

// Bytes that may follow the last event: spaces, a comma, the closing bracket.
const ENDINGS = new Set(bytesOf(" \t\r\n,]"));

const isRecord = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isWindow = (value) => isRecord(value) && Number.isFinite(value.min) && Number.isFinite(value.max) && value.min < value.max;
const bounds = ({ min, max }) => ({ min, max, range: max - min });
const short = (value) => JSON.stringify(value).slice(0, 80);

// Reads the modifications of a side: its overlays, the windows of its breadcrumbs within the
// outermost, the number of entries hidden in DevTools, and the names of unknown ones.
export function read(modifications, side, chart) {
  const overlays = [];
  const unknown = [];
  if (modifications === undefined || modifications === null) return { overlays, crumbs: [], hidden: 0, unknown };
  if (!isRecord(modifications)) return { overlays, crumbs: [], hidden: 0, unknown: ["modifications"] };
  for (const [place, names] of Object.entries(KNOWN)) {
    const of = place === "" ? modifications : modifications[place];
    const others = isRecord(of) ? Object.keys(of).filter((name) => !names.includes(name)) : [];
    unknown.push(...others.map((name) => (place === "" ? name : `${place}.${name}`)));
  }
  const entryOf = (key) => (typeof key === "string" ? entryOfKey(chart, key) : null);
  const understood = {
    entryLabels({ entry: key, label }) {
      const entry = entryOf(key);
      return entry && typeof label === "string" ? { type: "label", entry, text: label } : null;
    },
    labelledTimeRanges({ bounds: window, label }) {
      const isSound = isWindow(window) && typeof label === "string";
      return isSound ? { type: "range", window: shifted(window, -chart.trace.begin), text: label } : null;
    },
    linksBetweenEntries({ entryFrom, entryTo }) {
      const [from, to] = [entryOf(entryFrom), entryOf(entryTo)];
      return from && to ? { type: "link", from, to } : null;
    },
  };
  for (const [name, take] of Object.entries(understood)) {
    const items = modifications.annotations?.[name] ?? [];
    if (!Array.isArray(items)) unknown.push(`annotations.${name}`);
    else for (const saved of items) {
      const overlay = isRecord(saved) ? take(saved) : null;
      // As it was saved: adding and subtracting a time may cost digits.
      if (overlay) overlays.push({ ...overlay, side, saved });
      else unknown.push(`annotations.${name}: ${short(saved)}`);
    }
  }
  const hiddenEntries = modifications.entriesModifications?.hiddenEntries;
  const hidden = Array.isArray(hiddenEntries) ? hiddenEntries.length : 0;
  return { overlays, crumbs: crumbsOf(modifications.initialBreadcrumb ?? null, chart, unknown), hidden, unknown };
}

function crumbsOf(initial, chart, unknown) {
  const crumbs = [];
  let outer = null;
  for (let it = initial; it !== null && it !== undefined; it = it.child) {
    if (!isWindow(it.window) || (outer && !isInside(it.window, outer))) {
      unknown.push("initialBreadcrumb");
      return [];
    }
    if (outer) crumbs.push(shifted(it.window, -chart.trace.begin));
    outer = it.window;
  }
  return crumbs;
}

// The overlays of a side as lists of annotations.
export function written(overlays, side, chart) {
  const annotations = { entryLabels: [], labelledTimeRanges: [], linksBetweenEntries: [] };
  const write = {
    label: ({ entry, text }) => ({ entry: entryKey(chart, entry), label: text }),
    range: ({ window, text }) => ({ bounds: bounds(shifted(window, chart.trace.begin)), label: text }),
    link: ({ from, to }) => ({ entryFrom: entryKey(chart, from), entryTo: entryKey(chart, to) }),
  };
  for (const it of overlays) {
    if (it.side === side && it.type in LIST_OF) annotations[LIST_OF[it.type]].push(it.saved ?? write[it.type](it));
  }
  return annotations;
}

// Breadcrumbs in written form: within all that was recorded on the side, and those of the base
// moved to its time.
export function writtenBreadcrumb(breadcrumbs, offset, { bounds: entire, trace: { begin } }) {
  const windows = [entire];
  for (const { window } of list(breadcrumbs).slice(1)) {
    const moved = shifted(window, offset);
    if (isInside(moved, windows.at(-1))) windows.push(moved);
  }
  return windows.reduceRight((child, window) => ({ window: bounds(shifted(window, begin)), child }), null);
}

// The modifications of a file with the changes since it was read: `before` are the annotations that
// were read, and `after` the wanted ones. Other modifications in the file stay.
export function merged(inFile, before, after, initialBreadcrumb) {
  const old = isRecord(inFile) ? inFile : {};
  const annotations = isRecord(old.annotations) ? { ...old.annotations } : {};
  for (const [name, same] of Object.entries(SAME)) {
    const keys = (items) => new Set(items.map((it) => (isRecord(it) ? same(it) : JSON.stringify(it))));
    const [had, has] = [keys(before[name]), keys(after[name])];
    const items = Array.isArray(annotations[name]) ? annotations[name] : [];
    const kept = items.filter((it) => {
      const [key] = keys([it]);
      return !had.has(key) || has.has(key);
    });
    const present = keys(kept);
    annotations[name] = [...kept, ...after[name].filter((it) => !present.has(same(it)))];
  }
  const entries = isRecord(old.entriesModifications) ? old.entriesModifications : {};
  return {
    ...old, entriesModifications: { hiddenEntries: [], expandableEntries: [], ...entries }, initialBreadcrumb, annotations,
  };
}

// The length of the recorded part, which identifies a file with any annotations.
export function recordedBytes(file) {
  if (isList(file)) return trimmed(file) - afterSpace(file, 0);
  const { members } = membersOf(file);
  const place = members.get("traceEvents") ?? members.get("timeDeltas");
  return place ? trimmed(file.subarray(...place)) : 0;
}

// The length of a list without its closing characters: the list of a killed program lacks them.
function trimmed(list) {
  let end = list.length;
  while (end > 0 && ENDINGS.has(list[end - 1])) end -= 1;
  return end;
}

// A file with other modifications, as pieces of bytes. `change` gets the existing ones, and returns
// others. A list of events becomes an object.
export function annotated(file, change) {
  const noted = (modifications) => [bytesOf(JSON.stringify(change(modifications)))];
  if (isList(file)) {
    const events = file.subarray(0, trimmed(file));
    return [bytesOf('{"traceEvents":'), events, bytesOf(']\n,"metadata":{"modifications":'), ...noted(undefined), bytesOf("}}")];
  }
  return withMember(file, "metadata", (metadata) => (
    withMember(metadata && isObject(metadata) ? metadata : bytesOf("{}"), "modifications", (modifications) => (
      noted(modifications && JSON.parse(textOf(modifications)))))));
}

// The name of an annotated file.
export function annotatedName(name) {
  return name.replace(/(-annotated)?((\.json|\.cpuprofile)?(\.gz)?)$/, "-annotated$2");
}
