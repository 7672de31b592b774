//! Criterion.rs's output folder, `target/criterion`.
//!
//! ```text
//! sums/fold/100/new/benchmark.json    {"full_id": "sums/fold/100", …}
//! sums/fold/100/new/sample.json       {"iters": [582.0, 1164.0], "times": [3273094.0, 6552383.0], …}
//! sums/fold/100/base/…                the run before; not read
//! ```
//!
//! One chart for each benchmark, named by its full id, of the time of one iteration in each sample:
//! `times` divided by `iters`, in nanoseconds. Criterion gives the second benchmark of an id the
//! folder `fold_2`, but not an id of its own; its chart is `sums/fold_2`, too. (A benchmark with a custom measurement instead of
//! the time does not give its unit in these files.) Checked with Criterion.rs 0.8.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::charts::Charts;
use super::document;
use super::text::utf_8;
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;

const BENCHMARK: &str = "new/benchmark.json";
const SAMPLE: &str = "new/sample.json";

#[derive(Deserialize)]
struct Benchmark<'a> {
    #[serde(borrow)]
    full_id: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Sample {
    iters: Vec<f64>,
    times: Vec<f64>,
}

/// Returns true if the file at this path, relative to the folder and with `/` between its parts, is
/// read.
///
/// ```
/// use pinpoint_core::results::is_criterion_result;
///
/// assert!(is_criterion_result("sums/fold/100/new/sample.json"));
/// assert!(!is_criterion_result("sums/fold/100/base/sample.json"));
/// ```
pub fn is_criterion_result(path: &str) -> bool {
    [BENCHMARK, SAMPLE]
        .iter()
        .any(|name| benchmark_of(path, name).is_some())
}

/// The benchmark's folder, with the slash after it, if the path is its file of
/// that name.
fn benchmark_of<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    path.strip_suffix(name)
        .filter(|folder| folder.is_empty() || folder.ends_with('/'))
}

pub(super) fn read(files: &BTreeMap<String, Vec<u8>>) -> Result<Reading, ReadError> {
    let folders: BTreeSet<&str> = files
        .keys()
        .filter_map(|path| benchmark_of(path, BENCHMARK).or(benchmark_of(path, SAMPLE)))
        .collect();
    let mut charts = Charts::default();
    let mut ids: BTreeMap<&str, Cow<str>> = BTreeMap::new();
    for folder in folders {
        let (id, id_text) = file(files, folder, BENCHMARK)?;
        let (sample, sample_text) = file(files, folder, SAMPLE)?;
        let Benchmark { full_id } = parse(&id, id_text)?;
        let values =
            per_iteration(parse(&sample, sample_text)?).map_err(|error| in_file(&sample, error))?;
        // The folders are in the order of their names: the first of an id comes before its `_2`.
        let name = match numbered(folder) {
            Some((first, number)) if ids.get(first) == Some(&full_id) => {
                format!("{full_id}_{number}")
            }
            _ => full_id.to_string(),
        };
        ids.insert(folder.trim_end_matches('/'), full_id);
        charts.add_once(&name, values, Some("ns"), Direction::Down, || {
            OutputPosition::File(id)
        });
    }
    charts.finish("a benchmark (NAME/new/benchmark.json and sample.json) in the folder")
}

/// The folder and the number of one that Criterion numbered: `sums/fold` and 2 of `sums/fold_2/`.
fn numbered(folder: &str) -> Option<(&str, u32)> {
    let (first, number) = folder.trim_end_matches('/').rsplit_once('_')?;
    Some((first, number.parse().ok()?))
}

fn file<'a>(
    files: &'a BTreeMap<String, Vec<u8>>,
    folder: &str,
    name: &str,
) -> Result<(String, &'a str), ReadError> {
    let path = format!("{folder}{name}");
    match files.get(&path) {
        None => Err(ReadError::FileMissing { missing: path }),
        Some(bytes) => match utf_8(bytes) {
            Ok(text) => Ok((path, text)),
            Err(error) => Err(in_file(&path, error)),
        },
    }
}

fn parse<'a, T: Deserialize<'a>>(path: &str, text: &'a str) -> Result<T, ReadError> {
    document::read(text, "Criterion", std::marker::PhantomData)
        .map_err(|error| in_file(path, error))
}

fn per_iteration(sample: Sample) -> Result<Vec<f64>, ReadError> {
    let Sample { iters, times } = sample;
    if iters.len() != times.len() {
        return Err(ReadError::NoValue {
            wanted: format!("each of {} /iters in /times", iters.len()),
            present: vec![format!("{} values", times.len())],
        });
    }
    let values = iters
        .iter()
        .zip(times)
        .enumerate()
        .map(|(index, (iterations, time))| {
            let value = time / iterations;
            if *iterations > 0.0 && value.is_finite() {
                return Ok(value);
            }
            Err(ReadError::NotFinite {
                place: OutputPosition::Json(format!("/times/{index}")),
                found: format!("{time} ns for {iterations} iterations"),
            })
        });
    values.collect()
}

fn in_file(file: &str, source: ReadError) -> ReadError {
    ReadError::InFile {
        file: file.into(),
        source: Box::new(source),
    }
}
