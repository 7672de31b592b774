"""Times `ujson`: a document encoded and decoded. Prints the processor time of the fastest of
equal passes."""

import os
import sys
import time

sys.dont_write_bytecode = True
sys.path[0] = os.getcwd()

import ujson  # noqa: E402

DOCUMENT = [{"id": n, "name": f"name {n} \u00e4\u00f6 \"quoted\"", "price": n / 7, "tags": ["a", "bc", "def"] * 3,
             "flag": n % 2 == 0, "none": None, "inner": {"x": n * 12345, "y": -n}} for n in range(1500)]

assert ujson.__file__.startswith(os.getcwd()), ujson.__file__


def fastest(work):
    times = []
    for _ in range(20):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times) * 1000


text = ujson.dumps(DOCUMENT)
print(f"encode: {fastest(lambda: ujson.dumps(DOCUMENT)):.4f} ms")
print(f"decode: {fastest(lambda: ujson.loads(text)):.4f} ms")
