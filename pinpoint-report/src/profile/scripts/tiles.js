// A flame chart in tiles: pictures of equal width, side by side along the time, that are kept while
// the window moves along it. So a picture of the whole window costs no more than the tiles that
// come into sight, however many entries are visible. Another scale has other tiles.
//
// Lengths are pixels of the screen, so that tiles meet without a seam. Tile 0 begins at the time 0.

// The width of a tile.
export const TILE = 256;

// The number of tiles to keep: those in sight on a large screen, and some around them.
const MOST = 24;

// Scales that differ by less are the same: a moved window is longer or shorter by a digit.
const SAME = 1e-9;

// The tiles in a window of so many pixels that begins at a pixel: their numbers, and their places.
export function tilesIn(begin, width) {
  const first = Math.floor(begin / TILE);
  const last = Math.max(first, Math.ceil((begin + width) / TILE) - 1);
  return Array.from({ length: last - first + 1 }, (_, place) => ({
    number: first + place, x: (first + place) * TILE - begin,
  }));
}

export class Tiles {
  #tiles = new Map();
  #scale = 0;
  #content = [];

  // Sets the scale, in pixels per µs, and the content of tiles: values that are the same for as
  // long as tiles look the same. Forgets all tiles where that changes. Returns the scale to draw
  // in.
  show(scale, content) {
    const isSame = Math.abs(scale - this.#scale) <= SAME * scale
      && content.length === this.#content.length && content.every((it, place) => it === this.#content[place]);
    if (!isSame) {
      this.#tiles.clear();
      this.#scale = scale;
      this.#content = content;
    }
    return this.#scale;
  }

  // A tile; if it is not kept, the drawing of its window of time by `paint`.
  tile(number, paint) {
    const tile = this.#tiles.get(number)
      ?? paint({ min: number * TILE / this.#scale, max: (number + 1) * TILE / this.#scale });
    // The most recently used one comes last.
    this.#tiles.delete(number);
    this.#tiles.set(number, tile);
    if (this.#tiles.size > MOST) this.#tiles.delete(this.#tiles.keys().next().value);
    return tile;
  }
}
