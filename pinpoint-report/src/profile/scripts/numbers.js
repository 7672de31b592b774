// Numbers in a readable form, the same as in the tables of the page (quantity.rs).

const TIMES = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const SIZES = [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];

// Four significant digits.
export function digits(value) {
  const size = Math.abs(value);
  if (size !== 0 && !(size >= 1e-4 && size < 1e7)) return value.toExponential(3).replace("e+", "e");
  if (size === 0 || size >= 1000) return value.toFixed(0);
  return value.toFixed(Math.min(7, 3 - Math.floor(Math.log10(size))));
}

// A value with its unit, in a fitting prefix.
export function amount(value, unit) {
  const scales = { nanoseconds: TIMES, bytes: SIZES }[unit];
  if (!scales) return `${digits(value)} ${unit}`;
  const [scale, name] = scales.find(([least]) => Math.abs(value) >= least) ?? scales.at(-1);
  return `${digits(value / scale)} ${name}`;
}

// A difference, with its sign.
export function signed(value, unit) {
  return (value >= 0 ? "+" : "") + amount(value, unit);
}

// A difference, with its interval if it has one.
export function signedWithInterval({ difference, interval }, unit) {
  const ends = interval ? ` [${interval.map((end) => signed(end, unit)).join(", ")}]` : "";
  return signed(difference, unit) + ends;
}

// A difference in percent of the level before; empty without one.
export function relative(before, after) {
  const part = 100 * (after - before) / before;
  return Number.isFinite(part) ? `${part >= 0 ? "+" : ""}${part.toFixed(1)} %` : "";
}

// A p-value: never 0, and only with meaningful digits.
export function pValue(p) {
  return p >= 0.001 ? p.toFixed(3) : p.toExponential(1);
}
