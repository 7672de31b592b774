// Compares a timeline with the one of DevTools' own engine.
//
//     node trace_engine.mjs ENGINE TREES TRACE OURS [PAGE]
//
// ENGINE is the folder of the npm package @paulirish/trace_engine, TREES our trees.js, OURS the
// timeline as the test writes it. PAGE is a report on the trace: annotations are saved into the
// trace by its scripts, and read by the engine. Prints the compared counts as JSON, and ends with 1
// and the differences on standard error if there are any.

import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { inflateSync } from "node:zlib";

const [engine, treesFile, traceFile, oursFile, pageFile] = process.argv.slice(2);

// Parts of browsers that Node.js lacks.
globalThis.DOMRect ??= class DOMRect {};
URL.parse ??= (text) => (URL.canParse(text) ? new URL(text) : null);

const load = (path) => import(pathToFileURL(`${engine}/${path}`));
const { Handlers, Helpers, EventsSerializer, Types, Extras, Processor } = await load("models/trace/trace.js");
const trees = await import(pathToFileURL(treesFile));

const trace = JSON.parse(readFileSync(traceFile, "utf8"));
const ours = JSON.parse(readFileSync(oursFile, "utf8"));
for (const track of ours.tracks) {
  // Marks of pages and other programs' instants, which DevTools keeps elsewhere or not at all.
  const events = trace.traceEvents ?? trace;
  const isOther = (key) => key.startsWith("r-") && ["R", "i"].includes(events[key.slice(2)].ph);
  track.others = track.keys.flatMap((key, place) => (isOther(key) ? [place] : []));
}

/** A nanosecond, in microseconds: milliseconds since the machine started have no more digits. */
const ROUNDING = 1e-3;

const differences = [];
const compared = {};

/** Compares two values; numbers within what DevTools loses by counting in milliseconds. */
function equal(what, of, theirs, own) {
  const count = (compared[what] = (compared[what] ?? 0) + 1);
  const near = typeof theirs === "number" && typeof own === "number" &&
    Math.abs(theirs - own) <= ROUNDING;
  if (near || theirs === own) return true;
  differences.push(`${what} ${count}, ${of}: DevTools has ${theirs}, and we have ${own}`);
  return false;
}

/** The engine's handlers that a timeline needs, without those for page loads. */
async function parsed(events, isCPUProfile) {
  const names = ["Meta", "Samples", "AuctionWorklets", "NetworkRequests", "Renderer", "Flows",
    "AsyncJSCalls", "UserTimings", "Frames"];
  const all = Handlers.ModelHandlers;
  const needed = new Set();
  const need = (name) => {
    if (needed.has(name)) return;
    needed.add(name);
    for (const other of all[name].deps?.() ?? []) need(other);
  };
  names.forEach(need);
  const handlers = Object.fromEntries([...needed].map((name) => [name, all[name]]));
  Helpers.SyntheticEvents.SyntheticEventsManager.createAndActivate(events);
  const processor = new Processor.TraceProcessor(handlers, Types.Configuration.defaults());
  // Insights are of page loads only, and not asked for.
  await processor.parse(events, { isCPUProfile, metadata: {} }).catch((error) => {
    if (!processor.data) console.error(error);
  });
  return Object.fromEntries([...needed].map((name) => [name, all[name].data()]));
}

const idOf = Extras.TraceTree.generateEventID;

async function compareProfile(profile) {
  const fake = Helpers.SamplesIntegrator.SamplesIntegrator.createFakeTraceFromCpuProfile(profile, 1);
  const data = await parsed(fake.traceEvents, true);
  const { profileCalls } = data.Samples.profilesInProcess.get(1).get(1);
  const track = ours.tracks[0];
  equal("calls of the profile", "their number", profileCalls.length, track.starts.length);
  const places = new Map(profileCalls.map((call, place) => [call, place]));
  const serializer = new EventsSerializer.EventsSerializer();
  profileCalls.forEach((call, place) => {
    const node = data.Samples.entryToNode.get(call);
    compareEntry(track, place, call, "calls of the profile", serializer);
    equal("own times", idOf(call), node.selfTime, track.owns[place]);
    equal("parents", idOf(call), places.get(node.parent?.entry) ?? -1, track.parents[place]);
  });
  // Its calls overlap by what it loses in milliseconds, and its trees would put one into the
  // other: both get whole nanoseconds.
  const whole = (time) => Math.round(time * 1e3) / 1e3;
  const calls = profileCalls.map((call) => ({ ...call, ts: whole(call.ts), dur: whole(call.dur) }));
  compareTrees(calls, track, () => true);
}

