// Labels, ranges of time and links that users add to the flame charts, and the files that keep
// them.

import { annotated, annotatedName, merged, read, recordedBytes, written, writtenBreadcrumb } from "./annotations.js";
import { isInside } from "./breadcrumbs.js";
import { entryKey, isFindable } from "./chart.js";
import { button, element, foreign } from "./elements.js";

const SIDES = ["before", "after"];
const WORDS = { label: "label", range: "range of time", link: "link" };
// The longest text of an annotation.
const MOST_CHARACTERS = 200;

// Fills the section and adds the annotations in the traces of both sides to the overlays.
// `selected` returns { side, entry } or null, `nameOf` names an entry, `goTo` shows it, and
// `changed` is called after each change. Returns a function that goes into the breadcrumbs that
// were kept.
export function annotationsView(section, { charts, windows, overlays, selected, nameOf, goTo, changed }) {
  const found = charts.map((chart, side) => (chart.trace ? read(chart.trace.modifications, side, chart) : null));
  for (const overlay of found.flatMap((it) => it?.overlays ?? [])) overlays.add(overlay);
  const before = charts.map((chart, side) => (chart.trace ? written(overlays.all, side, chart) : null));
  const said = element("p", { className: "note", role: "status" });
  const text = element("input", { type: "text", maxLength: MOST_CHARACTERS });
  const all = element("ul", { className: "annotations" });
  let from = null;

  const say = (sentence) => { said.textContent = sentence; };
  const done = (sentence) => {
    say(sentence);
    text.value = "";
    show();
    changed();
  };
  // Acts on the side of the selected entry, which has to have a trace.
  const withEntry = (act) => () => {
    const it = selected();
    if (!it) say("Select an entry of a flame chart first.");
    else if (!charts[it.side].trace) say("Only a Chrome trace or a .cpuprofile keeps annotations.");
    else if (!isFindable(entryKey(charts[it.side], it.entry))) say("DevTools can't find this call again, since it was sampled for an event alone. Select the event.");
    else act(it);
  };
  const withText = (act) => (it) => {
    if (text.value.trim() === "") say("Write the text first.");
    else act(it);
  };

  const label = button("Label the selected entry", withEntry(withText(({ side, entry }) => {
    overlays.add({ type: "label", side, entry, text: text.value.trim() });
    done("The entry has a label.");
  })));
  const ranges = SIDES.map((name, side) => button(`Label the window ${name}`, () => withText(() => {
    overlays.add({ type: "range", side, window: windows.timeline(side), text: text.value.trim() });
    done(`The window ${name} has a label.`);
  })(), { hidden: !charts[side].trace }));
  const link = button("Link from the selected entry", withEntry((it) => {
    if (!from) {
      from = it;
      link.textContent = "Link to the selected entry";
      say("Select the entry that it leads to, and press the button again.");
      return;
    }
    const begin = from;
    from = null;
    link.textContent = "Link from the selected entry";
    if (begin.side !== it.side) say("Both ends of a link are of one side: another trace does not have the entry.");
    else if (begin.entry.track === it.entry.track && begin.entry.entry === it.entry.entry) say("A link leads from one entry to another.");
    else {
      overlays.add({ type: "link", side: it.side, from: begin.entry, to: it.entry });
      done("The entries are linked.");
    }
  }));

  function show() {
    const items = overlays.all.filter(({ type }) => type in WORDS).map((it) => {
      const entry = it.entry ?? it.from;
      const name = it.text ?? [it.from, it.to].map((end) => nameOf(it.side, end)).join(" → ");
      const go = () => (it.window ? windows.reveal(it.side, it.window) : goTo(it.side, entry));
      const remove = button("Remove", () => {
        overlays.remove(it);
        done(`The ${WORDS[it.type]} is removed.`);
      });
      return element("li", {}, `${WORDS[it.type]} ${SIDES[it.side]}: `, foreign(name), " ", button("Show", go), " ", remove);
    });
    all.replaceChildren(...items);
  }

  async function save(side, file) {
    const chart = charts[side];
    const { isPacked, bytes } = await contentOf(file);
    if (recordedBytes(bytes) !== chart.trace.recorded) {
      throw new Error(`another run was recorded in it than in ${chart.trace.file}, which is drawn here; choose that`);
    }
    const breadcrumb = writtenBreadcrumb(windows.breadcrumbs, side === 0 ? 0 : windows.offset, chart);
    const after = written(overlays.all, side, chart);
    const pieces = annotated(bytes, (inFile) => merged(inFile, before[side], after, breadcrumb));
    const blob = new Blob(pieces, { type: "application/json" });
    const packed = isPacked ? await new Response(blob.stream().pipeThrough(new CompressionStream("gzip"))).blob() : blob;
    const address = URL.createObjectURL(packed);
    const name = annotatedName(file.name);
    element("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
    const readers = isProfile(name) ? "The next report shows them" : "DevTools and the next report show them";
    say(`${name} is the same trace with the annotations. ${readers}.`);
  }

  const files = charts.flatMap(({ trace }, side) => {
    if (!trace) return [];
    const input = element("input", { type: "file", accept: ".json,.cpuprofile,.gz" });
    input.addEventListener("change", async () => {
      const [file] = input.files;
      if (!file) return;
      say(`Reading ${file.name} …`);
      await save(side, file).catch((error) => say(`${file.name} can't be annotated: ${error.message}.`));
      // The same file can be chosen again.
      input.value = "";
    });
    return [element("label", {}, `Save ${SIDES[side]} into a copy of `, foreign(trace.file || "its trace"), " ", input)];
  });
  const unknown = found.flatMap((it, side) => (it?.unknown ?? []).map((what) => `${SIDES[side]}, ${what}`));
  const notes = unknown.length === 0 ? [] : [element("p", { className: "note" },
    "Not understood, or of entries that are not drawn, and kept as it is: ", foreign(unknown.join("; ")), ".")];
  found.forEach((it, side) => {
    if (it?.hidden) notes.push(element("p", { className: "note" }, `Hidden in DevTools, and drawn here, are ${it.hidden} entries ${SIDES[side]}.`));
  });
  section.append(
    element("div", { className: "bar" }, element("label", {}, "Text ", text), label, ...ranges, link), all, ...notes,
    element("div", { className: "bar files" }, ...files), said);
  show();
  section.open = overlays.all.some(({ type }) => type in WORDS);

  return () => {
    const crumbs = found[0]?.crumbs ?? [];
    for (const window of crumbs) {
      if (!isInside(window, windows.minimap(0))) return;
      windows.show(0, window);
      windows.addBreadcrumb();
    }
  };
}

const isProfile = (name) => /\.cpuprofile(\.gz)?$/.test(name);

async function contentOf(file) {
  const isPacked = new Uint8Array(await file.slice(0, 2).arrayBuffer()).join() === "31,139";
  const content = isPacked ? new Response(file.stream().pipeThrough(new DecompressionStream("gzip"))) : file;
  const bytes = new Uint8Array(await content.arrayBuffer());
  // Some editors begin text with a mark, which is not JSON.
  const isMarked = bytes.subarray(0, 3).join() === "239,187,191";
  return { isPacked, bytes: isMarked ? bytes.subarray(3) : bytes };
}
