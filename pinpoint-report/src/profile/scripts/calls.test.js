import assert from "node:assert/strict";
import { test } from "node:test";

import { neighbors } from "./calls.js";

test("callers and callees of a function, the greatest first", () => {
  const calls = {
    caller: [0, 1, 2, 1], callee: [1, 2, 1, 3], before: [9, 5, 2, 0], after: [9, 6, 2, 8], difference: [0, 1, 0, 8],
    interval: [null, [0.5, 1.5], null, null], p: [null, 0.03, null, null],
  };
  const { callers, callees } = neighbors(calls, 1);
  assert.deepEqual(callers.map(({ other }) => other), [0, 2]);
  assert.deepEqual(callees.map(({ other, difference }) => [other, difference]), [[3, 8], [2, 1]]);
  assert.deepEqual(callees[1].interval, [0.5, 1.5]);
  assert.deepEqual(neighbors(calls, 7), { callers: [], callees: [] });
});
