import assert from "node:assert/strict";
import { test } from "node:test";

import { TILE, Tiles, tilesIn } from "./tiles.js";

test("tiles cover a window, and only that", () => {
  assert.deepEqual(tilesIn(0, TILE), [{ number: 0, x: 0 }]);
  assert.deepEqual(tilesIn(10, TILE), [{ number: 0, x: -10 }, { number: 1, x: TILE - 10 }]);
  assert.deepEqual(tilesIn(-1, 2), [{ number: -1, x: 1 - TILE }, { number: 0, x: 1 }]);
  assert.deepEqual(tilesIn(TILE, 0), [{ number: 1, x: 0 }]);
});

test("a tile is painted once, with its window of time", () => {
  const tiles = new Tiles();
  const painted = [];
  const paint = (window) => painted.push(window);
  assert.equal(tiles.show(2, ["light"]), 2);
  tiles.tile(1, paint);
  // A digit more or less, as of a moved window.
  assert.equal(tiles.show(2 + 1e-12, ["light"]), 2);
  tiles.tile(1, paint);
  assert.deepEqual(painted, [{ min: TILE / 2, max: TILE }]);
});

test("another scale or content has other tiles", () => {
  const tiles = new Tiles();
  let painted = 0;
  const paint = () => { painted += 1; };
  for (const [scale, ...content] of [[2, "light", 1], [2, "dark", 1], [4, "dark", 1], [4, "dark"], [4, "dark"]]) {
    tiles.show(scale, content);
    tiles.tile(0, () => { paint(); return {}; });
  }
  assert.equal(painted, 4);
});

test("the tiles that were asked for last are kept", () => {
  const tiles = new Tiles();
  const painted = [];
  tiles.show(1, []);
  const ask = (number) => tiles.tile(number, ({ min }) => { painted.push(min / TILE); return {}; });
  ask(0);
  for (let number = 1; number < 40; number += 1) {
    ask(number);
    ask(0);
  }
  ask(39);
  ask(1);
  assert.equal(painted.filter((number) => number === 0).length, 1);
  assert.equal(painted.filter((number) => number === 39).length, 1);
  assert.equal(painted.filter((number) => number === 1).length, 2);
});
