"""The extension module. Its documentation is written here: the build takes the
docstrings from this file."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, SupportsFloat, SupportsIndex, final, overload

import numpy as np
import numpy.typing as npt

from ._results import (
    Alarm,
    CulpritFinderOutcome,
    FunctionalComparison,
    KolmogorovSmirnovResult,
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
    WilcoxonResult,
)
from ._samples import Sample as _Sample

__all__ = [
    "Bisection",
    "BotConfigs",
    "Comparisons",
    "CulpritFinder",
    "Detector",
    "Pairwise",
    "Profile",
    "Stop",
    "TraceReader",
    "__version__",
    "combined_commit",
    "compare_functional",
    "compare_many",
    "compare_pairwise",
    "compare_performance",
    "detect",
    "doctor",
    "drive",
    "explain_profiles",
    "high_threshold",
    "ks_2samp",
    "mann_whitney_u",
    "midpoint",
    "outcome_document",
    "pairwise_outcome",
    "parse_profile",
    "perfherder_alerts",
    "stored_jobs",
    "stored_outcome",
    "try_to_cancel",
    "wilcoxon",
]
__version__: str

_Alternative = Literal["two-sided", "less", "greater"]
_Direction = Literal["up", "down", "unknown"]
_Method = Literal["auto", "exact", "asymptotic", "pinpoint"]
_Strategy = Literal["adaptive", "pinpoint"]
_StrPath = str | PathLike[str]
_Columns = dict[str, list[str] | npt.NDArray[Any]]
_Run = SupportsFloat | Mapping[str, SupportsFloat] | None

def mann_whitney_u(
    a: _Sample, b: _Sample, alternative: _Alternative = "two-sided", method: _Method = "auto"
) -> MannWhitneyResult:
    """The Mann-Whitney U test: does one of two samples tend to larger values?

    Parameters
    ----------
    a, b : array_like, shape (n,) and (m,)
        Independent values, in one unit. A contiguous NumPy array of float64 is
        read without copying; no other thread may write to it during the call.
    alternative : {"two-sided", "less", "greater"}
        The alternative: a is shifted to either side, to smaller or to larger
        values.
    method : {"auto", "exact", "asymptotic", "pinpoint"}
        ``"auto"``, like SciPy: exact when a sample has at most 8 values and there
        are no ties. ``"pinpoint"``: two-sided, with the decisions of Chromium's Pinpoint.

    Returns
    -------
    MannWhitneyResult
        ``statistic, pvalue``, and the ``method`` taken.

    Raises
    ------
    ValueError
        An empty sample, values that are not finite, a method that is not
        applicable or does not fit the alternative.
    TypeError
        Not a sequence of numbers.

    References
    ----------
    Mann & Whitney 1947. Checked against SciPy.

    Examples
    --------
    >>> import pinpoint
    >>> statistic, pvalue = pinpoint.mann_whitney_u([1, 2, 3], [4, 5, 6, 7])
    >>> statistic, round(pvalue, 3)
    (0.0, 0.057)
    >>> pinpoint.mann_whitney_u([1, 2, 3], [4, 5, 6, 7]).method
    'exact'
    """

def ks_2samp(a: _Sample, b: _Sample, method: _Method = "auto") -> KolmogorovSmirnovResult:
    """The two-sample Kolmogorov-Smirnov test, two-sided.

    It sees changes of shape and spread as well as shifts.

    Parameters
    ----------
    a, b : array_like, shape (n,) and (m,)
        Independent values, in one unit.
    method : {"auto", "exact", "asymptotic", "pinpoint"}
        ``"auto"``, like SciPy: exact up to 10,000 values a sample.
        ``"pinpoint"``: the limit distribution with Stephens' correction.

    Returns
    -------
    KolmogorovSmirnovResult
        ``statistic``, ``pvalue`` and the ``method`` taken.

    Raises
    ------
    ValueError
        An empty sample, values that are not finite, samples too large to count.
    TypeError
        Not a sequence of numbers.

    References
    ----------
    Hodges 1958; Stephens 1970. Checked against SciPy.
    """

def wilcoxon(
    x: _Sample,
    y: _Sample | None = None,
    alternative: _Alternative = "two-sided",
    confidence: float = 0.95,
    method: Literal["auto", "pinpoint"] = "auto",
) -> WilcoxonResult:
    """The Wilcoxon signed-rank test of one sample, or of paired samples.

    Parameters
    ----------
    x : array_like, shape (n,)
        Values, or the first of each pair.
    y : array_like, shape (n,), optional
        The second of each pair; the differences are x - y.
    alternative : {"two-sided", "less", "greater"}
        The location of the differences: anywhere except around 0, below, or above it.
    confidence : float
        The level of the interval, between 0 and 1. Few differences reach a lower one:
        three 0.75, five 0.9375.
    method : {"auto", "pinpoint"}
        ``"auto"``: exact for fewer than 50 differences, ties or not; zeros drop out of the
        p-value, and stay in the estimate. ``"pinpoint"``: like R's ``wilcox.test`` and the
        published decisions of Pinpoint, with a normal approximation where values tie.

    Returns
    -------
    WilcoxonResult
        ``statistic, pvalue``, and the pseudomedian ``estimate`` with
        ``ci_low`` and ``ci_high``, in the unit of the values.

    Raises
    ------
    ValueError
        Samples of different lengths, an empty one, values that are not finite,
        a confidence outside of (0, 1).
    TypeError
        Not a sequence of numbers.

    References
    ----------
    Wilcoxon 1945; Hollander & Wolfe 1999, 3.1-3.3; Streitberg & Röhmel 1986. Checked
    against enumeration and R's ``wilcox.test``.

    Examples
    --------
    >>> import pinpoint
    >>> statistic, pvalue = pinpoint.wilcoxon([21, 21, 21, 21, 21], [20, 20, 20, 20, 20])
    >>> statistic, pvalue
    (15.0, 0.0625)
    """

def compare_performance(
    a: _Sample, b: _Sample, magnitude: float | None = None, direction: _Direction = "unknown"
) -> PerformanceComparison:
    """Compare the values of two samples: a, the older, with b, the newer.

    The smaller p-value of Mann-Whitney's and Kolmogorov-Smirnov's tests decides:
    at most 0.05 is different, above the high threshold is same, in between it
    needs more values.

    Parameters
    ----------
    a, b : array_like, shape (n,) and (m,)
        Independent values, in one unit.
    magnitude : float, optional
        The smallest change worth finding, in the unit of the values: its absolute
        value counts. The default is one interquartile range.
    direction : {"up", "down", "unknown"}
        The better direction. A change for the better is ``"same"``.

    Returns
    -------
    PerformanceComparison
        The ``verdict`` and its basis. ``"nil"`` when a sample is empty.

    Raises
    ------
    ValueError
        Values, or a magnitude, that are not finite.
    TypeError
        Not a sequence of numbers.

    Notes
    -----
    Meant for a single test: testing again and again as values come in finds
    differences that do not exist.
    """

def compare_functional(
    a: _Sample, b: _Sample, expected_error_rate: float = 1.0
) -> FunctionalComparison:
    """Compare whether runs fail: 1 (or True) for each failure, 0 for each success.

    Parameters
    ----------
    a, b : array_like, shape (n,) and (m,)
        Zeros and ones.
    expected_error_rate : float
        The failure rate of a culprit worth finding.

    Returns
    -------
    FunctionalComparison
        The ``verdict`` and its basis.

    Raises
    ------
    ValueError
        Other values, an empty sample, a rate that is negative or not finite.
    TypeError
        Not a sequence of numbers.
    """

def compare_pairwise(
    control: _Sample,
    treatment: _Sample,
    direction: _Direction = "unknown",
    method: Literal["auto", "pinpoint"] = "auto",
) -> PairwiseComparison:
    """Compare paired values: each of control with the same place in treatment.

    Wilcoxon's signed-rank test on the logarithms; where a value is 1e-6 or less,
    on the differences in percent of the control's median; where that is meaningless,
    on the plain differences.

    Parameters
    ----------
    control, treatment : array_like, shape (n,)
        Paired values, in one unit.
    direction : {"up", "down", "unknown"}
        The better direction. A change for the better is ``"same"``.
    method : {"auto", "pinpoint"}
        As for :func:`wilcoxon`. ``"pinpoint"`` refuses negative values.

    Returns
    -------
    PairwiseComparison
        The ``verdict``, and the change in percent with its 95 % interval.

    Raises
    ------
    ValueError
        Samples of different lengths, an empty one, values that are not finite.
    TypeError
        Not a sequence of numbers.
    """

def compare_many(
    pairs: Iterable[tuple[_Sample, _Sample]],
    magnitude: float | None = None,
    direction: _Direction = "unknown",
    threads: int | None = None,
) -> Comparisons:
    """Compare many pairs of samples at once, on all cores, while other threads run.

    Parameters
    ----------
    pairs : iterable of (array_like, array_like)
        Each as for :func:`compare_performance`.
    magnitude, direction
        As for :func:`compare_performance`, for all pairs.
    threads : int, optional
        The number of threads; one for each core by default.

    Returns
    -------
    Comparisons
        The comparisons, in the order of the pairs, as
        :func:`compare_performance` returns them.

    Raises
    ------
    ValueError, TypeError
        As :func:`compare_performance`, naming the pair.
    """

def detect(
    values: _Sample,
    *,
    rate: float = 1e-4,
    smallest_change: float | str | None = None,
    nan_policy: Literal["raise", "omit"] = "raise",
    seed: int = 0,
) -> list[SeriesChange]:
    """The changes in a history of values, oldest first.

    The values are read one by one, as if they came in. Of each change the place is
    reported, the places that hold it in at least 95 %, and the value at which it showed.

    Parameters
    ----------
    values : array_like, shape (n,)
        One value for each commit, oldest first, in one unit; at least 20.
    rate : float
        The false alarms for each value where nothing changes: 0.00005 to 0.01. It holds
        for noise that keeps its shape, with a lag-1 correlation of up to 0.5. A machine
        with slow spells has more.
    smallest_change : float or str, optional
        Changes of the median below this are left out: in the unit of the values, or
        as a percentage of the median before, as in ``"2%"``.
    nan_policy : {"raise", "omit"}
        NaN is an error, or a missing value. Places are indices of ``values`` in any case.
    seed : int
        Orders equal values. Series that are judged together should have different ones.

    Returns
    -------
    list of SeriesChange

    Raises
    ------
    ValueError
        Fewer than 20 values, NaN, infinities, or an argument out of range.
    TypeError
        Not a sequence of numbers.

    Notes
    -----
    About 3 µs for each value.

    References
    ----------
    Hawkins, Qiu & Kang 2003; Ross, J. Stat. Softw. 66(3), 2015; Shin, Ramdas & Rinaldo 2024.

    Examples
    --------
    >>> import pinpoint
    >>> noise = [i * i * 37 % 101 / 101 for i in range(120)]
    >>> [change] = pinpoint.detect([10 + x if i < 60 else 13 + x for i, x in enumerate(noise)])
    >>> change.shape, change.row, change.rose
    ('step', 60, True)
    """

def perfherder_alerts(
    revisions: Sequence[float | Sequence[float]],
    *,
    alert_threshold: float | str | None = None,
    lower_is_better: bool = True,
    min_back_window: int = 12,
    max_back_window: int = 24,
    fore_window: int = 12,
    t_threshold: float = 7.0,
) -> list[PerfherderAlert]:
    """Alerts where Mozilla's Perfherder raises them, oldest first.

    Parameters
    ----------
    revisions : sequence of float or of sequences of float
        The value of each revision, or its values, oldest first, in one unit.
    alert_threshold : float or str, optional
        The smallest change of the plain means: in the unit of the values, or as a
        percentage of the size of the mean before. Perfherder's is ``"2%"``.
    lower_is_better : bool
        A rise is a regression.
    min_back_window, max_back_window : int
        The revisions before a point that are read, 1 to 255: as many as have passed since
        t was last above its threshold.
    fore_window : int
        The values from a point on, 1 to 255.
    t_threshold : float
        The t-statistic above which a point is an alert.

    Returns
    -------
    list of PerfherderAlert

    Raises
    ------
    ValueError
        A value that is not finite, or an argument out of range.
    TypeError
        Not numbers.

    Notes
    -----
    Perfherder divides by the signed mean, so that a series below zero never alerts, and
    takes a change from 0 for 0 %. It looks at the last two weeks only, from the last alert on.

    References
    ----------
    Mozilla's treeherder, ``treeherder/perfalert/perfalert/__init__.py`` and
    ``treeherder/perf/alerts.py``.

    Examples
    --------
    >>> import pinpoint
    >>> values = [10 + i % 3 / 10 for i in range(24)] + [12 + i % 3 / 10 for i in range(24)]
    >>> [alert] = pinpoint.perfherder_alerts(values)
    >>> alert.at, round(alert.percent), alert.is_regression
    (24, 20, True)
    """

@final
class Detector:
    """Finds changes in values that come one by one, as :func:`detect` does.

    Parameters
    ----------
    rate : float
        The false alarms for each value where nothing changes: 0.00005 to 0.01.
    seed : int
        Orders equal values.

    Raises
    ------
    ValueError
        A rate out of range.

    Examples
    --------
    >>> import pinpoint
    >>> detector = pinpoint.Detector()
    >>> for i in range(120):
    ...     alarm = detector.push(i * i * 37 % 101 + (300 if i >= 60 else 0))
    ...     if alarm:
    ...         print(alarm.shape, alarm.at)
    step 60
    """

    def __new__(cls, *, rate: float = 1e-4, seed: int = 0) -> Detector: ...
    def push(self, value: float) -> Alarm | Retraction | None:
        """Adds a value.

        Returns
        -------
        Alarm or Retraction or None
            A change, a step that went back, or nothing new.

        Raises
        ------
        ValueError
            NaN or an infinity; the value is then not counted.
        """

    @property
    def count(self) -> int:
        """The number of values pushed."""

    @property
    def is_drifting(self) -> bool:
        """True while the values drift, which has been reported."""

    def pack(self) -> bytes:
        """The state in at most 1.5 KiB, without the options."""

    @staticmethod
    def unpack(state: bytes, *, rate: float = 1e-4, seed: int = 0) -> Detector:
        """A detector that goes on from a packed state, with the options that it had.

        Raises
        ------
        ValueError
            Bytes that :meth:`pack` did not write, or a rate out of range.
        """

def high_threshold(
    mode: str, magnitude: float, sample_size: SupportsIndex
) -> float | None:
    """The high threshold of :mod:`pinpoint.catapult`; None for an unknown mode."""

@final
class Comparisons:
    """The comparisons of :func:`compare_many`, a sequence.

    Columns are available at once: ``p_value``, ``mean_diff`` and ``effect_size`` as
    arrays of shape (n,) with NaN where a comparison lacks the value, ``verdict`` as a list.
    """

    @overload
    def __getitem__(self, key: SupportsIndex, /) -> PerformanceComparison: ...
    @overload
    def __getitem__(self, key: slice, /) -> list[PerformanceComparison]: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[PerformanceComparison]: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @staticmethod
    def _of(parts: Any) -> Comparisons:
        """Restore comparisons from :mod:`pickle` and :mod:`copy`."""
    @property
    def verdict(self) -> list[Literal["same", "different", "unknown", "nil"]]:
        """The verdicts."""
    @property
    def p_value(self) -> npt.NDArray[np.float64]:
        """The p-values; NaN where no test was run."""
    @property
    def mean_diff(self) -> npt.NDArray[np.float64]:
        """Mean of b minus that of a, in the unit of the values."""
    @property
    def effect_size(self) -> npt.NDArray[np.float64]:
        """Rank-biserial correlations, from -1 to 1; NaN where no test was run."""

def parse_profile(content: bytes) -> Profile:
    """The profile in a file, like :func:`pinpoint.read_profile`."""

def explain_profiles(
    base: Sequence[Profile],
    experiment: Sequence[Profile],
    paired: bool,
    same: Sequence[tuple[str, str]],
) -> str:
    """The differences as JSON, of which :func:`pinpoint.explain` makes named tuples."""

@final
class Profile:
    """A profile, read by :func:`read_profile`, as tables.

    Each table is a dict of columns of one length: NumPy arrays, and lists of text.
    ``pandas.DataFrame(profile.frames)`` makes a data frame of it, and so does
    ``polars.DataFrame``. Each access makes a new table: keep it.

    Examples
    --------
    >>> import pinpoint
    >>> profile = pinpoint.read_profile("bench.cpuprofile")  # doctest: +SKIP
    >>> profile.frames["name"], profile.frames["own"]  # doctest: +SKIP
    (['parse', 'print'], array([3.1e+07, 1.2e+07]))
    """

    def window(self, window: str) -> Profile:
        """The part of the profile in a window of time.

        Parameters
        ----------
        window : str
            The name of a mark, or ``"FROM..TO"`` in milliseconds since the profile
            began; either may be left out.

        Raises
        ------
        ValueError
            No such mark, no samples in that time, or a profile without the times
            of its samples.
        """
    @property
    def format(self) -> str:
        """``"chrome-trace"``, ``"cpu-profile"``, ``"perf-script"``, ``"folded"``,
        ``"pprof"``, ``"firefox"``, ``"speedscope"`` or ``"callgrind"``."""
    @property
    def unit(self) -> str:
        """The unit of weights and costs: ``"nanoseconds"`` for all times, ``"bytes"``,
        ``"instructions"``, ``"samples"``, or the name of an event."""
    @property
    def total(self) -> float:
        """The sum of all weights, in ``unit``."""
    @property
    def threads(self) -> list[str]:
        """The names of the threads."""
    @property
    def warnings(self) -> list[str]:
        """The parts of the file that could not be read; the rest is sound."""
    @property
    def frames(self) -> _Columns:
        """The functions: columns of shape (functions,).

        ``name``, ``module`` and ``file`` from the profile, empty where unknown;
        ``line`` and ``column`` counted from 1, 0 where unknown; ``own``, the cost of the
        function itself, and ``total``, including callees, counted at the
        outermost frame of a recursion, in ``unit``; ``calls`` where calls are counted.
        """
    @property
    def stacks(self) -> _Columns:
        """The stacks as a tree: columns of shape (stacks,).

        ``parent``, the stack that calls, and ``frame``, the function that is called: rows
        of this table and of ``frames``. The first row is the empty stack, with -1 for
        both. A parent stands before its children.
        """
    @property
    def samples(self) -> _Columns:
        """The samples: columns of shape (samples,).

        ``stack`` and ``thread``, as rows of ``stacks`` and places in ``threads``;
        ``weight``, the cost, in ``unit``; and ``time``, in nanoseconds since the
        profile began, where that is known.
        """
    @property
    def calls(self) -> _Columns:
        """Callers and callees, where calls are counted: columns of shape (edges,).

        ``caller`` and ``callee``, as rows of ``frames``; ``count``, the number of calls;
        ``weight``, the cost of the callee including its callees, in ``unit``.
        """
    @property
    def marks(self) -> _Columns:
        """Named spans of time, as ``performance.measure`` makes them: columns of
        shape (spans,).

        ``name``; ``begin`` and ``end`` in nanoseconds since the profile began.
        """

@final
class Bisection:
    """Search for the commits that changed a benchmark, without running anything.

    :meth:`next` returns the commits to run and the number of runs, :meth:`record` and
    :meth:`skip` take the results, until :meth:`next` returns an empty list;
    then ``outcome`` is available. The same answers always lead to the same outcome.

    Parameters
    ----------
    commits : int or sequence
        The number of commits, or a list of them; the first is good, the last
        is bad.
    strategy : {"adaptive", "pinpoint"}
        ``"adaptive"`` keeps a probability for every commit and runs the most
        informative one; ``"pinpoint"`` searches like Chromium's Pinpoint.
    magnitude : float or str, optional
        The smallest change worth finding, in the unit of the values, or ``"5%"`` of the
        good end's median: its absolute value counts.
    direction : {"up", "down", "unknown"}
        The better direction. A change for the better is not pursued.
    confidence : float
        The required certainty of the answer, between 0 and 1.
    max_runs, max_builds : int, optional
        The most runs, and the most commits, to request.
    max_time : float, optional
        The time limit in seconds; see :meth:`time_passed`.
    build_cost : float
        The cost of another commit, in runs. Only for ``"adaptive"``.
    priors : array_like, shape (commits - 1,), optional
        The suspicion of each commit after the good one: relative weights, the
        bad end last. Only for ``"adaptive"``.
    seed : int
        The seed of the order of runs.

    Raises
    ------
    ValueError
        An invalid search.

    Examples
    --------
    >>> import pinpoint
    >>> search = pinpoint.Bisection(["v1", "v2", "v3", "v4"], magnitude="5%")
    >>> times = [10.0, 10.0, 12.0, 12.0]
    >>> while batch := search.next():
    ...     for index, runs in batch:
    ...         search.record(index, [times[index] + 0.01 * (7 * run % 5) for run in range(runs)])
    >>> search.outcome.status, search.outcome.culprits[0][0]
    ('culprit_found', 2)
    """

    def __new__(
        cls,
        commits: int | Sequence[object],
        strategy: _Strategy = "adaptive",
        magnitude: float | str | None = None,
        direction: _Direction = "unknown",
        confidence: float = 0.95,
        max_runs: int | None = None,
        max_builds: int | None = None,
        max_time: float | None = None,
        build_cost: float = 1.0,
        priors: _Sample | None = None,
        seed: int = 0,
    ) -> Bisection: ...
    def next(self) -> list[tuple[int, int]]:
        """The unanswered requests: (index, runs), in the order to run.

        A commit can be in the list more than once, so that a drift of the
        machine affects all commits alike. New commits and runs are requested
        once all earlier requests are answered. An empty list: the search is
        over.
        """
    def record(
        self,
        index: int,
        values: _Sample,
        failures: int = 0,
        bots: str | Sequence[str] | None = None,
        started: _Sample | None = None,
    ) -> None:
        """Record the results of running a commit: all or part of the requested runs.

        Parameters
        ----------
        index : int
            The commit.
        values : array_like, shape (n,)
            One value for each successful run.
        failures : int
            The number of failed runs.
        bots : str or sequence of str, optional
            The machines of the runs: one name for all, or one for each, failed
            runs last. Runs on one bot are compared with each other.
        started : array_like, shape (n + failures,), optional
            The start of each, in seconds since the search began.

        Raises
        ------
        ValueError
            More runs than requested, or values that are not finite. Nothing is
            recorded then.
        """
    def skip(self, index: int) -> None:
        """Skip a commit that does not build: a neighbor is tried instead.

        At an end of the range, the search fails. Does nothing when the commit
        was skipped before.

        Raises
        ------
        ValueError
            A commit that was not requested, or of which a run was recorded: it
            did build, and bad runs are failures.
        """
    def time_passed(self, elapsed: float) -> None:
        """Set the search's clock: the seconds since it began.

        Once they reach ``max_time``, the search ends with its current knowledge. It
        reads no clock itself.
        """
    @property
    def posterior(self) -> Posterior | None:
        """The probable places of the culprit, from the runs so far.

        None before the ends are measured, and with the strategy ``"pinpoint"``.
        """
    @property
    def outcome(self) -> Outcome | None:
        """The outcome; None until the search is over."""
    def to_json(self) -> str:
        """The search as text, to continue later and elsewhere."""
    @classmethod
    def from_json(cls, text: str) -> Bisection:
        """The search from the text of :meth:`to_json`, with all of its answers.

        Raises
        ------
        ValueError
            Any other text, or text of an unknown version.
        """
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Pairwise:
    """Compare two commits in pairs of runs, without running anything.

    Two runs back to back on one machine share whatever slows it down, so that
    small differences show. The base is commit 0, the experiment commit 1.

    Parameters
    ----------
    pairs : int
        The number of pairs: even, 6 or more.
    chart : str, optional
        The only chart that is compared; all of them by default.
    direction : {"up", "down", "unknown"}
        The better direction.
    early_stopping : bool
        End as soon as a difference is certain.
    max_time : float, optional
        The time limit in seconds; see :meth:`time_passed`.
    seed : int
        The seed that decides which pairs begin with the base.

    Raises
    ------
    ValueError
        An invalid comparison.

    Examples
    --------
    >>> import pinpoint
    >>> comparison = pinpoint.Pairwise(pairs=10)
    >>> times = [10.0, 12.0]
    >>> while pairs := comparison.next():
    ...     for number, pair in enumerate(pairs):
    ...         comparison.record(pair, times[pair.first] + 0.1 * number, times[pair.second] + 0.1 * number)
    >>> comparison.outcome.status
    'different'
    """

    def __new__(
        cls,
        pairs: int = 30,
        chart: str | None = None,
        direction: _Direction = "unknown",
        early_stopping: bool = False,
        max_time: float | None = None,
        seed: int = 0,
    ) -> Pairwise: ...
    def next(self) -> list[Pair]:
        """The unanswered pairs, in the order to run."""
    def record(
        self,
        pair: tuple[int, int],
        first: _Run,
        second: _Run,
        bot: str | None = None,
        started: float | None = None,
    ) -> None:
        """Record the results of a pair.

        Parameters
        ----------
        pair : Pair
            A pair from :meth:`next`.
        first, second : float, mapping or None
            The value of each run, or its values by chart; None when it failed.
        bot : str, optional
            The machine of both runs.
        started : float, optional
            The start of the pair, in seconds since the comparison began.

        Raises
        ------
        ValueError
            A pair that was not requested, or values that are not finite.
        """
    def skip(self, index: int) -> None:
        """Skip a commit that does not build: the comparison fails."""
    def time_passed(self, elapsed: float) -> None:
        """Set the comparison's clock: the seconds since it began."""
    @property
    def outcome(self) -> PairwiseOutcome | None:
        """The outcome; None until the comparison is over."""
    def to_json(self) -> str:
        """The comparison as text, to continue later and elsewhere."""
    @classmethod
    def from_json(cls, text: str) -> Pairwise:
        """The comparison from the text of :meth:`to_json`; otherwise ValueError."""
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class CulpritFinder:
    """Verify a regression, bisect it, verify each culprit, without running anything.

    The two ends are compared in pairs of runs; if they differ, the commits between
    them are searched; each culprit is compared with its parent in further pairs.

    Parameters
    ----------
    commits : int or sequence
        The number of commits, or a list of them; the first is good, the last
        is bad.
    pairs : int
        Pairs of each comparison: an even number, 6 or more.
    strategy, direction, confidence, max_builds, build_cost, seed
        As for :class:`Bisection`.
    magnitude : float or str, optional
        As for :class:`Bisection`; by default the difference just verified.
    max_runs : int, optional
        The most runs in total; a pair is two.
    max_time : float, optional
        The time limit in seconds; see :meth:`time_passed`.

    Raises
    ------
    ValueError
        An invalid search.
    """

    def __new__(
        cls,
        commits: int | Sequence[object],
        pairs: int = 30,
        strategy: _Strategy = "adaptive",
        magnitude: float | str | None = None,
        direction: _Direction = "unknown",
        confidence: float = 0.95,
        max_runs: int | None = None,
        max_builds: int | None = None,
        max_time: float | None = None,
        build_cost: float = 1.0,
        seed: int = 0,
    ) -> CulpritFinder: ...
    def next(self) -> list[Pair | tuple[int, int]]:
        """The unanswered requests, in the order to run.

        A :class:`Pair` is answered with :meth:`record_pair`, (index, runs) with
        :meth:`record`.
        """
    def record(
        self,
        index: int,
        values: _Sample,
        failures: int = 0,
        bots: str | Sequence[str] | None = None,
        started: _Sample | None = None,
    ) -> None:
        """Record the results of running a commit, like :meth:`Bisection.record`."""
    def record_pair(
        self,
        pair: tuple[int, int],
        first: SupportsFloat | None,
        second: SupportsFloat | None,
        bot: str | None = None,
        started: float | None = None,
    ) -> None:
        """Record the results of a pair, like :meth:`Pairwise.record`."""
    def skip(self, index: int) -> None:
        """Skip a commit that does not build, like :meth:`Bisection.skip`."""
    def time_passed(self, elapsed: float) -> None:
        """Set the search's clock: the seconds since it began."""
    @property
    def outcome(self) -> CulpritFinderOutcome | None:
        """The outcome; None until the search is over."""
    def to_json(self) -> str:
        """The search as text, to continue later and elsewhere."""
    @classmethod
    def from_json(cls, text: str) -> CulpritFinder:
        """The search from the text of :meth:`to_json`; otherwise ValueError."""
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Stop:
    """Interrupts a job that :func:`drive` runs."""

    def __new__(cls) -> Stop: ...
    def interrupt(self) -> None:
        """Stop the job, to be resumed later. May be called from any thread."""

