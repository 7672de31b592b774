// A flame graph of two builds: the stacks of all runs as one tree. The drawing is a pure function
// of the tree and of the selection; nothing here knows a canvas.
//
// Stacks are columns. The first stack is the empty one; a parent stands before its children:
//
//   { parent: [0, 0, 1], function: [0, 0, 1], before: [0, 1, 9], after: [0, 1, 12] }
//
// `before` and `after` are the costs of exactly this stack, as means of the runs. `certain` says
// for each stack whether its difference is certain.

// The least width of a stack that is drawn, in pixels.
const LEAST_WIDTH = 0.5;

// Rows below the selected stack, and of its callers above it.
const MOST_ROWS = 120;
const MOST_CALLERS = 20;

// The parts of a stack's time from which its difference has each tone.
const TONES = [0.01, 0.05, 0.2, 0.5];

// The totals of the stacks, including callees, with their depths and children.
export function flameGraph(stacks, certain) {
  const count = stacks.parent.length;
  const graph = {
    stacks,
    certain,
    count,
    depth: new Uint32Array(count),
    before: Float64Array.from(stacks.before),
    after: Float64Array.from(stacks.after),
    // The absolute change here and below: gains and losses, both.
    moved: Float64Array.from(stacks.before, (before, place) => Math.abs(stacks.after[place] - before)),
    // It, or one of its callees, is certain.
    leadsToCertain: Uint8Array.from(stacks.function, (_, place) => (certain[place] ? 1 : 0)),
    children: Array.from({ length: count }, () => []),
  };
  for (let place = 1; place < count; place += 1) graph.depth[place] = graph.depth[stacks.parent[place]] + 1;
  for (let place = count - 1; place > 0; place -= 1) {
    const parent = stacks.parent[place];
    graph.before[parent] += graph.before[place];
    graph.after[parent] += graph.after[place];
    graph.moved[parent] += graph.moved[place];
    graph.leadsToCertain[parent] |= graph.leadsToCertain[place];
    graph.children[parent].push(place);
  }
  // The same order in every mode, so that a stack keeps its place between its neighbors.
  const size = (place) => Math.max(graph.before[place], graph.after[place]);
  for (const children of graph.children) children.sort((a, b) => size(b) - size(a) || a - b);
  return graph;
}

// The width of a stack before it is scaled: its time before, after, or its absolute change.
export function weight(graph, place, mode) {
  if (mode === "before") return graph.before[place];
  return mode === "after" ? graph.after[place] : graph.moved[place];
}

// From -4, much less, to +4, much more; 0 for almost no change.
export function tone(before, after) {
  const most = Math.max(before, after);
  if (most <= 0) return 0;
  const part = (after - before) / most;
  const level = TONES.filter((least) => Math.abs(part) >= least).length;
  return part < 0 ? -level : level;
}

// Returns whether a function matches a text: all of its words, in any case.
export function finder(text) {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return null;
  return (name) => words.every((word) => name.toLowerCase().includes(word));
}

// The stacks from the outermost to this one.
export function pathTo(graph, place) {
  const path = [place];
  while (path.at(-1) !== 0) path.push(graph.stacks.parent[path.at(-1)]);
  return path.reverse();
}

// The children that are shown.
export function shownChildren(graph, place, { mode, certainOnly }) {
  return graph.children[place].filter((child) => weight(graph, child, mode) > 0
    && (!certainOnly || graph.leadsToCertain[child]));
}

// The drawing for `state` in so many pixels of width: rectangles with the stack, the row, the place
// and width, the tone, and whether the stack is one that the others were zoomed into.
//
// state: { mode: "before" | "after" | "difference", root, certainOnly }
export function layout(graph, state, width) {
  const { mode, root, certainOnly } = state;
  const rectangles = [];
  const paint = (place) => (certainOnly && !graph.certain[place]
    ? 0 : tone(graph.before[place], graph.after[place]));
  const path = [0, ...pathTo(graph, root).slice(1).slice(-MOST_CALLERS)];
  const top = path.length - 1;
  path.forEach((place, row) => {
    rectangles.push({ place, row, x: 0, width, tone: paint(place), isAncestor: row < top });
  });
  const whole = weight(graph, root, mode);
  const open = [{ place: root, x: 0 }];
  const scale = whole > 0 ? width / whole : 0;
  while (open.length > 0) {
    const parent = open.pop();
    const row = top + graph.depth[parent.place] - graph.depth[root] + 1;
    if (row > top + MOST_ROWS) continue;
    let { x } = parent;
    for (const place of shownChildren(graph, parent.place, state)) {
      const wide = weight(graph, place, mode) * scale;
      // A stack that is narrow in this mode may be wide in another: narrow ones may come before
      // wide ones.
      if (wide >= LEAST_WIDTH) {
        rectangles.push({ place, row, x, width: wide, tone: paint(place), isAncestor: false });
        open.push({ place, x });
      }
      x += wide;
    }
  }
  const rows = rectangles.reduce((most, { row }) => Math.max(most, row), 0) + 1;
  return { rectangles, rows };
}

// The stack at a point of the picture; null where nothing is drawn.
export function stackAt({ rectangles }, x, row) {
  return rectangles.find((it) => it.row === row && x >= it.x && x < it.x + it.width)?.place ?? null;
}

// The part of a text that fits; empty where too little would remain to be legible.
export function fit(text, width, widthOf) {
  if (widthOf(text) <= width) return text;
  let [least, most] = [0, text.length];
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (widthOf(`${text.slice(0, middle)}…`) <= width) least = middle;
    else most = middle - 1;
  }
  return least < 2 ? "" : `${text.slice(0, least)}…`;
}

// The stack that a key leads to: in to the greatest callee, out to the caller, aside to other
// callees of the same caller.
export function neighbor(graph, state, place, key) {
  const siblings = () => shownChildren(graph, graph.stacks.parent[place], state);
  const step = (by) => {
    if (place === 0) return place;
    const all = siblings();
    return all[all.indexOf(place) + by] ?? place;
  };
  switch (key) {
    case "ArrowDown": return shownChildren(graph, place, state)[0] ?? place;
    case "ArrowUp": return graph.stacks.parent[place];
    case "ArrowLeft": return step(-1);
    case "ArrowRight": return step(1);
    case "Home": return 0;
    default: return place;
  }
}

// Stacks whose function is found, and their part of the whole: each time counts once, however often
// the function is on a stack.
export function found(graph, names, find, mode) {
  const isFound = Uint8Array.from(graph.stacks.function, (it, place) => (place > 0 && find(names[it]) ? 1 : 0));
  const isInside = new Uint8Array(graph.count);
  let [count, sum] = [0, 0];
  for (let place = 1; place < graph.count; place += 1) {
    const parent = graph.stacks.parent[place];
    isInside[place] = isInside[parent] | isFound[place];
    if (!isFound[place]) continue;
    count += 1;
    if (!isInside[parent]) sum += weight(graph, place, mode);
  }
  const whole = weight(graph, 0, mode);
  return { isFound, count, part: whole > 0 ? sum / whole : 0 };
}
