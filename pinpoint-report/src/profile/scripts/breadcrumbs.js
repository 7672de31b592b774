// The windows that a user went into, each strictly within the one before: { window, child }. They
// are never changed: each function returns others.

export const initial = (window) => ({ window, child: null });

// From the outermost to the innermost.
export function list(breadcrumb) {
  const all = [];
  for (let it = breadcrumb; it !== null; it = it.child) all.push(it);
  return all;
}

export const last = (breadcrumb) => list(breadcrumb).at(-1);

// Returns whether a window is within another, and not the same.
export function isInside(inner, outer) {
  return inner.min >= outer.min && inner.max <= outer.max && inner.max > inner.min
    && (inner.min > outer.min || inner.max < outer.max);
}

// Goes into a window.
export function add(breadcrumb, window) {
  if (!isInside(window, last(breadcrumb).window)) throw new RangeError("a breadcrumb lies within the one before");
  return list(breadcrumb).reduceRight((child, { window: own }) => ({ window: own, child }), initial(window));
}

// Goes back to one of them; those below it are dropped.
export function activate(breadcrumb, chosen) {
  const all = list(breadcrumb);
  const place = all.indexOf(chosen);
  if (place < 0) throw new RangeError("this is not one of the breadcrumbs");
  return all.slice(0, place + 1).reduceRight((child, { window }) => ({ window, child }), null);
}
