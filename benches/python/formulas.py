"""`ave(norm(fill(filter(…))))` over 100,000 traces of 128 values, half of them missing, in NumPy.

    python3 benches/python/formulas.py
"""

import time

import numpy as np

values = np.random.default_rng(1).uniform(100, 200, (100_000, 128))
values[np.random.default_rng(2).random(values.shape) < 0.5] = np.nan


def fill(x: np.ndarray) -> np.ndarray:
    # The column of the next value present, or of the last one.
    columns = np.where(np.isnan(x), x.shape[1], np.arange(x.shape[1]))
    columns = np.minimum.accumulate(columns[:, ::-1], axis=1)[:, ::-1]
    last = x.shape[1] - 1 - np.argmax(~np.isnan(x[:, ::-1]), axis=1)
    filled = np.take_along_axis(x, np.minimum(columns, last[:, None]), axis=1)
    return np.where(np.isnan(filled), 0.0, filled)


def norm(x: np.ndarray) -> np.ndarray:
    mean = x.mean(axis=1, keepdims=True)
    deviation = x.std(axis=1, keepdims=True)
    return (x - mean) / np.where(deviation > 0.001, deviation, 1.0)


times = []
for _ in range(7):
    start = time.perf_counter()
    result = norm(fill(values)).mean(axis=0)
    times.append(time.perf_counter() - start)
assert result.shape == (128,) and np.isfinite(result).all()
print(f"NumPy {np.__version__}: {sorted(times)[len(times) // 2] * 1000:.0f} ms, the median of {len(times)}")
