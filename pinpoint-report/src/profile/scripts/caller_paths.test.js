import assert from "node:assert/strict";
import { test } from "node:test";

import { callerPathsOf } from "./caller_paths.js";

// 2 called by 1, and by 3; 2 called by 1, called by 0.
const paths = callerPathsOf({
  within: [-1, -1, 0], caller: [1, 3, 0], callee: [2, 2, 1],
  difference: [9, 0, 8], interval: [[7, 11], null, [6, 10]], p: [0.01, null, 0.02],
});
const known = (...way) => paths.known(way.reduce((place, of) => paths.placeOf(place, of), undefined));

test("a row is known by what was called and its callers", () => {
  assert.deepEqual(known(2, 1), { difference: 9, interval: [7, 11], p: 0.01 });
  assert.deepEqual(known(2, 1, 0), { difference: 8, interval: [6, 10], p: 0.02 });
  assert.deepEqual(known(2, 3), { difference: 0, interval: null, p: null });
});

test("of what was called alone, and outside of what is listed nothing is known", () => {
  assert.equal(known(2), null);
  assert.equal(known(2, 0), null);
  assert.equal(known(2, 0, 1), null);
});
