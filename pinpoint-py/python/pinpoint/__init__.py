"""Find the commit that changed a program's performance.

Statistics: :func:`compare_performance`, :func:`compare_functional` and
:func:`compare_pairwise` decide whether samples differ, :func:`compare_many` does
so for many pairs at once; :func:`mann_whitney_u`, :func:`ks_2samp` and
:func:`wilcoxon` are the tests behind them.

Searches: :class:`Bisection` finds the commits that changed a benchmark,
:class:`Pairwise` compares two commits, :class:`CulpritFinder` does both. They run
nothing; the caller does:

>>> search = Bisection(["v1", "v2", "v3", "v4"], magnitude=1.0)
>>> times = [10.0, 10.0, 12.0, 12.0]
>>> while batch := search.next():
...     for index, runs in batch:
...         search.record(index, [times[index] + 0.01 * (7 * run % 5) for run in range(runs)])
>>> search.outcome.status, search.outcome.culprits[0][0]
('culprit_found', 2)
"""

from ._pinpoint import (
    Bisection,
    Comparisons,
    CulpritFinder,
    Pairwise,
    __version__,
    compare_functional,
    compare_many,
    compare_pairwise,
    compare_performance,
    ks_2samp,
    mann_whitney_u,
    wilcoxon,
)
from ._results import (
    ChartComparison,
    CheckedCulprit,
    CulpritFinderOutcome,
    Effect,
    FunctionalComparison,
    KolmogorovSmirnovResult,
    MannWhitneyResult,
    Outcome,
    Pair,
    PairwiseComparison,
    PairwiseOutcome,
    PerformanceComparison,
    Posterior,
    Span,
    WilcoxonResult,
)

__all__ = [
    "Bisection",
    "ChartComparison",
    "CheckedCulprit",
    "Comparisons",
    "CulpritFinder",
    "CulpritFinderOutcome",
    "Effect",
    "FunctionalComparison",
    "KolmogorovSmirnovResult",
    "MannWhitneyResult",
    "Outcome",
    "Pair",
    "Pairwise",
    "PairwiseComparison",
    "PairwiseOutcome",
    "PerformanceComparison",
    "Posterior",
    "Span",
    "WilcoxonResult",
    "__version__",
    "compare_functional",
    "compare_many",
    "compare_pairwise",
    "compare_performance",
    "ks_2samp",
    "mann_whitney_u",
    "wilcoxon",
]
