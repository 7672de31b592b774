import assert from "node:assert/strict";
import { test } from "node:test";

import { forget, keep, kept } from "./kept_tracks.js";
import { changed, moved, order, restored, untouched } from "./tracks.js";

const storage = (text) => {
  const items = new Map(text === undefined ? [] : [["pinpoint.tracks", text]]);
  const it = {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => items.set(key, value),
    removeItem: (key) => items.delete(key),
  };
  return () => it;
};
const tracks = (names) => untouched(names.map((name) => ({ name })));

test("the next report has the tracks as they were left", () => {
  const place = storage();
  const left = changed(moved(tracks(["Main", "GPU", "Worker"]), 2, -1), 1, { hidden: true });
  keep(place, [left, tracks(["Main", "IO"])]);
  const next = restored(tracks(["GPU", "New", "Worker", "Main"]), kept(place));
  assert.deepEqual(order(next).map((at) => next[at].trackName), ["Main", "Worker", "GPU", "New"]);
  assert.deepEqual(next.map(({ hidden }) => hidden), [true, false, false, false]);
  forget(place);
  assert.deepEqual(kept(place), []);
});

test("several tracks of one name are kept, and those of earlier reports after them", () => {
  const place = storage();
  keep(place, [tracks(["Old", "Worker"]), []]);
  keep(place, [changed(tracks(["Worker", "Worker"]), 1, { hidden: true }), tracks(["Worker"])]);
  const all = kept(place).map(({ trackName, hidden, visualIndex }) => [trackName, hidden, visualIndex]);
  assert.deepEqual(all, [["Worker", false, 0], ["Worker", true, 1], ["Old", false, 2]]);
});

test("what is damaged, foreign or too much is left out", () => {
  for (const text of ["", "{", "{}", "null", "[null, 3, {\"trackName\": 4}]"]) assert.deepEqual(kept(storage(text)), []);
  const refused = () => {
    throw new Error("not for files");
  };
  keep(refused, [tracks(["Main"]), []]);
  forget(refused);
  assert.deepEqual(kept(refused), []);
  const place = storage();
  keep(place, [tracks(Array.from({ length: 1000 }, (_, at) => `t${at}`)), []]);
  assert.equal(kept(place).length, 500);
});
