import assert from "node:assert/strict";
import { test } from "node:test";

import { callerPathsOf } from "./caller_paths.js";

// 2 called by 1, and by 3; 2 called by 1, called by 0.
const paths = callerPathsOf({
  within: [-1, -1, 0], caller: [1, 3, 0], callee: [2, 2, 1],
  difference: [9, 0, 8], interval: [[7, 11], null, [6, 10]], p: [0.01, null, 0.02],
});
const call = (of) => ({ id: `f:${of}`, function: of });
const event = { id: "RunTask", function: -1 };
const known = (...kinds) => paths.known(kinds.reduce((place, kind) => paths.placeOfRow(place, kind), undefined));

test("a row is known by the function and its callers, without the events between them", () => {
  assert.deepEqual(known(call(2), call(1)), { difference: 9, interval: [7, 11], p: 0.01 });
  assert.deepEqual(known(call(2), event, call(1), call(0)), { difference: 8, interval: [6, 10], p: 0.02 });
  assert.deepEqual(known(call(2), call(3)), { difference: 0, interval: null, p: null });
});

test("of a function alone, of events, and outside of what is listed nothing is known", () => {
  assert.equal(known(call(2)), null);
  assert.equal(known(call(2), event), null);
  assert.equal(known(call(2), call(0)), null);
  assert.equal(known(call(2), call(0), call(1)), null);
  assert.equal(known(call(2), { id: "f:other@a.js:1:1", function: -1 }, call(1)), null);
  assert.equal(known(event, call(1)), null);
});
