import assert from "node:assert/strict";
import { test } from "node:test";

import { busy, callersOf, commonMarks, decode, entryKey, entryOfKey, isFindable, joined } from "./chart.js";

const chart = decode({
  run: 2, shortest: 0, kinds: [{ id: "f:0" }], marks: [{ name: "paint", start: 500, duration: 0 }],
  tracks: [{ name: "main", starts: [100, 50, 850], durations: [500, 100, 200], kinds: [0, 0, 0], depths: [0, 1, 0] }],
});

test("times are µs since the run began", () => {
  assert.deepEqual([...chart.tracks[0].starts], [10, 15, 100]);
  assert.deepEqual([...chart.tracks[0].durations], [50, 10, 20]);
  assert.deepEqual(chart.bounds, { min: 10, max: 120 });
  assert.deepEqual(chart.marks, [{ name: "paint", start: 50, duration: 0 }]);
  assert.deepEqual(chart.tracks[0].rows.map((row) => [...row]), [[0, 2], [1]]);
});

test("the window that counts is within what was recorded", () => {
  const of = (window) => decode({ run: 1, shortest: 0, kinds: [], marks: [], window, tracks: [{ name: "", starts: [100], durations: [500], kinds: [0], depths: [0] }] }).window;
  assert.deepEqual(of([200, 2 ** 64]), { min: 20, max: 60 });
  assert.deepEqual(of([0, 300]), { min: 10, max: 30 });
  assert.equal(of([900, 950]), null);
  assert.equal(of(null), null);
});

test("marks belong together by their names", () => {
  const side = (...marks) => ({ marks: marks.map(([name, start]) => ({ name, start })) });
  assert.deepEqual(commonMarks([side(["a", 1], ["b", 2], ["a", 3]), side(["c", 5], ["a", 7], ["a", 9])]),
    [{ name: "a", times: [1, 7] }]);
});

test("busy is the part of each piece", () => {
  assert.deepEqual([...busy(chart.tracks[0], { min: 0, max: 120 }, 4)].map((it) => Number(it.toFixed(3))), [0.667, 1, 0, 0.667]);
});

test("rows of two trees are joined, what moved most first", () => {
  const rows = (...list) => new Map(list.map(([id, self, total]) => [id, { id, self, total }]));
  const both = joined(rows(["a", 1, 9], ["b", 5, 5]), rows(["a", 1, 10], ["c", 3, 3]));
  assert.deepEqual(both.map(({ id, totals }) => [id, totals]), [["b", [5, 0]], ["c", [0, 3]], ["a", [9, 10]]]);
});

// A task with an event in it, and in that a call; then, on another thread, the task that this call
// scheduled.
const traced = decode({
  run: 1, shortest: 0, kinds: [], marks: [],
  tracks: [
    { name: "main", process: 7, thread: 1, starts: [0, 10, 10, 900], durations: [500, 400, 200, 100], kinds: [0, 0, 0, 0], depths: [0, 1, 2, -1],
      sources: [5, -2, -1, 7], nodes: [-1, -1, 33, -2], scheduled: { entry: [0], task: ["again"], track: [1], by: [1] } },
    { name: "worker", process: 7, thread: 2, starts: [0, 5], durations: [50, 40], kinds: [0, 0], depths: [0, 1],
      sources: [20, 4], nodes: [-1, 34], scheduled: { entry: [1], task: ["setTimeout"], track: [0], by: [2] } },
    { name: "Frames", process: 0, thread: 0, starts: [0, 160], durations: [160, 170], kinds: [0, 0], depths: [0, 0], sources: [0, 1], nodes: [-3, -3] },
  ],
});

test("entries are found by the keys of DevTools", () => {
  const keys = traced.tracks.flatMap(({ starts }, track) => [...starts].map((_, entry) => [entryKey(traced, { track, entry }), { track, entry }]));
  assert.deepEqual(keys.map(([key]) => key), ["r-5", "r-3", "p-7-1--1-33", "s-10", "r-20", "p-7-2-4-34", "l-0", "l-1"]);
  for (const [key, entry] of keys) assert.deepEqual(entryOfKey(traced, key), entry);
  assert.deepEqual(keys.filter(([key]) => !isFindable(key)).map(([key]) => key), ["p-7-1--1-33"]);
  for (const key of ["r-6", "s-5", "p-7-3--1-33", "p-7-1-4-34", "l-3", "x-5", "r--1", ""]) assert.equal(entryOfKey(traced, key), null, key);
  assert.equal(entryKey(chart, { track: 0, entry: 0 }), null);
  assert.equal(entryOfKey(chart, "r-0"), null);
});

test("what scheduled a task comes before what called it, and a cycle ends", () => {
  const places = callersOf(traced, { track: 1, entry: 1 }).map(({ track, entry, task }) => [track, entry, task]);
  assert.deepEqual(places, [[0, 2, "setTimeout"], [0, 1, undefined], [0, 0, undefined]]);
  assert.deepEqual(callersOf(chart, { track: 0, entry: 2 }), []);
  assert.deepEqual(callersOf(chart, { track: 0, entry: 1 }), [{ track: 0, entry: 0 }]);
});

test("the stack that an event carries stands for the entries around it", () => {
  const [track] = [{
    name: "main", process: 7, thread: 1, starts: [0, 10, 10], durations: [500, 400, 200], kinds: [0, 0, 0], depths: [0, 1, 2],
    sources: [5, 1, 1], nodes: [-1, -1, -1], scheduled: { entry: [1], task: ["setTimeout"], track: [0], by: [0] },
    called: { entry: [0, 2], stack: [1, 0] },
  }];
  const carrying = decode({ run: 1, shortest: 0, kinds: [], marks: [], stacks: [["inner (a.js:4:1)", "outer (a.js:9:1)"], ["show (b.js:1:1)"]], tracks: [track] });
  assert.deepEqual(callersOf(carrying, { track: 0, entry: 2 }),
    [{ call: "inner (a.js:4:1)" }, { call: "outer (a.js:9:1)" }, { task: "setTimeout", track: 0, entry: 0 }]);
  assert.deepEqual(callersOf(carrying, { track: 0, entry: 0 }), [{ call: "show (b.js:1:1)" }]);
});

test("what has no depth is in no row", () => {
  assert.deepEqual(traced.tracks[0].rows.map((row) => [...row]), [[0], [1], [2]]);
});
