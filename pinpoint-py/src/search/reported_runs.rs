//! The callers' answers about runs.

use std::collections::BTreeMap;

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyString};

use super::batches::ReportedRun;
use crate::arguments::{count, milliseconds};
use crate::samples::Sample;

/// The chart of a run that gives one number.
const CHART: &str = "value";

/// The arguments of `record`: one value for each run that gave one, and then the
/// runs that failed; bots and times of all of them, in this order.
pub(super) fn runs(
    values: &Bound<'_, PyAny>,
    failures: Option<&Bound<'_, PyAny>>,
    bots: Option<&Bound<'_, PyAny>>,
    started: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Vec<ReportedRun>>> {
    let sample = Sample::read("values", values)?;
    let values = sample.as_slice();
    if let Some((place, value)) = values.iter().enumerate().find(|(_, v)| !v.is_finite()) {
        return Err(PyValueError::new_err(format!(
            "`values[{place}]` is {value}: values must be finite numbers"
        )));
    }
    let failures = failures.map_or(Ok(0), |value| count("failures", value))?;
    let told = (values.len() as u64).saturating_add(failures);
    if told == 0 {
        return Err(PyValueError::new_err(
            "no value and no failure: a run that gives no value is a failure",
        ));
    }
    // More than any search requests at once, and more than fits in memory.
    if told > 1 << 24 {
        return Err(PyValueError::new_err(format!(
            "{told} runs were given, but fewer were asked for"
        )));
    }
    let bots = bots.map(|bots| names("bots", bots, told)).transpose()?;
    let started = (started.map(|times| seconds("started", times, told))).transpose()?;
    let one = |place: usize| ReportedRun {
        values: (values.get(place))
            .map(|value| BTreeMap::from([(CHART.to_owned(), vec![*value])]))
            .unwrap_or_default(),
        bot: bots.as_ref().map(|bots| bots[place].clone()),
        started: started.as_ref().map_or(0, |times| times[place]),
    };
    Ok((0..told as usize).map(|place| vec![one(place)]).collect())
}

/// One run of a pair: a number, numbers by chart, or None for a failure.
pub(super) fn run(
    argument: &str,
    value: &Bound<'_, PyAny>,
    bot: Option<&str>,
    started: Option<f64>,
) -> PyResult<ReportedRun> {
    let mut told = ReportedRun {
        bot: bot.map(str::to_owned),
        started: started.map_or(Ok(0), |time| milliseconds("started", time))?,
        ..ReportedRun::default()
    };
    if value.is_none() {
        return Ok(told);
    }
    if let Ok(charts) = value.cast::<PyMapping>() {
        for item in charts.items()?.iter() {
            let (chart, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
            let chart: String = chart.extract().map_err(|_| {
                PyTypeError::new_err(format!("the charts of `{argument}` must be named by str"))
            })?;
            let number = finite(&format!("{argument}[{chart:?}]"), &value)?;
            told.values.insert(chart, vec![number]);
        }
    } else {
        let number = finite(argument, value)?;
        told.values.insert(CHART.to_owned(), vec![number]);
    }
    Ok(told)
}

fn finite(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    let number: f64 = value.extract().map_err(|error: PyErr| {
        if error.is_instance_of::<PyOverflowError>(value.py()) {
            PyValueError::new_err(format!(
                "`{argument}` is too large for a floating point number"
            ))
        } else if error.is_instance_of::<PyTypeError>(value.py()) {
            PyTypeError::new_err(format!(
                "`{argument}` must be a number, a dict of numbers by chart, or None for a failed run"
            ))
        } else {
            // Raised by its `__float__`.
            error
        }
    })?;
    if number.is_finite() {
        return Ok(number);
    }
    Err(PyValueError::new_err(format!(
        "`{argument}` is {number}: values must be finite numbers"
    )))
}

/// One name for all runs, or one for each.
fn names(argument: &str, value: &Bound<'_, PyAny>, runs: u64) -> PyResult<Vec<String>> {
    if value.is_instance_of::<PyString>() {
        return Ok(vec![value.extract()?; runs as usize]);
    }
    fits(argument, value.extract::<Vec<String>>()?, runs)
}

/// The times of all runs, in seconds.
fn seconds(argument: &str, value: &Bound<'_, PyAny>, runs: u64) -> PyResult<Vec<u64>> {
    let times = Sample::read(argument, value)?;
    let times = times.as_slice().iter();
    let times = times.map(|time| milliseconds(argument, *time));
    fits(argument, times.collect::<PyResult<_>>()?, runs)
}

fn fits<T>(argument: &str, told: Vec<T>, runs: u64) -> PyResult<Vec<T>> {
    if told.len() as u64 == runs {
        return Ok(told);
    }
    Err(PyValueError::new_err(format!(
        "`{argument}` has {} items for {runs} runs: give one for each, those that failed last",
        told.len()
    )))
}
