import assert from "node:assert/strict";
import { test } from "node:test";

import { certainStacks, pathsOf } from "./paths.js";

// main, main;parse, main;parse;next, main;print, main;print;next, of which the last is too small.
const STACKS = { parent: [0, 0, 1, 2, 1, 4], function: [0, 0, 1, 2, 3, 2] };
const PATHS = {
  stack: [1, 2, 3, 4], difference: [9, 9, 9, 0], interval: [[7, 11], [7, 11], [8, 10], null],
  p: [0.01, 0.01, 0.02, null], certain: [1, 1, 1, 0],
};
const paths = pathsOf(STACKS, PATHS);

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

test("a path is found by the one within which it is called", () => {
  assert.equal([0, 1, 2].reduce((stack, of) => paths.called(stack, of), 0), 3);
  assert.equal(paths.called(1, 3), 4);
  assert.equal(paths.called(1, 2), null);
});
