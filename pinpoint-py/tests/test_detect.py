"""Changes in a history of values, at once and value by value."""

import math
import random
from typing import Any

import numpy as np
import pytest

import pinpoint


def history(steps: dict[int, float], count: int = 160, seed: int = 1) -> list[float]:
    """Noise of deviation 1 about 100, moved for good at each index of `steps`."""
    generator = random.Random(seed)
    level, values = 100.0, []
    for index in range(count):
        level += steps.get(index, 0.0)
        values.append(generator.gauss(level, 1.0))
    return values


def test_a_step_is_found_where_it_is() -> None:
    [change] = pinpoint.detect(history({80: 6.0}))
    assert change.shape == "step" and change.rose and change.is_firm
    first, last = change.interval
    assert first <= 80 <= last <= change.shown_at
    assert change.after - change.before == pytest.approx(6.0, abs=1.5)
    assert change.share == pytest.approx(change.after / change.before - 1.0)
    assert "step" in change._repr_html_()


def test_quiet_values_have_no_change() -> None:
    assert pinpoint.detect(history({})) == []


def test_small_changes_are_left_out_when_asked() -> None:
    values = history({80: 6.0})
    for smallest in (10.0, -10.0, "10%"):
        assert pinpoint.detect(values, smallest_change=smallest) == []
    assert len(pinpoint.detect(values, smallest_change="2%")) == 1


def test_missing_values_keep_the_places_of_the_others() -> None:
    values = np.array(history({80: 6.0}))
    values[[3, 50, 51]] = np.nan
    with pytest.raises(ValueError, match=r"values\[3\].*omit"):
        pinpoint.detect(values)
    [change] = pinpoint.detect(values, nan_policy="omit")
    assert change.interval[0] <= 80 <= change.interval[1]
    values[7] = np.inf
    with pytest.raises(ValueError, match=r"values\[7\]` is inf"):
        pinpoint.detect(values, nan_policy="omit")


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([1.0] * 19, {}, "19 values"),
        ([], {}, "0 values"),
        ([math.nan] * 30, {"nan_policy": "omit"}, "0 values"),
        ([1.0] * 30, {"rate": 0.5}, "rate"),
        ([1.0] * 30, {"nan_policy": "propagate"}, '"raise" or "omit"'),
        ([1.0] * 30, {"smallest_change": "much"}, "smallest_change"),
        ([1.0] * 30, {"smallest_change": math.nan}, "smallest_change"),
    ],
)
def test_nonsense_is_refused(values: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pinpoint.detect(values, **options)


def test_nothing_but_numbers_is_taken() -> None:
    with pytest.raises(TypeError):
        pinpoint.detect("history.csv")  # type: ignore[arg-type]


def test_values_one_by_one_give_the_same_changes() -> None:
    values = history({70: 5.0, 130: -8.0}, 200)
    detector = pinpoint.Detector()
    alarms = [event for value in values if (event := detector.push(value))]
    assert detector.count == 200 and not detector.is_drifting
    assert all(isinstance(alarm, pinpoint.Alarm) for alarm in alarms)
    found = pinpoint.detect(values)
    assert [(it.row, it.shown_at) for it in found] == [
        (alarm.at, alarm.raised_at) for alarm in alarms if isinstance(alarm, pinpoint.Alarm)
    ]
    for alarm in alarms:
        assert isinstance(alarm, pinpoint.Alarm)
        assert alarm.statistic > alarm.threshold
        assert sum(chance for _, chance in alarm.posterior) == pytest.approx(1.0, abs=1e-3)


def test_a_spike_is_taken_back() -> None:
    detector = pinpoint.Detector()
    values = history({80: 9.0, 92: -9.0})
    events = [event for value in values if (event := detector.push(value))]
    assert [type(event).__name__ for event in events] == ["Alarm", "Retraction"]
    [change] = pinpoint.detect(values)
    assert change.back_at is not None and abs(change.back_at - 92) <= 1


def test_a_packed_detector_goes_on() -> None:
    values = history({80: 6.0})
    one, other = pinpoint.Detector(rate=1e-3), pinpoint.Detector(rate=1e-3)
    for value in values[:83]:
        assert one.push(value) == other.push(value)
    state = one.pack()
    assert len(state) <= 1536
    again = pinpoint.Detector.unpack(state, rate=1e-3)
    assert [again.push(value) for value in values[83:]] == [other.push(it) for it in values[83:]]
    with pytest.raises(ValueError, match="packed state"):
        pinpoint.Detector.unpack(state[:40])
    with pytest.raises(ValueError, match="value"):
        again.push(math.nan)


def test_perfherder_alerts_where_its_windows_are_full() -> None:
    values = [10.0 + index % 3 / 10 for index in range(24)]
    values += [12.0 + index % 3 / 10 for index in range(24)]
    [alert] = pinpoint.perfherder_alerts(values)
    assert (alert.at, alert.is_regression) == (24, True)
    assert alert.percent == pytest.approx(100 * 2.0 / alert.before, rel=1e-9)
    # Several values of a revision, where more is better, and a threshold that it does not reach.
    [other] = pinpoint.perfherder_alerts([[it, it] for it in values], lower_is_better=False)
    assert (other.at, other.is_regression) == (24, False)
    assert pinpoint.perfherder_alerts(values, alert_threshold="25%") == []
    assert pinpoint.perfherder_alerts(values, alert_threshold=2.5) == []
    assert pinpoint.perfherder_alerts(values[:35]) == []


def test_nonsense_for_perfherder_is_refused() -> None:
    with pytest.raises(ValueError, match="fore_window"):
        pinpoint.perfherder_alerts([1.0], fore_window=0)
    with pytest.raises(ValueError, match="finite"):
        pinpoint.perfherder_alerts([1.0, math.nan])
    with pytest.raises(TypeError):
        pinpoint.perfherder_alerts(["a"])  # type: ignore[list-item]
