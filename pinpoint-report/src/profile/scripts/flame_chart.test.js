import assert from "node:assert/strict";
import { test } from "node:test";

import { entryAt, layout, momentText, neighbor, rowsOf, step, ticks } from "./flame_chart.js";

// a 0–100 with b 10–40 in it, c 20–30 in that, and d 60–90; then e 200–300.
const TRACK = {
  starts: [0, 10, 20, 60, 200], durations: [100, 30, 10, 30, 100], kinds: [0, 1, 2, 3, 4], depths: [0, 1, 2, 1, 0],
};
const ROWS = rowsOf(TRACK);
const LOOKS = [0, 0, 0, 0, 1];
const shown = (window, width) => layout(TRACK, ROWS, window, width, LOOKS)
  .map(({ entry, row, x, width: wide }) => [entry, row, x, wide]);

test("entries are where they ran, cut at the ends of the window", () => {
  assert.deepEqual(shown({ min: 0, max: 300 }, 300), [
    [0, 0, 0, 100], [4, 0, 200, 100], [1, 1, 10, 30], [3, 1, 60, 30], [2, 2, 20, 10],
  ]);
  assert.deepEqual(shown({ min: 25, max: 75 }, 100), [[0, 0, 0, 100], [1, 1, 0, 30], [3, 1, 70, 30], [2, 2, 0, 10]]);
  assert.deepEqual(shown({ min: 110, max: 190 }, 100), []);
});

test("what goes on after the window is known", () => {
  const cut = layout(TRACK, ROWS, { min: 25, max: 75 }, 100, LOOKS).map(({ entry, isCut }) => [entry, isCut]);
  assert.deepEqual(cut, [[0, true], [1, false], [3, true], [2, false]]);
});

test("what is narrower than a pixel shares it, and what touches and looks alike is one", () => {
  const count = 100_000;
  const starts = Float64Array.from({ length: count }, (_, place) => place * 10);
  const half = (_, place) => (place < count / 2 ? 0 : 1);
  const track = { starts, durations: starts.map(() => 5), kinds: Array.from({ length: count }, half), depths: new Array(count).fill(0) };
  const rows = rowsOf(track);
  const all = layout(track, rows, { min: 0, max: 1_000_000 }, 500, [0, 1]);
  assert.deepEqual(all.map(({ entry, x, width, count: of, isMany }) => [entry, x, width, of, isMany]), [
    [0, 0, 250, count / 2, true], [count / 2, 250, 250, count / 2, true],
  ]);
  // With gaps between them they stay apart, however narrow.
  const apart = layout(track, rows, { min: 0, max: 1000 }, 250, [0, 1]);
  assert.deepEqual(apart.slice(0, 2).map(({ x, width }) => [x, width]), [[0, 1.25], [2.5, 1.25]]);
  assert.equal(layout(track, rows, { min: 0, max: 100 }, 500, [0, 1]).filter(({ width }) => width === 25).length, 10);
});

test("a wide entry is drawn where it begins in the pixel of a narrow one", () => {
  const track = { starts: [0, 0.2, 0.5], durations: [0.1, 0.1, 50], kinds: [0, 0, 0], depths: [0, 0, 0] };
  const drawn = layout(track, rowsOf(track), { min: 0, max: 100 }, 100, [0]);
  assert.deepEqual(drawn.map(({ entry, x, width, count }) => [entry, x, width, count]), [[0, 0, 1, 2], [2, 0.5, 50, 1]]);
  // Like a tile that begins with the end of another.
  const cut = { starts: [0, 50], durations: [50, 20], kinds: [0, 0], depths: [0, 0] };
  const tile = layout(cut, rowsOf(cut), { min: 49.9, max: 149.9 }, 100, [0]);
  assert.deepEqual(tile.map(({ entry, width }) => [entry, Math.round(width)]), [[0, 1], [1, 20]]);
});

test("a point leads to the entry there", () => {
  assert.equal(entryAt(TRACK, ROWS, 1, 39), 1);
  assert.equal(entryAt(TRACK, ROWS, 1, 50), null);
  assert.equal(entryAt(TRACK, ROWS, 1, 42, 3), 1);
  assert.equal(entryAt(TRACK, ROWS, 7, 42), null);
});

test("keys lead along, out and in", () => {
  const go = (entry, key) => neighbor(TRACK, ROWS, entry, key);
  assert.equal(go(0, "ArrowRight"), 4);
  assert.equal(go(4, "ArrowRight"), 4);
  assert.equal(go(4, "ArrowLeft"), 0);
  assert.equal(go(0, "ArrowDown"), 1);
  assert.equal(go(1, "ArrowDown"), 2);
  assert.equal(go(2, "ArrowUp"), 1);
  assert.equal(go(3, "ArrowDown"), 3);
  assert.equal(go(4, "ArrowDown"), 4);
  assert.equal(go(0, "ArrowUp"), 0);
});

test("a ruler has round moments, far enough apart", () => {
  const of = (window, width, apart) => ticks(window, step(window, width, apart));
  assert.deepEqual(of({ min: 0, max: 1000 }, 450), [0, 200, 400, 600, 800, 1000]);
  assert.deepEqual(of({ min: 950, max: 1450 }, 100, 100), [1000]);
  assert.deepEqual(of({ min: 0, max: 0.4 }, 200, 100), [0, 0.2, 0.4]);
});

test("moments that are close together differ in words", () => {
  assert.deepEqual([0, 200, 400].map((moment) => momentText(moment, 200)), ["0 µs", "200 µs", "400 µs"]);
  assert.deepEqual([16_790_000, 16_790_500].map((moment) => momentText(moment, 500)), ["16.7900 s", "16.7905 s"]);
  assert.deepEqual([500, 1000, 1500].map((moment) => momentText(moment, 500)), ["500 µs", "1.0 ms", "1.5 ms"]);
  assert.equal(momentText(0.4, 0.2), "0.4 µs");
  assert.equal(momentText(-2e6, 1e6), "-2 s");
});
