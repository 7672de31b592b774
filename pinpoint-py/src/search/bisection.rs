//! `pinpoint.Bisection`.

use pinpoint_core::{
    self as engine, BisectionSpec, Effect, LargestChange, Machine, Posterior, Range, SpecError,
};
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

use super::batches::{Batches, RequestedTask, Saved, caveat};
use super::methods::{search_methods, shared_methods};
use super::reported_runs;
use crate::arguments;
use crate::compare::ends;
use crate::results::make;
use crate::samples::Sample;

impl Saved for engine::Bisection {
    const NAME: &'static str = "bisection";
    type Spec = BisectionSpec;

    fn from_spec(spec: BisectionSpec) -> Result<Self, SpecError> {
        Self::new(spec)
    }

    fn spec(&self) -> &BisectionSpec {
        self.spec()
    }

    fn commits(spec: &BisectionSpec) -> Option<u64> {
        match spec.range {
            Range::Counted { between } => between.checked_add(2),
            _ => None,
        }
    }
}

#[doc = include_str!(concat!(env!("OUT_DIR"), "/Bisection"))]
#[pyclass(module = "pinpoint")]
pub(crate) struct Bisection {
    search: Batches<engine::Bisection>,
}

shared_methods!(Bisection);
search_methods!(Bisection);

#[pymethods]
impl Bisection {
    #[new]
    #[pyo3(signature = (
        commits, strategy="adaptive", magnitude=None, direction="unknown", confidence=0.95,
        max_runs=None, max_builds=None, max_time=None, build_cost=1.0, priors=None, seed=None
    ), text_signature = "(commits, strategy='adaptive', magnitude=None, direction='unknown', confidence=0.95, max_runs=None, max_builds=None, max_time=None, build_cost=1.0, priors=None, seed=0)")]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        commits: &Bound<'_, PyAny>,
        strategy: &str,
        magnitude: Option<&Bound<'_, PyAny>>,
        direction: &str,
        confidence: f64,
        max_runs: Option<&Bound<'_, PyAny>>,
        max_builds: Option<&Bound<'_, PyAny>>,
        max_time: Option<f64>,
        build_cost: f64,
        priors: Option<&Bound<'_, PyAny>>,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let between = arguments::between(arguments::commits(commits)?)?;
        let spec = BisectionSpec {
            strategy: arguments::strategy(strategy)?,
            magnitude: arguments::number_or_percent("magnitude", magnitude)?,
            direction: arguments::direction(direction)?,
            confidence,
            max_runs: arguments::optional_count("max_runs", max_runs)?,
            max_builds: arguments::optional_count("max_builds", max_builds)?,
            max_time: (max_time.map(|time| arguments::milliseconds("max_time", time)))
                .transpose()?,
            build_cost,
            priors: (priors.map(|weights| Sample::read("priors", weights)))
                .transpose()?
                .map(|weights| weights.as_slice().to_vec()),
            seed: arguments::optional_count("seed", seed)?.unwrap_or(0),
            ..BisectionSpec::new(Range::Counted { between })
        };
        Batches::new(spec).map(|search| Self { search })
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/Bisection.posterior"))]
    #[getter]
    fn posterior<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let posterior = match self.search.machine.outcome() {
            Some(found) => found.posterior.clone(),
            None => self.search.machine.posterior(),
        };
        posterior
            .map(|posterior| posterior_of(py, &self.search, &posterior))
            .transpose()
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/Bisection.outcome"))]
    #[getter]
    fn outcome<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(found) = self.search.machine.outcome() else {
            return Ok(None);
        };
        let number = |position| self.search.number(position);
        let culprits = found.culprits.iter();
        let effects = culprits.clone().map(|it| effect(py, &it.effect));
        let unmeasured = found.unmeasured.iter().map(|end| end.reason.as_deref());
        let fields = (
            found.status.as_str(),
            caveat(found.status.as_str(), &found.stopped, unmeasured),
            PyTuple::new(py, culprits.map(|it| (number(it.commit), it.probability)))?,
            PyTuple::new(py, found.candidates.iter().map(|it| number(*it)))?,
            self.search.runs,
            self.search.recorded.len(),
            PyTuple::new(py, effects.collect::<PyResult<Vec<_>>>()?)?,
            PyTuple::new(
                py,
                (found.skipped.iter()).map(|it| (number(it.commit), it.reason.as_str())),
            )?,
        );
        make(py, "Outcome", fields).map(Some)
    }
}

fn posterior_of<'py>(
    py: Python<'py>,
    search: &Batches<engine::Bisection>,
    posterior: &Posterior,
) -> PyResult<Bound<'py, PyAny>> {
    let spans = posterior.spans.iter().map(|span| {
        let last = search.number(span.last);
        let first = (last + 1).saturating_sub(span.commits);
        make(py, "Span", (first, last, span.probability))
    });
    let spans = PyTuple::new(py, spans.collect::<PyResult<Vec<_>>>()?)?;
    let largest = (posterior.largest_change)
        .map(|largest| {
            let LargestChange {
                amount,
                relative,
                confidence,
                scatter,
                ..
            } = largest;
            make(py, "LargestChange", (amount, relative, confidence, scatter))
        })
        .transpose()?;
    make(py, "Posterior", (posterior.no_change, spans, largest))
}

pub(super) fn effect<'py>(py: Python<'py>, effect: &Effect) -> PyResult<Bound<'py, PyAny>> {
    let (low, high) = ends(effect.interval);
    let [before, after] = [&effect.before_failure, &effect.after_failure]
        .map(|failure| Some(failure.as_ref()?.reason.as_str()));
    let fields = (
        effect.of.as_str(),
        effect.estimate,
        low,
        high,
        effect.before,
        effect.after,
        before,
        after,
        effect.adjusted,
    );
    make(py, "Effect", fields)
}
