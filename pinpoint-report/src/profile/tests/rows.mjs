// Compares the rows of the trees of two charts with the comparison of all runs, which are these
// two.

import assert from "node:assert/strict";
import { rowsOfEntries } from "./all_runs.js";
import { decode, joined } from "./chart.js";
import { bottomUp, callTree, callers } from "../trees.js";

const data = DATA;
const charts = data.charts.map(decode);
const allRuns = rowsOfEntries(data);
let [compared, groups, parts] = [0, 0, 0];

// Six digits are written, and less than 0.1 % is left out.
function compare(known, [before, after], way) {
  if (known === null) return assert.ok(Math.max(before, after) < 60, `nothing is known of ${way}: ${before} ${after}`);
  compared += 1;
  const difference = (after - before) * 1000;
  assert.ok(Math.abs(known.difference - difference) < 1 + Math.abs(difference) / 1e4, `${way}: ${known.difference}, not ${difference}`);
}

for (const track of charts[0].tracks) {
  if (track.all_runs === null) continue;
  const tracks = [track, charts[1].tracks.find((it) => it.all_runs === track.all_runs)];
  const build = (make, options = {}) => joined(...tracks.map((it, side) => make(it, charts[side].kinds, options).children));
  const kindOf = (row) => {
    const side = row.sides[0] ? 0 : 1;
    return charts[side].kinds[row.sides[side].kind];
  };
  const calls = allRuns("call tree", "", tracks);
  const walk = (rows, place, way) => rows.forEach((row) => {
    const inner = calls.placeOf(place, kindOf(row));
    compare(calls.known(inner), row.totals, [...way, row.id]);
    if (inner !== null) walk(joined(...row.sides.map((side) => side?.children ?? new Map())), inner, [...way, row.id]);
  });
  walk(build(callTree), calls.first, [track.name]);

  const outwards = allRuns("bottom-up", "", tracks);
  const walkOut = (rows, place, ids) => rows.forEach((row) => {
    const outer = outwards.placeOf(place, kindOf(row));
    const way = [...ids, row.id];
    compare(outwards.known(outer), row.selfs, way);
    if (outer !== null) walkOut(joined(...tracks.map((it, side) => callers(it, charts[side].kinds, {}, way))), outer, way);
  });
  walkOut(build(bottomUp), outwards.first, []);

  // A measure named like an event is not an event.
  if (track.name === "Timings") assert.deepEqual(build(bottomUp, { group: "category" }).map(({ id }) => id), ["other"]);
  // Rows with a negative cost are in no group of the page: those around an entry that ends after
  // them.
  if (["Other", "Timings"].includes(track.name)) continue;
  for (const group of ["category", "domain", "url", "file", "owner"]) {
    const rows = allRuns("bottom-up", group, tracks);
    for (const row of build(bottomUp, { group })) {
      if (row.id !== "") compare(rows.group(row.id), row.selfs, `${group} ${row.id}`);
      groups += 1;
      for (const inner of joined(...row.sides.map((side) => side?.children ?? new Map()))) {
        const place = rows.placeOf(rows.inGroup(row.id), kindOf(inner));
        compare(rows.known(place), inner.selfs, `${group} ${row.id}: ${inner.id}`);
        if (place?.part !== undefined) parts += 1;
      }
    }
  }
}
assert.ok(compared > 300 && groups > 10 && parts > 10, `${compared} rows, ${groups} groups and ${parts} parts were compared`);
