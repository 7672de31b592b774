"""The comparisons of Catapult's dashboard, under its names.

In ``dashboard/pinpoint/models`` the modules ``compare.compare``,
``compare.thresholds``, ``compare.mann_whitney_u`` and
``compare.kolmogorov_smirnov`` can be replaced by an import of this one:

>>> from pinpoint import catapult as compare
>>> compare.Compare([0] * 10, [1] * 10, 10, 'functional', 0.5).result == compare.DIFFERENT
True

The differences from :func:`pinpoint.compare_performance` are Catapult's: the low
threshold is 0.01; the magnitude is already normalized, in interquartile ranges or as
a rate of failures; there is no direction, and no difference too small to be tested.
The high thresholds are those of Pinpoint, simulated again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ._pinpoint import high_threshold, ks_2samp, mann_whitney_u

__all__ = [
    "DIFFERENT",
    "PENDING",
    "SAME",
    "UNKNOWN",
    "Compare",
    "ComparisonResults",
    "HighThreshold",
    "KolmogorovSmirnov",
    "LowThreshold",
    "MannWhitneyU",
]

DIFFERENT = "different"
PENDING = "pending"
SAME = "same"
UNKNOWN = "unknown"

# The least thresholds for a job whose benchmark is given.
_LEAST_LOW = 0.05
_LEAST_HIGH = 0.10


class ComparisonResults(NamedTuple):
    """The decision of :func:`Compare`.

    Attributes
    ----------
    result : str
        ``DIFFERENT``, ``SAME`` or ``UNKNOWN``.
    p_value : float or None
        The smaller of the two p-values; None when a sample is empty.
    low_threshold, high_threshold : float
        p at most the low one: different; above the high one: same.
    """

    result: str
    p_value: float | None
    low_threshold: float
    high_threshold: float


def Compare(
    values_a: Any,
    values_b: Any,
    attempt_count: float,
    mode: str,
    magnitude: float,
    benchmark_arguments: Any = None,
    job_id: str | None = None,
) -> ComparisonResults:
    """Decide whether two samples are the same, different, or need more values.

    Parameters
    ----------
    values_a, values_b : array_like, shape (n,) and (m,)
        Numbers.
    attempt_count : int
        The attempts of each, which determine the high threshold; not the number
        of values.
    mode : {"functional", "performance"}
        The kind of values: failures (1) and successes (0), or measurements.
    magnitude : float
        The rate of failures, or the number of interquartile ranges, to look for.
    benchmark_arguments : optional
        The arguments of the job's benchmark. When given, the verdict under
        thresholds of at least 0.05 and 0.10 wins where it differs.
    job_id : str, optional
        Accepted, and not used.

    Returns
    -------
    ComparisonResults
        ``result``, ``p_value``, ``low_threshold``, ``high_threshold``.

    Raises
    ------
    NotImplementedError
        Another mode.
    ValueError, TypeError
        Values that are not finite numbers.
    """
    del job_id
    low = LowThreshold()
    high = HighThreshold(mode, magnitude, attempt_count)
    if len(values_a) == 0 or len(values_b) == 0:
        return ComparisonResults(UNKNOWN, None, low, high)
    p_value = min(KolmogorovSmirnov(values_a, values_b), MannWhitneyU(values_a, values_b))
    found = _decide(p_value, low, high)
    if benchmark_arguments is not None:
        milder = _decide(p_value, max(low, _LEAST_LOW), max(high, _LEAST_HIGH))
        if milder.result != found.result:
            return milder
    return found


def _decide(p_value: float, low: float, high: float) -> ComparisonResults:
    if p_value <= low:
        result = DIFFERENT
    elif p_value <= high:
        result = UNKNOWN
    else:
        result = SAME
    return ComparisonResults(result, p_value, low, high)


def KolmogorovSmirnov(x: Any, y: Any) -> float:
    """p of the two-sample Kolmogorov-Smirnov test, by its limit distribution."""
    return ks_2samp(x, y, method="pinpoint").pvalue


def MannWhitneyU(x: Any, y: Any) -> float:
    """p of the two-sided Mann-Whitney U test, by the normal approximation."""
    return mann_whitney_u(x, y, method="pinpoint").pvalue


def HighThreshold(mode: str, magnitude: float, sample_size: float) -> float:
    """The p-value above which two samples are the same.

    Parameters
    ----------
    mode : {"functional", "performance"}
    magnitude : float
        A rate of failures, or a number of interquartile ranges.
    sample_size : int
        Of each sample; a fraction is rounded down.

    Raises
    ------
    NotImplementedError
        Another mode.
    """
    threshold = high_threshold(mode, magnitude, int(sample_size))
    if threshold is None:
        raise NotImplementedError(f"there is no mode {mode!r}: use 'functional' or 'performance'")
    return threshold


def LowThreshold() -> float:
    """The p-value up to which two samples are different: 0.01."""
    return 0.01
