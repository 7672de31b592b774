//! The history of values: queries and formulas as NumPy arrays, the rest as JSON, from which
//! `python/pinpoint/_traces.py` makes classes.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArrayMethods};
use pinpoint_backends::traces::{
    History, Select, TracePoint, TraceStore, TraceStoreError, TraceValues, ValueAt, ValuesAt,
    ValuesOf,
};
use pinpoint_traces::{
    CommitNumber, Formula, Pivot, Query, TraceId, Try, verticals, verticals_of_two,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::drive::{Failure, runtime};
use crate::model::written;

/// All commits.
const ALL: std::ops::RangeInclusive<CommitNumber> = CommitNumber(0)..=CommitNumber(u32::MAX);

/// Names, commits, values, and warnings.
type Values<'py> = (
    Vec<String>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Vec<String>,
);

#[doc = include_str!(concat!(env!("OUT_DIR"), "/TraceReader"))]
#[pyclass(frozen, module = "pinpoint")]
pub(crate) struct TraceReader {
    state_dir: PathBuf,
    dataset: String,
}

#[pymethods]
impl TraceReader {
    #[new]
    fn new(state_dir: PathBuf, dataset: String) -> Self {
        Self { state_dir, dataset }
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/TraceReader.values"))]
    #[pyo3(signature = (query, formula, commits, last, limit))]
    fn values<'py>(
        &self,
        py: Python<'py>,
        query: &str,
        formula: Option<&str>,
        commits: Option<(u32, u32)>,
        last: Option<usize>,
        limit: u64,
    ) -> PyResult<Values<'py>> {
        let query: Query = parsed("query", query)?;
        let formula: Option<Formula> = formula.map(|it| parsed("formula", it)).transpose()?;
        let at = match (commits, last) {
            (Some((first, last)), _) => range(first, last)?,
            (None, Some(last)) => ValuesAt::Last(last),
            (None, None) => ValuesAt::All,
        };
        let values = self.wait(py, async |history| {
            let of = match &formula {
                Some(formula) => ValuesOf::Formula(formula),
                None => ValuesOf::Query(&query),
            };
            Ok(history.values(of, &at, limit).await?)
        })?;
        let TraceValues { frame, unknown, .. } = values;
        let (columns, names, values) = frame.into_parts();
        let commits: Vec<i64> = columns.iter().map(|it| i64::from(it.0)).collect();
        let shape = [names.len(), commits.len()];
        let values = values.into_pyarray(py).reshape(shape)?;
        Ok((
            names.iter().map(ToString::to_string).collect(),
            commits.into_pyarray(py).into_any(),
            values.into_any(),
            unknown.iter().map(ToString::to_string).collect(),
        ))
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/TraceReader.survey"))]
    fn survey(&self, py: Python<'_>, query: &str) -> PyResult<String> {
        let query: Query = parsed("query", query)?;
        self.document(py, async |history| {
            let survey = history.survey(&query, None).await?;
            let unknown: Vec<String> = survey.unknown.iter().map(ToString::to_string).collect();
            Ok(json!({ "count": survey.count, "params": survey.counts, "unknown": unknown }))
        })
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/TraceReader.commits"))]
    fn commits(&self, py: Python<'_>) -> PyResult<String> {
        self.document(py, async |history| {
            let commits = history
                .commits(ALL)
                .await?
                .into_iter()
                .map(|it| json!([it.number.0, it.hash, it.time, it.author, it.subject]));
            Ok(commits.collect())
        })
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/TraceReader.annotations"))]
    fn annotations(&self, py: Python<'_>) -> PyResult<String> {
        self.document(py, async |history| {
            let annotations = history.annotations(ALL).await?.into_iter();
            let annotations = annotations.map(|it| json!([it.number, it.annotation]));
            Ok(annotations.collect())
        })
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/TraceReader.source"))]
    fn source(&self, py: Python<'_>, trace: &str, commit: u32) -> PyResult<String> {
        let trace: TraceId = parsed("trace", trace)?;
        let commit = CommitNumber(commit);
        self.document(py, async |history| {
            let values = history.sourced_values(&trace, commit..=commit).await?;
            Ok(match values.into_iter().next() {
                None => Value::Null,
                Some(it) => json!({
                    "value": it.value,
                    "file": it.file.source.path,
                    "links": it.file.links.into_iter().chain(it.links)
                        .collect::<std::collections::BTreeMap<_, _>>(),
                }),
            })
        })
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/TraceReader.pivot"))]
    fn pivot(
        &self,
        py: Python<'_>,
        query: &str,
        by: Vec<String>,
        operation: &str,
        last: usize,
        limit: u64,
    ) -> PyResult<String> {
        let query: Query = parsed("query", query)?;
        let pivot = Pivot {
            group_by: by,
            operation: named("operation", operation)?,
            summary: Vec::new(),
        };
        self.document(py, async |history| {
            let of = ValuesOf::Query(&query);
            let values = history.values(of, &ValuesAt::Last(last), limit).await?;
            let table = pivot.apply(&values.frame).map_err(refused)?;
            let present = |it: &f64| (!it.is_nan()).then_some(*it);
            let rows = table.rows.iter().map(|row| {
                let values: Vec<Option<f64>> = row.values.iter().map(present).collect();
                json!([row.group, row.traces, values])
            });
            Ok(json!({
                "commits": table.columns.iter().map(|it| it.0).collect::<Vec<_>>(),
                "rows": rows.collect::<Vec<_>>(),
                "left_out": table.left_out,
                "unknown": values.unknown.iter().map(ToString::to_string).collect::<Vec<_>>(),
            }))
        })
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/TraceReader.verticals"))]
    #[pyo3(signature = (query, row, sides, between, tried, at, limit))]
    #[expect(clippy::too_many_arguments, reason = "each is one of Python's")]
    fn verticals(
        &self,
        py: Python<'_>,
        query: &str,
        row: &str,
        sides: Option<(String, String, String)>,
        between: Option<(u32, u32)>,
        tried: Option<(String, String)>,
        at: Option<u32>,
        limit: u64,
    ) -> PyResult<String> {
        let query: Query = parsed("query", query)?;
        self.document(py, async |history| {
            let at_commit = async |at| history.values_at(Select::Query(&query), at, limit).await;
            let table = if let Some((a, b)) = between {
                let a = at_commit(ValueAt::At(CommitNumber(a))).await?;
                let b = at_commit(ValueAt::At(CommitNumber(b))).await?;
                verticals_of_two(pairs(&a), pairs(&b), row)
            } else if let Some((issue, patchset)) = tried {
                let tried = history.try_values(&Try { issue, patchset }, &query).await?;
                let ids: Vec<TraceId> = tried.keys().cloned().collect();
                let select = Select::Ids(&ids);
                let latest = history.values_at(select, ValueAt::Latest, limit).await?;
                verticals_of_two(tried.iter().map(|(id, it)| (id, *it)), pairs(&latest), row)
            } else if let Some((key, a, b)) = sides {
                let at = at.map_or(ValueAt::Latest, |at| ValueAt::Nearest(CommitNumber(at)));
                let values = at_commit(at).await?;
                verticals(pairs(&values), row, &key, &a, &b)
            } else {
                return Err(refused(
                    "name a key and two of its values, two commits, or a try",
                ));
            };
            Ok(serde_json::to_value(table.map_err(refused)?)?)
        })
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/TraceReader.tries"))]
    fn tries(&self, py: Python<'_>) -> PyResult<String> {
        self.document(py, async |history| {
            Ok(serde_json::to_value(history.tries().await?)?)
        })
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/TraceReader.tried"))]
    fn tried(
        &self,
        py: Python<'_>,
        issue: String,
        patchset: String,
        query: &str,
    ) -> PyResult<String> {
        let query: Query = parsed("query", query)?;
        self.document(py, async |history| {
            let report = history.try_report(&Try { issue, patchset }, &query).await?;
            Ok(serde_json::to_value(report)?)
        })
    }
}

impl TraceReader {
    /// Opens the store, which must exist: reading does not make one.
    fn wait<T: Send>(
        &self,
        py: Python<'_>,
        work: impl AsyncFnOnce(&History) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        let dataset = self.dataset.parse();
        let dataset = dataset.map_err(|error| {
            PyValueError::new_err(format!("`dataset` is {:?}: {error}", self.dataset))
        })?;
        if !self.state_dir.join("traces.db").exists() {
            let place = self.state_dir.display();
            return Err(PyValueError::new_err(format!(
                "{place} has no history of values; `pinpoint ingest` makes one"
            )));
        }
        let done = py.detach(|| {
            runtime()?.block_on(async {
                let store = TraceStore::open(&self.state_dir).await?;
                let done = work(&store.history(&dataset)).await;
                store.close().await;
                done
            })
        });
        done.map_err(|failure| failure.into_exception(py))
    }

    fn document(
        &self,
        py: Python<'_>,
        work: impl AsyncFnOnce(&History) -> Result<Value, Failure> + Send,
    ) -> PyResult<String> {
        written(&self.wait(py, work)?)
    }
}

impl From<TraceStoreError> for Failure {
    fn from(error: TraceStoreError) -> Self {
        match error {
            TraceStoreError::NoDataset(_)
            | TraceStoreError::NoTile { .. }
            | TraceStoreError::Commit(_)
            | TraceStoreError::TooLarge { .. }
            | TraceStoreError::TooMany { .. }
            | TraceStoreError::NestedShortcuts(_)
            | TraceStoreError::NoTry { .. }
            | TraceStoreError::Evaluate(_)
            | TraceStoreError::NoShortcut(_) => Self::Value(error.to_string()),
            _ => Self::job(error),
        }
    }
}

fn refused(error: impl std::fmt::Display) -> Failure {
    Failure::Value(error.to_string())
}

fn range(first: u32, last: u32) -> PyResult<ValuesAt> {
    if first > last {
        return Err(PyValueError::new_err(format!(
            "`commits` is ({first}, {last}): the first one must not come after the last one"
        )));
    }
    Ok(ValuesAt::Range(CommitNumber(first)..=CommitNumber(last)))
}

fn pairs(points: &[TracePoint]) -> impl Iterator<Item = (&TraceId, f64)> {
    points.iter().map(|it| (&it.trace, it.value))
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(argument: &str, text: &str) -> PyResult<T> {
    text.parse()
        .map_err(|error| PyValueError::new_err(format!("`{argument}` is {text:?}: {error}")))
}

/// A name of a known set.
fn named<T: DeserializeOwned>(argument: &str, text: &str) -> PyResult<T> {
    serde_json::from_value(text.into())
        .map_err(|error| PyValueError::new_err(format!("`{argument}` is {text:?}: {error}")))
}
