"""Accepted and refused samples."""

import array
import copy
import decimal
import fractions
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped, unused-ignore]
import polars as pl
import pytest

import pinpoint

VALUES = [10.0, 12.5, 11.0, 13.0, 9.0, 14.0, 8.0, 15.0]
OTHERS = [value + 3.0 for value in VALUES]
EXPECTED = pinpoint.mann_whitney_u(VALUES, OTHERS)


def strided(values: Any) -> Any:
    wide = np.zeros(2 * len(values))
    wide[::2] = values
    return wide[::2]


def unaligned(values: Any) -> Any:
    buffer = np.zeros(8 * len(values) + 1, dtype=np.uint8)
    view = buffer[1:].view(np.float64)
    view[:] = values
    return view


def read_only(values: Any) -> Any:
    frozen = np.array(values)
    frozen.flags.writeable = False
    return frozen


@pytest.mark.parametrize(
    "sample",
    [
        list,
        tuple,
        np.array,
        strided,
        unaligned,
        read_only,
        lambda values: np.array(values[::-1])[::-1],
        lambda values: np.array([values, values]).T[:, 0],
        lambda values: np.array(values, dtype=np.float32),
        lambda values: np.array(values, dtype=np.float16),
        lambda values: np.array(values, dtype=">f8"),
        lambda values: np.array(values, dtype=np.longdouble),
        lambda values: np.array(values, dtype=object),
        lambda values: np.ma.array(values),
        lambda values: [np.float64(value) for value in values],
        lambda values: [decimal.Decimal(value) for value in values],
        lambda values: [fractions.Fraction(value) for value in values],
        lambda values: array.array("d", values),
        lambda values: memoryview(array.array("d", values)),
        pd.Series,
        lambda values: pd.Series(values, dtype="Float64"),
        lambda values: pd.Series(values, dtype="float32", index=list("abcdefgh")),
        lambda values: pd.DataFrame({"time": values, "other": values})["time"],
        pl.Series,
        lambda values: pl.Series(values, dtype=pl.Float32),
        lambda values: pl.DataFrame({"time": values})["time"],
    ],
)
def test_any_sequence_of_numbers_is_a_sample(sample: Any) -> None:
    assert pinpoint.mann_whitney_u(sample(VALUES), sample(OTHERS)) == EXPECTED


@pytest.mark.parametrize(
    "sample",
    [
        lambda values: np.array(values),
        lambda values: np.array(values, dtype=np.uint8),
        lambda values: pd.Series(values),
        lambda values: pd.Series(values, dtype="Int64"),
        lambda values: pl.Series(values),
        lambda values: array.array("i", values),
        lambda values: range(values[0], values[-1] + 1),
    ],
)
def test_integers_are_numbers(sample: Any) -> None:
    expected = pinpoint.ks_2samp([1.0, 2.0, 3.0], [2.0, 3.0, 4.0])
    assert pinpoint.ks_2samp(sample([1, 2, 3]), sample([2, 3, 4])) == expected


@pytest.mark.parametrize("sample", [list, np.array, pd.Series, pl.Series])
def test_failures_may_be_told_as_booleans(sample: Any) -> None:
    found = pinpoint.compare_functional(sample([False] * 10), sample([True] * 10))
    assert found == pinpoint.compare_functional([0] * 10, [1] * 10)


def test_inputs_stay_as_they_are() -> None:
    a, b = np.array(VALUES), np.array(OTHERS)
    pinpoint.compare_performance(a, b)
    pinpoint.compare_many([(a, b)])
    assert a.tolist() == VALUES and b.tolist() == OTHERS


