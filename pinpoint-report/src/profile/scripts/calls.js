// The callers and callees of a function: a pure function of the columns of the page's data.

// The callers and callees of a function, the greatest first, each as an object with the other
// function and the cost on the way.
export function neighbors(calls, chosen) {
  const sides = { callers: [], callees: [] };
  calls.caller.forEach((caller, place) => {
    const callee = calls.callee[place];
    if (callee !== chosen && caller !== chosen) return;
    const { before, after, difference, interval, p } = calls;
    const call = {
      before: before[place], after: after[place], difference: difference[place], interval: interval[place], p: p[place],
    };
    if (callee === chosen) sides.callers.push({ ...call, other: caller });
    else sides.callees.push({ ...call, other: callee });
  });
  const size = ({ before, after }) => Math.max(before, after);
  for (const list of Object.values(sides)) list.sort((a, b) => size(b) - size(a) || a.other - b.other);
  return sides;
}
