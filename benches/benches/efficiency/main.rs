//! The efficiency simulation: how often each strategy is right, and what it
//! costs, against the ideal searcher and against the reference.
//!
//!     cargo bench -p pinpoint-benches --bench efficiency                 # the full table
//!     cargo bench -p pinpoint-benches --bench efficiency -- --quick
//!     cargo bench -p pinpoint-benches --bench efficiency -- --scenario "skewed 1024" --strategy pinpoint
//!
//! Every row is one scenario and one strategy, over many searches with fixed
//! seeds through the public machine. `README.md` in this crate explains the
//! columns; [`targets`] holds the targets.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

mod cells;
mod table;
mod targets;

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Instant;

use clap::Parser;
use pinpoint_core::simulation::{Ideal, Mean, Scenario, Summary, Trial};
use pinpoint_core::{BisectionSpec, SpecError, Strategy};
use rayon::prelude::*;

use cells::Cell;

/// The accuracy and the cost of each strategy.
#[derive(Debug, Parser)]
struct Options {
    /// A part of the scenarios and fewer searches: about 2 minutes on two cores.
    #[arg(long)]
    quick: bool,
    /// Only this strategy; may be repeated [default: all].
    #[arg(long, value_parser = strategy)]
    strategy: Vec<Strategy>,
    /// Only scenarios whose name holds each word of this.
    #[arg(long, default_value = "")]
    scenario: String,
    /// Searches of each scenario [default: more for small ranges than for large].
    #[arg(long)]
    searches: Option<u64>,
    /// The first search has this seed, the next one the next.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Given by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

/// As a stored spec names it.
fn strategy(name: &str) -> Result<Strategy, String> {
    serde_json::from_value(name.into()).map_err(|error| error.to_string())
}

/// Every strategy there is, the reference first.
const STRATEGIES: [Strategy; 2] = [Strategy::Pinpoint, Strategy::Adaptive];

/// A search that has made this many runs is ended: more than the reference ever
/// makes, and the table gets done whatever a strategy does.
const MOST_RUNS: u64 = 5_000;

/// The cost of the searcher that knows the distributions.
#[derive(Debug, Clone, Copy)]
struct IdealCost {
    right: Mean,
    runs: Mean,
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let began = Instant::now();
    let strategies = if options.strategy.is_empty() {
        STRATEGIES.to_vec()
    } else {
        options.strategy.clone()
    };
    let cells: Vec<Cell> = cells::all()
        .into_iter()
        .filter(|cell| cell.is_quick || !options.quick)
        .filter(|cell| {
            options
                .scenario
                .split_whitespace()
                .all(|word| cell.name.contains(word))
        })
        .collect();

    table::print_head();
    let mut ideals: BTreeMap<String, Option<IdealCost>> = BTreeMap::new();
    let mut calibration = table::CalibrationTable::default();
    let mut tally = targets::Tally::default();
    for cell in &cells {
        let searches = options
            .searches
            .unwrap_or(match (cell.scenario.commits, options.quick) {
                (..=128, false) => 500,
                _ => 200,
            });
        let ideal = *ideals
            .entry(cell.ideal_name())
            .or_insert_with(|| ideal(&cell.scenario, options.seed, 4 * searches));
        let trials = |strategy| trials(cell, strategy, options.seed, searches);
        let reference_trials = trials(Strategy::Pinpoint)?;
        let reference = Summary::of(&reference_trials);
        for strategy in &strategies {
            let trials = if *strategy == Strategy::Pinpoint {
                reference_trials.clone()
            } else {
                trials(*strategy)?
            };
            let summary = Summary::of(&trials);
            let checks = targets::check(cell, &summary, ideal.as_ref(), &reference);
            table::print_row(
                cell,
                *strategy,
                &summary,
                ideal.as_ref(),
                &reference,
                &checks,
            );
            tally.add(*strategy, &checks);
            calibration.add(*strategy, cell, &trials);
        }
    }
    calibration.print();
    tally.print();
    println!(
        "\n{} scenarios in {:.0} s",
        cells.len(),
        began.elapsed().as_secs_f64()
    );
    Ok(())
}

fn trials(
    cell: &Cell,
    strategy: Strategy,
    seed: u64,
    searches: u64,
) -> Result<Vec<Trial>, SpecError> {
    let spec = BisectionSpec {
        strategy,
        max_runs: Some(MOST_RUNS),
        ..cell.spec.clone()
    };
    (seed..seed + searches)
        .into_par_iter()
        .map(|seed| cell.scenario.search(&spec, seed))
        .collect()
}

fn ideal(scenario: &Scenario, seed: u64, searches: u64) -> Option<IdealCost> {
    let found: Vec<Ideal> = (seed..seed + searches)
        .into_par_iter()
        .map(|seed| scenario.ideal(0.95, seed))
        .collect::<Option<_>>()?;
    Some(IdealCost {
        right: Mean::share(&found, |ideal| ideal.right),
        runs: Mean::of(found.iter().map(|ideal| ideal.runs as f64)),
    })
}
