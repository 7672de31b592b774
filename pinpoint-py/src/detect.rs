//! The changes in a history of values: of a whole series, and value by value.

use pinpoint_compare::steps::{
    self, DetectorOptions, LEAST_VALUES, PerfherderOptions, PerfherderThreshold, Shape, StepEvent,
};
use pinpoint_core::Magnitude;
use pinpoint_traces::{ChangeOptions, SeriesChange, series_changes};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::arguments;
use crate::results::make;
use crate::samples::Sample;

fn name_of(shape: Shape) -> &'static str {
    match shape {
        Shape::Drift => "drift",
        Shape::Spread => "spread",
        _ => "step",
    }
}

fn refused(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[doc = include_str!(concat!(env!("OUT_DIR"), "/detect"))]
#[pyfunction]
#[pyo3(signature = (values, *, rate=1e-4, smallest_change=None, nan_policy="raise", seed=0))]
pub(crate) fn detect<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    rate: f64,
    smallest_change: Option<&Bound<'py, PyAny>>,
    nan_policy: &str,
    seed: u64,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let omits_nan = arguments::omits_nan(nan_policy)?;
    let mut options = ChangeOptions {
        rate,
        seed,
        ..ChangeOptions::default()
    };
    match arguments::number_or_percent("smallest_change", smallest_change)? {
        Some(Magnitude::Percent(percent)) => options.least_share = percent.abs() / 100.0,
        Some(Magnitude::Absolute(amount)) => options.least_amount = amount.abs(),
        _ => {}
    }
    let sample = Sample::read("values", values)?;
    let values = sample.as_slice();
    // Of a missing value the index is known here, and not where the others are numbered anew.
    if let Some((index, value)) = (values.iter().enumerate())
        .find(|(_, value)| value.is_infinite() || (value.is_nan() && !omits_nan))
    {
        let advice = match value.is_nan() {
            true => "; nan_policy=\"omit\" leaves missing values out",
            false => "",
        };
        return Err(PyValueError::new_err(format!(
            "`values[{index}]` is {value}: it must be a finite number{advice}"
        )));
    }
    let rows: Vec<Option<f64>> = values
        .iter()
        .map(|value| Some(*value).filter(|it| !it.is_nan()))
        .collect();
    let found = py.detach(|| series_changes(&rows, options));
    let found = found.map_err(refused)?;
    if found.is_too_short {
        return Err(PyValueError::new_err(format!(
            "`values` has {} values: a change can show among {LEAST_VALUES} or more",
            found.values
        )));
    }
    (found.changes.iter())
        .map(|change| series_change(py, change))
        .collect()
}

fn series_change<'py>(py: Python<'py>, change: &SeriesChange) -> PyResult<Bound<'py, PyAny>> {
    let [first, last] = change.interval;
    let fields = (
        name_of(change.shape),
        change.rose,
        change.row,
        change.probability,
        (first, last),
        change.shown_at,
        change.back_at,
        change.before,
        change.after,
        change.share,
        change.is_firm,
    );
    make(py, "SeriesChange", fields)
}

/// The values of a revision: one number, or several.
#[derive(FromPyObject)]
pub(crate) enum Revision {
    One(f64),
    Several(Vec<f64>),
}

#[doc = include_str!(concat!(env!("OUT_DIR"), "/perfherder_alerts"))]
#[pyfunction]
#[pyo3(signature = (
    revisions, *, alert_threshold=None, lower_is_better=true, min_back_window=12,
    max_back_window=24, fore_window=12, t_threshold=7.0,
))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn perfherder_alerts<'py>(
    py: Python<'py>,
    revisions: Vec<Revision>,
    alert_threshold: Option<&Bound<'py, PyAny>>,
    lower_is_better: bool,
    min_back_window: usize,
    max_back_window: usize,
    fore_window: usize,
    t_threshold: f64,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let mut options = PerfherderOptions {
        min_back_window,
        max_back_window,
        fore_window,
        t_threshold,
        lower_is_better,
        ..PerfherderOptions::default()
    };
    match arguments::number_or_percent("alert_threshold", alert_threshold)? {
        Some(Magnitude::Percent(percent)) => {
            options.alert_threshold = PerfherderThreshold::Percentage(percent);
        }
        Some(Magnitude::Absolute(amount)) => {
            options.alert_threshold = PerfherderThreshold::Absolute(amount);
        }
        _ => {}
    }
    let revisions: Vec<Vec<f64>> = (revisions.into_iter())
        .map(|revision| match revision {
            Revision::One(value) => vec![value],
            Revision::Several(values) => values,
        })
        .collect();
    let found = py.detach(|| steps::perfherder_alerts(&revisions, options));
    let alerts = found.map_err(refused)?.into_iter().map(|alert| {
        let fields = (
            alert.at,
            alert.t,
            alert.before,
            alert.after,
            alert.percent,
            alert.is_regression,
        );
        make(py, "PerfherderAlert", fields)
    });
    alerts.collect()
}

#[doc = include_str!(concat!(env!("OUT_DIR"), "/Detector"))]
#[pyclass(module = "pinpoint")]
pub(crate) struct Detector(steps::Detector);

#[pymethods]
impl Detector {
    #[new]
    #[pyo3(signature = (*, rate=1e-4, seed=0))]
    fn new(rate: f64, seed: u64) -> PyResult<Self> {
        let detector = steps::Detector::new(DetectorOptions { rate, seed });
        detector.map(Self).map_err(refused)
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/Detector.push"))]
    fn push<'py>(&mut self, py: Python<'py>, value: f64) -> PyResult<Option<Bound<'py, PyAny>>> {
        let event = self.0.push(value).map_err(refused)?;
        event.map(|event| event_of(py, event)).transpose()
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/Detector.count"))]
    #[getter]
    fn count(&self) -> u64 {
        self.0.count()
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/Detector.is_drifting"))]
    #[getter]
    fn is_drifting(&self) -> bool {
        self.0.is_drifting()
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/Detector.pack"))]
    fn pack<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.pack())
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/Detector.unpack"))]
    #[staticmethod]
    #[pyo3(signature = (state, *, rate=1e-4, seed=0))]
    fn unpack(state: &[u8], rate: f64, seed: u64) -> PyResult<Self> {
        let detector = steps::Detector::unpack(state, DetectorOptions { rate, seed });
        detector.map(Self).map_err(refused)
    }
}

fn event_of<'py>(py: Python<'py>, event: StepEvent) -> PyResult<Bound<'py, PyAny>> {
    match event {
        StepEvent::Alarm(alarm) => {
            let fields = (
                name_of(alarm.shape),
                alarm.rose,
                alarm.at,
                alarm.raised_at,
                alarm.interval,
                PyTuple::new(py, alarm.posterior)?,
                alarm.before,
                alarm.after,
                alarm.statistic,
                alarm.threshold,
                alarm.correlation,
            );
            make(py, "Alarm", fields)
        }
        StepEvent::Retraction {
            change,
            at,
            raised_at,
        } => make(py, "Retraction", (change, at, raised_at)),
        _ => Err(PyValueError::new_err("an event of an unknown kind")),
    }
}
