"""Times `sqlparse`: SQL formatted. Prints the processor time of the fastest of equal passes."""

import os
import sys
import time

sys.dont_write_bytecode = True
sys.path[0] = os.getcwd()

import sqlparse  # noqa: E402

SQL = "SELECT a.id, b.name AS n, (SELECT MAX(x) FROM t WHERE y > 3 AND z IN (1, 2, 3)) FROM foo a LEFT JOIN bar b " \
    "ON a.id = b.id WHERE a.v = 'str' GROUP BY a.id HAVING COUNT(*) > 1 ORDER BY n DESC;\n"

assert sqlparse.__file__.startswith(os.getcwd()), sqlparse.__file__
fastest = float("inf")
for _ in range(6):
    start = time.process_time()
    sqlparse.format(SQL * 5, reindent=True, keyword_case="upper")
    fastest = min(fastest, time.process_time() - start)
# One release prints its progress.
print(f"\nformat: {fastest * 1000:.4f} ms")
