//! Many comparisons at once, on all cores.

use numpy::{IntoPyArray, PyArray1};
use pinpoint_compare::{self as statistics, PerformanceComparison};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList, PySlice};
use rayon::{ThreadPoolBuildError, ThreadPoolBuilder};

use crate::arguments;
use crate::compare::{Two, performance, refused};

/// More cores than this few machines have, and every thread costs memory.
const MOST_THREADS: usize = 256;

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
    let magnitude = arguments::magnitude(magnitude)?;
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
    // By default as many as there are cores. More threads than pairs would be idle.
    let most = slices.len().clamp(1, MOST_THREADS) as u64;
    let threads = threads.map_or(0, |count| count.min(most) as usize);
    let found = py.detach(|| {
        // A separate pool: threads that live on would be missing after a fork.
        let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
        Ok(pool.install(|| statistics::compare_many(&slices, magnitude, direction)))
    });
    let found = found.map_err(|error: ThreadPoolBuildError| {
        PyRuntimeError::new_err(format!("no threads can be had: {error}"))
    })?;
    let all = found.into_iter().enumerate().map(|(index, found)| {
        found.map_err(|error| {
            let error = refused(error, ["a", "b"]);
            PyValueError::new_err(format!("`pairs[{index}]`: {error}"))
        })
    });
    let all = all.collect::<PyResult<_>>()?;
    Ok(Comparisons { all })
}

/// The same error, with the pair that caused it.
fn of_pair(py: Python<'_>, index: usize, error: PyErr) -> PyErr {
    let message = format!("`pairs[{index}]`: {}", error.value(py));
    PyErr::from_type(error.get_type(py), message)
}

/// A comparison as numbers that keep every bit: JSON has no infinities.
type Parts = (String, [Option<f64>; 9], [bool; 2], [usize; 2]);

fn apart(found: &PerformanceComparison) -> Parts {
    let numbers = [
        found.p_value,
        found.p_value_ks,
        found.p_value_mwu,
        found.low_threshold,
        found.high_threshold,
        found.mean_diff,
        found.median_diff,
        found.effect_size,
        found.normalized_magnitude,
    ];
    let flags = [found.is_too_small, found.is_improvement];
    let sizes = [found.control_size, found.treatment_size];
    (found.verdict.as_str().into(), numbers, flags, sizes)
}

fn together((verdict, numbers, flags, sizes): Parts) -> PyResult<PerformanceComparison> {
    use statistics::Verdict;
    let all = [
        Verdict::Different,
        Verdict::Same,
        Verdict::Unknown,
        Verdict::Nil,
    ];
    let verdict = (all.into_iter().find(|it| it.as_str() == verdict))
        .ok_or_else(|| PyValueError::new_err(format!("there is no verdict {verdict:?}")))?;
    Ok(PerformanceComparison {
        verdict,
        p_value: numbers[0],
        p_value_ks: numbers[1],
        p_value_mwu: numbers[2],
        low_threshold: numbers[3],
        high_threshold: numbers[4],
        mean_diff: numbers[5],
        median_diff: numbers[6],
        effect_size: numbers[7],
        normalized_magnitude: numbers[8],
        is_too_small: flags[0],
        is_improvement: flags[1],
        control_size: sizes[0],
        treatment_size: sizes[1],
    })
}

// A sequence that makes its items on demand: the cost of a batch is in the comparing.
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

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/Comparisons._of"))]
    #[staticmethod]
    fn _of(parts: Vec<Parts>) -> PyResult<Self> {
        let all = parts.into_iter().map(together);
        Ok(Self {
            all: all.collect::<PyResult<_>>()?,
        })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Vec<Parts>,))> {
        let parts = slf.get().all.iter().map(apart).collect();
        Ok((slf.get_type().getattr("_of")?, (parts,)))
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
    /// A column with NaN for absent values.
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
