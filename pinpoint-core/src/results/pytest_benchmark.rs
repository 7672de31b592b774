//! pytest-benchmark's `--benchmark-json`.
//!
//! ```json
//! {"benchmarks": [{"fullname": "test_sort.py::test_sort[10]", "stats": {"data": [1.2e-6, 1.3e-6], …}, …}], …}
//! ```
//!
//! One chart for each test, named by its `fullname`, of the time of every round
//! in seconds. Files saved without the rounds (`--benchmark-autosave` alone) are
//! refused: their statistics are not measurements. Checked with pytest-benchmark
//! 5.3.

use std::borrow::Cow;

use pinpoint_document::{Elements, Member};
use serde::Deserialize;

use super::charts::Charts;
use super::document::{self, Numbers};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;

#[derive(Deserialize)]
struct Benchmark<'a> {
    #[serde(borrow)]
    fullname: Cow<'a, str>,
    stats: Statistics,
}

#[derive(Deserialize)]
struct Statistics {
    data: Option<Numbers>,
}

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    let take = |index, Benchmark { fullname, stats }: Benchmark| {
        match stats.data {
        None => charts.refuse(ReadError::NoValue {
            wanted: format!(
                "/benchmarks/{index}/stats/data: the rounds of `{fullname}` were not saved, so use --benchmark-json or --benchmark-save-data"
            ),
            present: Vec::new(),
        }),
        Some(Numbers(None)) => charts.fail(&fullname, "one of its rounds is not a number"),
        Some(Numbers(Some(rounds))) => {
            charts.add_once(&fullname, rounds, Some("s"), Direction::Down, || {
                OutputPosition::Json(format!("/benchmarks/{index}"))
            });
        }
    }
    };
    let seed = Member("benchmarks", Elements::new(take));
    document::read(text, "pytest-benchmark", seed)?;
    charts.finish("a benchmark in /benchmarks")
}
