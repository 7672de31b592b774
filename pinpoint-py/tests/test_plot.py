"""Pictures: drawn where they are asked for, and only with matplotlib."""

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


def test_without_matplotlib_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(pinpoint.PinpointError, match="pip install matplotlib"):
        pinpoint.plot.samples([1.0], [2.0])
