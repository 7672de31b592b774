import assert from "node:assert/strict";
import { test } from "node:test";

import * as flame from "./flame_graph.js";

// main 1, main;parse 20 → 20, main;parse;next 70 → 82, main;parse;next;find 0 → 2, main;print 30 → 27
const NAMES = ["main", "parse", "Lexer::next", "find", "print"];
const STACKS = {
  parent: [0, 0, 1, 2, 3, 1],
  function: [0, 0, 1, 2, 3, 4],
  before: [0, 1, 20, 70, 0, 30],
  after: [0, 1, 20, 82, 2, 27],
};
const CERTAIN = [false, false, false, true, true, false];
const graph = flame.flameGraph(STACKS, CERTAIN);
const whole = { mode: "after", root: 0, certainOnly: false };
const shown = (state, width) => flame.layout(graph, state, width).rectangles
  .map(({ place, row, x, width: wide }) => [place, row, Math.round(x), Math.round(wide)]);

test("a stack holds what it calls", () => {
  assert.deepEqual([...graph.before], [121, 121, 90, 70, 0, 30]);
  assert.deepEqual([...graph.after], [132, 132, 104, 84, 2, 27]);
  assert.deepEqual([...graph.moved], [17, 17, 14, 14, 2, 3]);
});

test("widths are in proportion, and a child stays within its parent", () => {
  assert.deepEqual(shown(whole, 132), [
    [0, 0, 0, 132], [1, 1, 0, 132], [2, 2, 0, 104], [5, 2, 104, 27], [3, 3, 0, 84], [4, 4, 0, 2],
  ]);
  const rectangles = new Map(flame.layout(graph, whole, 500).rectangles.map((it) => [it.place, it]));
  for (const [place, it] of rectangles) {
    const parent = rectangles.get(STACKS.parent[place]);
    assert.ok(it.x >= parent.x && it.x + it.width <= parent.x + parent.width + 1e-9);
  }
});

test("before, what is new has no width", () => {
  const before = { ...whole, mode: "before" };
  assert.ok(shown(before, 121).every(([place]) => place !== 4));
});

test("a difference is as wide as what moved, gains and losses", () => {
  const difference = { ...whole, mode: "difference" };
  assert.deepEqual(shown(difference, 170).find(([place]) => place === 2), [2, 2, 0, 140]);
  assert.deepEqual(shown(difference, 170).find(([place]) => place === 5), [5, 2, 140, 30]);
});

test("zoomed, the callers stay above in the whole width", () => {
  const zoomed = { ...whole, root: 3 };
  assert.deepEqual(shown(zoomed, 84), [
    [0, 0, 0, 84], [1, 1, 0, 84], [2, 2, 0, 84], [3, 3, 0, 84], [4, 4, 0, 2],
  ]);
});

test("only what is certain: the ways there, and color for it alone", () => {
  const certain = { ...whole, certainOnly: true };
  const { rectangles } = flame.layout(graph, certain, 132);
  assert.deepEqual(rectangles.map(({ place }) => place), [0, 1, 2, 3, 4]);
  assert.deepEqual(rectangles.map((it) => it.tone), [0, 0, 0, 2, 4]);
});

test("a tone says how much of a stack changed, and where to", () => {
  assert.equal(flame.tone(100, 100.5), 0);
  assert.equal(flame.tone(100, 103), 1);
  assert.equal(flame.tone(100, 90), -2);
  assert.equal(flame.tone(100, 140), 3);
  assert.equal(flame.tone(100, 0), -4);
  assert.equal(flame.tone(0, 0), 0);
});

test("what is narrower than half a pixel is not drawn, and takes its place all the same", () => {
  const { rectangles } = flame.layout(graph, whole, 13);
  assert.ok(!rectangles.some(({ place }) => place === 4));
});

test("a point leads to its stack", () => {
  const picture = flame.layout(graph, whole, 132);
  assert.equal(flame.stackAt(picture, 110, 2), 5);
  assert.equal(flame.stackAt(picture, 131.5, 2), null);
  assert.equal(flame.stackAt(picture, 1, 9), null);
});

test("keys lead in, out and aside, and end where there is nothing", () => {
  const go = (place, key) => flame.neighbor(graph, whole, place, key);
  assert.equal(go(1, "ArrowDown"), 2);
  assert.equal(go(2, "ArrowRight"), 5);
  assert.equal(go(5, "ArrowRight"), 5);
  assert.equal(go(5, "ArrowLeft"), 2);
  assert.equal(go(4, "ArrowDown"), 4);
  assert.equal(go(4, "ArrowUp"), 3);
  assert.equal(go(0, "ArrowUp"), 0);
  assert.equal(go(3, "Home"), 0);
});

test("a search takes all words in any case, and counts a time once", () => {
  const { count, part } = flame.found(graph, NAMES, flame.finder("LEXER next"), "after");
  assert.deepEqual([count, part], [1, 84 / 132]);
  const nested = flame.flameGraph({ parent: [0, 0, 1], function: [0, 0, 0], before: [0, 3, 4], after: [0, 3, 4] }, [false]);
  assert.deepEqual(flame.found(nested, ["f"], flame.finder("f"), "after").part, 1);
  assert.equal(flame.finder("  "), null);
});

test("a label is cut where it ends to fit", () => {
  const wide = (text) => text.length * 7;
  assert.equal(flame.fit("parse", 35, wide), "parse");
  assert.equal(flame.fit("Lexer::next_token", 50, wide), "Lexer:…");
  assert.equal(flame.fit("parse", 15, wide), "");
});

test("a stack of 100,000 calls is no trouble", () => {
  const count = 100_000;
  const deep = {
    parent: Array.from({ length: count }, (_, place) => Math.max(0, place - 1)),
    function: new Array(count).fill(0),
    before: new Array(count).fill(0).with(-1, 1),
    after: new Array(count).fill(0).with(-1, 1),
  };
  const picture = flame.layout(flame.flameGraph(deep, [false]), whole, 800);
  assert.equal(picture.rows, 121);
});
