// A flame chart in tiles: pictures of equal width, side by side along the time, that are kept while
// one moves along it. So a picture of the whole window costs what the tiles cost that come into
// sight, however many entries are seen. Another scale has other tiles.
//
// Lengths are pixels of the screen, so that tiles meet without a seam. Tile 0 begins at the time 0.

// How wide a tile is.
export const TILE = 256;

// So many tiles are kept: those in sight on a large screen, and some around them.
const MOST = 24;

// Scales that differ by less are the same: a window that is moved is longer or shorter by a digit.
const SAME = 1e-9;

// The tiles in a window of so many pixels that begins at a pixel: their numbers, and where they are.
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

  // Sets the scale, in pixels per µs, and what tiles show: values that are the same for as long as
  // tiles look the same. Forgets all tiles where that is something else. Gives the scale to draw in.
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

  // A tile; where it is not kept, what `paint` makes of its window of time.
  tile(number, paint) {
    const tile = this.#tiles.get(number)
      ?? paint({ min: number * TILE / this.#scale, max: (number + 1) * TILE / this.#scale });
    // The last one that was asked for stands last.
    this.#tiles.delete(number);
    this.#tiles.set(number, tile);
    if (this.#tiles.size > MOST) this.#tiles.delete(this.#tiles.keys().next().value);
    return tile;
  }
}
