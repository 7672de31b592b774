#!/usr/bin/env python3
"""The statistics from Python compared with SciPy's, and the time to import the module.

    pip install scipy ./pinpoint-py        # a release build
    python benches/python/statistics.py

Each figure is the smallest of several rounds, in which the two compared
functions take turns. The targets are limits: a line that misses its own ends with MISSED,
and the exit code is 1 then.
"""

import subprocess
import sys
import time

import numpy as np
from scipy import stats

import pinpoint

RANDOM = np.random.default_rng(1)
missed = []


def best(*functions, calls, rounds=7):
    """Seconds a call of each, the smallest of all rounds."""
    times = [float("inf")] * len(functions)
    for _ in range(rounds):
        for place, function in enumerate(functions):
            start = time.perf_counter()
            for _ in range(calls):
                function()
            times[place] = min(times[place], (time.perf_counter() - start) / calls)
    return times


def line(name, ours, theirs, factor, target):
    verdict = "" if factor >= target else "  MISSED"
    missed.extend([name] * (factor < target))
    print(f"{name:34} {ours * 1e6:12.1f} µs {theirs * 1e6:14.1f} µs {factor:8.1f} x  (at least {target} x){verdict}")


def sample(size, mean=100.0):
    return RANDOM.normal(mean, 3.0, size)


def main():
    print(f"{'':34} {'pinpoint':>15} {'SciPy':>17}")
    a, b = sample(160), sample(160, 101.0)
    ours = pinpoint.mann_whitney_u(a, b)
    assert abs(ours.pvalue - stats.mannwhitneyu(a, b).pvalue) < 1e-12
    times = best(lambda: pinpoint.mann_whitney_u(a, b), lambda: stats.mannwhitneyu(a, b), calls=200)
    line("mann_whitney_u, n = 160", *times, times[1] / times[0], 50)

    # The cost of a call without the test, which takes almost no time here.
    one, other = sample(1), sample(1)
    (overhead,) = best(lambda: pinpoint.mann_whitney_u(one, other), calls=2000)
    missed.extend(["overhead"] * (overhead > 3e-6))
    print(f"{'  of which the call, by n = 1':34} {overhead * 1e6:12.1f} µs {'':26}  (at most 3 µs)")

    x, y = sample(49), sample(49, 101.0)
    assert abs(pinpoint.wilcoxon(x, y).pvalue - stats.wilcoxon(x, y).pvalue) < 1e-12
    times = best(lambda: pinpoint.wilcoxon(x, y), lambda: stats.wilcoxon(x, y), calls=200)
    line("wilcoxon, n = 49", *times, times[1] / times[0], 30)

    a, b = sample(1_000_000), sample(1_000_000, 100.01)
    times = best(lambda: pinpoint.mann_whitney_u(a, b), lambda: stats.mannwhitneyu(a, b), calls=1, rounds=3)
    line("mann_whitney_u, n = 1,000,000", *times, times[1] / times[0], 3)

    pairs = [(sample(100), sample(100, 100.5)) for _ in range(10_000)]
    times = best(
        lambda: pinpoint.compare_many(pairs, threads=2),
        lambda: pinpoint.compare_many(pairs, threads=1),
        calls=1,
        rounds=15,
    )
    print(f"\n{'':34} {'two threads':>15} {'one thread':>17}")
    line("compare_many, 10,000 pairs of 100", *times, times[1] / times[0], 1.8)

    def start(program):
        subprocess.run([sys.executable, "-c", program], check=True)

    numpy, module = best(
        lambda: start("import numpy"), lambda: start("import numpy, pinpoint"), calls=1, rounds=15
    )
    over = (module - numpy) * 1000
    print(f"\nimport pinpoint, above import numpy: {over:.1f} ms  (at most 30 ms)")
    missed.extend(["import"] * (over > 30))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