def test_the_same_array_may_stand_on_both_sides() -> None:
    values = np.array(VALUES)
    assert pinpoint.mann_whitney_u(values, values).pvalue == 1.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("123", "not str"),
        (b"123", "not bytes"),
        (None, "not NoneType"),
        (1.0, "not float"),
        ({1.0: 2.0}, "not dict"),
        ({1.0, 2.0}, "not set"),
        ((value for value in VALUES), "not generator"),
        (object(), "not object"),
        (np.float64(1.0), "not float64"),
        (["1"], r"`a\[0\]` must be a number, not str"),
        ([1.0, None], r"`a\[1\]` must be a number, not NoneType"),
        ([1.0, pd.NA], r"`a\[1\]` must be a number"),
        ([[1.0, 2.0], [3.0, 4.0]], r"`a\[0\]` must be a number, not list"),
        ([1.0, 2j], r"`a\[1\]` must be a number, not complex"),
        (np.array([1.0 + 2j]), "not ndarray"),
        (np.array(["1"]), "not ndarray"),
        (np.array(["2024-01-01"], dtype="datetime64[D]"), "not ndarray"),
        (pd.Series(["1"]), r"`a\[0\]` must be a number, not str"),
        (pl.Series(["1"]), "Series|`a"),
        (np.zeros(3, dtype=[("x", "f8")]), "not ndarray"),
    ],
)
def test_what_is_no_sequence_of_numbers_is_refused(values: Any, message: Any) -> None:
    for function in (pinpoint.mann_whitney_u, pinpoint.ks_2samp, pinpoint.compare_performance):
        with pytest.raises(TypeError, match=message):
            function(values, OTHERS)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array([1.0, math.nan]), r"`a\[1\]` is NaN"),
        (np.array([1.0, math.inf], dtype=np.float32), r"`a\[1\]` is inf"),
        (pd.Series([1.0, None]), r"`a\[1\]` is NaN"),
        (pd.Series([1, None], dtype="Int64"), r"`a\[1\]` is NaN"),
        (pl.Series([1.0, None]), r"`a\[1\]` is NaN"),
        ([1.0, 10**400], r"`a\[1\]` is too large"),
        (np.array([[1.0, 2.0]]), "`a` has 2 dimensions"),
        (pd.DataFrame({"x": [1.0], "y": [2.0]}), "`a` has 2 dimensions"),
        (np.ma.array(VALUES, mask=[True] + [False] * 7), "`a` has masked values"),
        ([], "`a` is empty"),
        (np.array([]), "`a` is empty"),
    ],
)
def test_bad_values_are_refused(values: Any, message: Any) -> None:
    for function in (pinpoint.mann_whitney_u, pinpoint.ks_2samp):
        with pytest.raises(ValueError, match=message):
            function(values, OTHERS)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pinpoint.wilcoxon([1.0, 2.0], [1.0]), "equal lengths, these have 2 and 1"),
        (lambda: pinpoint.compare_pairwise([1.0], [1.0, 2.0]), "equal lengths, these have 1 and 2"),
        (
            lambda: pinpoint.compare_pairwise([1.0, -1.0], [1.0, 2.0], method="pinpoint"),
            r"`control\[1\]` is -1",
        ),
        (lambda: pinpoint.wilcoxon([1.0, 2.0], confidence=1.0), "`confidence` is 1"),
        (lambda: pinpoint.wilcoxon([1.0, math.nan]), r"`x\[1\]` is NaN"),
        (lambda: pinpoint.wilcoxon([1.0], [math.nan]), r"`y\[0\]` is NaN"),
        (lambda: pinpoint.mann_whitney_u(VALUES, [math.nan]), r"`b\[0\]` is NaN"),
        (
            lambda: pinpoint.mann_whitney_u(VALUES, OTHERS, alternative="more"),  # type: ignore[arg-type]
            '"more": it must be "two-sided", "less" or "greater"',
        ),
        (
            lambda: pinpoint.ks_2samp(VALUES, OTHERS, method="monte carlo"),  # type: ignore[arg-type]
            '"monte carlo"',
        ),
        (lambda: pinpoint.mann_whitney_u(VALUES, OTHERS, "less", "pinpoint"), "pinpoint"),
        (
            lambda: pinpoint.mann_whitney_u(np.zeros(5000), np.zeros(5000), method="exact"),
            "use the asymptotic method",
        ),
    ],
)
def test_bad_arguments_are_refused(call: Any, message: Any) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_a_result_is_a_frozen_tuple() -> None:
    found = EXPECTED
    # Like SciPy's, with the method as an attribute.
    statistic, pvalue = found
    method = found.method
    assert found == (statistic, pvalue) and method == "asymptotic"
    again = pickle.loads(pickle.dumps(found))
    assert (again, again.method, type(again)) == (found, method, type(found))
    assert copy.deepcopy(found).method == method
    assert found._asdict() == {"statistic": statistic, "pvalue": pvalue, "method": method}
    assert repr(found) == f"MannWhitneyResult(statistic={statistic}, pvalue={pvalue}, method='asymptotic')"
    assert "<table>" in found._repr_html_() and "statistic" in found._repr_html_()
    with pytest.raises(AttributeError):
        found.pvalue = 0.0  # type: ignore[misc]


