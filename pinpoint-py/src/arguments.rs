//! Arguments that several functions take.

use pinpoint_core::Direction;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

pub(crate) fn direction(name: &str) -> PyResult<Direction> {
    [Direction::Up, Direction::Down, Direction::Unknown]
        .into_iter()
        .find(|direction| direction.as_str() == name)
        .ok_or_else(|| {
            PyValueError::new_err(format!(
                "`direction` is {name:?}: it must be \"up\", \"down\" or \"unknown\""
            ))
        })
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

/// How many commits: told as a number, or by their names.
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
