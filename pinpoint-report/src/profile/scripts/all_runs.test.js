import assert from "node:assert/strict";
import { test } from "node:test";

import { rowsOfEntries, rowsOfSamples } from "./all_runs.js";

const columns = (...differences) => ({
  difference: differences, interval: differences.map((it) => [it - 1, it + 1]), p: differences.map((it) => it / 1000),
});
const said = (what, difference) => ({ what, difference, interval: [difference - 1, difference + 1], p: difference / 1000 });
const at = (rows, ...kinds) => rows.known(kinds.reduce((place, kind) => rows.placeOf(place, kind), rows.first));

// On track 0: a task that calls 1 from a timer and from a frame; on track 1 a task alone.
const entries = {
  threads: [1, 3],
  kinds: { track: [0, 0, 0, 0, 1], id: ["RunTask", "TimerFire", "FireAnimationFrame", "f:1", "RunTask"] },
  own: { kind: [3, 4], ...columns(30, 7) },
  paths: { within: [-1, 0, 1, 0, 3, -1], kind: [0, 1, 3, 2, 3, 4], ...columns(90, 80, 70, 10, 5, 7) },
  caller_paths: { within: [-1, 0], caller: [1, 0], callee: [3, 1], ...columns(25, 24) },
  groups: { owner: { track: [0, 1, 0], name: ["lodash", "lodash", ""], ...columns(3, 4, 5), split: [], parts: { kind: [], name: [], ...columns() } } },
};
const kind = (id) => ({ id, function: -1 });
const [task, timer, frame, call] = entries.kinds.id.map((id) => kind(id));
const rowsOf = rowsOfEntries({ entries });
const track = (number) => [{ all_runs: number }, { all_runs: number }];

test("a call that is reached through different events has a row for each", () => {
  const rows = rowsOf("call tree", "", track(0));
  assert.deepEqual(at(rows, task), said("total", 90));
  assert.deepEqual(at(rows, task, timer, call), said("total", 70));
  assert.deepEqual(at(rows, task, frame, call), said("total", 5));
  assert.equal(at(rows, task, call), null);
  assert.equal(at(rows, kind("Other")), null);
});

test("events are callers, too", () => {
  const rows = rowsOf("bottom-up", "", track(0));
  assert.deepEqual(at(rows, call), said("self", 30));
  assert.deepEqual(at(rows, call, timer), said("self", 25));
  assert.deepEqual(at(rows, call, timer, task), said("self", 24));
  assert.equal(at(rows, call, frame), null);
  assert.equal(at(rows, timer), null);
});

test("what is known is of the selected track, and of no other", () => {
  assert.deepEqual(at(rowsOf("call tree", "", track(1)), task), said("total", 7));
  assert.deepEqual(at(rowsOf("call tree", "", [undefined, { all_runs: 1 }]), task), said("total", 7));
  for (const tracks of [track(null), [{ all_runs: 0 }, { all_runs: 1 }], [undefined, undefined]]) {
    for (const tree of ["call tree", "bottom-up"]) assert.equal(at(rowsOf(tree, "", tracks), task), null);
    assert.equal(rowsOf("third party", "owner", tracks).group("lodash"), null);
  }
});

test("a group has what is known of it on the track; what has none has nothing", () => {
  const rows = rowsOf("third party", "owner", track(1));
  assert.deepEqual(rows.group("lodash"), said("self", 4));
  assert.equal(rows.group(""), null);
  assert.equal(rows.group("react"), null);
  assert.equal(rowsOf("call tree", "owner", track(1)).group("lodash"), null);
  assert.deepEqual(rows.known(rows.placeOf(rows.inGroup("lodash"), task)), said("self", 7));
  assert.equal(rows.threads, 3);
});

test("what is in several groups has what is known of it there, and its callers have nothing", () => {
  const owner = {
    track: [0, 0], name: ["lodash", "react"], ...columns(3, 6),
    split: [3], parts: { kind: [3, 3], name: ["lodash", "react"], ...columns(2, 28) },
  };
  const rows = rowsOfEntries({ entries: { ...entries, groups: { owner } } });
  const grouped = rows("bottom-up", "owner", track(0));
  const inGroup = (name, ...kinds) => grouped.known(kinds.reduce((place, it) => grouped.placeOf(place, it), grouped.inGroup(name)));
  assert.deepEqual(inGroup("lodash", call), said("self", 2));
  assert.deepEqual(inGroup("react", call), said("self", 28));
  assert.equal(inGroup("", call), null);
  assert.equal(inGroup("react", call, timer), null);
  assert.deepEqual(at(rows("bottom-up", "", track(0)), call, timer), said("self", 25));
  // On a path, too, they are parts.
  const calls = rows("call tree", "owner", track(0));
  assert.equal(calls.known([task, timer, call].reduce(calls.placeOf, calls.inGroup("react"))), null);
  assert.deepEqual(calls.known([task, timer].reduce(calls.placeOf, calls.inGroup("react"))), said("total", 80));
});

test("rows of samples are known by function, on their stacks and by their callers", () => {
  const rowsOf = rowsOfSamples({
    functions: { row: [0, 1, -1], ...columns(1, 2, 0) },
    groups: { file: { name: ["a.rs"], ...columns(8) } },
    stacks: { parent: [0, 0, 1], function: [0, 0, 1] },
    paths: { stack: [1, 2], certain: [1, 1], ...columns(50, 40) },
    caller_paths: { within: [-1], caller: [0], callee: [1], ...columns(6) },
  });
  const call = (of) => ({ id: `f:${of}`, function: of });
  assert.deepEqual(at(rowsOf("call tree", ""), call(0), call(1)), said("total", 40));
  assert.equal(at(rowsOf("call tree", ""), call(1)), null);
  const rows = rowsOf("bottom-up", "file");
  assert.deepEqual(rows.known(rows.placeOf(rows.inGroup("a.rs"), call(1))), said("self", 2));
  assert.deepEqual(at(rows, call(1), call(0)), said("self", 6));
  assert.equal(at(rows, call(2)), null);
  assert.deepEqual(rows.group("a.rs"), said("self", 8));
});