@pytest.mark.parametrize(
    "call",
    [
        lambda a, b: pinpoint.mann_whitney_u(a, b),
        lambda a, b: pinpoint.ks_2samp(a, b),
        lambda a, b: pinpoint.wilcoxon(a, b),
        lambda a, b: pinpoint.wilcoxon(a, b, alternative="less"),
        lambda a, b: pinpoint.compare_performance(a, b),
        lambda a, b: pinpoint.compare_performance(a, []),
        lambda a, b: pinpoint.compare_functional([0, 1], [1, 1]),
        lambda a, b: pinpoint.compare_pairwise(a, b),
    ],
)
def test_results_compare_hash_pickle_and_show_themselves(call: Any) -> None:
    found = call(VALUES, OTHERS)
    assert pickle.loads(pickle.dumps(found)) == found == call(VALUES, OTHERS)
    assert type(pickle.loads(pickle.dumps(found))) is type(found)
    assert hash(found) == hash(call(VALUES, OTHERS))
    assert eval(repr(found), {**vars(pinpoint), "inf": math.inf}) == found
    assert found._repr_html_().count("<tr>") == len(found._asdict())


RANDOM = np.random.default_rng(1)


class TestMany:
    pairs = [(RANDOM.normal(10, 1, 30), RANDOM.normal(10 + index % 3, 1, 20)) for index in range(50)]

    @pytest.mark.parametrize("threads", [None, 1, 2, 7])
    def test_as_one_by_one_in_their_order(self, threads: Any) -> None:
        found = pinpoint.compare_many(self.pairs, magnitude=0.5, direction="down", threads=threads)
        one_by_one = [pinpoint.compare_performance(a, b, 0.5, "down") for a, b in self.pairs]
        assert list(found) == one_by_one
        assert (found[7], found[-1], len(found)) == (one_by_one[7], one_by_one[-1], 50)
        assert found[10:20:3] == one_by_one[10:20:3] and found[::-1] == one_by_one[::-1]

    def test_columns(self) -> None:
        found = pinpoint.compare_many(self.pairs, direction="down")
        assert found.verdict == [one.verdict for one in found]
        for name in ("p_value", "mean_diff", "effect_size"):
            expected = [getattr(one, name) for one in found]
            expected = [math.nan if value is None else value for value in expected]
            np.testing.assert_array_equal(getattr(found, name), expected)
        assert np.isnan(found.p_value).any()

    def test_frozen_comparable_and_pickled(self) -> None:
        found = pinpoint.compare_many(self.pairs)
        assert found == pinpoint.compare_many(iter(self.pairs))
        assert pickle.loads(pickle.dumps(found)) == found
        assert repr(found).startswith("<50 comparisons: ")
        with pytest.raises(AttributeError):
            found.p_value = None  # type: ignore[misc, assignment]
        with pytest.raises(IndexError, match="there are 50"):
            found[50]

    def test_nothing_is_nothing(self) -> None:
        assert list(pinpoint.compare_many([])) == []

    @pytest.mark.parametrize(
        ("pairs", "error", "message"),
        [
            ([(VALUES, OTHERS), (VALUES, [math.nan])], ValueError, r"`pairs\[1\]`: `b\[0\]` is NaN"),
            ([(VALUES, "x")], TypeError, r"`pairs\[0\]`: `b` must be"),
            ([VALUES], TypeError, r"`pairs\[0\]` must be a pair"),
            (7, TypeError, "not iterable"),
        ],
    )
    def test_the_pair_to_blame_is_named(self, pairs: Any, error: Any, message: Any) -> None:
        with pytest.raises(error, match=message):
            pinpoint.compare_many(pairs)

    def test_threads_are_at_least_one(self) -> None:
        with pytest.raises(ValueError, match="`threads` is 0"):
            pinpoint.compare_many([], threads=0)
