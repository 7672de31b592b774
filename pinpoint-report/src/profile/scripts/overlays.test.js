import assert from "node:assert/strict";
import { test } from "node:test";

import { Overlays, shapes } from "./overlays.js";

// Entries of a track begin every 100 µs and take 50; the second track is hidden.
const view = {
  window: { min: 1000, max: 2000 }, offset: 500, width: 500, height: 80,
  box: ({ track, entry }) => (track === 1 ? null : { start: 1000 + 100 * entry, duration: 50, top: 20, height: 10 }),
};
const drawn = (overlays, side = 0, changes = {}) => shapes(overlays, side, { ...view, ...changes });

test("some there are only once", () => {
  const overlays = new Overlays();
  const note = overlays.add({ type: "difference", side: 0, entry: { track: 0, entry: 1 }, text: "here" });
  overlays.add({ type: "selected", side: 0, entry: { track: 0, entry: 1 } });
  overlays.add({ type: "selected", side: 1, entry: { track: 0, entry: 2 } });
  assert.equal(overlays.all.length, 2);
  assert.equal(overlays.of("selected")[0].side, 1);
  overlays.remove(note);
  overlays.add({ type: "ruler", time: 3 });
  overlays.removeAll("selected");
  assert.deepEqual(overlays.all, [{ type: "ruler", time: 3 }]);
});

test("an entry is outlined where it is seen", () => {
  const selected = { type: "selected", side: 0, entry: { track: 0, entry: 2 } };
  assert.deepEqual(drawn([selected]), [{ type: "selected", shape: "outline", x: 100, y: 20, width: 25, height: 10 }]);
  assert.deepEqual(drawn([selected], 1), []);
  assert.deepEqual(drawn([selected], 0, { window: { min: 3000, max: 4000 } }), []);
  assert.deepEqual(drawn([{ ...selected, entry: { track: 1, entry: 2 } }]), []);
});

test("the ruler is on both sides, at the moments that belong together", () => {
  const ruler = { type: "ruler", time: 700 };
  assert.equal(drawn([ruler])[0].x, 100);
  assert.equal(drawn([ruler], 1, { offset: 400 })[0].x, 50);
  assert.deepEqual(drawn([{ ...ruler, time: 0 }]), []);
});

test("what differs has a note above it", () => {
  const difference = { type: "difference", side: 0, entry: { track: 0, entry: 4 }, text: "+2 ms" };
  assert.deepEqual(drawn([difference]), [
    { type: "difference", shape: "outline", x: 200, y: 20, width: 25, height: 10 },
    { type: "difference", shape: "note", x: 200, y: 20, width: 25, height: 10, text: "+2 ms" },
  ]);
});

test("labels, ranges of time and links", () => {
  const entry = (at) => ({ track: 0, entry: at });
  const overlays = [
    { type: "label", side: 0, entry: entry(4), text: "why?" },
    { type: "range", side: 0, window: { min: 900, max: 1100 }, text: "first" },
    { type: "range", side: 0, window: { min: 100, max: 300 }, text: "before" },
    { type: "link", side: 0, from: entry(0), to: entry(3) },
    { type: "link", side: 0, from: entry(0), to: entry(70) },
    { type: "link", side: 0, from: entry(0), to: { track: 1, entry: 3 } },
  ];
  assert.deepEqual(drawn(overlays), [
    { type: "label", shape: "outline", x: 200, y: 20, width: 25, height: 10 },
    { type: "label", shape: "note", x: 200, y: 20, width: 25, height: 10, text: "why?" },
    { type: "range", shape: "band", x: 0, y: 0, width: 50, height: 80, text: "first" },
    { type: "link", shape: "arrow", x: 0, y: 25, width: 150, height: 0 },
    { type: "link", shape: "arrow", x: 0, y: 25, width: 500, height: 0 },
  ]);
  assert.deepEqual(drawn(overlays, 1), []);
});
