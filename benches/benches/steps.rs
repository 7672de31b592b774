//! Detectors of steps: false alarms in several kinds of noise, and changes that are found.
//!
//!     cargo bench -p pinpoint-benches --bench steps
//!     cargo bench -p pinpoint-benches --bench steps -- --quick
//!     cargo bench -p pinpoint-benches --bench steps -- --detector rank
//!
//! Each series has 100 values before anything is counted. Without a change, 1,000 values follow, and
//! the first table has alarms per 1,000 of them. With a change, 40 values follow; the second table has
//! the share that is found in them, the values after the change in the median, the share that is
//! located exactly and, for `rank`, how often the interval holds the change, and its median width.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::error::Error;

use clap::Parser;
use pinpoint_compare::Scratch;
use pinpoint_compare::steps::{
    Conformal, ConformalOptions, Detector, DetectorOptions, FLOOR, Shape, Side, Statistic,
    StepEvent, fit_with,
};
use rayon::prelude::*;

#[derive(Debug, Parser)]
struct Options {
    /// A tenth of the series: about 2 minutes on two cores.
    #[arg(long)]
    quick: bool,
    /// Only detectors whose name holds this.
    #[arg(long, default_value = "")]
    detector: String,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Given by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Values before anything is counted, and after a change.
const BEFORE: usize = 100;
const AFTER: usize = 40;
const QUIET: usize = 1_000;

/// The neighbors on the left in a window.
const RADIUS: usize = 7;

/// The stated rate: false alarms for each value.
const RATE: f64 = 1e-4;

#[derive(Debug, Clone, Copy)]
enum Noise {
    Normal,
    /// Student's t with 3 degrees of freedom.
    HeavyTails,
    /// 5 % of the values lie 10 deviations above.
    Outliers,
    /// Lag-1 correlation.
    Memory(f64),
    /// Deviations for each value.
    Drift(f64),
}

const NOISES: [(&str, Noise); 7] = [
    ("normal", Noise::Normal),
    ("t, 3 d.f.", Noise::HeavyTails),
    ("5 % at +10", Noise::Outliers),
    ("AR(1) .15", Noise::Memory(0.15)),
    ("AR(1) .3", Noise::Memory(0.3)),
    ("AR(1) .5", Noise::Memory(0.5)),
    ("drift .02", Noise::Drift(0.02)),
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Window(Statistic, f64),
    Rank,
    Conformal,
    Cusum,
}

const DETECTORS: [(&str, Kind); 6] = [
    ("original > 10", Kind::Window(Statistic::Original, 10.0)),
    ("cohen 2", Kind::Window(Statistic::Cohen, 2.0)),
    (
        "mannwhitneyu .05",
        Kind::Window(Statistic::MannWhitneyU, 0.05),
    ),
    ("rank 1/10,000", Kind::Rank),
    ("conformal 1/10,000", Kind::Conformal),
    ("ideal CUSUM 1/10,000", Kind::Cusum),
];

/// SplitMix64.
struct Generator(u64);

impl Generator {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ (z >> 31)) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let (u, v) = (self.uniform(), self.uniform());
        (-2.0 * libm::log(u)).sqrt() * libm::cos(std::f64::consts::TAU * v)
    }
}

/// A series in which `shift` is added from [`BEFORE`] on.
fn series(noise: Noise, length: usize, shift: f64, seed: u64) -> Vec<f64> {
    let mut generator = Generator(seed.wrapping_mul(0xd134_2543_de82_ef95));
    let mut last = generator.normal();
    let mut one = |i: usize| match noise {
        Noise::Normal => generator.normal(),
        Noise::HeavyTails => {
            let squares: f64 = (0..3).map(|_| generator.normal()).map(|z| z * z).sum();
            generator.normal() / (squares / 3.0).sqrt()
        }
        Noise::Outliers if generator.uniform() < 0.05 => 10.0 + generator.normal(),
        Noise::Outliers => generator.normal(),
        Noise::Memory(memory) => {
            last = memory * last + (1.0 - memory * memory).sqrt() * generator.normal();
            last
        }
        Noise::Drift(slope) => slope * i as f64 + generator.normal(),
    };
    (0..length)
        .map(|i| one(i) + if i >= BEFORE { shift } else { 0.0 })
        .collect()
}

