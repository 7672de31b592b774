//! Searches with suspicions from the files that commits touch: the gain where the culprit is one of
//! the suspected commits, and the cost where it is one of the others.
//!
//!     cargo bench -p pinpoint-benches --bench priors
//!     cargo bench -p pinpoint-benches --bench priors -- --times 50
//!
//! Of 128 commits, 40 % touch code. In half of the scenarios one of these is the culprit, in
//! the other half one of those that touch documents, tests or CI alone.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use clap::Parser;
use pinpoint_core::simulation::{Mean, Scenario, Trial};
use pinpoint_core::{BisectionSpec, Magnitude, SpecError, Status};
use rayon::prelude::*;

/// The gain and the cost of suspicions.
#[derive(Debug, Parser)]
struct Options {
    /// The factors by which the other commits are suspected less than code.
    #[arg(long, value_delimiter = ',', default_values_t = [1.0, 5.0, 10.0, 20.0, 50.0, 1000.0])]
    times: Vec<f64>,
    #[arg(long, default_value_t = 128)]
    commits: u64,
    #[arg(long, default_value_t = 300)]
    searches: u64,
    /// Given by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Interquartile ranges by which the culprit changes the benchmark.
const CHANGES: [f64; 3] = [1.0, 2.0, 4.0];

/// Four of ten commits touch code, in no regular order.
fn touches_code(commit: u64) -> bool {
    commit.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 & 0xff < 102
}

fn main() -> Result<(), SpecError> {
    let options = Options::parse();
    println!(
        "{:8} {:>6} {:>6} {:>7} {:>7} {:>6} {:>7} {:>6}",
        "culprit", "change", "times", "right %", "wrong %", "runs", "builds", "p95"
    );
    for is_code in [true, false] {
        for change in CHANGES {
            for times in &options.times {
                let weight = |is_suspected, less| if is_suspected { 1.0 } else { 1.0 / less };
                let code: Vec<bool> = (0..options.commits).map(touches_code).collect();
                let scenario = Scenario {
                    changes: vec![change],
                    weights: Some(
                        (code.iter())
                            .map(|code| weight(*code == is_code, f64::INFINITY))
                            .collect(),
                    ),
                    ..Scenario::new(options.commits)
                };
                let spec = BisectionSpec {
                    magnitude: Some(Magnitude::Absolute(change)),
                    priors: Some(code.iter().map(|code| weight(*code, *times)).collect()),
                    max_runs: Some(5_000),
                    ..BisectionSpec::new(scenario.range())
                };
                let trials = (1..=options.searches)
                    .into_par_iter()
                    .map(|seed| scenario.search(&spec, seed))
                    .collect::<Result<Vec<_>, _>>()?;
                print_row(is_code, change, *times, &trials);
            }
        }
    }
    Ok(())
}

fn print_row(is_code: bool, change: f64, times: f64, trials: &[Trial]) {
    let right = Mean::share(trials, |trial| {
        trial.false_culprits() == 0
            && trial.missed.is_empty()
            && trial.status == Status::CulpritFound
    });
    let wrong = Mean::share(trials, |trial| trial.false_culprits() > 0);
    let runs = Mean::of(trials.iter().map(|trial| trial.runs as f64)).value;
    let mut builds: Vec<u64> = trials.iter().map(|trial| trial.builds).collect();
    builds.sort_unstable();
    println!(
        "{:8} {:6.1} {:6} {:7.1} {:7.1} {:6.1} {:7.2} {:6}",
        if is_code { "code" } else { "other" },
        change,
        times,
        100.0 * right.value,
        100.0 * wrong.value,
        runs,
        Mean::of(builds.iter().map(|builds| *builds as f64)).value,
        builds[builds.len() * 95 / 100],
    );
}