async function compareTrace(events) {
  const data = await parsed(events, false);
  for (const [pid, process] of data.Renderer.processes) {
    for (const [tid, thread] of process.threads) {
      const track = ours.tracks.find((track) => track.process === pid && track.thread === tid);
      if (!equal("threads", `${pid} ${tid}`, true, track !== undefined)) continue;
      compareThread(data, thread, track);
    }
  }
  compareSpans(data);
  compareFrames(data);
  compareRequests(data);
}

function compareEntry(track, place, entry, what, serializer) {
  const of = `${idOf(entry)} at ${entry.ts}`;
  const kind = ours.kinds[track.kinds[place]];
  // Its ids of responses are those of the request, and no tree has them.
  if (!idOf(entry).startsWith("req:")) equal(what, `${of}: id`, idOf(entry), kind?.id);
  equal(what, `${of}: start`, entry.ts, track.starts[place]);
  equal(what, `${of}: duration`, entry.dur ?? 0, track.durations[place]);
  // Its time to find an event grows with the file.
  const isCall = Types.Events.isProfileCall(entry);
  if (!isCall && (compared["keys of events"] ?? 0) >= 3000) return;
  const key = serializer.keyForEvent(entry);
  // It has none for an event whose end is another event.
  if (key !== null) equal(isCall ? "keys of calls" : "keys of events", of, key, track.keys[place]);
}

function compareThread(data, thread, track) {
  const places = new Map();
  const skipped = new Set(track.others);
  const shown = track.starts.map((_, place) => place).filter((place) => !skipped.has(place));
  const raw = new Set(trace.traceEvents ?? trace);
  const { entries } = thread;
  if (!equal("entries", "their number", entries.length, shown.length)) return;
  entries.forEach((entry, place) => places.set(entry, shown[place]));
  const serializer = new EventsSerializer.EventsSerializer();
  entries.forEach((entry) => {
    compareEntry(track, places.get(entry), entry,
      Types.Events.isProfileCall(entry) ? "calls" : "events", serializer);
  });
  for (const entry of entries) {
    const place = places.get(entry);
    const node = data.Renderer.entryToNode.get(entry);
    equal("entries in the tree", idOf(entry), node !== undefined, track.parents[place] !== -2);
    if (!node) continue;
    equal("parents", idOf(entry), node.parent ? places.get(node.parent.entry) : -1, track.parents[place]);
    equal("own times", idOf(entry), node.selfTime, track.owns[place]);
    equal("depths", idOf(entry), node.depth, track.depths[place]);
    const stack = Extras.StackTraceForEvent.get(entry, data);
    // It loses the scheduler of an empty run that is made of two events: it looks for the event
    // that it made, and knows the first of them.
    const isLost = entry.name === "v8::Debugger::AsyncTaskRun" && node.children.length === 0 && !raw.has(entry);
    if (!isLost) equal("stacks", `${idOf(entry)} at ${entry.ts}`, stackText(stack), track.stacks[place]);
    const payload = Types.Events.isProfileCall(entry)
      ? null : Helpers.Trace.getZeroIndexedStackTraceInEventPayload(entry);
    if (payload || track.payloads[place]) {
      equal("payload stacks", `${idOf(entry)} at ${entry.ts}`, framesText(payload ?? []), track.payloads[place]);
    }
    if (stack?.parent) compared["asynchronous stacks"] = (compared["asynchronous stacks"] ?? 0) + 1;
  }
  compareTrees(entries, track, (entry) => Helpers.Trace.VISIBLE_TRACE_EVENT_TYPES.has(entry.name));
}

