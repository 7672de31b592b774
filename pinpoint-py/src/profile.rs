//! Profiles, as columns, and the differences between those of two builds.

use numpy::{Element, IntoPyArray};
use pinpoint_core::profile::{self as engine, ExplainOptions, Frame, NameId, Window, WindowError};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyDict;

type Columns<'py> = PyResult<Bound<'py, PyDict>>;

/// In a column of numbers, an absent one: outside of every table.
const NONE: i64 = -1;

#[doc = include_str!(concat!(env!("OUT_DIR"), "/Profile"))]
#[pyclass(frozen, module = "pinpoint")]
pub(crate) struct Profile(engine::Profile);

#[doc = include_str!(concat!(env!("OUT_DIR"), "/parse_profile"))]
#[pyfunction]
pub(crate) fn parse_profile(py: Python<'_>, content: PyBackedBytes) -> PyResult<Profile> {
    let read = py.detach(|| engine::Profile::read(&content));
    read.map(Profile).map_err(bad_value)
}

#[doc = include_str!(concat!(env!("OUT_DIR"), "/explain_profiles"))]
#[pyfunction]
pub(crate) fn explain_profiles(
    py: Python<'_>,
    base: Vec<PyRef<'_, Profile>>,
    experiment: Vec<PyRef<'_, Profile>>,
    paired: bool,
    same: Vec<(String, String)>,
) -> PyResult<String> {
    // Clones are cheap compared with the comparison, and hold no reference into Python.
    let clones = |side: &[PyRef<'_, Profile>]| -> Vec<engine::Profile> {
        side.iter().map(|profile| profile.0.clone()).collect()
    };
    let (base, experiment) = (clones(&base), clones(&experiment));
    let options = ExplainOptions {
        paired,
        same,
        ..ExplainOptions::default()
    };
    let explanation = py.detach(|| engine::explain(&base, &experiment, &options));
    let explanation = explanation.map_err(bad_value)?;
    serde_json::to_string(&explanation).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

fn bad_value(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

impl Profile {
    /// The name of each row.
    fn names<T>(&self, rows: &[T], of: impl Fn(&T) -> NameId) -> Vec<&str> {
        rows.iter().map(|row| self.0.names.get(of(row))).collect()
    }

    fn frame_names(&self, of: impl Fn(&Frame) -> NameId) -> Vec<&str> {
        self.names(&self.0.frames, of)
    }
}

/// A column of a table of NumPy's.
fn column<'py, T, A: Element>(
    py: Python<'py>,
    rows: &[T],
    of: impl Fn(&T) -> A,
) -> Bound<'py, PyAny> {
    let column: Vec<A> = rows.iter().map(of).collect();
    column.into_pyarray(py).into_any()
}

#[pymethods]
impl Profile {
    #[doc = include_str!(concat!(env!("OUT_DIR"), "/Profile.window"))]
    fn window(&self, py: Python<'_>, window: &str) -> PyResult<Self> {
        let window: Window = window
            .parse()
            .map_err(|error: WindowError| bad_value(error))?;
        let cut = py.detach(|| self.0.clone().window(&window));
        cut.map(Self).map_err(bad_value)
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/Profile.format"))]
    #[getter]
    fn format(&self) -> &'static str {
        self.0.format.as_str()
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/Profile.unit"))]
    #[getter]
    fn unit(&self) -> String {
        self.0.unit.to_string()
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/Profile.total"))]
    #[getter]
    fn total(&self) -> f64 {
        self.0.total()
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/Profile.threads"))]
    #[getter]
    fn threads(&self) -> Vec<&str> {
        self.names(&self.0.threads, |name| *name)
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/Profile.warnings"))]
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings.iter().map(ToString::to_string).collect()
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/Profile.frames"))]
    #[getter]
    fn frames<'py>(&self, py: Python<'py>) -> Columns<'py> {
        let costs = py.detach(|| self.0.costs());
        let frames = &self.0.frames;
        let columns = PyDict::new(py);
        columns.set_item("name", self.frame_names(|frame| frame.name))?;
        columns.set_item("module", self.frame_names(|frame| frame.module))?;
        columns.set_item("file", self.frame_names(|frame| frame.file))?;
        columns.set_item("line", column(py, frames, |frame| frame.line))?;
        columns.set_item("column", column(py, frames, |frame| frame.column))?;
        columns.set_item("own", costs.own.into_pyarray(py))?;
        columns.set_item("total", costs.total.into_pyarray(py))?;
        if let Some(calls) = costs.calls {
            columns.set_item("calls", calls.into_pyarray(py))?;
        }
        Ok(columns)
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/Profile.stacks"))]
    #[getter]
    fn stacks<'py>(&self, py: Python<'py>) -> Columns<'py> {
        let stacks = &self.0.stacks;
        let ids: Vec<_> = stacks.ids().collect();
        let parent = |id: &engine::StackId| {
            let parent = stacks.parent(*id);
            parent.map_or(NONE, |parent| parent.index().into())
        };
        let frame = |id: &engine::StackId| {
            let frame = stacks.frame(*id);
            frame.map_or(NONE, |frame| frame.index().into())
        };
        let columns = PyDict::new(py);
        columns.set_item("parent", column(py, &ids, parent))?;
        columns.set_item("frame", column(py, &ids, frame))?;
        Ok(columns)
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/Profile.samples"))]
    #[getter]
    fn samples<'py>(&self, py: Python<'py>) -> Columns<'py> {
        let samples = &self.0.samples;
        let columns = PyDict::new(py);
        columns.set_item("stack", column(py, samples, |it| it.stack.index()))?;
        columns.set_item("thread", column(py, samples, |it| it.thread.index()))?;
        columns.set_item("weight", column(py, samples, |it| it.weight))?;
        if !self.0.times.is_empty() {
            columns.set_item("time", column(py, &self.0.times, |time| *time))?;
        }
        Ok(columns)
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/Profile.calls"))]
    #[getter]
    fn calls<'py>(&self, py: Python<'py>) -> Columns<'py> {
        let calls = &self.0.calls;
        let columns = PyDict::new(py);
        columns.set_item("caller", column(py, calls, |it| it.caller.index()))?;
        columns.set_item("callee", column(py, calls, |it| it.callee.index()))?;
        columns.set_item("count", column(py, calls, |it| it.count))?;
        columns.set_item("weight", column(py, calls, |it| it.weight))?;
        Ok(columns)
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/Profile.marks"))]
    #[getter]
    fn marks<'py>(&self, py: Python<'py>) -> Columns<'py> {
        let marks = &self.0.marks;
        let columns = PyDict::new(py);
        columns.set_item("name", self.names(marks, |mark| mark.name))?;
        columns.set_item("begin", column(py, marks, |mark| mark.begin))?;
        columns.set_item("end", column(py, marks, |mark| mark.end))?;
        Ok(columns)
    }

    fn __repr__(&self) -> String {
        format!(
            "<profile ({}) of {} samples in {} functions, {} {}>",
            self.format(),
            self.0.samples.len(),
            self.0.frames.len(),
            self.0.total(),
            self.0.unit
        )
    }
}
