import assert from "node:assert/strict";
import { test } from "node:test";

import * as tracks from "./tracks.js";

const untouched = (names) => tracks.untouched(names.map((name) => ({ name })));

test("[2, 0, 1] shows the third first", () => {
  const three = tracks.ordered(untouched(["Main", "Worker", "Network"]), [2, 0, 1]);
  assert.deepEqual(tracks.order(three), [2, 0, 1]);
  assert.deepEqual(three[0], { originalIndex: 0, visualIndex: 1, hidden: false, expanded: true, trackName: "Main" });
});

test("tracks go up and down, and not beyond the ends", () => {
  const three = untouched(["a", "b", "c"]);
  assert.deepEqual(tracks.order(tracks.moved(three, 2, -1)), [0, 2, 1]);
  assert.equal(tracks.moved(three, 0, -1), three);
  assert.equal(tracks.moved(three, 2, 1), three);
});

test("what was kept is found by name in another trace", () => {
  let kept = tracks.ordered(untouched(["Main", "Worker", "GPU"]), [2, 0, 1]);
  kept = tracks.changed(kept, 1, { hidden: true });
  const restored = tracks.restored(untouched(["GPU", "Other", "Worker", "Main"]), kept);
  assert.deepEqual(tracks.order(restored), [0, 3, 2, 1]);
  assert.deepEqual(restored.map(({ hidden }) => hidden), [false, false, true, false]);
  const twice = tracks.restored(untouched(["w", "w"]), tracks.changed(untouched(["w", "w"]), 1, { expanded: false }));
  assert.deepEqual(twice.map(({ expanded }) => expanded), [true, false]);
});

test("a track that the other trace lacks stays as it was", () => {
  const own = tracks.ordered(tracks.changed(untouched(["Main", "Frames", "Timings"]), 1, { hidden: true, expanded: false }), [2, 1, 0]);
  const restored = tracks.restored(own, tracks.changed(untouched(["Main"]), 0, { expanded: false }));
  assert.deepEqual(restored[1], { ...own[1], visualIndex: 2 });
  assert.ok(restored[1].hidden && !restored[1].expanded);
  assert.deepEqual(tracks.order(restored), [0, 2, 1]);
});

test("a track has its counterpart on the other side", () => {
  const [before, after] = [["Main", "w", "w", "GPU"], ["w", "Main", "w"]].map((names) => names.map((name) => ({ name })));
  assert.deepEqual(before.map((_, place) => tracks.counterpart(before, place, after)), [1, 0, 2, null]);
});

test("a folded track has one row, a hidden one none", () => {
  let three = untouched(["a", "b", "c"]);
  three = tracks.changed(three, 0, { expanded: false });
  three = tracks.changed(three, 1, { hidden: true });
  const { placed, height } = tracks.arrangement(three, [5, 4, 100], { head: 20, row: 10, most: 30 });
  assert.deepEqual(placed.map(({ track, top, rows }) => [track, top, rows]), [[0, 0, 1], [2, 30, 30]]);
  assert.equal(height, 350);
});

test("of a trace, tracks in which no script ran are folded", () => {
  const three = tracks.untouched([[-1], [-1], [-1, 3]].map((nodes) => ({ name: "t", nodes })));
  assert.deepEqual(three.map(({ expanded }) => expanded), [true, false, true]);
  assert.deepEqual(tracks.order(three), [0, 1, 2]);
});

test("what belongs to no thread stands after the first thread", () => {
  const four = tracks.untouched([[-1, 3], [-1], [-2], [-3]].map((nodes) => ({ name: "t", nodes })));
  assert.deepEqual(tracks.order(four), [0, 2, 3, 1]);
});
