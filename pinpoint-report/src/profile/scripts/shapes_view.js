// Shapes of overlays on a canvas.

// The end of the text of a band: below the ruler, since the end of the band may be out of sight.
const BAND_TEXT = 36;

const PAINT = {
  outline(context, { x, y, width, height }, ink) {
    context.strokeStyle = ink.link;
    context.lineWidth = 2;
    context.strokeRect(x + 1, y + 1, Math.max(1, width - 2), height - 2);
  },
  band(context, { x, y, width, height, text }, ink) {
    context.globalAlpha = 0.15;
    context.fillStyle = ink.link;
    context.fillRect(x, y, Math.max(1, width), height);
    context.globalAlpha = 1;
    context.fillRect(x, y, 1, height);
    context.fillRect(x + width - 1, y, 1, height);
    PAINT.note(context, { x, y: BAND_TEXT, text }, ink);
  },
  arrow(context, { x, y, width, height }, ink) {
    const [toX, toY] = [x + width, y + height];
    const angle = Math.atan2(height, width);
    context.strokeStyle = ink.link;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(toX, toY);
    for (const side of [-0.5, 0.5]) {
      context.moveTo(toX, toY);
      context.lineTo(toX - 8 * Math.cos(angle + side), toY - 8 * Math.sin(angle + side));
    }
    context.stroke();
  },
  line(context, { x, height }, ink) {
    context.fillStyle = ink.link;
    context.fillRect(x, 0, 1, height);
  },
  // Above the entry, on its own background, and within the canvas.
  note(context, { x: wanted, y, text }, ink) {
    const wide = context.measureText(text).width + 8;
    const x = Math.max(0, Math.min(wanted, context.canvas.clientWidth - wide));
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