/** A stack as one line, the innermost function first; undefined where DevTools looks no further. */
function stackText(stack) {
  const parts = [];
  for (let part = stack; part; part = part.parent) {
    parts.push(`${part === stack ? "" : part.description ?? ""}[${framesText(part.callFrames)}]`);
  }
  return parts.join(" ");
}

function framesText(frames) {
  return frames.map((frame) => `${frame.functionName}@${frame.scriptId}:${frame.lineNumber}:${frame.columnNumber}`).join(" ");
}

function compareSpans(data) {
  const timings = [...data.UserTimings.performanceMeasures, ...data.UserTimings.consoleTimings];
  const serializer = new EventsSerializer.EventsSerializer();
  const own = new Map(ours.spans.map((span) => [span.key, span]));
  for (const timing of timings) {
    const span = own.get(serializer.keyForEvent(timing));
    if (!equal("spans", timing.name, true, span !== undefined)) continue;
    equal("spans", timing.name, timing.name, span.name);
    equal("spans", timing.name, timing.ts, span.start);
    equal("spans", timing.name, timing.dur, span.duration);
  }
}

function compareRequests(data) {
  const serializer = new EventsSerializer.EventsSerializer();
  const own = new Map(ours.requests.map((request) => [request.key, request]));
  equal("requests", "their number", data.NetworkRequests.byTime.length, own.size);
  for (const request of data.NetworkRequests.byTime) {
    const { url } = request.args.data;
    const found = own.get(serializer.keyForEvent(request));
    if (!equal("requests", url, true, found !== undefined)) continue;
    equal("requests", url, url, found.name);
    equal("requests", `${url}: start`, request.ts, found.start);
    equal("requests", `${url}: duration`, request.dur, found.duration);
  }
}

function compareFrames(data) {
  const serializer = new EventsSerializer.EventsSerializer();
  const { frames } = data.Frames;
  if (!equal("frames", "their number", frames.length, ours.frames.length)) return;
  frames.forEach((frame, place) => {
    const own = ours.frames[place];
    equal("frames", `${place}: key`, serializer.keyForEvent(frame), own.key);
    equal("frames", `${place}: start`, frame.ts, own.start);
    equal("frames", `${place}: duration`, frame.dur, own.duration);
    equal("frames", `${place}: idle`, frame.idle, own.isIdle);
    equal("frames", `${place}: dropped`, frame.dropped, own.isDropped);
    equal("frames", `${place}: partial`, frame.isPartial, own.isPartial);
    for (const kind of ["idle", "dropped"]) compared[`${kind} frames`] = (compared[`${kind} frames`] ?? 0) + Number(frame[kind]);
  });
}

/** Trees of the whole and of some windows, with and without groups. */
function compareTrees(entries, track, isVisible) {
  if (entries.length === 0) return;
  // In the order of DevTools' own, without hidden entries, and in the categories that let
  // everything through.
  const kinds = ours.kinds.map((kind) => ({ ...kind, category: "any" }));
  const categories = new Set(["any"]);
  const shown = entries.filter(isVisible);
  if (shown.length === 0) return;
  const places = new Map();
  let at = 0;
  const skipped = new Set(track.others);
  for (const entry of entries) {
    while (skipped.has(at)) at += 1;
    places.set(entry, at);
    at += 1;
  }
  const own = {
    starts: shown.map((entry) => track.starts[places.get(entry)]),
    durations: shown.map((entry) => track.durations[places.get(entry)]),
    kinds: shown.map((entry) => track.kinds[places.get(entry)]),
  };
  const urlOf = (entry) => ours.kinds[track.kinds[places.get(entry)]].url;
  const first = shown[0].ts;
  const last = Math.max(...shown.map((entry) => entry.ts + (entry.dur ?? 0)));
  const span = last - first;
  const windows = [[first, last], [first + span * 0.31, first + span * 0.62], [first + span * 0.5, first + span * 0.55]];
  for (const [from, to] of windows) {
    for (const group of [undefined, "url"]) {
      const options = { from, to, group, categories };
      const theirs = {
        filters: [], textFilter: { accept: () => true }, startTime: from / 1e3, endTime: to / 1e3,
        eventGroupIdCallback: group && urlOf,
      };
      const top = new Extras.TraceTree.TopDownRootNode(shown, theirs);
      compareRows("call tree", top, trees.callTree(own, kinds, options), 5);
      // As in its table of third parties: an item in two groups is two rows.
      const up = new Extras.TraceTree.BottomUpRootNode(shown, { ...theirs, forceGroupIdCallback: Boolean(group) });
      const rows = trees.bottomUp(own, kinds, options);
      if (group) compareRows("in groups", withOurIds(up), rows, 2);
      else compareRows("bottom-up", up, rows, 1);
      if (!group) compareCallers(up, own, kinds, options);
    }
    compareLog(shown, own, kinds, { from, to, categories });
  }
}

