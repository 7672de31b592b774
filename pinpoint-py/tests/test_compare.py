"""The comparisons: their verdicts, their evidence, and their errors."""

import doctest
import importlib
import copy
import math
import pickle
from typing import Any

import pytest

import pinpoint

STEADY = [10.0, 10.1, 10.2, 10.3, 10.4, 10.5, 10.6, 10.7, 10.8, 10.9]


def shifted(by: Any) -> Any:
    return [value + by for value in STEADY]


def test_a_clear_change_is_different() -> None:
    found: Any = pinpoint.compare_performance(STEADY, shifted(2.0))
    assert found.verdict == "different"
    assert found.mean_diff == pytest.approx(2.0)
    # Two samples of 10 that do not overlap: z = (100 - 50 - 1/2) / sqrt(175).
    z = 49.5 / math.sqrt(175.0)
    assert found.p_value_mwu == pytest.approx(math.erfc(z / math.sqrt(2.0)), rel=1e-12)
    assert found.p_value == min(found.p_value_ks, found.p_value_mwu)
    assert found.p_value <= found.low_threshold == 0.05
    assert not found.is_too_small and not found.is_improvement


def test_equal_samples_are_the_same() -> None:
    found: Any = pinpoint.compare_performance([5.0] * 10, [5.0] * 10, magnitude=1.0)
    assert (found.verdict, found.is_too_small) == ("same", True)


def test_a_difference_below_a_tenth_of_the_magnitude_is_not_tested() -> None:
    found: Any = pinpoint.compare_performance(STEADY, shifted(2.0), magnitude=21.0)
    assert (found.verdict, found.is_too_small) == ("same", True)
    assert found.p_value is found.p_value_ks is found.p_value_mwu is None
    assert found.low_threshold is found.high_threshold is None


def test_an_improvement_is_no_regression() -> None:
    found: Any = pinpoint.compare_performance(STEADY, shifted(-2.0), direction="down")
    assert (found.verdict, found.is_improvement) == ("same", True)
    assert pinpoint.compare_performance(STEADY, shifted(2.0), direction="down").verdict == "different"


def test_a_comparison_is_true_if_its_sides_differ() -> None:
    for compare in (pinpoint.compare_performance, pinpoint.compare_pairwise):
        assert compare(STEADY, shifted(2.0)) and not compare(STEADY, STEADY)
    assert pinpoint.compare_functional([0] * 10, [1] * 10)
    assert not pinpoint.compare_functional([0] * 10, [0] * 10)
    assert not pinpoint.compare_performance([], STEADY)


def test_tests_unpack_as_scipys() -> None:
    for found in (
        pinpoint.mann_whitney_u(STEADY, shifted(2.0)),
        pinpoint.ks_2samp(STEADY, shifted(2.0)),
        pinpoint.wilcoxon(STEADY, shifted(2.0)),
    ):
        statistic, pvalue = found
        assert (statistic, pvalue) == (found.statistic, found.pvalue)


def test_pairs_that_tie_are_compared_exactly() -> None:
    assert pinpoint.wilcoxon([0, 0, 0]).pvalue == 1.0
    assert pinpoint.wilcoxon([1] * 5).pvalue == 0.0625
    assert pinpoint.wilcoxon([1] * 5, method="pinpoint").pvalue < 0.04
    found = pinpoint.wilcoxon([3, 1, 2], [1, 2, 3])
    assert (found.estimate, found.ci_low, found.ci_high, found.confidence) == (-0.25, -1.0, 2.0, 0.75)
    few: Any = pinpoint.compare_pairwise([20, 21, 22], [21, 22, 23])
    assert (few.verdict, few.ci_low) == ("unknown", None)
    below: Any = pinpoint.compare_pairwise([-value for value in STEADY], [-2 * value for value in STEADY])
    assert (below.verdict, round(below.estimate)) == ("different", -100)


def test_no_values_on_a_side_is_nil() -> None:
    found: Any = pinpoint.compare_performance([], STEADY)
    assert (found.verdict, found.mean_diff, found.p_value) == ("nil", None, None)


def test_failures_are_compared() -> None:
    found: Any = pinpoint.compare_functional([0] * 10, [1] * 10)
    assert (found.verdict, found.mean_diff) == ("different", 1.0)
    assert pinpoint.compare_functional([0] * 10, [0] * 10).verdict == "same"
    fewer = pinpoint.compare_functional([1] * 10, [0] * 10)
    assert (fewer.verdict, fewer.is_improvement, fewer.p_value) == ("same", True, None)


@pytest.mark.parametrize("sequence", [tuple, list, lambda values: __import__("array").array("d", values)])
def test_any_sequence_of_numbers_is_a_sample(sequence: Any) -> None:
    assert pinpoint.compare_performance(
        sequence(STEADY), sequence(shifted(2.0))
    ) == pinpoint.compare_performance(STEADY, shifted(2.0))


