//! The comparisons of two samples.

use pinpoint_compare::{self as statistics, CompareError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arguments;

/// What compare_performance() decided, and why.
#[pyclass(frozen, get_all, eq, module = "pinpoint")]
#[derive(PartialEq)]
pub(crate) struct PerformanceComparison {
    /// "same", "different", "unknown" (more values may decide) or "nil" (a side is empty).
    verdict: &'static str,
    /// The smaller of the two p-values; None when no test was run.
    p_value: Option<f64>,
    /// p of the Kolmogorov-Smirnov test.
    p_value_ks: Option<f64>,
    /// p of the Mann-Whitney test.
    p_value_mwu: Option<f64>,
    /// p at most this: different.
    low_threshold: Option<f64>,
    /// p above this: same.
    high_threshold: Option<f64>,
    /// Mean of b less mean of a; None when a side is empty.
    mean_diff: Option<f64>,
    /// The means differ by less than a tenth of the magnitude: no test was run.
    is_too_small: bool,
    /// The means differ towards the better: no test was run.
    is_improvement: bool,
}

#[pymethods]
impl PerformanceComparison {
    fn __repr__(&self) -> String {
        format!(
            "PerformanceComparison(verdict='{}', p_value={}, mean_diff={})",
            self.verdict,
            number(self.p_value),
            number(self.mean_diff)
        )
    }
}

/// What compare_functional() decided, and why.
#[pyclass(frozen, get_all, eq, module = "pinpoint")]
#[derive(PartialEq)]
pub(crate) struct FunctionalComparison {
    /// "same", "different" or "unknown" (more values may decide).
    verdict: &'static str,
    /// The smaller of the two p-values; None when no test was run.
    p_value: Option<f64>,
    /// p of the Kolmogorov-Smirnov test.
    p_value_ks: Option<f64>,
    /// p of the Mann-Whitney test.
    p_value_mwu: Option<f64>,
    /// p at most this: different.
    low_threshold: Option<f64>,
    /// p above this: same.
    high_threshold: Option<f64>,
    /// Share of failures in b less that in a.
    mean_diff: f64,
    /// Fewer failures in b: no test was run.
    is_improvement: bool,
}

#[pymethods]
impl FunctionalComparison {
    fn __repr__(&self) -> String {
        format!(
            "FunctionalComparison(verdict='{}', p_value={}, mean_diff={:?})",
            self.verdict,
            number(self.p_value),
            self.mean_diff
        )
    }
}

/// Compare the values of two samples: a, the older, with b, the newer.
///
/// magnitude is the smallest change worth finding, in the unit of the values;
/// direction says where better lies: "up", "down" or "unknown". Raises
/// ValueError for values that are not finite.
#[pyfunction]
#[pyo3(signature = (a, b, magnitude=None, direction="unknown"))]
pub(crate) fn compare_performance(
    py: Python<'_>,
    a: Vec<f64>,
    b: Vec<f64>,
    magnitude: Option<f64>,
    direction: &str,
) -> PyResult<PerformanceComparison> {
    let direction = arguments::direction(direction)?;
    let found = py
        .detach(|| statistics::compare_performance(&a, &b, magnitude, direction))
        .map_err(refused)?;
    Ok(PerformanceComparison {
        verdict: found.verdict.as_str(),
        p_value: found.p_value,
        p_value_ks: found.p_value_ks,
        p_value_mwu: found.p_value_mwu,
        low_threshold: found.low_threshold,
        high_threshold: found.high_threshold,
        mean_diff: found.mean_diff,
        is_too_small: found.is_too_small,
        is_improvement: found.is_improvement,
    })
}

/// Compare whether runs fail: a and b hold 1 for each failure, 0 for each success.
///
/// Raises ValueError for other values, and when a sample is empty.
#[pyfunction]
#[pyo3(signature = (a, b, expected_error_rate=1.0))]
pub(crate) fn compare_functional(
    py: Python<'_>,
    a: Vec<f64>,
    b: Vec<f64>,
    expected_error_rate: f64,
) -> PyResult<FunctionalComparison> {
    let found = py
        .detach(|| statistics::compare_functional(&a, &b, expected_error_rate))
        .map_err(refused)?;
    Ok(FunctionalComparison {
        verdict: found.verdict.as_str(),
        p_value: found.p_value,
        p_value_ks: found.p_value_ks,
        p_value_mwu: found.p_value_mwu,
        low_threshold: found.low_threshold,
        high_threshold: found.high_threshold,
        mean_diff: found.mean_diff,
        is_improvement: found.is_improvement,
    })
}

/// The error, naming the arguments as Python knows them.
fn refused(mut error: CompareError) -> PyErr {
    if let CompareError::Empty { argument }
    | CompareError::NotFinite { argument, .. }
    | CompareError::NotBinary { argument, .. }
    | CompareError::Overflow { argument, .. } = &mut error
    {
        *argument = match *argument {
            "control" => "a",
            "treatment" => "b",
            other => other,
        };
    }
    PyValueError::new_err(error.to_string())
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "None".into(), |value| format!("{value:?}"))
}
