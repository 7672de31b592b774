//! `pinpoint.Pairwise`.

use pinpoint_core::{
    self as engine, CommonFailure, Machine, PairwiseOutcome, PairwiseSpec, SpecError,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

use super::batches::{Batches, RequestedTask, Saved, reason};
use super::methods::shared_methods;
use super::reported_runs;
use crate::arguments;
use crate::compare;
use crate::results::make;

impl Saved for engine::Pairwise {
    const NAME: &'static str = "pairwise";
    type Spec = PairwiseSpec;

    fn from_spec(spec: PairwiseSpec) -> Result<Self, SpecError> {
        Self::new(spec)
    }

    fn spec(&self) -> &PairwiseSpec {
        self.spec()
    }

    fn commits(_: &PairwiseSpec) -> Option<u64> {
        Some(2)
    }
}

#[doc = include_str!(concat!(env!("OUT_DIR"), "/Pairwise"))]
#[pyclass(module = "pinpoint")]
pub(crate) struct Pairwise {
    search: Batches<engine::Pairwise>,
}

shared_methods!(Pairwise);

#[pymethods]
impl Pairwise {
    #[new]
    #[pyo3(signature = (pairs=None, chart=None, direction="unknown", early_stopping=false, max_time=None, seed=None),
           text_signature = "(pairs=30, chart=None, direction='unknown', early_stopping=False, max_time=None, seed=0)")]
    fn new(
        pairs: Option<&Bound<'_, PyAny>>,
        chart: Option<String>,
        direction: &str,
        early_stopping: bool,
        max_time: Option<f64>,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let unnamed = PairwiseSpec::unnamed();
        let spec = PairwiseSpec {
            chart,
            direction: arguments::direction(direction)?,
            pairs: number_of_pairs(pairs)?.unwrap_or(unnamed.pairs),
            early_stopping,
            seed: arguments::optional_count("seed", seed)?.unwrap_or(0),
            max_time: (max_time.map(|time| arguments::milliseconds("max_time", time)))
                .transpose()?,
            ..unnamed
        };
        Batches::new(spec).map(|search| Self { search })
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/Pairwise.record"))]
    #[pyo3(signature = (pair, first, second, bot=None, started=None))]
    fn record(
        &mut self,
        pair: &Bound<'_, PyAny>,
        first: &Bound<'_, PyAny>,
        second: &Bound<'_, PyAny>,
        bot: Option<&str>,
        started: Option<f64>,
    ) -> PyResult<()> {
        record_pair(&mut self.search, pair, [first, second], bot, started)
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/Pairwise.outcome"))]
    #[getter]
    fn outcome<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = self.search.machine.outcome();
        found.map(|found| outcome(py, found)).transpose()
    }

    fn __repr__(&self) -> String {
        match self.search.machine.outcome() {
            Some(found) => format!("<Pairwise: {}>", found.status.as_str()),
            None => format!("<Pairwise: {} runs so far>", self.search.runs),
        }
    }
}

#[doc = include_str!(concat!(env!("OUT_DIR"), "/pairwise_outcome"))]
#[pyfunction]
pub(crate) fn pairwise_outcome<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let found: PairwiseOutcome = serde_json::from_str(text)
        .map_err(|error| PyValueError::new_err(format!("this is not a comparison: {error}")))?;
    outcome(py, &found)
}

pub(super) fn record_pair<M: Saved>(
    search: &mut Batches<M>,
    pair: &Bound<'_, PyAny>,
    values: [&Bound<'_, PyAny>; 2],
    bot: Option<&str>,
    started: Option<f64>,
) -> PyResult<()> {
    let (first, second): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
    let asked = RequestedTask::Pair(
        search.index("pair[0]", &first)?,
        search.index("pair[1]", &second)?,
    );
    let answer = vec![
        reported_runs::run("first", values[0], bot, started)?,
        reported_runs::run("second", values[1], bot, started)?,
    ];
    search.record(asked, vec![answer])
}

pub(super) fn number_of_pairs(pairs: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u32>> {
    let Some(pairs) = arguments::optional_count("pairs", pairs)? else {
        return Ok(None);
    };
    // The machine checks the bounds; this is only beyond its type.
    (u32::try_from(pairs).map(Some))
        .map_err(|_| PyValueError::new_err(format!("`pairs` is {pairs}: that is too many")))
}

pub(super) fn outcome<'py>(
    py: Python<'py>,
    found: &PairwiseOutcome,
) -> PyResult<Bound<'py, PyAny>> {
    let charts = found.charts.iter().map(|chart| {
        let comparison = chart.comparison.as_ref();
        let fields = (
            chart.chart.as_str(),
            comparison.map(|it| compare::pairwise(py, it)).transpose()?,
            chart.adjusted_p_value,
            chart.moved(),
            chart.improved(),
            chart.failed_pairs,
            chart.surplus_pairs,
            chart.error.as_deref(),
            // The unit, which a machine does not know.
            None::<&str>,
            chart.direction.as_str(),
        );
        make(py, "ChartComparison", fields)
    });
    let functional = found.functional.as_ref();
    let why = |failure: &Option<CommonFailure>| Some(failure.as_ref()?.reason.clone());
    let fields = (
        found.status.as_str(),
        reason(&found.stopped),
        PyTuple::new(py, charts.collect::<PyResult<Vec<_>>>()?)?,
        functional
            .map(|it| compare::functional(py, it))
            .transpose()?,
        found.pairs,
        found.stopped_early,
        found.pairs_needed,
        why(&found.base_failure),
        why(&found.experiment_failure),
    );
    make(py, "PairwiseOutcome", fields)
}
