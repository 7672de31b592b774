//! Samples, from any container of numbers in Python.

use numpy::{PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyTuple};

/// The values of a sample.
pub(crate) enum Sample<'py> {
    /// Read in place: a contiguous and aligned NumPy array of float64.
    Borrowed(Bound<'py, PyArray1<f64>>),
    Copied(Vec<f64>),
}

impl<'py> Sample<'py> {
    /// Reads an argument: an array, a series, a buffer, or any sequence of numbers.
    pub(crate) fn read(argument: &str, value: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = value.cast_exact::<PyArray1<f64>>()
            && let Some(sample) = Self::borrow(array)
        {
            return Ok(sample);
        }
        if value.is_exact_instance_of::<PyList>() || value.is_exact_instance_of::<PyTuple>() {
            return numbers(argument, value).map(Self::Copied);
        }
        Self::converted(argument, value)
    }

    fn borrow(array: &Bound<'py, PyArray1<f64>>) -> Option<Self> {
        // An array may begin anywhere in a buffer; a slice may not.
        if !array.is_contiguous() || !array.data().is_aligned() {
            return None;
        }
        Some(Self::Borrowed(array.clone()))
    }

    /// Converts the argument with NumPy, to float64.
    fn converted(argument: &str, value: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = value.py();
        let numpy = numpy(py)?;
        if let Ok(mask) = value.getattr("mask")
            && value.hasattr("filled")?
            && numpy.call_method1("any", (mask,))?.is_truthy()?
        {
            return Err(PyValueError::new_err(format!(
                "`{argument}` has masked values: leave them out, as with compressed()"
            )));
        }
        let array = numpy.call_method1("asarray", (value,))?;
        match array.getattr("ndim")?.extract::<usize>()? {
            0 => return Err(no_numbers(argument, value)),
            1 => {}
            dimensions => {
                return Err(PyValueError::new_err(format!(
                    "`{argument}` has {dimensions} dimensions: a sample has one"
                )));
            }
        }
        let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
        match &*kind {
            "b" | "i" | "u" | "f" => {
                // Contiguous and aligned.
                let wanted = (array, "float64", ["C", "A"]);
                let copied = numpy.call_method1("require", wanted)?;
                let copied = copied.cast::<PyArray1<f64>>()?;
                Self::borrow(copied).ok_or_else(|| no_numbers(argument, value))
            }
            "O" => numbers(argument, &array).map(Self::Copied),
            _ => Err(no_numbers(argument, value)),
        }
    }

    pub(crate) fn as_slice(&self) -> &[f64] {
        match self {
            #[expect(unsafe_code, reason = "a checked borrow costs as much as a comparison")]
            // SAFETY: `borrow` has seen that it is contiguous and aligned, and the
            // array lives as long as this value. No code of ours writes to an
            // array. Python code on another thread might, as it might while NumPy
            // itself calculates without the lock; that is the caller's to avoid,
            // and a float64 has a value whatever its bits are. A checked borrow
            // costs as much as comparing a few values.
            Self::Borrowed(array) => unsafe { array.as_slice() }.unwrap_or_default(),
            Self::Copied(values) => values,
        }
    }
}

fn numpy(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static NUMPY: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = NUMPY.get_or_try_init(py, || py.import("numpy").map(Bound::unbind));
    module.map(|module| module.bind(py))
}

/// Python's own numbers, or objects that convert to one.
fn numbers(argument: &str, values: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    let mut numbers = Vec::with_capacity(values.len()?);
    for value in values.try_iter()? {
        let value = value?;
        numbers.push(value.extract().map_err(|error: PyErr| {
            let index = numbers.len();
            if error.is_instance_of::<PyOverflowError>(value.py()) {
                PyValueError::new_err(format!(
                    "`{argument}[{index}]` is too large for a floating point number"
                ))
            } else if error.is_instance_of::<PyTypeError>(value.py()) {
                PyTypeError::new_err(format!(
                    "`{argument}[{index}]` must be a number, not {}",
                    type_name(&value)
                ))
            } else {
                // Raised by its `__float__`.
                error
            }
        })?);
    }
    Ok(numbers)
}

fn no_numbers(argument: &str, value: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!(
        "`{argument}` must be an array or a sequence of numbers, not {}",
        type_name(value)
    ))
}

fn type_name(value: &Bound<'_, PyAny>) -> String {
    let name = value.get_type().name();
    name.map_or_else(|_| "this".into(), |name| name.to_string())
}
