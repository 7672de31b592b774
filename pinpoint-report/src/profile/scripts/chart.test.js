import assert from "node:assert/strict";
import { test } from "node:test";

import { busy, commonMarks, decode, joined } from "./chart.js";

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
