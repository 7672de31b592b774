import assert from "node:assert/strict";
import { test } from "node:test";

import * as breadcrumbs from "./breadcrumbs.js";
import { Windows, stretched, within } from "./windows.js";

// 1,000 µs of the base from 5,000, and 1,200 of the experiment from 9,000.
function loaded() {
  const windows = new Windows();
  windows.load([{ min: 5000, max: 6000 }, { min: 9000, max: 10_200 }]);
  const told = [];
  windows.listen((change) => told.push(change));
  return { windows, told };
}
const seen = (windows) => [0, 1].map((side) => [windows.timeline(side).min, windows.timeline(side).max]);

test("loading sets all windows, and both sides have one scale", () => {
  const { windows } = loaded();
  assert.equal(windows.offset, 4000);
  assert.deepEqual(seen(windows), [[5000, 6200], [9000, 10_200]]);
  assert.deepEqual(windows.minimap(1), { min: 9000, max: 10_200 });
  assert.deepEqual(windows.entire(0), { min: 5000, max: 6000 });
});

test("what is dragged or zoomed is the timeline alone, and the other side follows", () => {
  const { windows, told } = loaded();
  windows.show(0, { min: 5100, max: 5300 });
  assert.deepEqual(seen(windows), [[5100, 5300], [9100, 9300]]);
  windows.show(1, { min: 9500, max: 9600 });
  assert.deepEqual(seen(windows), [[5500, 5600], [9500, 9600]]);
  assert.deepEqual(windows.minimap(0), { min: 5000, max: 6200 });
  windows.show(1, { min: 9500, max: 9600 });
  assert.deepEqual(told, ["timeline", "timeline"]);
});

test("the timeline stays within the minimap, and longer than nothing", () => {
  const { windows } = loaded();
  windows.show(0, { min: 4000, max: 4200 });
  assert.deepEqual(windows.timeline(0), { min: 5000, max: 5200 });
  windows.show(0, { min: 0, max: 99_999 });
  assert.deepEqual(windows.timeline(0), { min: 5000, max: 6200 });
  windows.show(0, { min: 5100, max: 5100 });
  assert.deepEqual(windows.timeline(0), { min: 5099.5, max: 5100.5 });
});

test("unlinked, a side goes alone; linked again, it takes the other's place", () => {
  const { windows, told } = loaded();
  windows.link(false);
  windows.show(1, { min: 9500, max: 9600 });
  assert.deepEqual(seen(windows), [[5000, 6200], [9500, 9600]]);
  windows.link(true);
  windows.link(true);
  assert.deepEqual(seen(windows), [[5000, 6200], [9000, 10_200]]);
  assert.deepEqual(told, ["link", "timeline", "link"]);
});

test("aligned while unlinked, a side stays within its minimap", () => {
  const { windows } = loaded();
  windows.link(false);
  windows.show(1, { min: 9000, max: 9100 });
  windows.drag(500);
  assert.deepEqual(windows.minimap(1), { min: 9500, max: 10_700 });
  assert.deepEqual(windows.timeline(1), { min: 9500, max: 9600 });
});

test("what lies outside of a breadcrumb is shown from one that holds it", () => {
  const { windows } = loaded();
  for (const window of [{ min: 5100, max: 5500 }, { min: 5200, max: 5300 }]) {
    windows.show(0, window);
    windows.addBreadcrumb();
  }
  windows.reveal(0, { min: 5210, max: 5220 });
  assert.equal(breadcrumbs.list(windows.breadcrumbs).length, 3);
  windows.reveal(1, { min: 9410, max: 9420 });
  assert.equal(breadcrumbs.list(windows.breadcrumbs).length, 2);
  assert.deepEqual(seen(windows), [[5410, 5420], [9410, 9420]]);
  windows.reveal(0, { min: 4990, max: 5010 });
  assert.equal(breadcrumbs.list(windows.breadcrumbs).length, 1);
  assert.deepEqual(windows.timeline(0), { min: 5000, max: 5020 });
});

test("sides are aligned at their begins, at marks, or by hand", () => {
  const { windows } = loaded();
  windows.show(0, { min: 5100, max: 5300 });
  windows.alignMarks(5050, 9150);
  assert.equal(windows.offset, 4100);
  assert.deepEqual(seen(windows), [[5100, 5300], [9200, 9400]]);
  windows.drag(-50);
  assert.deepEqual(windows.timeline(1), { min: 9150, max: 9350 });
  windows.alignBegins();
  assert.deepEqual(windows.timeline(1), { min: 9100, max: 9300 });
});

test("a breadcrumb is minimap and timeline at once", () => {
  const { windows, told } = loaded();
  windows.show(0, { min: 5100, max: 5300 });
  windows.addBreadcrumb();
  assert.deepEqual(windows.minimap(0), { min: 5100, max: 5300 });
  assert.deepEqual(windows.minimap(1), { min: 9100, max: 9300 });
  windows.show(0, { min: 5000, max: 5050 });
  assert.deepEqual(windows.timeline(0), { min: 5100, max: 5150 });
  windows.addBreadcrumb();
  const [first, second, third] = breadcrumbs.list(windows.breadcrumbs);
  assert.deepEqual(third.window, { min: 5100, max: 5150 });
  windows.activateBreadcrumb(second);
  assert.deepEqual(seen(windows), [[5100, 5300], [9100, 9300]]);
  assert.equal(breadcrumbs.list(windows.breadcrumbs).length, 2);
  assert.throws(() => windows.activateBreadcrumb(third), RangeError);
  assert.deepEqual(first.window, { min: 5000, max: 6200 });
  assert.deepEqual(told, ["timeline", "minimap", "timeline", "minimap", "minimap"]);
});

test("a listener that has ended hears nothing", () => {
  const { windows } = loaded();
  const heard = [];
  const end = windows.listen((change) => heard.push(change));
  end();
  windows.drag(1);
  assert.deepEqual(heard, []);
});

test("breadcrumbs lie strictly within each other", () => {
  const root = breadcrumbs.initial({ min: 0, max: 10 });
  assert.throws(() => breadcrumbs.add(root, { min: 0, max: 10 }), RangeError);
  assert.throws(() => breadcrumbs.add(root, { min: 5, max: 11 }), RangeError);
  const two = breadcrumbs.add(root, { min: 0, max: 5 });
  assert.deepEqual(two, { window: { min: 0, max: 10 }, child: { window: { min: 0, max: 5 }, child: null } });
  assert.equal(root.child, null);
});

test("stretching keeps the time in the middle, and fits are exact", () => {
  assert.deepEqual(stretched({ min: 0, max: 100 }, 0.5, 20), { min: 10, max: 60 });
  const odd = { min: 0.1, max: 0.1 + 7.3 };
  assert.deepEqual(within(odd, { min: 0, max: 100 }), odd);
});
