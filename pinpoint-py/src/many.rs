//! Many comparisons at once, on all cores.

use numpy::{IntoPyArray, PyArray1};
use pinpoint_compare::{self as statistics, PerformanceComparison};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList, PySlice};
use rayon::ThreadPoolBuilder;

use crate::arguments;
use crate::compare::{Two, performance, refused};

#[doc = include_str!(concat!(env!("OUT_DIR"), "/compare_many"))]
#[pyfunction]
#[pyo3(signature = (pairs, magnitude=None, direction="unknown", threads=None))]
pub(crate) fn compare_many(
    py: Python<'_>,
    pairs: &Bound<'_, PyAny>,
    magnitude: Option<f64>,
    direction: &str,
    threads: Option<&Bound<'_, PyAny>>,
) -> PyResult<Comparisons> {
    let direction = arguments::direction(direction)?;
    let threads = arguments::optional_count("threads", threads)?;
    if threads == Some(0) {
        return Err(PyValueError::new_err("`threads` is 0: give 1 or more"));
    }
    let mut read = Vec::with_capacity(pairs.len().unwrap_or(0));
    for (index, pair) in pairs.try_iter()?.enumerate() {
        let (a, b): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair?.extract().map_err(|_| {
            PyTypeError::new_err(format!("`pairs[{index}]` must be a pair of samples"))
        })?;
        let two = Two::read(["a", "b"], [&a, &b]);
        read.push(two.map_err(|error| of_pair(py, index, error))?);
    }
    let slices: Vec<_> = read.iter().map(Two::slices).collect();
    // A pool of its own: threads that live on would be missing after a fork.
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads.map_or(0, |count| usize::try_from(count).unwrap_or(usize::MAX)))
        .build()
        .map_err(|error| PyRuntimeError::new_err(format!("no threads can be had: {error}")))?;
    let found = py.detach(|| {
        let found = pool.install(|| statistics::compare_many(&slices, magnitude, direction));
        drop(pool);
        found
    });
    let all = found.into_iter().enumerate().map(|(index, found)| {
        found.map_err(|error| {
            let error = refused(error, ["a", "b"]);
            PyValueError::new_err(format!("`pairs[{index}]`: {error}"))
        })
    });
    let all = all.collect::<PyResult<_>>()?;
    Ok(Comparisons { all })
}

/// The same error, saying which pair is to blame.
fn of_pair(py: Python<'_>, index: usize, error: PyErr) -> PyErr {
    let message = format!("`pairs[{index}]`: {}", error.value(py));
    PyErr::from_type(error.get_type(py), message)
}

type Items<'py> = Vec<Bound<'py, PyAny>>;

// A sequence that makes its items when they are asked for: what a batch costs is
// the comparing.
#[doc = include_str!(concat!(env!("OUT_DIR"), "/Comparisons"))]
#[pyclass(frozen, sequence, eq, module = "pinpoint")]
#[derive(PartialEq)]
pub(crate) struct Comparisons {
    all: Vec<PerformanceComparison>,
}

#[pymethods]
impl Comparisons {
    fn __len__(&self) -> usize {
        self.all.len()
    }

    fn __getitem__<'py>(&self, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = index.py();
        if let Ok(slice) = index.cast::<PySlice>() {
            let indices = slice.indices(self.all.len() as isize)?;
            let places =
                (0..indices.slicelength).map(|place| indices.start + place as isize * indices.step);
            let items = places.map(|place| performance(py, &self.all[place as usize]));
            return PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_bound_py_any(py);
        }
        let index: isize = index.extract()?;
        let length = self.all.len() as isize;
        let place = if index < 0 { index + length } else { index };
        match usize::try_from(place).ok().and_then(|it| self.all.get(it)) {
            Some(found) => performance(py, found),
            None => Err(PyIndexError::new_err(format!(
                "there is no comparison {index}: there are {length}"
            ))),
        }
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let items = self.all.iter().map(|found| performance(py, found));
        PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.try_iter()
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/Comparisons.verdict"))]
    #[getter]
    fn verdict(&self) -> Vec<&'static str> {
        self.all
            .iter()
            .map(|found| found.verdict.as_str())
            .collect()
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/Comparisons.p_value"))]
    #[getter]
    fn p_value<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |found| found.p_value)
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/Comparisons.mean_diff"))]
    #[getter]
    fn mean_diff<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |found| found.mean_diff)
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/Comparisons.effect_size"))]
    #[getter]
    fn effect_size<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |found| found.effect_size)
    }

    /// As a list: it equals one, item by item.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Items<'py>,))> {
        let items = self.all.iter().map(|found| performance(py, found));
        let list = py.get_type::<PyList>().into_any();
        Ok((list, (items.collect::<PyResult<_>>()?,)))
    }

    fn __repr__(&self) -> String {
        let count = |verdict| self.all.iter().filter(|it| it.verdict == verdict).count();
        format!(
            "<{} comparisons: {} different, {} same, {} unknown>",
            self.all.len(),
            count(statistics::Verdict::Different),
            count(statistics::Verdict::Same),
            count(statistics::Verdict::Unknown)
        )
    }
}

impl Comparisons {
    /// NaN where there is nothing.
    fn column<'py>(
        &self,
        py: Python<'py>,
        field: impl Fn(&PerformanceComparison) -> Option<f64>,
    ) -> Bound<'py, PyArray1<f64>> {
        let column: Vec<f64> = (self.all.iter())
            .map(|found| field(found).unwrap_or(f64::NAN))
            .collect();
        column.into_pyarray(py)
    }
}
