import assert from "node:assert/strict";
import { test } from "node:test";

import { certainStacks, pathsOf, stackOfRow } from "./paths.js";

// main, main;parse, main;parse;next, main;print, main;print;next, of which the last is too small.
const STACKS = { parent: [0, 0, 1, 2, 1, 4], function: [0, 0, 1, 2, 3, 2] };
const PATHS = {
  stack: [1, 2, 3, 4], difference: [9, 9, 9, 0], interval: [[7, 11], [7, 11], [8, 10], null],
  p: [0.01, 0.01, 0.02, null], certain: [1, 1, 1, 0],
};
const paths = pathsOf(STACKS, PATHS);
const call = (of) => ({ id: `f:${of}`, function: of });

test("a path is known by its stack", () => {
  assert.deepEqual(paths.known(3), { difference: 9, interval: [8, 10], p: 0.02, isCertain: true });
  assert.deepEqual(paths.known(4), { difference: 0, interval: null, p: null, isCertain: false });
  assert.equal(paths.known(0), null);
  assert.equal(paths.known(5), null);
});

test("a path's own certainty counts, and where there is none its function's", () => {
  assert.deepEqual([...certainStacks(STACKS, paths, [0, 0, 1, 1])], [0, 1, 1, 1, 0, 1]);
  assert.deepEqual([...certainStacks(STACKS, paths, [0, 0, 0, 0])], [0, 1, 1, 1, 0, 0]);
});

test("rows of a call tree are found by the calls on the way, without the events", () => {
  const event = { id: "RunTask", function: -1 };
  const way = (...kinds) => kinds.reduce((stack, kind) => stackOfRow(paths, stack, kind), 0);
  assert.equal(way(event, call(0), event, call(1), call(2)), 3);
  assert.equal(way(null, call(0), call(3)), 4);
  assert.equal(way(call(0), call(2)), null);
  assert.equal(way(call(0), call(2), event, call(2)), null);
  assert.equal(way(call(0), { id: "f:other@a.js:1:1", function: -1 }, call(1)), null);
  assert.equal(stackOfRow(paths, null, call(0)), null);
});
