"""The comparisons under Catapult's names: its rules, one by one."""

from typing import Any

import pytest

from pinpoint import catapult

BEFORE = list(range(10))


def shifted(by: Any) -> Any:
    return [value + by for value in BEFORE]


@pytest.mark.parametrize(
    ("a", "b", "mode", "magnitude", "result"),
    [
        ([], [0] * 10, "functional", 1, catapult.UNKNOWN),
        (BEFORE, [], "performance", 1, catapult.UNKNOWN),
        ([0] * 10, [1] * 10, "functional", 0.5, catapult.DIFFERENT),
        ([0] * 10, [0] * 9 + [1], "functional", 0.5, catapult.UNKNOWN),
        ([0] * 10, [0] * 10, "functional", 0.5, catapult.SAME),
        (BEFORE, shifted(7), "performance", 1, catapult.DIFFERENT),
        (BEFORE, shifted(3), "performance", 1, catapult.UNKNOWN),
        (BEFORE, BEFORE, "performance", 1, catapult.SAME),
        # The same difference in the other direction, and one that is tiny compared
        # with the magnitude, if that were in the unit of the values.
        (shifted(7), BEFORE, "performance", 1, catapult.DIFFERENT),
        (BEFORE, shifted(7), "performance", 1e9, catapult.DIFFERENT),
    ],
)
def test_verdicts(a: Any, b: Any, mode: Any, magnitude: Any, result: Any) -> None:
    assert catapult.Compare(a, b, 10, mode, magnitude).result == result


def test_the_constants_are_words() -> None:
    words = (catapult.DIFFERENT, catapult.PENDING, catapult.SAME, catapult.UNKNOWN)
    assert words == ("different", "pending", "same", "unknown")


def test_the_result_is_a_tuple_of_four() -> None:
    found: Any = catapult.Compare(BEFORE, shifted(3), 10, "performance", 1.0)
    result, p_value, low, high = found
    assert (result, low) == ("unknown", 0.01)
    assert low < p_value <= high
    assert p_value == min(
        catapult.KolmogorovSmirnov(BEFORE, shifted(3)), catapult.MannWhitneyU(BEFORE, shifted(3))
    )


def test_without_values_there_is_no_p_value_but_thresholds() -> None:
    found = catapult.Compare([], [], 10, "performance", 1.0)
    assert found == ("unknown", None, 0.01, catapult.HighThreshold("performance", 1.0, 10))


def test_the_high_threshold_is_looked_up_by_attempts_not_by_values() -> None:
    few = catapult.Compare(BEFORE, shifted(3), 10, "performance", 1.0)
    many = catapult.Compare(BEFORE, shifted(3), 40, "performance", 1.0)
    assert many.high_threshold == catapult.HighThreshold("performance", 1.0, 40) < few.high_threshold
    assert (few.result, many.result) == ("unknown", "same")
    # The mean of two numbers of attempts.
    assert catapult.HighThreshold("performance", 1.0, 10.5) == few.high_threshold


@pytest.mark.parametrize("mode", ["guess", "", "Performance"])
def test_another_mode_is_not_implemented(mode: Any) -> None:
    with pytest.raises(NotImplementedError, match="'functional' or 'performance'"):
        catapult.Compare(BEFORE, BEFORE, 10, mode, 1.0)
    with pytest.raises(NotImplementedError):
        catapult.HighThreshold(mode, 1.0, 10)


def test_with_benchmark_arguments_the_milder_thresholds_win_where_they_differ() -> None:
    b = shifted(3.5)
    strict: Any = catapult.Compare(BEFORE, b, 10, "performance", 1.0)
    assert 0.01 < strict.p_value <= 0.05 and strict.result == "unknown"
    milder: Any = catapult.Compare(BEFORE, b, 10, "performance", 1.0, {"benchmark": "speed"}, "1234")
    assert (milder.result, milder.low_threshold) == ("different", 0.05)
    assert milder.high_threshold == strict.high_threshold
    # Nothing differs: the thresholds are the usual ones.
    same = catapult.Compare(BEFORE, BEFORE, 10, "performance", 1.0, {"benchmark": "speed"})
    assert same == catapult.Compare(BEFORE, BEFORE, 10, "performance", 1.0)


def test_the_milder_high_threshold_is_a_tenth() -> None:
    # So many attempts that anything above 0.01 is the same.
    b = shifted(3)
    strict: Any = catapult.Compare(BEFORE, b, 1000, "performance", 1.0)
    assert 0.05 < strict.p_value <= 0.10 and strict.result == "same"
    assert catapult.Compare(BEFORE, b, 1000, "performance", 1.0, {}) == (
        "unknown", catapult.MannWhitneyU(BEFORE, b), 0.05, 0.10,
    )


def test_bad_values_are_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        catapult.Compare([1.0, float("nan")], BEFORE, 10, "performance", 1.0)
    with pytest.raises(TypeError):
        catapult.Compare(["fast"], BEFORE, 10, "performance", 1.0)