/** Rows by their ids. What is nothing but rounding in milliseconds is no row. */
function compareRows(what, theirs, own, levels) {
  // The root's own time is there after its children.
  const children = levels > 0 ? theirs.children() : new Map();
  equal(what, `${String(theirs.id)}: self`, theirs.selfTime * 1e3, own.self);
  equal(what, `${String(theirs.id)}: total`, theirs.totalTime * 1e3, own.total);
  if (levels === 0) return;
  const counted = (rows, self, total, least) =>
    new Map([...rows].filter(([, row]) => Math.max(row[self], row[total]) > least));
  const their = counted(children, "selfTime", "totalTime", ROUNDING / 1e3);
  const rows = counted(own.children, "self", "total", ROUNDING);
  equal(what, `rows in ${String(theirs.id)}`, names(their), names(rows));
  for (const [id, row] of their) if (rows.has(id)) compareRows(what, row, rows.get(id), levels - 1);
}

const names = (rows) => [...rows.keys()].map(String).sort().join("\n");

function compareCallers(up, own, kinds, options) {
  const largest = [...up.children().values()].sort((a, b) => b.selfTime - a.selfTime).slice(0, 12);
  for (const row of largest) {
    const callers = trees.callers(own, kinds, options, [row.id]);
    compareRows("callers", { ...same(row), children: () => row.children() }, { ...zero(row), children: callers }, 1);
    for (const caller of [...row.children().values()].slice(0, 4)) {
      const outer = trees.callers(own, kinds, options, [row.id, caller.id]);
      compareRows("callers", { ...same(caller), children: () => caller.children() }, { ...zero(caller), children: outer }, 1);
    }
  }
}

const same = (row) => ({ id: row.id, selfTime: row.selfTime, totalTime: row.totalTime });
const zero = (row) => ({ self: row.selfTime * 1e3, total: row.totalTime * 1e3 });

/** A tree in groups, whose rows it calls `ID-GROUP`, with and without a group. */
function withOurIds(root) {
  const children = () => new Map([...root.children()].map(([group, of]) => {
    const rows = [...of.children()].map(([id, row]) => {
      const own = id.slice(0, id.length - `-${group}`.length) + (group && `/${group}`);
      return [own, { id: own, selfTime: row.selfTime, totalTime: row.totalTime }];
    });
    return [group, { id: group, selfTime: of.selfTime, totalTime: of.totalTime, children: () => new Map(rows) }];
  }));
  return { id: root.id, get selfTime() { return root.selfTime; }, get totalTime() { return root.totalTime; }, children };
}

/** The first level, and what it holds. */
function compareLog(shown, own, kinds, options) {
  const log = trees.eventLog(own, kinds, options);
  const theirs = new Extras.TraceTree.TopDownRootNode(shown, {
    filters: [], startTime: options.from / 1e3, endTime: options.to / 1e3,
    doNotAggregate: true, includeInstantEvents: true,
  });
  const outermost = [...theirs.children().values()];
  const rows = log.entries.map((_, row) => row).filter((row) => log.depths[row] === 0);
  if (!equal("event log", "rows", outermost.length, rows.length)) return;
  outermost.slice(0, 200).forEach((row, place) => {
    equal("event log", "entry", shown.indexOf(row.event), log.entries[rows[place]]);
    equal("event log", "self", row.selfTime * 1e3, log.selfs[rows[place]]);
    equal("event log", "total", row.totalTime * 1e3, log.totals[rows[place]]);
  });
}

