//! The JSON of BenchmarkDotNet, `--exporters json`, in full or in brief.
//!
//! ```json
//! {"Title": "…", "HostEnvironmentInfo": {…}, "Benchmarks": [
//!   {"DisplayInfo": "Sums.Sum: DefaultJob [N=10]", "FullName": "Example.Sums.Sum(N: 10)",
//!    "Statistics": {"OriginalValues": [12.5, 12.4], "Mean": 12.45, …},
//!    "Memory": {"BytesAllocatedPerOperation": 32, …}}]}
//! ```
//!
//! One chart for each benchmark, named by its `FullName`, of the time of an operation in each
//! iteration, in ns; and one of its memory, `Example.Sums.Sum(N: 10) Allocated`, in bytes. Where
//! several jobs ran the same benchmark, the job follows the name. A benchmark without statistics
//! has failed.
//!
//! Written after BenchmarkDotNet's `JsonExporterBase` of 0.13 to 0.15.

use std::collections::BTreeMap;

use pinpoint_document::{Elements, Member};
use serde::Deserialize;

use super::charts::Charts;
use super::document::{self, Number, Numbers};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Benchmark {
    display_info: Option<String>,
    full_name: String,
    statistics: Option<Statistics>,
    memory: Option<Memory>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Statistics {
    original_values: Option<Numbers>,
    mean: Number,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Memory {
    bytes_allocated_per_operation: Option<Number>,
}

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut benchmarks = Vec::new();
    let take = |_, benchmark: Benchmark| benchmarks.push(benchmark);
    let seed = Member("Benchmarks", Elements::new(take));
    document::read(text, "BenchmarkDotNet", seed)?;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for benchmark in &benchmarks {
        *counts.entry(&benchmark.full_name).or_default() += 1;
    }
    let mut charts = Charts::default();
    for (index, benchmark) in benchmarks.iter().enumerate() {
        let name = &*benchmark.full_name;
        let job = benchmark.display_info.as_deref().and_then(job);
        let chart = match job.filter(|_| counts.get(name).is_some_and(|count| *count > 1)) {
            Some(job) => format!("{name} [{job}]"),
            None => name.to_owned(),
        };
        let place = || OutputPosition::Json(format!("/Benchmarks/{index}"));
        let Some(statistics) = &benchmark.statistics else {
            charts.fail(&chart, "BenchmarkDotNet has no statistics of it");
            continue;
        };
        let values = match (&statistics.original_values, statistics.mean) {
            (Some(Numbers(values)), _) => values.clone(),
            (None, Number::Finite(mean)) => Some(vec![mean]),
            (None, Number::Failed) => None,
        };
        match values {
            Some(values) => {
                charts.add_once(&chart, values, Some("ns"), Direction::Down, place);
            }
            None => charts.fail(&chart, "one of its times is not a number"),
        }
        let memory = benchmark.memory.as_ref();
        if let Some(Number::Finite(bytes)) =
            memory.and_then(|memory| memory.bytes_allocated_per_operation)
        {
            let chart = format!("{chart} Allocated");
            charts.add_once(&chart, vec![bytes], Some("B"), Direction::Down, place);
        }
    }
    charts.finish("a benchmark with statistics in /Benchmarks")
}

/// The job of `Sums.Sum: Job-ABC(Runtime=.NET 8.0) [N=10]`.
fn job(display_info: &str) -> Option<&str> {
    let (_, job) = display_info.split_once(": ")?;
    Some(job.split_once(" [").map_or(job, |(job, _)| job))
}
