// The entries of one side on its canvas: rectangles in tiles that are kept while the window moves,
// and over them the names, which stay in sight.

import { layout } from "./flame_chart.js";
import { fit } from "./flame_graph.js";
import { TILE, Tiles, tilesIn } from "./tiles.js";
import { length } from "./windows.js";

export const SIZES = { head: 18, row: 16, most: 60 };
// The looks of entries: by the difference of their function, and dim unless they match the search.
export const LOOKS = [false, true].flatMap((isDim) => [-3, 0, 3].map((tone) => ({ tone, isDim })));
// The approximate width of a character in pixels: measuring thousands of texts would take longer
// than drawing them.
const CHARACTER = 6.8;
const widthOf = (text) => text.length * CHARACTER;
// The narrowest entry that is named, in pixels.
const NAMED = 24;
// The color of its name, which has to be legible on the entry.
const inkOf = ({ tone, isDim }) => (isDim ? "soft" : tone === 0 ? "dark-ink" : "light-ink");

// Returns a function that draws on a canvas. It takes the window, its width in pixels, the places
// and the total height of tracks (`arrangement`), the look of each kind (`looks`: places in LOOKS),
// the colors, the pixels of the screen for each of the page, and the top of the tracks.
export function entriesView({ tracks, kinds }) {
  const tiles = new Tiles();

  // The rectangles in a tile's window, and the entries that may be named.
  function paint(part, { placed, height, looks, ink, ratio }) {
    const canvas = new OffscreenCanvas(TILE, Math.max(1, Math.round(height * ratio)));
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    const width = TILE / ratio;
    const least = NAMED * length(part) / width;
    const named = [];
    let last = null;
    for (const { track: place, rows, bodyTop } of placed) {
      const track = tracks[place];
      for (const { entry, row, x, width: wide, isMany, isCut, look } of layout(track, track.rows.slice(0, rows), part, width, looks)) {
        const { tone, isDim } = LOOKS[look];
        const y = bodyTop + row * SIZES.row;
        const color = isMany ? ink.many : ink[`tone${tone}`];
        if (color !== last) context.fillStyle = last = color;
        if (isDim) context.globalAlpha = 0.3;
        context.fillRect(x, y, Math.max(1, wide - (wide > 3 && !isCut ? 1 : 0)), SIZES.row - 1);
        if (isDim) context.globalAlpha = 1;
        if (!isMany && track.durations[entry] >= least) named.push({ track: place, entry, y, color: inkOf(LOOKS[look]) });
      }
    }
    return { picture: canvas.transferToImageBitmap(), named };
  }

  return function draw(context, { window, width, top, ...content }) {
    const { placed, height, looks, ink, ratio } = content;
    const scale = tiles.show(width * ratio / length(window), [JSON.stringify(placed), height, looks, Object.values(ink).join(), ratio]);
    const begin = Math.round(window.min * scale);
    const seen = tilesIn(begin, Math.round(width * ratio)).map(({ number, x }) => ({ x, number, ...tiles.tile(number, (part) => paint(part, content)) }));
    context.save();
    context.setTransform(1, 0, 0, 1, 0, 0);
    for (const { picture, x } of seen) context.drawImage(picture, x, Math.round(top * ratio));
    context.restore();
    seen.forEach(({ number, named }, at) => {
      for (const { track, entry, y, color } of named) {
        const { starts, durations, kinds: of } = tracks[track];
        const start = starts[entry] * scale;
        // An entry in several tiles is named in the first.
        if (start < number * TILE ? at > 0 : start >= (number + 1) * TILE) continue;
        const x = Math.max(0, (start - begin) / ratio);
        const wide = Math.min(width, (start + durations[entry] * scale - begin) / ratio) - x;
        if (wide < NAMED) continue;
        context.fillStyle = ink[color];
        context.fillText(fit(kinds[of[entry]].name || "(anonymous)", wide - 6, widthOf), x + 3, top + y + SIZES.row / 2);
      }
    });
  };
}
