//! Searches in noise as real machines have it: with a memory, in proportion to the
//! level, recorded from real programs; for one change and for several.
//!
//!     cargo bench -p pinpoint-benches --bench real_noise
//!     cargo bench -p pinpoint-benches --bench real_noise -- --scenario loaded --searches 300
//!
//! Every row is one scenario, over many searches with fixed seeds through the public
//! machine. `README.md` in this crate explains the columns.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::error::Error;
use std::sync::Arc;

use clap::Parser;
use pinpoint_core::simulation::{Mean, Memory, Scenario, Trial};
use pinpoint_core::{BisectionSpec, Magnitude, SPEC_VERSION, SpecError, Status};
use rayon::prelude::*;

/// The accuracy of the strategy `adaptive` in real noise.
#[derive(Debug, Parser)]
struct Options {
    /// Only scenarios whose name holds each word of this.
    #[arg(long, default_value = "")]
    scenario: String,
    #[arg(long, default_value_t = 100)]
    searches: u64,
    /// The first search has this seed, the next one the next.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The strategy as specs of this version have it.
    #[arg(long, default_value_t = SPEC_VERSION)]
    version: u32,
    /// Given by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

/// One scenario, the question asked of it, and its targets.
struct Row {
    name: String,
    scenario: Scenario,
    magnitude: Option<Magnitude>,
    max_runs: Option<u64>,
    /// The changes of at least this size are to be found.
    large: f64,
    /// In percent.
    right: f64,
    runs: f64,
}

/// Interquartile range of the standard normal distribution.
const NORMAL_RANGE: f64 = 1.349;

/// Two of the largest changes follow each other nowhere.
const HISTORY: [f64; 12] = [
    0.05, -0.30, -0.03, 0.06, -0.25, 0.04, -0.05, -0.35, 0.03, -0.06, -0.45, 0.05,
];

fn rows() -> Result<Vec<Row>, Box<dyn Error>> {
    let row = |name: &str, scenario: Scenario, right, runs| Row {
        name: name.to_owned(),
        scenario,
        magnitude: None,
        max_runs: None,
        large: 0.0,
        right,
        runs,
    };
    let relative = |deviation: f64, change: f64| Scenario {
        proportional: Some(deviation * NORMAL_RANGE),
        changes: vec![change],
        ..Scenario::new(128)
    };
    let bursts = Memory::Spells {
        factor: 1.4,
        start: 0.02,
        end: 0.1,
    };
    let modes = Memory::Spells {
        factor: 0.6,
        start: 1.0 / 12.0,
        end: 0.25,
    };
    let mut rows = vec![
        row("proportional +10%", relative(0.05, 0.1), 95.0, 37.0),
        row("proportional x2", relative(0.05, 1.0), 95.0, 18.0),
        row("proportional x10", relative(0.05, 9.0), 95.0, 19.0),
        row(
            "bursts +10%",
            Scenario {
                memory: bursts,
                ..relative(0.02, 0.1)
            },
            96.0,
            34.0,
        ),
        row(
            "autocorrelated +10%",
            Scenario {
                memory: Memory::Autocorrelated(0.7),
                ..relative(0.05, 0.1)
            },
            95.0,
            55.0,
        ),
        row(
            "autocorrelated nothing",
            Scenario {
                memory: Memory::Autocorrelated(0.7),
                changes: Vec::new(),
                ..relative(0.05, 0.1)
            },
            95.0,
            60.0,
        ),
    ];
    for (state, changes) in [
        (
            "loaded",
            [
                ("+50%", 0.5, 90.0, 250.0),
                ("x2", 1.0, 95.0, 60.0),
                ("nothing", 0.0, 95.0, 100.0),
            ],
        ),
        (
            "quiet",
            [
                ("+30%", 0.3, 95.0, 49.0),
                ("+15%", 0.15, 95.0, 126.0),
                ("nothing", 0.0, 95.0, 100.0),
            ],
        ),
    ] {
        for program in ["python", "git", "gcc", "gzip", "perl"] {
            let values = recording(&format!("{program}-{state}"))?;
            for (name, change, right, runs) in changes {
                let scenario = Scenario {
                    memory: Memory::Recorded(values.clone()),
                    changes: if change > 0.0 {
                        vec![change]
                    } else {
                        Vec::new()
                    },
                    proportional: Some(1.0),
                    ..Scenario::new(64)
                };
                rows.push(row(
                    &format!("{program} {state} {name}"),
                    scenario,
                    right,
                    runs,
                ));
            }
        }
    }
    for (name, memory) in [("normal", Memory::None), ("modes", modes)] {
        for (told, magnitude) in [("told", Some(Magnitude::Percent(20.0))), ("untold", None)] {
            for max_runs in [300, 1_200] {
                let scenario = Scenario {
                    memory: memory.clone(),
                    changes: HISTORY.to_vec(),
                    proportional: Some(0.08 * NORMAL_RANGE),
                    ..Scenario::new(373)
                };
                rows.push(Row {
                    magnitude,
                    max_runs: Some(max_runs),
                    large: 0.25,
                    ..row(
                        &format!("history {name} {told} {max_runs}"),
                        scenario,
                        90.0,
                        300.0,
                    )
                });
            }
        }
    }
    rows.extend(spells(&row)?);
    Ok(rows)
}

/// Machines whose speed changes by the clock, whatever runs and builds take; their factor, and the
/// mean milliseconds at the first and at the second speed.
const CLOCKS: [(&str, f64, [f64; 2]); 4] = [
    ("x1.5 5s", 1.5, [20_000.0, 5_000.0]),
    ("x1.5 20s", 1.5, [20_000.0, 20_000.0]),
    ("x2 60s", 2.0, [60_000.0, 60_000.0]),
    ("x4 20s", 4.0, [60_000.0, 20_000.0]),
];

/// Two changes far larger than the forty others.
fn two_large(large: f64, mut small: impl FnMut(usize) -> f64) -> Vec<f64> {
    let mut changes = vec![large, large];
    changes.extend((0..40).map(&mut small));
    changes
}

/// Hard cases of machines whose speed comes and goes, with changes that are not worth finding.
fn spells(row: &impl Fn(&str, Scenario, f64, f64) -> Row) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut rows = Vec::new();
    for (name, factor, lengths) in CLOCKS {
        for (length, run_time) in [("0.1s", 100), ("1s", 1_000)] {
            let scenario = Scenario {
                memory: Memory::Clock { factor, lengths },
                changes: vec![0.3],
                proportional: Some(0.02 * NORMAL_RANGE),
                run_time,
                build_time: 2_000,
                ..Scenario::new(64)
            };
            rows.push(row(
                &format!("clock {name} run {length} +30%"),
                scenario,
                90.0,
                150.0,
            ));
        }
    }
    let waves = Scenario {
        memory: Memory::Recorded(recording("waves")?),
        proportional: Some(1.0),
        ..Scenario::new(482)
    };
    // From -3 to +4 %.
    let small = |index: usize| -0.03 + 0.07 * (index * 17 % 40) as f64 / 39.0;
    let walk = Scenario {
        proportional: Some(0.08),
        // From 1 to 8 %, up and down.
        changes: two_large(0.35, |index| {
            let size = 0.01 + 0.07 * (index * 17 % 40) as f64 / 39.0;
            if index % 2 == 0 { size } else { -size }
        }),
        ..Scenario::new(482)
    };
    for (name, scenario, large) in [
        (
            "waves 2",
            Scenario {
                changes: vec![0.4, 0.4],
                ..waves.clone()
            },
            0.4,
        ),
        (
            "waves 42",
            Scenario {
                changes: two_large(0.4, small),
                ..waves
            },
            0.4,
        ),
        ("walk", walk, 0.35),
    ] {
        for (told, magnitude) in [("told", Some(Magnitude::Percent(25.0))), ("untold", None)] {
            rows.push(Row {
                magnitude,
                large,
                max_runs: Some(3_000),
                ..row(&format!("{name} {told}"), scenario.clone(), 95.0, 150.0)
            });
        }
    }
    Ok(rows)
}

