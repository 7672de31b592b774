"""Find the commit that changed a program's performance.

``compare_performance`` and ``compare_functional`` say whether two samples
differ. ``Bisection`` searches a range of commits; the caller runs the
benchmark:

>>> search = Bisection(["v1", "v2", "v3", "v4"], magnitude=1.0)
>>> times = [10.0, 10.0, 12.0, 12.0]
>>> while batch := search.next():
...     for index, runs in batch:
...         search.record(index, [times[index] + 0.01 * run for run in range(runs)])
>>> search.outcome.status, search.outcome.culprits
('culprit_found', [(2, None)])
"""

from ._pinpoint import (
    Bisection,
    FunctionalComparison,
    Outcome,
    PerformanceComparison,
    __version__,
    compare_functional,
    compare_performance,
)

__all__ = [
    "Bisection",
    "FunctionalComparison",
    "Outcome",
    "PerformanceComparison",
    "__version__",
    "compare_functional",
    "compare_performance",
]
