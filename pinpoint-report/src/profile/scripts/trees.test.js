import assert from "node:assert/strict";
import { test } from "node:test";

import { bottomUp, callTree, callers } from "../trees.js";

const kind = (id, url = "") => ({ id, name: id, category: "scripting", url });
const selfs = (rows) => Object.fromEntries([...rows].map(([id, { self }]) => [id, self]));

test("what is in several groups is a row in each, with its own callers", () => {
  // A timer calls into a.js, a frame into a.js and b.js.
  const kinds = [kind("Timer"), kind("Frame"), kind("FunctionCall", "a.js"), kind("FunctionCall", "b.js")];
  const track = { starts: [0, 10, 100, 110, 150], durations: [50, 20, 100, 5, 40], kinds: [0, 2, 1, 2, 3] };
  const rows = bottomUp(track, kinds, { group: "url" }).children;
  assert.deepEqual(selfs(rows), { "": 85, "a.js": 25, "b.js": 40 });
  assert.deepEqual(selfs(rows.get("a.js").children), { "FunctionCall/a.js": 25 });
  const of = (group, id) => selfs(callers(track, kinds, { group }, [id]));
  assert.deepEqual(of("url", "FunctionCall/a.js"), { Timer: 20, Frame: 5 });
  assert.deepEqual(of("url", "FunctionCall/b.js"), { Frame: 40 });
  assert.deepEqual(of(undefined, "FunctionCall"), { Timer: 20, Frame: 45 });
});

test("entries that touch are not in each other where their ends are inexact", () => {
  // 0.1 + 0.2 is more than 0.3.
  const track = { starts: [0.1, 0.3], durations: [0.2, 0.2], kinds: [0, 1] };
  const { children } = callTree(track, [kind("one"), kind("other")]);
  assert.deepEqual([...children.keys()], ["one", "other"]);
});
