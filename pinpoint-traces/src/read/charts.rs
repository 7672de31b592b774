//! The charts of a run as points.

use std::collections::{BTreeMap, BTreeSet};

use pinpoint_core::{Aggregate, Direction, Series, direction_of};

use crate::id::{IdError, Params, TraceId};
use crate::points::{CommitName, Links, Point, ResultFile};
use crate::source::Source;

/// The points of a run, and the charts that gave none.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartPoints {
    /// The points.
    pub file: ResultFile,
    /// Charts whose values have no aggregate, such as the deviation of a single one.
    pub left_out: Vec<String>,
}

/// Makes points of charts, as the readers of `pinpoint-core` give them.
///
/// A chart becomes the trace of `key` with `test=…`, its name; `unit=…`, if it has one; and
/// `improvement_direction=up` or `down`, if that is known, from the format or the unit. The
/// aggregate makes one value of its values. All of them are kept as samples where there are more
/// than one.
///
/// # Errors
///
/// [`ChartsError`] for a key that a chart sets itself, two charts whose names are written alike, and
/// keys that are.
pub fn points_of_charts(
    source: Source,
    commit: CommitName,
    key: &BTreeMap<String, String>,
    charts: &BTreeMap<String, Series>,
    aggregate: Aggregate,
) -> Result<ChartPoints, ChartsError> {
    let params = Params::new(key)?;
    for reserved in ["test", "unit", "improvement_direction"] {
        if params.get(reserved).is_some() {
            return Err(ChartsError::Reserved(reserved));
        }
    }
    let mut points = Vec::new();
    let mut samples = BTreeMap::new();
    let mut left_out = Vec::new();
    let mut names: BTreeMap<TraceId, &str> = BTreeMap::new();
    for (chart, series) in charts {
        let mut params = params.clone();
        params.set("test", chart);
        if let Some(unit) = series.unit.as_deref() {
            params.set("unit", unit);
        }
        let direction = direction_of(series.direction, series.unit.as_deref());
        if direction != Direction::Unknown {
            params.set("improvement_direction", direction.as_str());
        }
        let trace = TraceId::new(&params)?;
        if let Some(first) = names.insert(trace.clone(), chart) {
            return Err(ChartsError::SameName {
                first: first.to_owned(),
                second: chart.clone(),
                trace,
            });
        }
        let Ok(value) = aggregate.apply_to(chart, &series.values) else {
            left_out.push(chart.clone());
            continue;
        };
        if series.values.len() > 1 {
            samples.insert(trace.clone(), series.values.clone());
        }
        points.push(Point {
            trace,
            value,
            links: Links::new(),
        });
    }
    let file = ResultFile {
        source,
        commit,
        tried: None,
        key: params,
        links: Links::new(),
        points,
        samples,
    };
    Ok(ChartPoints { file, left_out })
}

impl ChartPoints {
    /// Adds the points of further charts of the same file, which were made with other keys. The keys
    /// that both share stay those of the file.
    ///
    /// # Errors
    ///
    /// [`ChartsError::SameTrace`] for a trace that both have.
    pub fn join(&mut self, other: Self) -> Result<(), ChartsError> {
        let file = &mut self.file;
        let known: BTreeSet<&TraceId> = file.points.iter().map(|it| &it.trace).collect();
        let mut of_other = other.file.points.iter().map(|it| &it.trace);
        if let Some(trace) = of_other.find(|trace| known.contains(trace)) {
            return Err(ChartsError::SameTrace(trace.clone()));
        }
        let (key, added) = (&file.key, &other.file.key);
        let shared = key
            .iter()
            .filter(|(key, value)| added.get(key) == Some(value));
        file.key = Params::new(shared)?;
        file.points.extend(other.file.points);
        file.samples.extend(other.file.samples);
        self.left_out.extend(other.left_out);
        Ok(())
    }
}

/// Charts that can't become points.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChartsError {
    /// A key that charts set themselves.
    #[error("the key `{0}` is taken from each chart, and can't be given for all")]
    Reserved(&'static str),
    /// Two charts would be one trace.
    #[error("the charts `{first}` and `{second}` are both written as the trace `{trace}`")]
    SameName {
        /// The earlier one.
        first: String,
        /// The later one.
        second: String,
        /// Their trace.
        trace: TraceId,
    },
    /// Charts with other keys would be the same trace.
    #[error("two suites or machines in it are both written as the trace `{0}`")]
    SameTrace(TraceId),
    /// The keys are not those of a trace.
    #[error(transparent)]
    Id(#[from] IdError),
}
