//! The tests and the comparisons of two samples.

use pinpoint_compare::{self as statistics, CompareError, Interval, MannWhitneyOptions, Scratch};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arguments;
use crate::results::make;
use crate::samples::Sample;

/// From this many values on, other threads may run during the test: letting them costs about as
/// much as comparing a few dozen.
const LARGE: usize = 1_000;

type PyObjectResult<'py> = PyResult<Bound<'py, PyAny>>;

/// Two samples, and their caller's names for them.
pub(crate) struct Two<'a, 'py> {
    samples: [Sample<'py>; 2],
    names: [&'a str; 2],
}

impl<'a, 'py> Two<'a, 'py> {
    pub(crate) fn read(names: [&'a str; 2], values: [&Bound<'py, PyAny>; 2]) -> PyResult<Self> {
        Ok(Self {
            samples: [
                Sample::read(names[0], values[0])?,
                Sample::read(names[1], values[1])?,
            ],
            names,
        })
    }

    /// The result of a test of the two.
    fn ask<T: Send>(
        &self,
        py: Python<'py>,
        test: impl FnOnce(&[f64], &[f64]) -> Result<T, CompareError> + Send,
    ) -> PyResult<T> {
        let (first, second) = self.slices();
        let found = if first.len() + second.len() < LARGE {
            test(first, second)
        } else {
            py.detach(|| test(first, second))
        };
        found.map_err(|error| PyValueError::new_err(refused(error, self.names).to_string()))
    }

    pub(crate) fn slices(&self) -> (&[f64], &[f64]) {
        (self.samples[0].as_slice(), self.samples[1].as_slice())
    }
}

#[doc = include_str!(concat!(env!("OUT_DIR"), "/mann_whitney_u"))]
#[pyfunction]
#[pyo3(signature = (a, b, alternative="two-sided", method="auto"))]
pub(crate) fn mann_whitney_u<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    alternative: &str,
    method: &str,
) -> PyObjectResult<'py> {
    let options = MannWhitneyOptions {
        alternative: arguments::alternative(alternative)?,
        method: arguments::method(method)?,
        confidence: None,
    };
    let found = Two::read(["a", "b"], [a, b])?.ask(py, |a, b| {
        statistics::mann_whitney_u_with(a, b, &options, &mut Scratch::new())
    })?;
    let fields = (found.statistic, found.p_value, found.method.as_str());
    make(py, "MannWhitneyResult", fields)
}

#[doc = include_str!(concat!(env!("OUT_DIR"), "/ks_2samp"))]
#[pyfunction]
#[pyo3(signature = (a, b, method="auto"))]
pub(crate) fn ks_2samp<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    method: &str,
) -> PyObjectResult<'py> {
    let method = arguments::method(method)?;
    let found =
        Two::read(["a", "b"], [a, b])?.ask(py, |a, b| statistics::ks_2samp(a, b, method))?;
    let fields = (found.statistic, found.p_value, found.method.as_str());
    make(py, "KolmogorovSmirnovResult", fields)
}

#[doc = include_str!(concat!(env!("OUT_DIR"), "/wilcoxon"))]
#[pyfunction]
#[pyo3(signature = (x, y=None, alternative="two-sided", confidence=0.95, method="auto"))]
pub(crate) fn wilcoxon<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    y: Option<&Bound<'py, PyAny>>,
    alternative: &str,
    confidence: f64,
    method: &str,
) -> PyObjectResult<'py> {
    let published = arguments::is_published(method)?;
    let alternative = arguments::alternative(alternative)?;
    // Without a second sample, the first one takes its place, unread.
    let paired = y.is_some();
    let found = Two::read(["x", "y"], [x, y.unwrap_or(x)])?.ask(py, |first, second| {
        let second = paired.then_some(second);
        let test = match published {
            true => statistics::wilcoxon_pinpoint,
            false => statistics::wilcoxon,
        };
        test(first, second, alternative, confidence)
    })?;
    let (low, high) = ends(found.interval);
    let fields = (
        found.statistic,
        found.p_value.unwrap_or(f64::NAN),
        found.estimate,
        low,
        high,
        found.achieved_confidence,
        found.method.as_str(),
    );
    make(py, "WilcoxonResult", fields)
}

