"""Answers of R, SciPy and the reference, through Python."""

import json
import math
import pathlib
from typing import Any

import pytest

import pinpoint

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "pinpoint-compare" / "tests" / "golden"


def number(value: Any) -> Any:
    """JSON has no infinities: they are written as text."""
    return float(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else value


def cases(*names: Any) -> Any:
    found = []
    for name in names:
        for line in (GOLDEN / name).read_text().splitlines():
            found.append(json.loads(line))
    return found


def sample(case: Any, name: Any) -> Any:
    values = case["inputs"][name]
    return None if values is None else [number(value) for value in values]


def agrees(case: Any, field: Any, got: Any) -> None:
    """Missing values are None in ours, and NaN or 0 in the golden data."""
    expected = number(case["expected"][field])
    expected = math.nan if expected is None else expected
    if got is None:
        assert math.isnan(expected) or expected == 0.0, f"{field}: None instead of {expected}"
        return
    tolerance = case["tolerance"]
    tolerance = tolerance.get("fields", {}).get(field, tolerance)
    if got == expected or abs(got - expected) <= tolerance["abs"] + tolerance["rel"] * abs(expected):
        return
    accepted = case.get("also_accept", {}).get(field)
    assert accepted and number(accepted["min"]) <= got <= number(accepted["max"]), (
        f"{field}: {got!r} instead of {expected!r}"
    )


def test_there_are_cases_of_r_and_scipy() -> None:
    sources = {case["source"].split()[0] for path in GOLDEN.glob("*.jsonl") for case in cases(path.name)}
    assert {"R", "scipy"} <= sources


@pytest.mark.parametrize("case", cases("mann_whitney.jsonl"), ids=lambda case: case["id"])
def test_mann_whitney(case: Any) -> None:
    inputs = case["inputs"]
    is_pinpoint = case["test"] == "mann_whitney_pinpoint"
    found = pinpoint.mann_whitney_u(
        sample(case, "x"),
        sample(case, "y"),
        alternative=inputs["alternative"],
        method="pinpoint" if is_pinpoint else inputs["options"]["method"],
    )
    agrees(case, "p_value", found.pvalue)
    if "statistic" in case["expected"]:
        agrees(case, "statistic", found.statistic)


@pytest.mark.parametrize("case", cases("kolmogorov_smirnov.jsonl"), ids=lambda case: case["id"])
def test_kolmogorov_smirnov(case: Any) -> None:
    is_pinpoint = case["test"] == "ks_pinpoint"
    # SciPy calls it "asymp".
    told = case["inputs"]["options"].get("method")
    method: Any = "pinpoint" if is_pinpoint else {"asymp": "asymptotic"}.get(told, told)
    found = pinpoint.ks_2samp(sample(case, "x"), sample(case, "y"), method=method)
    agrees(case, "p_value", found.pvalue)
    if "statistic" in case["expected"]:
        agrees(case, "statistic", found.statistic)


@pytest.mark.parametrize("case", cases("wilcoxon_signed_rank.jsonl"), ids=lambda case: case["id"])
def test_wilcoxon(case: Any) -> None:
    inputs = case["inputs"]
    found: Any = pinpoint.wilcoxon(
        sample(case, "x"),
        sample(case, "y"),
        alternative=inputs["alternative"],
        confidence=inputs["options"]["conf_level"],
        method="pinpoint",
    )
    agrees(case, "statistic", found.statistic)
    agrees(case, "p_value", None if math.isnan(found.pvalue) else found.pvalue)
    agrees(case, "estimate", found.estimate)
    # Without an interval, R still reports the end that has no bound.
    if found.ci_low is not None and not (math.isinf(found.ci_low) and math.isinf(found.ci_high)):
        agrees(case, "conf_low", found.ci_low)
        agrees(case, "conf_high", found.ci_high)


def comparisons(test: Any) -> Any:
    return [case for case in cases("compare.jsonl") if case["test"] == test]


@pytest.mark.parametrize("case", comparisons("compare_performance"), ids=lambda case: case["id"])
def test_compare_performance(case: Any) -> None:
    options = case["inputs"]["options"]
    found = pinpoint.compare_performance(
        sample(case, "x"),
        sample(case, "y"),
        magnitude=number(options["raw_magnitude"]),
        direction=options["improvement_direction"],
    )
    assert found.verdict == case["expected"]["verdict"].lower()
    assert found.is_too_small == case["expected"]["is_too_small"]
    agrees(case, "p_value", found.p_value)
    agrees(case, "p_ks", found.p_value_ks)
    agrees(case, "p_mwu", found.p_value_mwu)


@pytest.mark.parametrize("case", comparisons("compare_functional"), ids=lambda case: case["id"])
def test_compare_functional(case: Any) -> None:
    rate = number(case["inputs"]["options"]["expected_error_rate"])
    found = pinpoint.compare_functional(sample(case, "x"), sample(case, "y"), rate)
    assert found.verdict == case["expected"]["verdict"].lower()
    agrees(case, "p_value", found.p_value)
    agrees(case, "high_threshold", found.high_threshold)


@pytest.mark.parametrize("case", comparisons("compare_pairwise"), ids=lambda case: case["id"])
def test_compare_pairwise(case: Any) -> None:
    direction = case["inputs"]["options"]["improvement_direction"]
    found = pinpoint.compare_pairwise(sample(case, "x"), sample(case, "y"), direction, method="pinpoint")
    assert found.verdict == case["expected"]["verdict"].lower()
    agrees(case, "estimate", found.estimate)
    agrees(case, "conf_low", found.ci_low)
    agrees(case, "conf_high", found.ci_high)
    agrees(case, "control_median", found.control_median)


@pytest.mark.parametrize("case", cases("errors.jsonl"), ids=lambda case: case["id"])
def test_invalid_input_is_refused(case: Any) -> None:
    inputs, x, y = case["inputs"], sample(case, "x"), sample(case, "y")
    options = inputs["options"]
    calls: dict[str, Any] = {
        "wilcoxon_signed_rank": lambda: pinpoint.wilcoxon(
            x, y, inputs["alternative"], number(options["conf_level"])
        ),
        "mann_whitney": lambda: pinpoint.mann_whitney_u(
            x, y, inputs["alternative"], options["method"]
        ),
        "mann_whitney_pinpoint": lambda: pinpoint.mann_whitney_u(x, y, method="pinpoint"),
        "ks_two_sample": lambda: pinpoint.ks_2samp(x, y, options["method"]),
        "ks_pinpoint": lambda: pinpoint.ks_2samp(x, y, "pinpoint"),
        "compare_performance": lambda: pinpoint.compare_performance(
            x, y, number(options["raw_magnitude"])
        ),
        "compare_functional": lambda: pinpoint.compare_functional(
            x, y, number(options["expected_error_rate"])
        ),
        "compare_pairwise": lambda: pinpoint.compare_pairwise(x, y, method="pinpoint"),
    }
    with pytest.raises(ValueError):
        calls[case["test"]]()
