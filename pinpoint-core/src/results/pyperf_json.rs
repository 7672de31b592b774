//! The JSON that pyperf writes with `-o`.
//!
//! ```json
//! {"benchmarks": [{"metadata": {"name": "sort"}, "runs": [
//!   {"warmups": [[1, 0.5]], "values": [0.41, 0.42], "metadata": {…}}, …]}],
//!  "metadata": {"unit": "second", …}, "version": "1.0"}
//! ```
//!
//! One chart for each benchmark, named by it, of the values of all of its processes: less is
//! better. What is the same in all benchmarks stands in the document's own metadata, so that the
//! name of an only benchmark is there. A process that calibrates has no values. Checked with pyperf
//! 2.11.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::Deserialize;

use super::charts::Charts;
use super::document::{self, Numbers};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    benchmarks: Vec<Benchmark<'a>>,
    #[serde(borrow, default)]
    metadata: Metadata<'a>,
}

#[derive(Deserialize)]
struct Benchmark<'a> {
    #[serde(borrow, default)]
    metadata: Metadata<'a>,
    runs: Vec<Run>,
}

#[derive(Deserialize, Default)]
struct Metadata<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    unit: Option<Cow<'a, str>>,
}

/// A process.
#[derive(Deserialize)]
struct Run {
    #[serde(default = "nothing")]
    values: Numbers,
}

fn nothing() -> Numbers {
    Numbers(Some(Vec::new()))
}

/// The chart of a benchmark without a name, as of pyperf's output.
const UNNAMED: &str = "mean";

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let document: Document = document::read(text, "pyperf", PhantomData)?;
    let common = &document.metadata;
    let mut charts = Charts::default();
    for (index, benchmark) in document.benchmarks.into_iter().enumerate() {
        let name = benchmark.metadata.name.as_ref().or(common.name.as_ref());
        let chart = name.map_or(UNNAMED, |name| name);
        let unit = benchmark.metadata.unit.as_ref().or(common.unit.as_ref());
        let unit = match unit.map_or("second", |unit| unit) {
            "second" => Some("s"),
            "byte" => Some("B"),
            "integer" => None,
            other => Some(other),
        };
        let mut values = Some(Vec::new());
        for run in benchmark.runs {
            match (run.values.0, &mut values) {
                (Some(of_run), Some(values)) => values.extend(of_run),
                _ => values = None,
            }
        }
        match values {
            None => charts.fail(chart, "one of its values is not a number"),
            Some(values) if values.is_empty() => charts.fail(chart, "it has no values"),
            Some(values) => charts.add_once(chart, values, unit, Direction::Down, || {
                OutputPosition::Json(format!("/benchmarks/{index}"))
            }),
        }
    }
    charts.finish("a benchmark with values in /benchmarks")
}