#[doc = include_str!(concat!(env!("OUT_DIR"), "/compare_performance"))]
#[pyfunction]
#[pyo3(signature = (a, b, magnitude=None, direction="unknown"))]
pub(crate) fn compare_performance<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    magnitude: Option<f64>,
    direction: &str,
) -> PyObjectResult<'py> {
    let magnitude = arguments::magnitude(magnitude)?;
    let direction = arguments::direction(direction)?;
    let found = Two::read(["a", "b"], [a, b])?.ask(py, |a, b| {
        statistics::compare_performance(a, b, magnitude, direction)
    })?;
    performance(py, &found)
}

#[doc = include_str!(concat!(env!("OUT_DIR"), "/compare_functional"))]
#[pyfunction]
#[pyo3(signature = (a, b, expected_error_rate=1.0))]
pub(crate) fn compare_functional<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    expected_error_rate: f64,
) -> PyObjectResult<'py> {
    let found = Two::read(["a", "b"], [a, b])?.ask(py, |a, b| {
        statistics::compare_functional(a, b, expected_error_rate)
    })?;
    functional(py, &found)
}

#[doc = include_str!(concat!(env!("OUT_DIR"), "/compare_pairwise"))]
#[pyfunction]
#[pyo3(signature = (control, treatment, direction="unknown", method="auto"))]
pub(crate) fn compare_pairwise<'py>(
    py: Python<'py>,
    control: &Bound<'py, PyAny>,
    treatment: &Bound<'py, PyAny>,
    direction: &str,
    method: &str,
) -> PyObjectResult<'py> {
    let published = arguments::is_published(method)?;
    let direction = arguments::direction(direction)?;
    let two = Two::read(["control", "treatment"], [control, treatment])?;
    let found = two.ask(py, |control, treatment| {
        let compare = match published {
            true => statistics::compare_pairwise_pinpoint,
            false => statistics::compare_pairwise,
        };
        compare(control, treatment, direction)
    })?;
    pairwise(py, &found)
}

#[doc = include_str!(concat!(env!("OUT_DIR"), "/high_threshold"))]
#[pyfunction]
pub(crate) fn high_threshold(
    mode: &str,
    magnitude: f64,
    sample_size: &Bound<'_, PyAny>,
) -> PyResult<Option<f64>> {
    let sample_size = arguments::count("sample_size", sample_size)?;
    let sample_size = usize::try_from(sample_size).unwrap_or(usize::MAX);
    Ok(match mode {
        "performance" => Some(statistics::high_threshold_performance(
            magnitude,
            sample_size,
        )),
        "functional" => Some(statistics::high_threshold_functional(
            magnitude,
            sample_size,
        )),
        _ => None,
    })
}

pub(crate) fn performance<'py>(
    py: Python<'py>,
    found: &statistics::PerformanceComparison,
) -> PyObjectResult<'py> {
    let fields = (
        found.verdict.as_str(),
        found.p_value,
        found.p_value_ks,
        found.p_value_mwu,
        found.low_threshold,
        found.high_threshold,
        found.mean_diff,
        found.median_diff,
        found.is_too_small,
        found.is_improvement,
        found.effect_size,
    );
    make(py, "PerformanceComparison", fields)
}

pub(crate) fn functional<'py>(
    py: Python<'py>,
    found: &statistics::FunctionalComparison,
) -> PyObjectResult<'py> {
    let fields = (
        found.verdict.as_str(),
        found.p_value,
        found.p_value_ks,
        found.p_value_mwu,
        found.low_threshold,
        found.high_threshold,
        found.mean_diff,
        found.is_improvement,
    );
    make(py, "FunctionalComparison", fields)
}

pub(crate) fn pairwise<'py>(
    py: Python<'py>,
    found: &statistics::PairwiseComparison,
) -> PyObjectResult<'py> {
    let (low, high) = ends(found.interval);
    let fields = (
        found.verdict.as_str(),
        found.p_value,
        found.estimate,
        low,
        high,
        found.control_median,
        found.treatment_median,
        found.is_improvement,
        found.pairs,
    );
    make(py, "PairwiseComparison", fields)
}

pub(crate) fn ends(interval: Option<Interval>) -> (Option<f64>, Option<f64>) {
    (interval.map(|it| it.low), interval.map(|it| it.high))
}

/// The error, naming the arguments as Python knows them.
pub(crate) fn refused(mut error: CompareError, names: [&str; 2]) -> CompareError {
    if let CompareError::Empty { argument }
    | CompareError::NotFinite { argument, .. }
    | CompareError::NotBinary { argument, .. }
    | CompareError::Overflow { argument, .. } = &mut error
        && names == ["a", "b"]
    {
        *argument = match *argument {
            "control" | "x" => "a",
            "treatment" | "y" => "b",
            other => other,
        };
    }
    error
}
