// The load of the selected track of each side, over the reach of the handles, and the visible part
// of it.

import { busy } from "./chart.js";
import { prepare } from "./elements.js";
import { length } from "./windows.js";

// The height of one side.
const HEIGHT = 28;

// Draws on the canvas, and chooses a window by dragging. `selected` returns the track of a side,
// and its place. Returns a function that draws it in colors.
export function minimapView(canvas, charts, windows, selected) {
  // The bars of a side, which are needed in every picture and seldom change.
  const known = charts.map(() => ({ key: "", picture: null }));

  function bars(side, width, color) {
    const [{ track, place }, reach] = [selected(side), windows.minimap(side)];
    const key = [place, reach.min, reach.max, width, color].join();
    if (known[side].key !== key) {
      const drawn = new OffscreenCanvas(width, HEIGHT);
      const context = drawn.getContext("2d");
      context.fillStyle = color;
      busy(track, reach, width).forEach((part, x) => {
        context.fillRect(x, HEIGHT - part * (HEIGHT - 3), 1, part * (HEIGHT - 3));
      });
      known[side] = { key, picture: drawn.transferToImageBitmap() };
    }
    return known[side].picture;
  }

  const reached = (event) => {
    const box = canvas.getBoundingClientRect();
    const reach = windows.minimap(0);
    return reach.min + (event.clientX - box.left) * length(reach) / box.width;
  };
  let brushed = null;
  canvas.addEventListener("pointerdown", (event) => { brushed = reached(event); canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    if (brushed === null) return;
    const now = reached(event);
    if (now !== brushed) windows.show(0, { min: Math.min(brushed, now), max: Math.max(brushed, now) });
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { brushed = null; });

  return function draw(ink) {
    const width = canvas.parentElement.clientWidth;
    const context = prepare(canvas, width, 2 * HEIGHT);
    charts.forEach((_, side) => {
      const reach = windows.minimap(side);
      context.drawImage(bars(side, Math.max(1, width), ink.many), 0, side * HEIGHT);
      const seen = windows.timeline(side);
      const across = (moment) => (moment - reach.min) * width / length(reach);
      context.fillStyle = ink.paper;
      context.globalAlpha = 0.7;
      context.fillRect(0, side * HEIGHT, across(seen.min), HEIGHT);
      context.fillRect(across(seen.max), side * HEIGHT, width, HEIGHT);
      context.globalAlpha = 1;
    });
    const [from, to] = ["min", "max"].map((end) => (windows.timeline(0)[end] - windows.minimap(0).min) * width / length(windows.minimap(0)));
    context.strokeStyle = ink.link;
    context.lineWidth = 2;
    context.strokeRect(Math.max(1, from), 1, Math.max(2, to - from - 2), 2 * HEIGHT - 2);
  };
}
