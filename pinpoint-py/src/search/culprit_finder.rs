//! `pinpoint.CulpritFinder`.

use pinpoint_core::{
    self as engine, BisectionSpec, CheckedCulprit, CulpritFinderSpec, Machine, Range, SpecError,
};
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

use super::batches::{Batches, RequestedTask, Saved, reason};
use super::bisection::effect;
use super::methods::{search_methods, shared_methods};
use super::{pairwise, reported_runs};
use crate::arguments;
use crate::results::make;

impl Saved for engine::CulpritFinder {
    const NAME: &'static str = "culprit_finder";
    type Spec = CulpritFinderSpec;

    fn from_spec(spec: CulpritFinderSpec) -> Result<Self, SpecError> {
        Self::new(spec)
    }

    fn spec(&self) -> &CulpritFinderSpec {
        self.spec()
    }

    fn commits(spec: &CulpritFinderSpec) -> Option<u64> {
        engine::Bisection::commits(&spec.bisection)
    }
}

#[doc = include_str!(concat!(env!("OUT_DIR"), "/CulpritFinder"))]
#[pyclass(module = "pinpoint")]
pub(crate) struct CulpritFinder {
    search: Batches<engine::CulpritFinder>,
}

shared_methods!(CulpritFinder);
search_methods!(CulpritFinder);

#[pymethods]
impl CulpritFinder {
    #[new]
    #[pyo3(signature = (
        commits, pairs=None, strategy="adaptive", magnitude=None, direction="unknown",
        confidence=0.95, max_runs=None, max_builds=None, max_time=None, build_cost=1.0, seed=None
    ), text_signature = "(commits, pairs=30, strategy='adaptive', magnitude=None, direction='unknown', confidence=0.95, max_runs=None, max_builds=None, max_time=None, build_cost=1.0, seed=0)")]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        commits: &Bound<'_, PyAny>,
        pairs: Option<&Bound<'_, PyAny>>,
        strategy: &str,
        magnitude: Option<&Bound<'_, PyAny>>,
        direction: &str,
        confidence: f64,
        max_runs: Option<&Bound<'_, PyAny>>,
        max_builds: Option<&Bound<'_, PyAny>>,
        max_time: Option<f64>,
        build_cost: f64,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let between = arguments::between(arguments::commits(commits)?)?;
        let usual = CulpritFinderSpec::new(Range::Counted { between });
        let spec = CulpritFinderSpec {
            pairs: pairwise::number_of_pairs(pairs)?.unwrap_or(usual.pairs),
            bisection: BisectionSpec {
                strategy: arguments::strategy(strategy)?,
                magnitude: arguments::number_or_percent("magnitude", magnitude)?,
                direction: arguments::direction(direction)?,
                confidence,
                max_runs: arguments::optional_count("max_runs", max_runs)?,
                max_builds: arguments::optional_count("max_builds", max_builds)?,
                max_time: (max_time.map(|time| arguments::milliseconds("max_time", time)))
                    .transpose()?,
                build_cost,
                seed: arguments::optional_count("seed", seed)?.unwrap_or(0),
                ..usual.bisection
            },
            ..usual
        };
        Batches::new(spec).map(|search| Self { search })
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/CulpritFinder.record_pair"))]
    #[pyo3(signature = (pair, first, second, bot=None, started=None))]
    fn record_pair(
        &mut self,
        pair: &Bound<'_, PyAny>,
        first: &Bound<'_, PyAny>,
        second: &Bound<'_, PyAny>,
        bot: Option<&str>,
        started: Option<f64>,
    ) -> PyResult<()> {
        pairwise::record_pair(&mut self.search, pair, [first, second], bot, started)
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/CulpritFinder.outcome"))]
    #[getter]
    fn outcome<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(found) = self.search.machine.outcome() else {
            return Ok(None);
        };
        let all = |culprits: &[CheckedCulprit]| {
            let checked = culprits.iter().map(|it| self.checked(py, it));
            PyTuple::new(py, checked.collect::<PyResult<Vec<_>>>()?)
        };
        let fields = (
            found.status.as_str(),
            reason(&found.stopped),
            all(&found.culprits)?,
            all(&found.unconfirmed)?,
            pairwise::outcome(py, &found.verification)?,
            self.search.runs,
            self.search.recorded.len(),
        );
        make(py, "CulpritFinderOutcome", fields).map(Some)
    }
}

impl CulpritFinder {
    fn checked<'py>(
        &self,
        py: Python<'py>,
        CheckedCulprit {
            culprit,
            comparison,
            ..
        }: &CheckedCulprit,
    ) -> PyResult<Bound<'py, PyAny>> {
        let comparison = comparison.as_ref();
        let fields = (
            self.search.number(culprit.commit),
            self.search.number(culprit.prior),
            culprit.probability,
            effect(py, &culprit.effect)?,
            comparison.map(|it| pairwise::outcome(py, it)).transpose()?,
        );
        make(py, "CheckedCulprit", fields)
    }
}
