// The visible time on each side, and the relation of the two sides.
//
// A window is { min, max } in µs. Each side has three, each within the one before:
//
//   entire     the whole recording; fixed
//   minimap    the reach of the handles above the chart
//   timeline   the visible part
//
// The experiment's time that belongs to a time of the base is that time and the offset. While
// the sides are linked, one follows the other in the same length, beyond its own ends if need
// be, so that both have one scale.

import { activate, add, initial, last, list } from "./breadcrumbs.js";

// The shortest window, in µs.
const SHORTEST = 1;

export const length = ({ min, max }) => max - min;

// A window moved by a time.
export const shifted = ({ min, max }, by) => ({ min: min + by, max: max + by });

// A window stretched around a time that keeps its place.
export const stretched = ({ min, max }, factor, at) => ({ min: at - (at - min) * factor, max: at + (max - at) * factor });

// The window of the same length, if it has room, that lies within another.
export function within({ min, max }, bounds) {
  const long = Math.min(Math.max(max - min, SHORTEST), Math.max(length(bounds), SHORTEST));
  const begin = Math.max(bounds.min, Math.min((min + max - long) / 2, bounds.max - long));
  // Where no shift is needed, not a digit changes.
  return long === max - min && min >= bounds.min && max <= bounds.max ? { min, max } : { min: begin, max: begin + long };
}

const isSame = (a, b) => a.min === b.min && a.max === b.max;

export class Windows {
  #sides = [];
  #offset = 0;
  #isLinked = true;
  #breadcrumbs = null;
  #listeners = new Set();

  // Begins with the recordings of both sides, from begin to begin.
  load(bounds) {
    this.#sides = bounds.map((entire) => ({ entire, minimap: entire, timeline: entire }));
    this.#offset = bounds[1].min - bounds[0].min;
    // The longer one decides the scale.
    const base = { min: bounds[0].min, max: bounds[0].min + Math.max(...bounds.map(length)) };
    this.#breadcrumbs = initial(base);
    this.#enter(base);
    this.#tell("loaded");
  }

  entire(side) { return this.#sides[side].entire; }
  minimap(side) { return this.#sides[side].minimap; }
  timeline(side) { return this.#sides[side].timeline; }
  get offset() { return this.#offset; }
  get isLinked() { return this.#isLinked; }
  get breadcrumbs() { return this.#breadcrumbs; }

  // Calls a function with each change; returns one that ends that.
  listen(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  // The visible part of a side: dragged, or zoomed.
  show(side, window) {
    const shown = within(window, this.#sides[side].minimap);
    if (isSame(shown, this.#sides[side].timeline)) return;
    this.#sides[side].timeline = shown;
    if (this.#isLinked) this.#follow(side);
    this.#tell("timeline");
  }

  // Like `show`, from the innermost breadcrumb that holds the window: those within it are left.
  reveal(side, window) {
    const holds = (it) => {
      const { min, max } = shifted(it.window, side * this.#offset);
      return window.min >= min && window.max <= max;
    };
    const all = list(this.#breadcrumbs);
    const holding = all.findLast(holds) ?? all[0];
    if (holding !== all.at(-1)) this.activateBreadcrumb(holding);
    this.show(side, window);
  }

  // Links or unlinks the sides. Linked again, the experiment takes the base's place.
  link(isLinked) {
    if (isLinked === this.#isLinked) return;
    this.#isLinked = isLinked;
    if (isLinked) this.#follow(0);
    this.#tell("link");
  }

  alignBegins() { this.#align(this.#sides[1].entire.min - this.#sides[0].entire.min); }

  // Aligns a moment of the base with one of the experiment.
  alignMarks(base, experiment) { this.#align(experiment - base); }

  // Drags the experiment along the base.
  drag(by) { this.#align(this.#offset + by); }

  // Narrows the view to the visible part of the base.
  addBreadcrumb() {
    this.#breadcrumbs = add(this.#breadcrumbs, this.#sides[0].timeline);
    this.#enter(last(this.#breadcrumbs).window);
    this.#tell("minimap");
  }

  // Goes back to a breadcrumb; those below are dropped.
  activateBreadcrumb(breadcrumb) {
    this.#breadcrumbs = activate(this.#breadcrumbs, breadcrumb);
    this.#enter(last(this.#breadcrumbs).window);
    this.#tell("minimap");
  }

  #align(offset) {
    if (offset === this.#offset) return;
    this.#offset = offset;
    const side = this.#sides[1];
    side.minimap = shifted(this.#sides[0].minimap, offset);
    if (this.#isLinked) this.#follow(0);
    else side.timeline = within(side.timeline, side.minimap);
    this.#tell("offset");
  }

  #enter(base) {
    this.#sides.forEach((side, place) => {
      side.minimap = shifted(base, place * this.#offset);
      side.timeline = side.minimap;
    });
  }

  #follow(leader) {
    const by = leader === 0 ? this.#offset : -this.#offset;
    this.#sides[1 - leader].timeline = shifted(this.#sides[leader].timeline, by);
  }

  #tell(change) {
    for (const listener of this.#listeners) listener(change);
  }
}