def drive(
    request: str, bridge: Callable[[str, int, str, Any], object], stop: Stop
) -> str:
    """Drive a job to its outcome, both in JSON; :func:`pinpoint.bisect` wraps it.

    Blocks, and requests Python's part of the work by calling ``bridge``.
    """

def doctor(cpu: str | None) -> str:
    """The causes of noise in measurements on this machine, as JSON."""

def combined_commit(text: str) -> tuple[str, int]:
    """A commit's canonical JSON, and its key."""

def stored_jobs(state_dir: _StrPath, state: str | None, limit: int) -> str:
    """The jobs of a state directory as JSON, newest first."""

def stored_outcome(state_dir: _StrPath, job: str) -> str:
    """A job's kind and outcome as JSON, with its measurements."""

def outcome_document(text: str) -> str:
    """A stored outcome, with the reason that it says less than its status; otherwise ValueError."""

def try_to_cancel(state_dir: _StrPath, job: str) -> str:
    """End a job, and return its state as JSON.

    If another process works on the job, that process is asked to end it, and the state is null.
    """

def pairwise_outcome(text: str) -> PairwiseOutcome:
    """The comparison from a stored outcome; otherwise ValueError."""

def midpoint(
    repo: _StrPath,
    lower: str,
    higher: str,
    all: bool,
    repositories: Mapping[str, _StrPath],
    state_dir: _StrPath,
) -> str:
    """The commits between two revisions, as JSON."""