/// An alarm: the value at which it was raised, where it puts the change, and the interval.
#[derive(Debug, Clone, Copy)]
struct Raised {
    by: usize,
    at: usize,
    interval: Option<(usize, usize)>,
    is_step: bool,
}

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Windows in a row on one side of the threshold are one alarm, at the largest statistic.
fn by_windows(values: &[f64], statistic: Statistic, threshold: f64) -> Outcome<Vec<Raised>> {
    let length = statistic.window_length(RADIUS);
    let mut scratch = Scratch::new();
    let mut found: Vec<Raised> = Vec::new();
    let (mut side, mut best) = (Side::Uninteresting, 0.0);
    for (start, window) in values.windows(length).enumerate() {
        let fit = fit_with(window, statistic, threshold, FLOOR, &mut scratch)?;
        let size = match statistic {
            Statistic::MannWhitneyU => 1.0 - fit.regression,
            _ => fit.regression.abs(),
        };
        let at = start + fit.turning_point;
        if fit.side != Side::Uninteresting && fit.side != side {
            best = size;
            found.push(Raised {
                by: start + length - 1,
                at,
                interval: None,
                is_step: true,
            });
        } else if fit.side != Side::Uninteresting && size > best {
            best = size;
            found.last_mut().iter_mut().for_each(|it| it.at = at);
        }
        side = fit.side;
    }
    Ok(found)
}

fn by_rank(values: &[f64], seed: u64) -> Outcome<Vec<Raised>> {
    let mut detector = Detector::new(DetectorOptions { rate: RATE, seed })?;
    let mut found = Vec::new();
    for value in values {
        if let Some(StepEvent::Alarm(alarm)) = detector.push(*value)? {
            found.push(Raised {
                by: alarm.raised_at as usize,
                at: alarm.at as usize,
                interval: Some((alarm.interval.0 as usize, alarm.interval.1 as usize)),
                is_step: alarm.shape != Shape::Drift,
            });
        }
    }
    Ok(found)
}

fn by_conformal(values: &[f64], seed: u64) -> Outcome<Vec<Raised>> {
    let values_per_alarm = 1.0 / RATE;
    let mut detector = Conformal::new(ConformalOptions {
        values_per_alarm,
        seed,
    })?;
    let mut found = Vec::new();
    for value in values {
        if let Some(alarm) = detector.push(*value)? {
            found.push(Raised {
                by: alarm.raised_at as usize,
                at: alarm.since as usize,
                interval: None,
                is_step: true,
            });
        }
    }
    Ok(found)
}

/// Knows the level, the deviation and the shift. Its threshold follows from Siegmund's formula for
/// the mean number of values until a false alarm.
fn by_cusum(values: &[f64], shift: f64) -> Vec<Raised> {
    let mut threshold = 0.0;
    let length = |threshold: f64| {
        let b = threshold + 1.166 * shift;
        2.0 * (libm::exp(b) - b - 1.0) / (shift * shift)
    };
    while length(threshold) < 1.0 / RATE {
        threshold += 0.001;
    }
    let (mut sum, mut start) = (0.0_f64, 0);
    let mut found = Vec::new();
    for (i, value) in values.iter().enumerate() {
        if sum <= 0.0 {
            (sum, start) = (0.0, i);
        }
        sum += shift * value - shift * shift / 2.0;
        if sum > threshold {
            found.push(Raised {
                by: i,
                at: start,
                interval: None,
                is_step: true,
            });
            sum = 0.0;
        }
    }
    found
}

fn alarms(kind: Kind, values: &[f64], shift: f64, seed: u64) -> Outcome<Vec<Raised>> {
    match kind {
        Kind::Window(statistic, threshold) => by_windows(values, statistic, threshold),
        Kind::Rank => by_rank(values, seed),
        Kind::Conformal => by_conformal(values, seed),
        Kind::Cusum => Ok(by_cusum(values, if shift == 0.0 { 1.0 } else { shift })),
    }
}