/// The recorded wall times of a program, which `recordings/record.py` made.
fn recording(name: &str) -> Result<Arc<[f64]>, Box<dyn Error>> {
    let path = format!("{}/recordings/{name}.csv", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path)?;
    let wall = |line: &str| line.split(',').next().unwrap_or_default().parse::<f64>();
    Ok(text.lines().skip(1).map(wall).collect::<Result<_, _>>()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    println!(
        "{:28} {:>7} {:>6} {:>7} {:>7} {:>6} {:>6} {:>6}",
        "scenario", "right %", "false", "stated", "true", "runs", "p95", "builds"
    );
    for row in rows()? {
        if !(options.scenario.split_whitespace()).all(|word| row.name.contains(word)) {
            continue;
        }
        let spec = BisectionSpec {
            version: options.version,
            magnitude: row.magnitude,
            max_runs: Some(row.max_runs.unwrap_or(5_000)),
            ..BisectionSpec::new(row.scenario.range())
        };
        let trials = (options.seed..options.seed + options.searches)
            .into_par_iter()
            .map(|seed| row.scenario.search(&spec, seed))
            .collect::<Result<Vec<_>, SpecError>>()?;
        print_row(&row, &trials);
    }
    Ok(())
}

fn is_right(row: &Row, trial: &Trial) -> bool {
    let is_nothing = !row.scenario.changes.is_empty() || trial.status == Status::NoRegression;
    trial.false_culprits() == 0 && is_nothing && trial.missed.iter().all(|by| by.abs() < row.large)
}

fn print_row(row: &Row, trials: &[Trial]) {
    let right = Mean::share(trials, |trial| is_right(row, trial));
    let wrong = Mean::share(trials, |trial| trial.false_culprits() > 0);
    let named: Vec<(f64, bool)> = trials
        .iter()
        .flat_map(|trial| &trial.named)
        .filter_map(|(stated, is_true)| Some(((*stated)?, *is_true)))
        .collect();
    let stated = Mean::of(named.iter().map(|(stated, _)| *stated)).value;
    let is_true = Mean::share(&named, |(_, is_true)| *is_true).value;
    let mut runs: Vec<u64> = trials.iter().map(|trial| trial.runs).collect();
    runs.sort_unstable();
    let mean = Mean::of(runs.iter().map(|runs| *runs as f64)).value;
    let builds = Mean::of(trials.iter().map(|trial| trial.builds as f64)).value;
    let missed = |is_missed: bool| if is_missed { "*" } else { " " };
    println!(
        "{:28} {:6.1}{} {:6.1} {:7.1} {:7.1} {:6.1}{} {:6} {:6.1}",
        row.name,
        100.0 * right.value,
        missed(100.0 * right.value < row.right),
        100.0 * wrong.value,
        100.0 * stated,
        100.0 * is_true,
        mean,
        missed(mean > row.runs),
        runs[runs.len() * 95 / 100],
        builds
    );
}
