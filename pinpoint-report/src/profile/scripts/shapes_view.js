// Shapes of overlays on a canvas.

const PAINT = {
  outline(context, { x, y, width, height }, ink) {
    context.strokeStyle = ink.link;
    context.lineWidth = 2;
    context.strokeRect(x + 1, y + 1, Math.max(1, width - 2), height - 2);
  },
  line(context, { x, height }, ink) {
    context.fillStyle = ink.link;
    context.fillRect(x, 0, 1, height);
  },
  // Above the entry, on a ground of its own.
  note(context, { x, y, text }, ink) {
    const wide = context.measureText(text).width + 8;
    const top = Math.max(0, y - 15);
    context.fillStyle = ink.paper;
    context.fillRect(x, top, wide, 15);
    context.strokeStyle = ink.link;
    context.lineWidth = 1;
    context.strokeRect(x + 0.5, top + 0.5, wide - 1, 14);
    context.fillStyle = ink.ink;
    context.fillText(text, x + 4, top + 8);
  },
};

export function drawShape(context, shape, ink) {
  PAINT[shape.shape](context, shape, ink);
}
