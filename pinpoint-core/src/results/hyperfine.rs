//! hyperfine's `--export-json`.
//!
//! ```json
//! {"results": [{"command": "sleep 0.1", "mean": 0.1012, "times": [0.1011, 0.1013], "exit_codes": [0, 0], …}]}
//! ```
//!
//! One chart for each command, named by it (or by `--command-name`), of all its
//! times in seconds. Where several have one name, their parameters are added, `sleep [n=1]`.
//! A command that ended with another exit code than 0, which `--ignore-failure` hides, has failed.
//! Checked with hyperfine 1.20.

use std::collections::BTreeMap;

use pinpoint_document::{Elements, Member};
use serde::Deserialize;

use super::charts::Charts;
use super::document::{self, Numbers};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;

#[derive(Deserialize)]
struct Benchmark {
    command: String,
    times: Numbers,
    /// Since hyperfine 1.13; null for a command that a signal ended.
    exit_codes: Option<Vec<Option<i64>>>,
    parameters: Option<serde_json::Map<String, serde_json::Value>>,
}

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut benchmarks = Vec::new();
    let take = |_, benchmark: Benchmark| benchmarks.push(benchmark);
    document::read(text, "hyperfine", Member("results", Elements::new(take)))?;
    let mut of_name: BTreeMap<&str, usize> = BTreeMap::new();
    for benchmark in &benchmarks {
        *of_name.entry(&benchmark.command).or_default() += 1;
    }
    let name = |benchmark: &Benchmark| match of_name.get(&*benchmark.command) {
        Some(2..) => with_parameters(benchmark),
        _ => benchmark.command.clone(),
    };
    let names: Vec<String> = benchmarks.iter().map(name).collect();
    let mut charts = Charts::default();
    for (index, (benchmark, name)) in benchmarks.into_iter().zip(names).enumerate() {
        match failure(&benchmark) {
            Some(code) => {
                let reason = format!(
                    "its command {code}; json:/results/{index}/times takes the times all the same"
                );
                charts.fail(&name, reason);
            }
            None => match benchmark.times.0 {
                None => charts.fail(&name, "one of its times is not a number"),
                Some(times) => charts.add_once(&name, times, Some("s"), Direction::Down, || {
                    OutputPosition::Json(format!("/results/{index}"))
                }),
            },
        }
    }
    charts.finish("a command in /results")
}

fn with_parameters(benchmark: &Benchmark) -> String {
    let parameters = benchmark.parameters.iter().flatten();
    let parameters: Vec<String> = parameters
        .map(|(name, value)| match value.as_str() {
            Some(text) => format!("{name}={text}"),
            None => format!("{name}={value}"),
        })
        .collect();
    match &parameters[..] {
        [] => benchmark.command.clone(),
        parameters => format!("{} [{}]", benchmark.command, parameters.join(", ")),
    }
}

/// The failure of the command, if any.
fn failure(benchmark: &Benchmark) -> Option<String> {
    let codes = benchmark.exit_codes.as_deref().unwrap_or_default();
    let code = codes.iter().find(|code| **code != Some(0))?;
    Some(match code {
        Some(code) => format!("exited with {code}"),
        None => "was ended by a signal".into(),
    })
}
