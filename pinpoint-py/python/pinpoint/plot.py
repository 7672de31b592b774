"""Pictures of samples and searches, with matplotlib, which must be installed.

Every function draws into ``ax``, or into new axes, and returns them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import PinpointError
from ._model import JobOutcome
from ._pinpoint import compare_performance
from ._results import Posterior

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from ._samples import Sample

__all__ = ["bisection", "posterior", "samples"]


def samples(
    a: Sample,
    b: Sample,
    labels: Sequence[str] = ("a", "b"),
    unit: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Every value of two samples, their medians, and the result of a comparison.

    Parameters
    ----------
    a, b : array_like, shape (n,) and (m,)
        The values.
    labels : sequence of two str
        The names of the samples.
    unit : str, optional
        The unit of the values.
    ax : matplotlib.axes.Axes, optional
        The axes to draw into.

    Raises
    ------
    PinpointError
        matplotlib is not installed.
    ValueError
        As for :func:`pinpoint.compare_performance`.
    """
    ax = _axes(ax)
    for place, values in enumerate((a, b)):
        _scatter(ax, place, np.asarray(values, dtype=float), f"C{place}")
    ax.set_xticks([0, 1], [str(label) for label in labels])
    ax.set_xlim(-0.6, 1.6)
    ax.set_ylabel(unit or "value")
    found = compare_performance(a, b)
    p_value = "" if found.p_value is None else f", p = {found.p_value:.2g}"
    ax.set_title(f"{found.verdict}{p_value}")
    return ax


def bisection(outcome: JobOutcome, ax: Axes | None = None) -> Axes:
    """The values of every measured commit, in the order of the commits.

    Culprits are in another color. Parameters and errors as for :func:`samples`.
    """
    ax = _axes(ax)
    culprits = {found.commit for found in outcome.culprits}
    for place, measured in enumerate(outcome.measurements):
        color = "C3" if measured.commit in culprits else "C0"
        _scatter(ax, place, np.array(measured.values), color)
    names = [it.commit.main.subject or it.commit.main.git_hash[:10] for it in outcome.measurements]
    ax.set_xticks(range(len(names)), names, rotation=45, ha="right")
    ax.set_ylabel(" in ".join(filter(None, (outcome.chart or "value", outcome.unit))))
    ax.set_title(outcome.status.replace("_", " "))
    return ax


def posterior(posterior: Posterior | JobOutcome, ax: Axes | None = None) -> Axes:
    """The probability of each commit; of commits that no run tells apart, shared.

    Parameters
    ----------
    posterior : Posterior or JobOutcome
        The posterior of a search, or the outcome of :func:`pinpoint.bisect`.
    ax : matplotlib.axes.Axes, optional
        The axes to draw into.

    Raises
    ------
    PinpointError
        matplotlib is not installed.
    ValueError
        The outcome has no posterior: the strategy ``"pinpoint"`` keeps none.
    """
    if isinstance(posterior, JobOutcome):
        if posterior.posterior is None:
            raise ValueError("this outcome has no posterior: only searches with the strategy 'adaptive' have one")
        found = posterior.posterior
    else:
        found = posterior
    ax = _axes(ax)
    for span in found.spans:
        commits = span.last - span.first + 1
        ax.bar(span.first - 0.5, span.probability / commits, width=commits, align="edge", edgecolor="white")
    ax.set_xlabel("commit")
    ax.set_ylabel("probability")
    ax.set_title(f"no change: {found.no_change:.1%}")
    return ax


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise PinpointError("pinpoint.plot needs matplotlib: pip install matplotlib") from None
    axes: Any = pyplot.subplots()[1]
    return axes  # type: ignore[no-any-return, unused-ignore]


def _scatter(ax: Axes, place: float, values: npt.NDArray[np.float64], color: str) -> None:
    """Values side by side, so that equal ones can be told apart."""
    if values.size == 0:
        return
    offsets = np.linspace(-0.25, 0.25, values.size) if values.size > 1 else np.zeros(1)
    ax.plot(place + offsets, values, ".", color=color, alpha=0.7)
    ax.hlines(float(np.median(values)), place - 0.35, place + 0.35, color=color)
