"""The results of the functions and searches of this package: frozen named tuples.

Each compares, hashes and pickles as the tuple of its fields, unpacks into them,
and has ``_asdict()``. In a notebook it is shown as a table. Results of single tests are
pairs, like SciPy's, and have the rest as attributes. A comparison is true if its
sides are different.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, NoReturn

if TYPE_CHECKING:
    from typing_extensions import Self

Verdict = Literal["same", "different", "unknown", "nil"]
Method = Literal["exact", "asymptotic", "pinpoint"]
Shape = Literal["step", "drift", "spread"]
Status = Literal["culprit_found", "no_regression", "inconclusive", "failed", "canceled"]
PairwiseStatus = Literal["different", "same", "unknown", "failed", "canceled"]


def table(title: str, rows: Iterable[tuple[str, Any]]) -> str:
    """Names and values as an HTML table, for notebooks."""

    def cell(value: Any) -> str:
        if hasattr(value, "_repr_html_"):
            return str(value._repr_html_())
        text = f"{value:.6g}" if isinstance(value, float) else str(value)
        return html.escape(text)

    body = "".join(
        f'<tr><th style="text-align: left">{html.escape(name)}</th>'
        f'<td style="text-align: left">{cell(value)}</td></tr>'
        for name, value in rows
    )
    return f"<table><caption>{html.escape(title)}</caption>{body}</table>"


class _Test(NamedTuple):
    statistic: float
    pvalue: float


class _TestResult(_Test):
    """The result of a test: a pair, ``statistic, pvalue``, with further attributes."""

    _title: ClassVar[str]
    _further: ClassVar[tuple[str, ...]]

    def __new__(cls, statistic: float, pvalue: float, *further: Any, **named: Any) -> Self:
        if len(further) + len(named) != len(cls._further):
            raise TypeError(f"{cls.__name__} takes statistic, pvalue, {', '.join(cls._further)}")
        found = super().__new__(cls, statistic, pvalue)
        found.__dict__.update(zip(cls._further, further))
        found.__dict__.update(named)
        return found

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self._asdict().values())

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
        return f"{type(self).__name__}({fields})"

    def _asdict(self) -> dict[str, Any]:
        further = {name: self.__dict__[name] for name in self._further}
        return {"statistic": self.statistic, "pvalue": self.pvalue, **further}

    def _replace(self, **fields: Any) -> Self:
        return type(self)(**{**self._asdict(), **fields})

    def _repr_html_(self) -> str:
        return table(self._title, self._asdict().items())


class MannWhitneyResult(_TestResult):
    """The result of :func:`mann_whitney_u`.

    It unpacks like SciPy's: ``statistic, pvalue = mann_whitney_u(a, b)``.

    Attributes
    ----------
    statistic : float
        U of the first sample: the pairs with ``a > b``, ties counting half.
    pvalue : float
        The p-value.
    method : str
        The method taken: ``"exact"``, ``"asymptotic"`` or ``"pinpoint"``.
    """

    _title = "Mann-Whitney U"
    _further = ("method",)
    method: Method


class KolmogorovSmirnovResult(_TestResult):
    """The result of :func:`ks_2samp`.

    It unpacks like SciPy's: ``statistic, pvalue = ks_2samp(a, b)``.

    Attributes
    ----------
    statistic : float
        D: the largest distance between the two empirical distribution functions.
    pvalue : float
        The two-sided p-value.
    method : str
        The method taken: ``"exact"``, ``"asymptotic"`` or ``"pinpoint"``.
    """

    _title = "Kolmogorov-Smirnov"
    _further = ("method",)
    method: Method


class WilcoxonResult(_TestResult):
    """The result of :func:`wilcoxon`.

    It unpacks like SciPy's: ``statistic, pvalue = wilcoxon(x, y)``.

    Attributes
    ----------
    statistic : float
        V: the sum of the ranks of positive differences.
    pvalue : float
        The p-value; 1 when every difference is 0, and NaN then with
        ``method="pinpoint"``.
    estimate : float or None
        The pseudomedian of the differences, in the unit of the values. None only with
        ``method="pinpoint"``, when every difference is 0.
    ci_low, ci_high : float or None
        Its confidence interval; infinite where an alternative leaves an end
        open, None where the sample is too small for one.
    confidence : float or None
        The level that the interval reaches: lower than requested where so few differences
        cannot reach that, 0.75 for three. None without an interval.
    method : str
        The method taken: ``"exact"`` or ``"asymptotic"``.
    """

    _title = "Wilcoxon signed-rank"
    _further = ("estimate", "ci_low", "ci_high", "confidence", "method")
    estimate: float | None
    ci_low: float | None
    ci_high: float | None
    confidence: float | None
    method: Method


class PerformanceComparison(NamedTuple):
    """The decision of :func:`compare_performance`, and its basis.

    Attributes
    ----------
    verdict : str
        ``"same"``, ``"different"``, ``"unknown"`` (more values may decide) or
        ``"nil"`` (a side is empty).
    p_value : float or None
        The smaller of the two p-values; None when no test was run.
    p_value_ks, p_value_mwu : float or None
        p of the Kolmogorov-Smirnov and of the Mann-Whitney test.
    low_threshold, high_threshold : float or None
        p at most the low one: different; above the high one: same.
    mean_diff, median_diff : float or None
        Mean (median) of b minus that of a, in the unit of the values; None when
        a side is empty.
    is_too_small : bool
        The means differ by less than a tenth of the magnitude: no test was run.
    is_improvement : bool
        The means differ toward the better: no test was run.
    effect_size : float or None
        Rank-biserial correlation: from -1 (every b below every a) to 1 (every
        one above); None when no test was run.
    """

    verdict: Verdict
    p_value: float | None
    p_value_ks: float | None
    p_value_mwu: float | None
    low_threshold: float | None
    high_threshold: float | None
    mean_diff: float | None
    median_diff: float | None
    is_too_small: bool
    is_improvement: bool
    effect_size: float | None

    def __bool__(self) -> bool:
        """True if the verdict is different."""
        return self.verdict == "different"

    def _repr_html_(self) -> str:
        return table("Performance", self._asdict().items())


class FunctionalComparison(NamedTuple):
    """The decision of :func:`compare_functional`, and its basis.

    Attributes
    ----------
    verdict : str
        ``"same"``, ``"different"`` or ``"unknown"`` (more values may decide).
    p_value : float or None
        The smaller of the two p-values; None when no test was run.
    p_value_ks, p_value_mwu : float or None
        p of the Kolmogorov-Smirnov and of the Mann-Whitney test.
    low_threshold, high_threshold : float or None
        p at most the low one: different; above the high one: same.
    mean_diff : float
        Share of failures in b minus that in a.
    is_improvement : bool
        Fewer failures in b: no test was run.
    """

    verdict: Literal["same", "different", "unknown"]
    p_value: float | None
    p_value_ks: float | None
    p_value_mwu: float | None
    low_threshold: float | None
    high_threshold: float | None
    mean_diff: float
    is_improvement: bool

    def __bool__(self) -> bool:
        """True if the verdict is different."""
        return self.verdict == "different"

    def _repr_html_(self) -> str:
        return table("Failures", self._asdict().items())


class PairwiseComparison(NamedTuple):
    """The decision of :func:`compare_pairwise`, and its basis.

    Attributes
    ----------
    verdict : str
        ``"same"``, ``"different"``, or ``"unknown"``: pairs differ, and fewer than six
        cannot show whether that is chance.
    p_value : float
        p of the Wilcoxon signed-rank test; 1 when no pair differs.
    estimate : float or None
        The change in percent of control; None when the control's median is 0, or values
        have both signs.
    ci_low, ci_high : float or None
        Its 95 % interval; None without one, as for fewer than six pairs.
    control_median, treatment_median : float
        In the unit of the values.
    is_improvement : bool
        The change is significant and for the better: the verdict is same.
    pairs : int
        The pairs compared.
    """

    verdict: Literal["same", "different", "unknown"]
    p_value: float
    estimate: float | None
    ci_low: float | None
    ci_high: float | None
    control_median: float
    treatment_median: float
    is_improvement: bool
    pairs: int

    def __bool__(self) -> bool:
        """True if the verdict is different."""
        return self.verdict == "different"

    def _repr_html_(self) -> str:
        return table("Pairs", self._asdict().items())


class Effect(NamedTuple):
    """The effect of a culprit on the benchmark.

    Attributes
    ----------
    of : str
        ``"values"``, or ``"failures"`` when it is the rate of failing runs.
    estimate : float or None
        Newer minus older: of values the step that ``adaptive`` measures, or the
        Hodges-Lehmann shift, in their unit. None when no float is that large.
    ci_low, ci_high : float or None
        Its interval with the search's confidence; None for too few runs.
    before, after : float
        Median (rate of failures) of the older and of the newer commit; if ``adjusted``,
        their levels.
    before_failure, after_failure : str or None
        The most common reason of failing runs on each side, where they fail.
    adjusted : bool
        The two sides met different states of the machine, which the estimate leaves out:
        ``before`` and ``after`` are levels without these, and no medians.
    """

    of: Literal["values", "failures"]
    estimate: float | None
    ci_low: float | None
    ci_high: float | None
    before: float
    after: float
    before_failure: str | None = None
    after_failure: str | None = None
    adjusted: bool = False

    def _repr_html_(self) -> str:
        return table("Effect", self._asdict().items())


class Span(NamedTuple):
    """Neighboring commits that no run distinguishes.

    Attributes
    ----------
    first, last : int
        The oldest and the newest of them.
    probability : float
        The probability that one of them is the culprit.
    """

    first: int
    last: int
    probability: float


class LargestChange(NamedTuple):
    """The largest change for the worse that may exist although none was found.

    Where the direction is unknown, every change is one for the worse. It is a lasting
    one: a change that another undoes before the bad end is not limited.

    Attributes
    ----------
    amount : float
        The size, in the unit of the values. Wherever the change is, it is not larger.
    relative : float or None
        The same as a fraction of the good end's median; None where that is 0.
    confidence : float
        The confidence with which this holds.
    scatter : float
        The interquartile range of the noise, in the unit of the values.
    """

    amount: float
    relative: float | None
    confidence: float
    scatter: float


class Posterior(NamedTuple):
    """The probable places of the next change, from the runs so far.

    Attributes
    ----------
    no_change : float
        The probability that there is none (no further one, after culprits).
    spans : tuple of Span
        Every commit after the good end, oldest first. With ``no_change``, the
        probabilities add up to 1.
    largest_change : LargestChange or None
        The largest change that may still exist, once a search has ended that found
        none.
    """

    no_change: float
    spans: tuple[Span, ...]
    largest_change: LargestChange | None = None

    def _repr_html_(self) -> str:
        rows: list[tuple[str, Any]] = [("no change", self.no_change)]
        for span in self.spans:
            name = str(span.first) if span.first == span.last else f"{span.first}…{span.last}"
            rows.append((name, span.probability))
        return table("Probability of the culprit", rows)


class Outcome(NamedTuple):
    """The outcome of a :class:`Bisection`. Commits are numbered from 0, the good end.

    Attributes
    ----------
    status : str
        ``"culprit_found"``, ``"no_regression"``, ``"inconclusive"`` or ``"failed"``.
    reason : str or None
        The reason that the search ended before everything was decided, if it did.
    culprits : tuple of (int, float or None)
        The commits that changed the benchmark, oldest first, each with its
        probability (None where the strategy states none).
    candidates : tuple of int
        Indistinguishable commits that may hold a culprit, oldest first.
    runs : int
        Recorded runs, including failed ones.
    builds : int
        Commits of which a run was recorded.
    effects : tuple of Effect
        The effect of each culprit on the benchmark.
    skipped : tuple of (int, str)
        Commits that could not be used, with the reasons.
    """

    status: Status
    reason: str | None
    culprits: tuple[tuple[int, float | None], ...]
    candidates: tuple[int, ...]
    runs: int
    builds: int
    effects: tuple[Effect, ...]
    skipped: tuple[tuple[int, str], ...]

    def _repr_html_(self) -> str:
        return table("Bisection", self._asdict().items())


class Pair(NamedTuple):
    """Two commits to run back to back: ``first``, and right after it ``second``."""

    first: int
    second: int


class ChartComparison(NamedTuple):
    """The comparison of one chart in pairs of runs.

    Attributes
    ----------
    chart : str
        Its name.
    comparison : PairwiseComparison or None
        The comparison, if any.
    adjusted_p_value : float or None
        The p-value, adjusted for the number of charts (Benjamini-Hochberg).
    moved, improved : bool
        The chart moved by the adjusted p-value, for the worse or the better.
    failed_pairs, surplus_pairs : int
        Pairs left out: a run gave no value; each side was to be first in half.
    error : str or None
        The reason for a missing comparison.
    unit : str or None
        The unit of its values, if a command gave it.
    direction : str
        The better direction: ``"up"``, ``"down"`` or ``"unknown"``.
    """

    chart: str
    comparison: PairwiseComparison | None
    adjusted_p_value: float | None
    moved: bool
    improved: bool
    failed_pairs: int
    surplus_pairs: int
    error: str | None
    unit: str | None = None
    direction: Literal["up", "down", "unknown"] = "unknown"

    def _repr_html_(self) -> str:
        return table(self.chart, self._asdict().items())


class PairwiseOutcome(NamedTuple):
    """The outcome of a :class:`Pairwise`.

    Attributes
    ----------
    status : str
        ``"different"``, ``"same"``, ``"unknown"`` (too little to compare) or ``"failed"``.
    reason : str or None
        The reason that it ended before its last pair, if it did.
    charts : tuple of ChartComparison
        Every chart that both sides have, by name.
    functional : FunctionalComparison or None
        The comparison of failure rates; None without runs.
    pairs : int
        Pairs that were run.
    stopped_early : bool
        It ended before the last pair because a difference was certain.
    pairs_needed : int or None
        The fewest pairs in which a change of one of so many charts could have been
        found; None where there were enough.
    base_failure, experiment_failure : str or None
        The most common reason of failing runs on each side.
    """

    status: PairwiseStatus
    reason: str | None
    charts: tuple[ChartComparison, ...]
    functional: FunctionalComparison | None
    pairs: int
    stopped_early: bool
    pairs_needed: int | None = None
    base_failure: str | None = None
    experiment_failure: str | None = None

    def _repr_html_(self) -> str:
        return table("Pairwise", self._asdict().items())


class CheckedCulprit(NamedTuple):
    """A culprit, and its comparison with its parent.

    Attributes
    ----------
    commit : int
        Its number.
    prior : int
        Its nearest older commit.
    probability : float or None
        Its probability, from the search.
    effect : Effect
        Its effect, from the search.
    comparison : PairwiseOutcome or None
        The comparison of the two commits in further runs; None when none were left.
    """

    commit: int
    prior: int
    probability: float | None
    effect: Effect
    comparison: PairwiseOutcome | None

    def _repr_html_(self) -> str:
        return table(f"Commit {self.commit}", self._asdict().items())


class CulpritFinderOutcome(NamedTuple):
    """The outcome of a :class:`CulpritFinder`.

    Attributes
    ----------
    status : str
        As for :class:`Outcome`; a culprit was found only if it was confirmed.
    reason : str or None
        The reason that the search ended before everything was decided, if it did.
    culprits, unconfirmed : tuple of CheckedCulprit
        Those that differ from their parents in further runs, and the others.
    verification : PairwiseOutcome
        The comparison of the two ends.
    runs, builds : int
        Each counted once; a pair is two runs.
    """

    status: Status
    reason: str | None
    culprits: tuple[CheckedCulprit, ...]
    unconfirmed: tuple[CheckedCulprit, ...]
    verification: PairwiseOutcome
    runs: int
    builds: int

    def _repr_html_(self) -> str:
        return table("Culprit finder", self._asdict().items())


class PerfherderAlert(NamedTuple):
    """An alert of :func:`perfherder_alerts`.

    Attributes
    ----------
    at : int
        The index of the first revision with the new level.
    t : float
        The size of the t-statistic; infinite where neither side has any spread.
    before, after : float
        Plain means.
    percent : float
        The change in percent of the size of ``before``; infinite for a change from 0.
    is_regression : bool
        The change is for the worse.
    """

    at: int
    t: float
    before: float
    after: float
    percent: float
    is_regression: bool

    def _repr_html_(self) -> str:
        return table("Alert", self._asdict().items())


class SeriesChange(NamedTuple):
    """A change that :func:`detect` found. Rows are indices into the values given.

    Attributes
    ----------
    shape : str
        ``"step"``, ``"drift"`` (a line explains the values about as well) or
        ``"spread"`` (they scatter more or less).
    rose : bool
        The values rose or, of a change of spread, scatter more.
    row : int
        The likeliest first row of the change.
    probability : float
        The probability that it begins there, in the model of one change.
    interval : (int, int)
        The first and the last row at which it may begin; holds the change in at least
        95 %.
    shown_at : int
        The row at which it showed: a small change takes longer.
    back_at : int or None
        The row at which the values went back, if they did: it was a spike.
    before, after : float
        Medians: back to the change before, and from the change to ``shown_at``.
    share : float or None
        (after - before) / abs(before); None where ``before`` is 0.
    is_firm : bool
        A second detector agrees, whose rate of false alarms is proven for any
        distribution.
    """

    shape: Shape
    rose: bool
    row: int
    probability: float
    interval: tuple[int, int]
    shown_at: int
    back_at: int | None
    before: float
    after: float
    share: float | None
    is_firm: bool

    def _repr_html_(self) -> str:
        return table("Change", self._asdict().items())


class Alarm(NamedTuple):
    """A change that a :class:`Detector` saw. Values are numbered from 0, the first one pushed.

    Attributes
    ----------
    shape : str
        ``"step"``, ``"drift"`` or ``"spread"``.
    rose : bool
        The values rose or, of a change of spread, scatter more.
    at : int
        The likeliest first value of the change.
    raised_at : int
        The value that raised the alarm.
    interval : (int, int)
        The first and the last place at which it may begin; holds the change in at least
        95 %.
    posterior : tuple of (int, float)
        The probability of each place.
    before, after : float
        Medians before and since.
    statistic, threshold : float
        The statistic and the threshold that it exceeded, in standard deviations.
    correlation : float
        The lag-1 correlation that was taken out.
    """

    shape: Shape
    rose: bool
    at: int
    raised_at: int
    interval: tuple[int, int]
    posterior: tuple[tuple[int, float], ...]
    before: float
    after: float
    statistic: float
    threshold: float
    correlation: float

    def _repr_html_(self) -> str:
        return table("Alarm", self._asdict().items())


class Retraction(NamedTuple):
    """A step that went back to where it came from: it was a spike.

    Attributes
    ----------
    change : int
        :attr:`Alarm.at` of the step.
    at : int
        The first value that is back.
    raised_at : int
        The value at which this was seen.
    """

    change: int
    at: int
    raised_at: int
