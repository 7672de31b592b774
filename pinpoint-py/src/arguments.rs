//! Arguments that several functions take.

use pinpoint_compare::{Alternative, Method};
use pinpoint_core::{Direction, Magnitude, Strategy};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

pub(crate) fn direction(name: &str) -> PyResult<Direction> {
    let all = [Direction::Up, Direction::Down, Direction::Unknown];
    named("direction", name, all.map(|it| (it.as_str(), it)))
}

pub(crate) fn strategy(name: &str) -> PyResult<Strategy> {
    let all = [
        ("adaptive", Strategy::Adaptive),
        ("pinpoint", Strategy::Pinpoint),
    ];
    named("strategy", name, all)
}

/// Returns whether a test of pairs is the one that Pinpoint publishes.
pub(crate) fn is_published(method: &str) -> PyResult<bool> {
    named("method", method, [("auto", false), ("pinpoint", true)])
}

pub(crate) fn alternative(name: &str) -> PyResult<Alternative> {
    let all = [
        ("two-sided", Alternative::TwoSided),
        ("less", Alternative::Less),
        ("greater", Alternative::Greater),
    ];
    named("alternative", name, all)
}

pub(crate) fn method(name: &str) -> PyResult<Method> {
    let all = [
        Method::Auto,
        Method::Exact,
        Method::Asymptotic,
        Method::Pinpoint,
    ];
    named("method", name, all.map(|it| (it.as_str(), it)))
}

/// Returns whether missing values are left out.
pub(crate) fn omits_nan(policy: &str) -> PyResult<bool> {
    named("nan_policy", policy, [("raise", false), ("omit", true)])
}

fn named<T: Copy, const COUNT: usize>(
    argument: &str,
    name: &str,
    all: [(&str, T); COUNT],
) -> PyResult<T> {
    if let Some((_, it)) = all.iter().find(|(known, _)| *known == name) {
        return Ok(*it);
    }
    let known = all.map(|(known, _)| format!("{known:?}"));
    let (last, others) = known.split_last().map_or(("", &[][..]), |(l, o)| (l, o));
    Err(PyValueError::new_err(format!(
        "`{argument}` is {name:?}: it must be {} or {last}",
        others.join(", ")
    )))
}

/// A number that counts something. Python's integers have no bounds; one that
/// is negative or too large is a bad value, not an overflow.
pub(crate) fn count(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    value.extract().map_err(|error: PyErr| {
        if error.is_instance_of::<PyOverflowError>(value.py()) {
            PyValueError::new_err(format!(
                "`{argument}` is {value}: it must lie between 0 and 2**64 - 1"
            ))
        } else {
            PyTypeError::new_err(format!("`{argument}` must be an int"))
        }
    })
}

pub(crate) fn optional_count(
    argument: &str,
    value: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<u64>> {
    value.map(|value| count(argument, value)).transpose()
}

/// The smallest change that counts; its sign says nothing.
pub(crate) fn magnitude(value: Option<f64>) -> PyResult<Option<f64>> {
    (value.map(|size| finite("magnitude", size))).transpose()
}

/// A number that is neither NaN nor infinite.
fn finite(argument: &str, value: f64) -> PyResult<f64> {
    if value.is_finite() {
        return Ok(value);
    }
    Err(PyValueError::new_err(format!(
        "`{argument}` is {value}: it must be a finite number"
    )))
}

/// The smallest change that counts: a number in the unit of the values, or a percentage of the
/// level before the change, as in "5%".
pub(crate) fn number_or_percent(
    argument: &str,
    value: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Magnitude>> {
    let Some(value) = value else {
        return Ok(None);
    };
    if let Ok(text) = value.cast::<PyString>() {
        let text = text.to_cow()?;
        let percent = text.trim().strip_suffix('%');
        let percent = percent.and_then(|number| number.trim_end().parse::<f64>().ok());
        return match percent.filter(|percent| percent.is_finite()) {
            Some(percent) => Ok(Some(Magnitude::Percent(percent))),
            None => Err(PyValueError::new_err(format!(
                "`{argument}` is {text:?}: it must be a number, or a percentage as in '5%'"
            ))),
        };
    }
    let size = value.extract().map_err(|_| {
        PyTypeError::new_err(format!(
            "`{argument}` must be a number, or a percentage as in '5%'"
        ))
    })?;
    finite(argument, size).map(|size| Some(Magnitude::Absolute(size)))
}

/// A time in seconds, as milliseconds.
pub(crate) fn milliseconds(argument: &str, seconds: f64) -> PyResult<u64> {
    if seconds.is_finite() && seconds >= 0.0 {
        // A cast saturates.
        return Ok((seconds * 1000.0).round() as u64);
    }
    Err(PyValueError::new_err(format!(
        "`{argument}` is {seconds}: it must be a finite number of seconds, 0 or more"
    )))
}

/// The number of commits, given directly or by their names.
pub(crate) fn commits(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    if value.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err(
            "`commits` must be an int or a list of names, not one name",
        ));
    }
    match value.len() {
        Ok(length) => Ok(length as u64),
        Err(_) => count("commits", value).map_err(|error| {
            match error.is_instance_of::<PyTypeError>(value.py()) {
                true => PyTypeError::new_err("`commits` must be an int or a list of names"),
                false => error,
            }
        }),
    }
}

/// The number of commits strictly between the ends.
pub(crate) fn between(commits: u64) -> PyResult<u64> {
    commits.checked_sub(2).ok_or_else(|| {
        PyValueError::new_err(format!(
            "a search needs at least 2 commits, a good and a bad one; `commits` has {commits}"
        ))
    })
}