@final
class BotConfigs:
    """Bot configurations, as JSON; see :class:`pinpoint.Bots`."""

    def __new__(cls, files: Sequence[tuple[str, str]] | None = None) -> BotConfigs: ...
    def external(self) -> BotConfigs:
        """Only the external bots."""
    def bots(self) -> str:
        """All bots and aliases, by name."""
    def bot(self, name: str) -> str:
        """The bot of this name; otherwise KeyError."""
    def benchmarks(self) -> str:
        """The benchmarks, by name."""
    def target(self, bot: str, benchmark: str) -> str:
        """The build target of a benchmark on a bot; otherwise KeyError."""

@final
class TraceReader:
    """Reads the history of values; see ``_traces.py``."""

    def __new__(cls, state_dir: _StrPath, dataset: str) -> TraceReader: ...
    def values(
        self,
        query: str,
        formula: str | None,
        commits: tuple[int, int] | None,
        last: int | None,
        limit: int,
    ) -> tuple[list[str], npt.NDArray[np.int64], npt.NDArray[np.float64], list[str]]:
        """Names, commits, values of shape (names, commits), and warnings."""

    def survey(self, query: str) -> str:
        """The number of traces, and their keys and values with counts, as JSON."""

    def commits(self) -> str:
        """The known commits, as JSON."""

    def annotations(self) -> str:
        """The annotations with their numbers, as JSON."""

    def source(self, trace: str, commit: int) -> str:
        """The file and the links of a value, as JSON; null without a value."""

    def pivot(
        self, query: str, by: list[str], operation: str, last: int, limit: int
    ) -> str:
        """Traces folded by keys, as JSON."""

    def verticals(
        self,
        query: str,
        row: str,
        sides: tuple[str, str, str] | None,
        between: tuple[int, int] | None,
        tried: tuple[str, str] | None,
        at: int | None,
        limit: int,
    ) -> str:
        """Ratios, as JSON."""

    def tries(self) -> str:
        """The tries, as JSON."""

    def tried(self, issue: str, patchset: str, query: str) -> str:
        """A try beside the history, as JSON."""