def test_inputs_stay_as_they_are() -> None:
    values = STEADY[::-1]
    pinpoint.compare_performance(values, shifted(2.0))
    assert values == STEADY[::-1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pinpoint.compare_performance(STEADY, [1.0, math.nan]), r"`b\[1\]` is NaN"),
        (lambda: pinpoint.compare_performance([math.inf], STEADY), r"`a\[0\]` is inf"),
        (lambda: pinpoint.compare_performance(STEADY, STEADY, magnitude=math.inf), "`magnitude` is inf"),
        (
            lambda: pinpoint.compare_performance(STEADY, STEADY, direction="left"),  # type: ignore[arg-type]
            '"left".*"up", "down"',
        ),
        (lambda: pinpoint.compare_functional([], [0]), "`a` is empty"),
        (lambda: pinpoint.compare_functional([0], [0.5]), r"`b\[0\]` is 0.5"),
        (lambda: pinpoint.compare_functional([0], [0], -1.0), "`expected_error_rate` is -1"),
    ],
)
def test_bad_values_are_refused(call: Any, message: Any) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("values", ["123", None, 1.0, ["1"], {1.0: 2.0}])
def test_what_is_no_sequence_of_numbers_is_refused(values: Any) -> None:
    with pytest.raises(TypeError):
        pinpoint.compare_performance(values, STEADY)


def test_results_are_frozen() -> None:
    found: Any = pinpoint.compare_performance(STEADY, shifted(2.0))
    with pytest.raises(AttributeError):
        found.verdict = "same"
    assert "verdict='different'" in repr(found)


@pytest.mark.parametrize(
    "module", ["pinpoint", "pinpoint._pinpoint", "pinpoint.catapult", "pinpoint._bots", "pinpoint._executor"]
)
def test_the_examples_in_the_documentation_are_true(module: str) -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = importlib.import_module(module)
    tests = [test for test in finder.find(found, globs=dict(vars(found))) if test.examples]
    if module == "pinpoint._pinpoint":
        # It is not a Python file, in which examples are looked for.
        for name in dir(found):
            tests += finder.find(getattr(found, name), name, module=False, globs={})
        tests = [test for test in tests if test.examples]
    assert tests
    for test in tests:
        assert doctest.DocTestRunner().run(test).failed == 0, test.name


def test_of_a_magnitude_the_absolute_value_counts() -> None:
    pairs = [(STEADY, shifted(2.0)), (STEADY, shifted(0.5))]
    for size in (0.5, 21.0):
        for a, b in pairs:
            expected = pinpoint.compare_performance(a, b, magnitude=size)
            assert pinpoint.compare_performance(a, b, magnitude=-size) == expected
        assert pinpoint.compare_many(pairs, magnitude=-size) == pinpoint.compare_many(pairs, magnitude=size)
    for search in (pinpoint.Bisection, pinpoint.CulpritFinder):
        assert search(10, magnitude=-1.0).next() == search(10, magnitude=1.0).next()


@pytest.mark.parametrize("magnitude", [float("nan"), float("inf"), float("-inf")])
def test_a_magnitude_that_is_no_size_is_refused(magnitude: float) -> None:
    for call in (
        lambda: pinpoint.compare_performance(STEADY, STEADY, magnitude=magnitude),
        lambda: pinpoint.compare_many([(STEADY, STEADY)], magnitude=magnitude),
        lambda: pinpoint.Bisection(10, magnitude=magnitude),
        lambda: pinpoint.CulpritFinder(10, magnitude=magnitude),
    ):
        with pytest.raises(ValueError, match="`magnitude` is"):
            call()


def test_a_copy_of_many_comparisons_is_their_equal() -> None:
    # The magnitude in interquartile ranges is infinite for the second pair.
    pairs = [(STEADY, shifted(2.0)), ([5.0] * 10, [6.0] * 10), ([], STEADY)]
    found = pinpoint.compare_many(pairs, magnitude=1.0)
    for copied in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert type(copied) is pinpoint.Comparisons
        assert copied == found and list(copied) == list(found)


def test_more_threads_than_pairs_are_not_made() -> None:
    found = pinpoint.compare_many([(STEADY, shifted(2.0))] * 3, threads=2**64 - 1)
    assert found == pinpoint.compare_many([(STEADY, shifted(2.0))] * 3, threads=1)
    assert len(pinpoint.compare_many([], threads=2**40)) == 0


class Refusing:
    """Has a value, and keeps it."""

    def __float__(self) -> float:
        raise KeyError("mine")


def test_what_a_number_raises_is_passed_on() -> None:
    refusing: Any = Refusing()
    with pytest.raises(KeyError, match="mine"):
        pinpoint.mann_whitney_u([1.0, refusing], STEADY)
    search: Any = pinpoint.Pairwise()
    (pair, *_) = search.next()
    with pytest.raises(KeyError, match="mine"):
        search.record(pair, refusing, 1.0)
    with pytest.raises(ValueError, match="`first` is too large"):
        search.record(pair, 10**400, 1.0)