/// Alarms per 1,000 values without a change (steps only for a drift), and their standard error.
fn quiet(kind: Kind, noise: Noise, count: u64, seed: u64) -> Outcome<(f64, f64)> {
    let counts = (0..count)
        .into_par_iter()
        .map(|i| {
            let seed = (seed << 40) + i;
            let values = series(noise, BEFORE + QUIET, 0.0, seed);
            let all = alarms(kind, &values, 0.0, seed)?;
            Ok(all
                .iter()
                .filter(|it| it.by >= BEFORE && it.is_step)
                .count() as f64)
        })
        .collect::<Outcome<Vec<f64>>>()?;
    let n = counts.len() as f64;
    let mean = counts.iter().sum::<f64>() / n;
    let variance = counts.iter().map(|c| (c - mean) * (c - mean)).sum::<f64>() / (n - 1.0);
    let per_value = 1_000.0 / QUIET as f64;
    Ok((mean * per_value, (variance / n).sqrt() * per_value))
}

/// The fate of changes of one size.
struct Changes {
    found: f64,
    delay: usize,
    exact: f64,
    covered: f64,
    width: usize,
}

fn changes(kind: Kind, shift: f64, count: u64, seed: u64) -> Outcome<Changes> {
    let first = (0..count)
        .into_par_iter()
        .map(|i| {
            let seed = (seed << 40) + (1 << 39) + i;
            let values = series(Noise::Normal, BEFORE + AFTER, shift, seed);
            let all = alarms(kind, &values, shift, seed)?;
            Ok(all.into_iter().find(|it| it.by >= BEFORE && it.is_step))
        })
        .collect::<Outcome<Vec<Option<Raised>>>>()?;
    let found: Vec<Raised> = first.into_iter().flatten().collect();
    let share = |n: usize| 100.0 * n as f64 / found.len().max(1) as f64;
    let median = |mut all: Vec<usize>| {
        all.sort_unstable();
        all.get(all.len() / 2).copied().unwrap_or(0)
    };
    let holds = |(low, high): (usize, usize)| (low..=high).contains(&BEFORE);
    let intervals: Vec<_> = found.iter().filter_map(|it| it.interval).collect();
    Ok(Changes {
        found: 100.0 * found.len() as f64 / count as f64,
        delay: median(found.iter().map(|it| it.by + 1 - BEFORE).collect()),
        exact: share(found.iter().filter(|it| it.at == BEFORE).count()),
        covered: share(intervals.iter().filter(|it| holds(**it)).count()),
        width: median(intervals.iter().map(|it| it.1 - it.0 + 1).collect()),
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let began = std::time::Instant::now();
    let share = if options.quick { 1 } else { 10 };
    let detectors = DETECTORS
        .iter()
        .filter(|it| it.0.contains(&options.detector));
    let detectors: Vec<_> = detectors.collect();
    println!(
        "Alarms per 1,000 values without a change ± standard error; of a drift, those called steps\n"
    );
    let names = NOISES.map(|it| it.0).join(" | ");
    println!(
        "| detector | {names} |\n|{}",
        " --- |".repeat(NOISES.len() + 1)
    );
    for &&(name, kind) in &detectors {
        print!("| {name} |");
        let count = share
            * if matches!(kind, Kind::Window(..)) {
                100
            } else {
                400
            };
        for (_, noise) in NOISES {
            let (rate, error) =
                quiet(kind, noise, count, options.seed).map_err(|e| e.to_string())?;
            print!(" {rate:.2} ± {error:.2} |");
        }
        println!();
    }
    println!(
        "\nFound within {AFTER} values · median values after the change · exactly located · interval holds it, median width\n"
    );
    println!("| detector | 1 sd | 2 sd | 4 sd |\n| --- | --- | --- | --- |");
    for &&(name, kind) in &detectors {
        print!("| {name} |");
        for shift in [1.0, 2.0, 4.0] {
            let it =
                changes(kind, shift, share * 1_000, options.seed).map_err(|e| e.to_string())?;
            print!(" {:.0} % · {} · {:.0} %", it.found, it.delay, it.exact);
            if kind == Kind::Rank {
                print!(" · {:.1} %, {}", it.covered, it.width);
            }
            print!(" |");
        }
        println!();
    }
    println!("\nin {:.0} s", began.elapsed().as_secs_f64());
    Ok(())
}