/** Saves annotations on entries of every track as the page does, and has the engine find them. */
async function compareSaved() {
  const scripts = pathToFileURL(`${dirname(treesFile)}/scripts`);
  const [{ annotated, merged, written }, { decode, entryKey, isFindable }] = await Promise.all(
    ["annotations", "chart"].map((name) => import(`${scripts}/${name}.js`)));
  const packed = /id="profile-data" type="text\/plain">([^<]*)</.exec(readFileSync(pageFile, "utf8"))[1];
  const chart = decode(JSON.parse(inflateSync(Buffer.from(packed, "base64"))).charts[0]);
  const overlays = [];
  chart.tracks.forEach(({ starts, durations, nodes }, track) => {
    const step = Math.ceil(starts.length / 100);
    for (let at = 0; at < starts.length; at += 1) {
      // All calls, which are few.
      if (nodes[at] < 0 && at % step !== 0) continue;
      const entry = { track, entry: at };
      if (!isFindable(entryKey(chart, entry))) continue;
      overlays.push({ type: "label", side: 0, entry, text: `${track} ${at}` });
      overlays.push({ type: "link", side: 0, from: overlays[0].entry, to: entry });
      overlays.push({ type: "range", side: 0, window: { min: starts[at], max: starts[at] + durations[at] + 1 }, text: "range" });
    }
  });
  const before = written([], 0, chart);
  const after = written(overlays, 0, chart);
  const pieces = annotated(readFileSync(traceFile), (old) => merged(old, before, after, null));
  const saved = JSON.parse(Buffer.concat(pieces).toString());
  const data = await parsed(saved.traceEvents, false);
  const serializer = new EventsSerializer.EventsSerializer();
  const { annotations } = saved.metadata.modifications;
  const kindOf = ({ track, entry }) => chart.kinds[chart.tracks[track].kinds[entry]];
  const labels = overlays.filter(({ type }) => type === "label");
  annotations.entryLabels.forEach(({ entry: key, label }, place) => {
    const { entry, text } = labels[place];
    const found = serializer.eventForKey(key, { data });
    equal("saved labels", key, text, label);
    // Times of the page are tenths of a microsecond.
    const start = chart.tracks[entry.track].starts[entry.entry] + chart.trace.begin;
    equal("saved labels", `${key}: start`, true, Math.abs(found.ts - start) <= 0.1);
    if (Types.Events.isSyntheticNetworkRequest(found)) {
      equal("saved labels of requests", key, found.args.data.url, kindOf(entry).url);
      return;
    }
    if (Types.Events.isLegacyTimelineFrame(found)) {
      equal("saved labels of frames", key, true, kindOf(entry).name.endsWith("frame"));
      return;
    }
    const isCall = Types.Events.isProfileCall(found);
    const name = isCall ? found.callFrame.functionName || "(anonymous)" : found.name;
    equal(isCall ? "saved labels of calls" : "saved labels of events", key, name, kindOf(entry).name || "(anonymous)");
  });
  for (const { entryFrom, entryTo } of annotations.linksBetweenEntries) {
    const ends = [entryFrom, entryTo].map((key) => serializer.eventForKey(key, { data }));
    equal("saved links", entryTo, true, ends.every((end) => end !== undefined));
  }
  equal("saved ranges", "their number", labels.length, annotations.labelledTimeRanges.length);
}

if (trace.traceEvents || Array.isArray(trace)) await compareTrace(trace.traceEvents ?? trace);
else await compareProfile(trace);
if (pageFile) await compareSaved();
if (differences.length > 0) {
  console.error(`${differences.length} differences\n${differences.slice(0, 40).join("\n")}`);
  process.exitCode = 1;
}
console.log(JSON.stringify(compared));
