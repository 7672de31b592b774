// Unpacks the data in the page, and has each part drawn.

import { callsView } from "./calls_view.js";
import { unpack } from "./elements.js";
import { flameGraphView } from "./flame_graph_view.js";
import { timelineView } from "./timeline_view.js";
import { functionsView } from "./functions_view.js";

async function start() {
  const data = await unpack("profile-data");
  const section = (id) => document.getElementById(id);
  const showCalls = callsView(section("calls"), data);
  functionsView(section("functions"), (row) => showCalls(data.functions.row.indexOf(row)));
  if (section("flame-graph").querySelector("canvas")) flameGraphView(section("flame-graph"), data, showCalls);
  else section("flame-graph").hidden = false;
  if (data.charts) timelineView(section("timeline"), data, showCalls);
}

start();
