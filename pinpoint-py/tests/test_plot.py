"""Pictures: drawn into the given axes, and only with matplotlib."""

import sys
from typing import Any

import pytest

import pinpoint
import pinpoint.plot


def test_samples() -> None:
    matplotlib: Any = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes: Any = pinpoint.plot.samples([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], ["old", "new"], "ms")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["old", "new"]
    assert "p = " in axes.get_title() and axes.get_ylabel() == "ms"
    assert pinpoint.plot.samples([1.0], [2.0], ax=axes) is axes


def test_posterior() -> None:
    matplotlib: Any = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    spans = (pinpoint.Span(1, 4, 0.6), pinpoint.Span(5, 5, 0.3))
    axes: Any = pinpoint.plot.posterior(pinpoint.Posterior(0.1, spans))
    assert sum(bar.get_height() * bar.get_width() for bar in axes.patches) == pytest.approx(0.9)
    assert "10.0%" in axes.get_title()


def commit(number: int) -> pinpoint.CombinedCommit:
    return pinpoint.CombinedCommit(pinpoint.Commit("r", f"{number:040x}"))


def outcome(**changes: Any) -> pinpoint.JobOutcome:
    spans = (pinpoint.Span(1, 4, 0.6), pinpoint.Span(5, 5, 0.3))
    found = pinpoint.JobOutcome(
        "job", "inconclusive", None, commit(0), commit(5), "time", "s", (), (), 0.1, 9, 3, (),
        tuple(pinpoint.Measurement(commit(number), (1.0, 2.0), 0) for number in (0, 3, 5)),
        posterior=pinpoint.Posterior(0.1, spans),
    )
    return found._replace(**changes)


def test_what_a_job_found() -> None:
    matplotlib: Any = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes: Any = pinpoint.plot.posterior(outcome())
    assert sum(bar.get_height() * bar.get_width() for bar in axes.patches) == pytest.approx(0.9)
    with pytest.raises(ValueError, match="no posterior"):
        pinpoint.plot.posterior(outcome(posterior=None))
    axes = pinpoint.plot.bisection(outcome())
    assert [label.get_text()[-1] for label in axes.get_xticklabels()] == ["0"] * 3


def test_without_matplotlib_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(pinpoint.PinpointError, match="pip install matplotlib"):
        pinpoint.plot.samples([1.0], [2.0])
