// Prints the milliseconds that DevTools' own engine takes for the timeline of a Chrome trace, from
// the file to nested entries, and the bytes that Node.js held at most:
//
//     node trace_engine.mjs ENGINE TRACE
//
// Only the handlers that a timeline needs are asked, none of those for page loads.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [engine, file] = process.argv.slice(2);
globalThis.DOMRect ??= class DOMRect {};
URL.parse ??= (text) => (URL.canParse(text) ? new URL(text) : null);
console.error = () => {};

const { Handlers, Helpers, Types, Processor } =
  await import(pathToFileURL(`${engine}/models/trace/trace.js`));

const all = Handlers.ModelHandlers;
const needed = new Set();
const need = (name) => {
  if (needed.has(name)) return;
  needed.add(name);
  for (const other of all[name].deps?.() ?? []) need(other);
};
["Meta", "Renderer", "AsyncJSCalls", "UserTimings"].forEach(need);
const handlers = Object.fromEntries([...needed].map((name) => [name, all[name]]));

const start = performance.now();
const parsed = JSON.parse(readFileSync(file, "utf8"));
const events = parsed.traceEvents ?? parsed;
Helpers.SyntheticEvents.SyntheticEventsManager.createAndActivate(events);
const processor = new Processor.TraceProcessor(handlers, Types.Configuration.defaults());
// The insights into page loads come last, and want more handlers.
await processor.parse(events, { isCPUProfile: false, metadata: {} }).catch(() => {});
const took = performance.now() - start;
let entries = 0;
for (const process of all.Renderer.data().processes.values()) {
  for (const thread of process.threads.values()) entries += thread.entries.length;
}
if (entries === 0) throw new Error("the engine found no entries");
console.log(took, process.resourceUsage().maxRSS * 1024);
