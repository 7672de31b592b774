import assert from "node:assert/strict";
import { test } from "node:test";

import { annotated, annotatedName, merged, read, recordedBytes, written, writtenBreadcrumb } from "./annotations.js";
import { add, initial } from "./breadcrumbs.js";
import { decode } from "./chart.js";
import { bytesOf, textOf } from "./json_members.js";

const chart = decode({
  run: 1, shortest: 0, kinds: [], marks: [], trace: { file: "a.json", begin: 1000, recorded: 2 },
  tracks: [{
    name: "main", process: 7, thread: 1, starts: [0, 10, 10], durations: [10_000, 100, 50], kinds: [0, 0, 0], depths: [0, 1, 2],
    sources: [1, 1, 5], nodes: [-1, -1, 9], scheduled: { entry: [], task: [], track: [], by: [] },
  }],
});
const SAVED = {
  entriesModifications: { hiddenEntries: ["r-1"], expandableEntries: [] },
  initialBreadcrumb: { window: { min: 1000, max: 1100, range: 100 }, child: { window: { min: 1010, max: 1020, range: 10 }, child: null } },
  annotations: {
    entryLabels: [{ entry: "p-7-1-5-9", label: "slow" }, { entry: "l-3", label: "a frame" }],
    labelledTimeRanges: [{ bounds: { min: 1005.1, max: 1015.3, range: 10.2 }, label: "first" }],
    linksBetweenEntries: [{ entryFrom: "r-1", entryTo: "r-2" }],
    drawings: [1],
  },
  future: { of: "DevTools" },
};

test("what DevTools saved is read, and what is not understood is named", () => {
  const { overlays, crumbs, hidden, unknown } = read(SAVED, 1, chart);
  assert.equal(hidden, 1);
  assert.deepEqual(overlays.map(({ type, side, text, entry, from, to }) => [type, side, text, entry ?? [from, to]]), [
    ["label", 1, "slow", { track: 0, entry: 2 }],
    ["range", 1, "first", [undefined, undefined]],
    ["link", 1, undefined, [{ track: 0, entry: 0 }, { track: 0, entry: 1 }]],
  ]);
  assert.ok(Math.abs(overlays[1].window.min - 5.1) < 1e-9);
  assert.deepEqual(crumbs, [{ min: 10, max: 20 }]);
  assert.deepEqual(unknown, ["future", "annotations.drawings", 'annotations.entryLabels: {"entry":"l-3","label":"a frame"}']);
});

test("without a change the file keeps what it has", () => {
  const before = written(read(SAVED, 0, chart).overlays, 0, chart);
  assert.deepEqual(merged(SAVED, before, before, SAVED.initialBreadcrumb), SAVED);
});

test("what was added and removed is, and what came into the file meanwhile stays", () => {
  const { overlays } = read(SAVED, 0, chart);
  const before = written(overlays, 0, chart);
  const now = [
    ...overlays.filter(({ type }) => type !== "label"),
    { type: "label", side: 0, entry: { track: 0, entry: 1 }, text: "mine" },
    { type: "label", side: 1, entry: { track: 0, entry: 1 }, text: "of the other side" },
    { type: "range", side: 0, window: { min: 1, max: 3 }, text: "mine" },
    { type: "link", side: 0, from: { track: 0, entry: 2 }, to: { track: 0, entry: 0 } },
    { type: "selected", side: 0, entry: { track: 0, entry: 2 } },
  ];
  const inFile = structuredClone(SAVED);
  inFile.annotations.entryLabels.push({ entry: "r-9", label: "of a colleague" });
  const after = written(now, 0, chart);
  const { annotations, future } = merged(inFile, before, after, null);
  assert.deepEqual(annotations, {
    entryLabels: [{ entry: "l-3", label: "a frame" }, { entry: "r-9", label: "of a colleague" }, { entry: "r-2", label: "mine" }],
    labelledTimeRanges: [...SAVED.annotations.labelledTimeRanges, { bounds: { min: 1001, max: 1003, range: 2 }, label: "mine" }],
    linksBetweenEntries: [{ entryFrom: "r-1", entryTo: "r-2" }, { entryFrom: "p-7-1-5-9", entryTo: "r-1" }],
    drawings: [1],
  });
  assert.deepEqual(future, SAVED.future);
  assert.deepEqual(merged(annotations, before, after, null).annotations.entryLabels, [{ entry: "r-2", label: "mine" }]);
});

