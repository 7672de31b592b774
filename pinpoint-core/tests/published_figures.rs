//! The reference strategy is the reference strategy: on simulated searches it
//! is right as often, and needs as many runs, as was measured of the original.
//!
//! The published figures are for ranges of 128 commits, exactly one of which
//! changed the benchmark, each as likely as any other; one normally distributed
//! value a run; the strategy is told the true size of the change. Sizes are in
//! interquartile ranges of the noise. "Right" is that commit and no other.

#![expect(
    clippy::print_stdout,
    reason = "`cargo test -- --nocapture` shows the figures beside the published ones"
)]

mod world;

use std::f64::consts::TAU;

use pinpoint_core::{
    Bisection, BisectionSpec, Event, Machine, Magnitude, Outcome, Position, Range, Strategy, Task,
};
use world::{at, culprits, ran};

/// The interquartile range of a normal distribution, in standard deviations.
const QUARTILES: f64 = 1.348_979_500_392_163_5;
/// Commits that may be the culprit: those between the ends, and the bad one.
const COMMITS: u64 = 128;
const SEARCHES: u32 = 600;
/// A figure of this test may lie so many standard errors from the published
/// one, whose own error is about as large: with six figures a test that is
/// right fails once in many thousand seeds, and the seed is fixed.
const STANDARD_ERRORS: f64 = 4.0;

/// SplitMix64 and the transform of Box and Muller.
struct Noise(u64);

impl Noise {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Above 0, at most 1.
    fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(self.uniform())).sqrt();
        radius * libm::cos(TAU * self.uniform())
    }
}

/// One search for the commit at `place`, which makes the benchmark slower by
/// so many interquartile ranges.
fn search(noise: &mut Noise, place: u64, change: f64, magnitude: f64) -> Outcome {
    let spec = BisectionSpec {
        magnitude: Some(Magnitude::Absolute(magnitude * QUARTILES)),
        seed: noise.bits(),
        strategy: Strategy::Pinpoint,
        ..BisectionSpec::new(Range::Counted {
            between: COMMITS - 1,
        })
    };
    let mut machine = Bisection::new(spec).expect("a valid spec");
    while machine.outcome().is_none() {
        let actions = machine.poll();
        assert!(!actions.is_empty(), "the search is stuck");
        for action in actions {
            let event = match action.task {
                Task::Build { .. } => Event::Built {
                    action: action.number,
                },
                Task::Run { commit, .. } => {
                    let slow = match commit {
                        Position::Good => false,
                        Position::Bad => true,
                        Position::Within { offset, .. } => offset >= place,
                    };
                    let shift = if slow { change * QUARTILES } else { 0.0 };
                    ran(action.number, 100.0 + shift + noise.normal())
                }
                other => panic!("nothing to list or to cancel here: {other:?}"),
            };
            machine.handle(event).expect("a possible event");
        }
    }
    machine.outcome().expect("an outcome").clone()
}

/// The mean of numbers, with its standard error.
#[derive(Default)]
struct Mean {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        self.sum += value;
        self.squares += value * value;
    }

    fn value(&self) -> f64 {
        self.sum / self.count
    }

    fn standard_error(&self) -> f64 {
        let variance = self.squares / self.count - self.value() * self.value();
        (variance / self.count).sqrt()
    }

    /// The published figure is rounded to a whole `unit`.
    fn agrees_with(&self, published: f64, unit: f64) -> bool {
        // The published mean has an error of its own, about that of this one.
        let allowed = STANDARD_ERRORS * self.standard_error() * 2.0_f64.sqrt() + unit / 2.0;
        (self.value() - published).abs() <= allowed
    }
}

fn check_change(change: f64, right_published: f64, runs_published: f64) {
    let mut noise = Noise(2_026 + change.to_bits());
    let (mut right, mut runs, mut builds) = (Mean::default(), Mean::default(), Mean::default());
    for _ in 0..SEARCHES {
        let place = noise.bits() % COMMITS;
        let outcome = search(&mut noise, place, change, change);
        let culprit = if place == COMMITS - 1 {
            Position::Bad
        } else {
            at(place)
        };
        right.add(if culprits(&outcome) == [culprit] {
            1.0
        } else {
            0.0
        });
        runs.add(outcome.runs as f64);
        builds.add(outcome.builds as f64);
    }
    let report = format!(
        "change {change}: right {:.3} ± {:.3} (published {right_published}), runs {:.1} ± {:.1} (published {runs_published}), builds {:.1}",
        right.value(),
        right.standard_error(),
        runs.value(),
        runs.standard_error(),
        builds.value(),
    );
    println!("{report}");
    assert!(right.agrees_with(right_published, 0.01), "{report}");
    assert!(runs.agrees_with(runs_published, 1.0), "{report}");
}

fn check_nothing(magnitude: f64, runs_published: f64) {
    let mut noise = Noise(2_027 + magnitude.to_bits());
    let mut runs = Mean::default();
    for _ in 0..SEARCHES {
        runs.add(search(&mut noise, 0, 0.0, magnitude).runs as f64);
    }
    let report = format!(
        "nothing changed, magnitude {magnitude}: runs {:.1} ± {:.1} (published {runs_published})",
        runs.value(),
        runs.standard_error(),
    );
    println!("{report}");
    assert!(runs.agrees_with(runs_published, 1.0), "{report}");
}

#[test]
fn half_an_interquartile_range() {
    check_change(0.5, 0.74, 791.0);
}

#[test]
fn one_interquartile_range() {
    check_change(1.0, 0.79, 213.0);
}

#[test]
fn two_interquartile_ranges() {
    check_change(2.0, 0.90, 100.0);
}

#[test]
fn four_interquartile_ranges() {
    check_change(4.0, 0.90, 96.0);
}

#[test]
fn nothing_changed() {
    check_nothing(1.0, 41.0);
    check_nothing(0.5, 150.0);
}

/// A middle commit is compared with both its neighbours as soon as it has its
/// runs: the older half's wish for more does not hold up the newer half.
#[test]
fn both_halves_are_compared_with_the_same_runs_of_the_middle() {
    let mut noise = Noise(2_028);
    let mut seen = 0;
    for _ in 0..100 {
        let place = noise.bits() % COMMITS;
        let looks = search(&mut noise, place, 1.0, 1.0).comparisons;
        for offset in 0..COMMITS - 1 {
            let first = |runs: Vec<u32>| runs.into_iter().min();
            let newer = first(
                (looks.iter().filter(|look| look.lower == at(offset)))
                    .map(|look| look.lower_runs)
                    .collect(),
            );
            let older = first(
                (looks.iter().filter(|look| look.higher == at(offset)))
                    .map(|look| look.higher_runs)
                    .collect(),
            );
            assert_eq!(older, newer, "at {offset}: {looks:#?}");
            seen += u32::from(older.is_some());
        }
    }
    assert!(seen > 500, "{seen} middles");
}
