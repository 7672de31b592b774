// The comparison of the paths of all runs' stacks: a stack's total, including callees, is compared
// over the runs. Paths are columns, callers before callees:
//
//   { stack: [1, 3], difference: [9, 9], interval: [[7, 11], null], p: [0.01, null], certain: [1, 0] }
//
// Smaller stacks have none.

// `known` returns the comparison of a stack, `called` the stack in which a stack calls a function;
// both return null where there is none.
export function pathsOf(stacks, paths) {
  const rows = new Map(paths.stack.map((stack, row) => [stack, row]));
  const key = (caller, called) => `${caller} ${called}`;
  const inner = new Map(paths.stack.map((stack) => [key(stacks.parent[stack], stacks.function[stack]), stack]));
  return {
    known(stack) {
      const row = rows.get(stack);
      if (row === undefined) return null;
      const { difference, interval, p, certain } = paths;
      return { difference: difference[row], interval: interval[row], p: p[row], isCertain: certain[row] === 1 };
    },
    called: (caller, called) => inner.get(key(caller, called)) ?? null,
  };
}

// For each stack whether its difference is certain: as a path, if it is one; otherwise its
// function's.
export function certainStacks(stacks, paths, certainFunctions) {
  return Uint8Array.from(stacks.function, (called, stack) => {
    if (stack === 0) return 0;
    return paths.known(stack)?.isCertain ?? certainFunctions[called] ? 1 : 0;
  });
}