test("a file without modifications gets all that DevTools expects", () => {
  const none = written([], 0, chart);
  assert.deepEqual(merged(undefined, none, none, null), {
    entriesModifications: { hiddenEntries: [], expandableEntries: [] }, initialBreadcrumb: null, annotations: none,
  });
});

test("breadcrumbs are written in the time of the side, each within the one before", () => {
  const crumbs = add(add(initial({ min: 0, max: 5000 }), { min: 100, max: 900 }), { min: 200, max: 300 });
  assert.deepEqual(writtenBreadcrumb(crumbs, 50, chart), {
    window: { min: 1000, max: 2000, range: 1000 },
    child: { window: { min: 1150, max: 1950, range: 800 }, child: { window: { min: 1250, max: 1350, range: 100 }, child: null } },
  });
  // Half of the first is beyond the end of this side.
  assert.deepEqual(writtenBreadcrumb(crumbs, 500, chart).child.window, { min: 1700, max: 1800, range: 100 });
});

test("what is no annotation is named, and changes nothing", () => {
  for (const odd of [7, [], "x"]) assert.deepEqual(read(odd, 0, chart).unknown, ["modifications"]);
  for (const none of [undefined, null, {}]) assert.deepEqual(read(none, 0, chart), { overlays: [], crumbs: [], hidden: 0, unknown: [] });
  const odd = {
    annotations: { entryLabels: [null, 3, { entry: "r-1", label: 4 }], labelledTimeRanges: "no", linksBetweenEntries: [{ entryFrom: "r-1" }] },
    initialBreadcrumb: { window: { min: 0, max: 9 }, child: { window: { min: 0, max: 9 } } },
  };
  const { overlays, crumbs, unknown } = read(odd, 0, chart);
  assert.deepEqual([overlays, crumbs, unknown.length], [[], [], 6]);
  const none = written([], 0, chart);
  assert.deepEqual(merged(odd, none, none, null).annotations.entryLabels, odd.annotations.entryLabels);
});

const file = (text) => bytesOf(text);
const changed = (text, change = (old) => ({ old: old ?? null })) => annotated(file(text), change).map(textOf).join("");

test("a trace is the same but for its modifications", () => {
  const events = '[{"name":"a", "id":12345678901234567890}]';
  assert.equal(changed(`{"traceEvents": ${events}, "metadata": {"source":"DevTools","modifications":{"b":1} }, "more": 1}`),
    `{"traceEvents": ${events}, "metadata": {"source":"DevTools","modifications":{"old":{"b":1}} }, "more": 1}`);
  assert.equal(changed(`{"metadata":{},"traceEvents":${events}}`), `{"metadata":{"modifications":{"old":null}},"traceEvents":${events}}`);
  assert.equal(changed('{"nodes":[]}'), '{"nodes":[],"metadata":{"modifications":{"old":null}}}');
  assert.equal(changed('{"metadata":null,"nodes":[]}'), '{"metadata":{"modifications":{"old":null}},"nodes":[]}');
});

test("a list of events becomes an object, closed or not", () => {
  for (const text of ['[{"a":[1]}\n]\n', '[{"a":[1]},\n', '[{"a":[1]}']) {
    assert.deepEqual(JSON.parse(changed(text)), { traceEvents: [{ a: [1] }], metadata: { modifications: { old: null } } });
  }
});

test("what was recorded is as long, whatever is noted", () => {
  for (const text of ['[{"a":[1]}\n]\n', '[{"a":[1]},\n', ' {"traceEvents": [{"a":[1]} ] }', '{"metadata":{"traceEvents":[]},"traceEvents":[{"a":[1]}\n]}']) {
    assert.equal(recordedBytes(file(text)), 10, text);
    assert.equal(recordedBytes(file(changed(text))), 10, text);
  }
  assert.equal(recordedBytes(file('{"nodes":[],"timeDeltas":[1,2]}')), 4);
  assert.equal(recordedBytes(file("{}")), 0);
});

test("names say that a file is annotated, once", () => {
  const names = ["a.json", "b.cpuprofile", "c.json.gz", "d", "a-annotated.json"].map(annotatedName);
  assert.deepEqual(names, ["a-annotated.json", "b-annotated.cpuprofile", "c-annotated.json.gz", "d-annotated", "a-annotated.json"]);
});
