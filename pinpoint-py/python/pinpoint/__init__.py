"""Find the commit that changed a program's performance.

Statistics: :func:`compare_performance`, :func:`compare_functional` and
:func:`compare_pairwise` decide whether samples differ, :func:`compare_many` does
so for many pairs at once; :func:`mann_whitney_u`, :func:`ks_2samp` and
:func:`wilcoxon` are the tests behind them. :func:`detect` finds the changes in a history of
values, :class:`Detector` does so value by value; :class:`Traces` reads the history that
``pinpoint ingest`` keeps.

:func:`bisect` finds the commit in a git repository, running commands or functions;
:func:`pairwise` compares two commits in pairs of runs, :func:`culprit` does both.
:func:`bisect_async`, :func:`pairwise_async` and :func:`culprit_async` do so on your
event loop, :class:`Executor` with your own builds and runs. :func:`jobs` lists the jobs begun
here and on the command line; :func:`job_outcome` and :func:`cancel_job` take their ids.
:func:`doctor` finds the causes of noise in measurements on this machine. :func:`explain` finds
the functions that moved between the profiles of two builds, :func:`read_profile` reads one.

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

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._errors import (
    BuildFailed,
    ExecutionError,
    Interrupted,
    JobError,
    PinpointError,
    RepositoryError,
    RunFailed,
    Unavailable,
)
from ._executor import Executor
from ._jobs import Midpoint, cancel_job, job_outcome, jobs, midpoint
from ._model import (
    CombinedCommit,
    Commit,
    Culprit,
    JobOutcome,
    JobRecord,
    MeasuredMetric,
    Measurement,
    ModifiedDependency,
    PairwiseJobOutcome,
    Patch,
    Progress,
)
from ._pinpoint import (
    Bisection,
    Comparisons,
    CulpritFinder,
    Detector,
    Pairwise,
    Profile,
    __version__,
    compare_functional,
    compare_many,
    compare_pairwise,
    compare_performance,
    detect,
    ks_2samp,
    mann_whitney_u,
    perfherder_alerts,
    wilcoxon,
)
from ._results import (
    Alarm,
    ChartComparison,
    CheckedCulprit,
    CulpritFinderOutcome,
    Effect,
    FunctionalComparison,
    KolmogorovSmirnovResult,
    LargestChange,
    MannWhitneyResult,
    Outcome,
    Pair,
    PairwiseComparison,
    PairwiseOutcome,
    PerfherderAlert,
    PerformanceComparison,
    Posterior,
    Retraction,
    SeriesChange,
    Span,
    WilcoxonResult,
)

if TYPE_CHECKING:
    from . import catapult as catapult
    from . import plot as plot
    from ._bots import Bot, Bots, Swarming
    from ._doctor import Diagnosis, Finding, LoopTimes, doctor
    from ._drive import (
        bisect,
        bisect_async,
        culprit,
        culprit_async,
        pairwise,
        pairwise_async,
    )
    from ._options import Checkout
    from ._profile import (
        CostChange,
        Detectable,
        Explanation,
        FunctionChange,
        PartChange,
        explain,
        read_profile,
    )
    from ._traces import (
        PivotTable,
        TraceCommit,
        TraceFrame,
        Traces,
        TriedTrace,
        ValueSource,
        VerticalTable,
    )

__all__ = [
    "Alarm",
    "Bisection",
    "Bot",
    "Bots",
    "BuildFailed",
    "ChartComparison",
    "CheckedCulprit",
    "Checkout",
    "CombinedCommit",
    "Commit",
    "Comparisons",
    "CostChange",
    "Culprit",
    "CulpritFinder",
    "CulpritFinderOutcome",
    "Detectable",
    "Detector",
    "Diagnosis",
    "Effect",
    "ExecutionError",
    "Executor",
    "Explanation",
    "Finding",
    "FunctionChange",
    "FunctionalComparison",
    "Interrupted",
    "JobError",
    "JobOutcome",
    "JobRecord",
    "KolmogorovSmirnovResult",
    "LargestChange",
    "LoopTimes",
    "MannWhitneyResult",
    "MeasuredMetric",
    "Measurement",
    "Midpoint",
    "ModifiedDependency",
    "Outcome",
    "Pair",
    "Pairwise",
    "PairwiseComparison",
    "PairwiseJobOutcome",
    "PairwiseOutcome",
    "PartChange",
    "Patch",
    "PerfherderAlert",
    "PerformanceComparison",
    "PinpointError",
    "PivotTable",
    "Posterior",
    "Profile",
    "Progress",
    "RepositoryError",
    "Retraction",
    "RunFailed",
    "SeriesChange",
    "Span",
    "Swarming",
    "TraceCommit",
    "TraceFrame",
    "Traces",
    "TriedTrace",
    "Unavailable",
    "ValueSource",
    "VerticalTable",
    "WilcoxonResult",
    "__version__",
    "bisect",
    "bisect_async",
    "cancel_job",
    "compare_functional",
    "compare_many",
    "compare_pairwise",
    "compare_performance",
    "culprit",
    "culprit_async",
    "detect",
    "doctor",
    "explain",
    "job_outcome",
    "jobs",
    "ks_2samp",
    "mann_whitney_u",
    "midpoint",
    "pairwise",
    "pairwise_async",
    "perfherder_alerts",
    "read_profile",
    "wilcoxon",
]

# Names that few users need and that take long to import (asyncio, json).
_LATER = {
    "Bot": "_bots",
    "Bots": "_bots",
    "Swarming": "_bots",
    "Diagnosis": "_doctor",
    "Finding": "_doctor",
    "LoopTimes": "_doctor",
    "doctor": "_doctor",
    "bisect": "_drive",
    "bisect_async": "_drive",
    "culprit": "_drive",
    "culprit_async": "_drive",
    "pairwise": "_drive",
    "pairwise_async": "_drive",
    "Checkout": "_options",
    "CostChange": "_profile",
    "Detectable": "_profile",
    "Explanation": "_profile",
    "FunctionChange": "_profile",
    "PartChange": "_profile",
    "explain": "_profile",
    "read_profile": "_profile",
    "PivotTable": "_traces",
    "TraceCommit": "_traces",
    "TraceFrame": "_traces",
    "Traces": "_traces",
    "TriedTrace": "_traces",
    "ValueSource": "_traces",
    "VerticalTable": "_traces",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in ("catapult", "plot"):
        return import_module(f".{name}", __name__)
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f".{_LATER[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
