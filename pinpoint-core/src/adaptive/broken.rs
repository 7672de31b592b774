//! The evidence of failing runs, where a commit may fail on its own.
//!
//! A commit that fails is not yet a change that lasts: it may be broken alone, or with its
//! neighbors, until a later commit mends it.
//!
//! ```text
//! lasting              · · · · · x x x x x x x      a change, from the first x on
//! broken and mended    · · · x x · · · · · · ·      no change; two commits to skip
//! both                 · · x · · · · x x x x x
//! ```
//!
//! So each commit is in one of two states. In its usual state runs fail at the rate of its side; a
//! broken one fails more often, at a separate rate. Broken commits come in blocks: the states along
//! the line are a Markov chain, and their sum is taken forward and backward (Rabiner, "A tutorial
//! on hidden Markov models", Proceedings of the IEEE 77, 1989). The rates of the two sides of a
//! change are not known; the sum is averaged over a grid of them, with the priors of `failures`.
//! The bad end is never broken: what fails there has not been mended. A block may end unseen
//! between two commits that fail, and a change that lasts follow in the same gap, the likelier the
//! wider that is; so a gap after the first failure keeps some probability.

use std::f64::consts::FRAC_PI_2;
use std::sync::LazyLock;

use libm::{exp, log, log1p, pow, sin};

use super::failures::Tally;
use super::runs::Runs;
use super::tuning::{BLOCK, BROKEN, RATE_AFTER, RATE_BEFORE, RATE_BROKEN, RATE_WITHOUT_CHANGE};

/// Rates of failure, closer to each other near 0 and 1.
const RATES: usize = 48;

type Rates = [f64; RATES];

/// The grid of rates, and the prior probability of each.
struct Grid {
    log_rate: Rates,
    log_pass: Rates,
    without_change: Rates,
    before: Rates,
    after: Rates,
    broken: Rates,
}

static GRID: LazyLock<Grid> = LazyLock::new(|| {
    let square_of_sine = |part: f64| {
        let sine = sin(FRAC_PI_2 * part);
        sine * sine
    };
    let cells = RATES as f64;
    let edge = |cell: usize| square_of_sine(cell as f64 / cells);
    let middle = |cell: usize| square_of_sine((cell as f64 + 0.5) / cells);
    // The distance from 1, without cancellation.
    let rest = |cell: usize| middle(RATES - 1 - cell);
    let beta = |[a, b]: [f64; 2]| -> Rates {
        let weights: Rates = std::array::from_fn(|cell| match cell {
            0 => pow(edge(1), a) / a,
            cell if cell + 1 == RATES => pow(edge(1), b) / b,
            cell => {
                (edge(cell + 1) - edge(cell))
                    * pow(middle(cell), a - 1.0)
                    * pow(rest(cell), b - 1.0)
            }
        });
        let sum: f64 = weights.iter().sum();
        weights.map(|weight| weight / sum)
    };
    let mean = |priors: [[f64; 2]; 2]| -> Rates {
        let [one, other] = priors.map(beta);
        std::array::from_fn(|cell| (one[cell] + other[cell]) / 2.0)
    };
    Grid {
        log_rate: std::array::from_fn(|cell| log(middle(cell))),
        log_pass: std::array::from_fn(|cell| log(rest(cell))),
        without_change: mean(RATE_WITHOUT_CHANGE),
        before: mean(RATE_BEFORE),
        after: mean(RATE_AFTER),
        broken: mean(RATE_BROKEN),
    }
});

/// The logarithms of the chance of all failures, up to a constant of each segment between known
/// changes.
#[derive(Debug, Clone)]
pub(crate) struct Chances {
    /// The chance without a further change, for each segment.
    together: Vec<f64>,
    /// The chance of a gap's segment with a change for the worse in that gap.
    gaps: Vec<f64>,
    /// The segment of each gap; known changes belong to the one before them.
    segments: Vec<usize>,
    /// The segment of each site.
    site_segments: Vec<usize>,
}

impl Chances {
    /// The logarithm of the Bayes factor of a change for the worse, for each gap.
    pub(crate) fn factors(&self) -> Vec<f64> {
        (self.gaps.iter().zip(&self.segments))
            .map(|(gap, segment)| gap - self.together[*segment])
            .collect()
    }

    /// The probability that a site is in its usual state, given a change of failures in this gap,
    /// if `usual` are the chances with that given.
    pub(crate) fn usual_beside(&self, usual: &Self, gap: usize) -> f64 {
        exp(usual.gaps[gap] - self.gaps[gap])
    }

    /// The probability that a site is in its usual state, if `usual` are the chances with that
    /// given: for a change of failures in each gap with these probabilities, and for none.
    pub(crate) fn usual(&self, usual: &Self, site: usize, none: f64, gaps: &[f64]) -> f64 {
        let segment = self.site_segments[site];
        let without = exp(usual.together[segment] - self.together[segment]);
        let with: f64 = (gaps.iter().enumerate())
            .filter(|(_, probability)| **probability > 0.0)
            .map(|(gap, probability)| {
                let given = match self.segments[gap] == segment {
                    true => exp(usual.gaps[gap] - self.gaps[gap]),
                    false => without,
                };
                probability * given
            })
            .sum();
        none * without + with
    }
}

/// The chances that a block begins, continues or ends between two neighboring sites. Some blocks
/// are one commit, others a hundred: a long block is likely to continue.
#[derive(Clone, Copy)]
struct Gap {
    /// The chance of a broken site after it, given that the one before is not.
    breaks: f64,
    /// The same, given that the one before is broken, too.
    goes_on: f64,
    /// The chance that the commit before a change in it is not broken, given that the site before
    /// is: the mean over the places of the change.
    mended: f64,
}

impl Gap {
    /// The chances in a gap of this many commits, the site after it included.
    fn new(commits: f64) -> Self {
        let lasts = BLOCK / (BLOCK + commits);
        let others = commits - 1.0;
        let mended = match others > 0.0 {
            true => 1.0 - BLOCK / others * log1p(others / BLOCK),
            false => 0.0,
        };
        Self {
            breaks: BROKEN * (1.0 - lasts),
            goes_on: BROKEN + (1.0 - BROKEN) * lasts,
            mended: (1.0 - BROKEN) * mended,
        }
    }

    /// The chance that the next site is in each state, given that of the one before.
    fn step(self, [usual, broken]: [f64; 2]) -> [f64; 2] {
        [
            usual * (1.0 - self.breaks) + broken * (1.0 - self.goes_on),
            usual * self.breaks + broken * self.goes_on,
        ]
    }
}

/// The chances of a site's runs in both states, for each rate of its side, relative to the
/// largest in the usual state.
fn emissions(tally: Tally, may_be_broken: bool, grid: &Grid) -> [[f64; 2]; RATES] {
    let passes = tally.runs - tally.failures;
    let logs: Rates = std::array::from_fn(|rate| {
        tally.failures * grid.log_rate[rate] + passes * grid.log_pass[rate]
    });
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let usual = logs.map(|log| exp(log - largest));
    let mut found = usual.map(|usual| [usual, 0.0]);
    if may_be_broken {
        // More often than the side's rate.
        let (mut sum, mut mass) = (0.0, 0.0);
        for rate in (0..RATES).rev() {
            if mass > 0.0 {
                found[rate][1] = sum / mass;
            }
            sum += grid.broken[rate] * usual[rate];
            mass += grid.broken[rate];
        }
    }
    found
}

/// Chances of the runs of some neighbors by the state of the last of them, for each rate; each
/// to be multiplied by e to the power of its `log`.
#[derive(Clone)]
struct States {
    chances: [[f64; 2]; RATES],
    logs: Rates,
}

impl States {
    fn scaled(mut chances: [[f64; 2]; RATES], mut logs: Rates) -> Self {
        for (chance, log_scale) in chances.iter_mut().zip(&mut logs) {
            let sum = chance[0] + chance[1];
            if sum > 0.0 {
                *chance = chance.map(|chance| chance / sum);
                *log_scale += log(sum);
            } else {
                *log_scale = f64::NEG_INFINITY;
            }
        }
        Self { chances, logs }
    }

    /// The same as plain numbers, relative to e to the power of the largest logarithm.
    fn plain(&self) -> (f64, [[f64; 2]; RATES]) {
        let largest = self.logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let plain = std::array::from_fn(|rate| {
            let scale = exp(self.logs[rate] - largest);
            self.chances[rate].map(|chance| chance * scale)
        });
        (largest, plain)
    }
}

/// The chances of all failures; `usual` is a site that is not broken.
///
/// Cost: O(m) for m sites, times the number of rates.
pub(crate) fn weigh(runs: &Runs, changes: &[usize], usual: Option<usize>) -> Chances {
    let grid = &*GRID;
    let sites = &runs.tallies;
    let between: Vec<Gap> = runs.commits.iter().copied().map(Gap::new).collect();
    let gaps = between.len();
    let mut found = Chances {
        together: Vec::new(),
        gaps: vec![f64::NEG_INFINITY; gaps],
        segments: vec![0; gaps],
        site_segments: vec![0; sites.len()],
    };
    let mut from = 0;
    for (segment, to) in changes.iter().copied().chain([gaps]).enumerate() {
        found.site_segments[from..=to].fill(segment);
        found.segments[from..(to + 1).min(gaps)].fill(segment);
        let each: Vec<[[f64; 2]; RATES]> = (from..=to)
            .map(|site| {
                let may_be_broken = site != gaps && usual != Some(site);
                emissions(sites[site], may_be_broken, grid)
            })
            .collect();
        let forward = forward(&each, &between[from..to]);
        let backward = backward(&each, &between[from..to]);
        let (scale, all) = forward[to - from].plain();
        let together: f64 = (all.iter().zip(&grid.without_change))
            .map(|([usual, broken], prior)| prior * (usual + broken))
            .sum();
        found.together.push(scale + log(together));
        for gap in from..to {
            let (before, after) = (&forward[gap - from], &backward[gap - from]);
            found.gaps[gap] = worse(before, after, between[gap], grid);
        }
        from = to + 1;
    }
    found
}

/// The chances of each site and of those before it, by its state.
fn forward(each: &[[[f64; 2]; RATES]], between: &[Gap]) -> Vec<States> {
    let mut found: Vec<States> = Vec::with_capacity(each.len());
    for (site, emission) in each.iter().enumerate() {
        let chances = std::array::from_fn(|rate| {
            let [usual, broken] = match found.last() {
                Some(before) => between[site - 1].step(before.chances[rate]),
                None => [1.0 - BROKEN, BROKEN],
            };
            [usual * emission[rate][0], broken * emission[rate][1]]
        });
        let logs = found.last().map_or([0.0; RATES], |before| before.logs);
        found.push(States::scaled(chances, logs));
    }
    found
}

/// The chances of the sites after each site except the last, by its own state.
fn backward(each: &[[[f64; 2]; RATES]], between: &[Gap]) -> Vec<States> {
    let mut after = States {
        chances: [[1.0; 2]; RATES],
        logs: [0.0; RATES],
    };
    let mut found = Vec::with_capacity(each.len());
    for (emission, gap) in each.iter().skip(1).zip(between).rev() {
        let chances = std::array::from_fn(|rate| {
            let [usual, broken] = emission[rate];
            let [if_usual, if_broken] = after.chances[rate];
            let (usual, broken) = (usual * if_usual, broken * if_broken);
            [
                usual * (1.0 - gap.breaks) + broken * gap.breaks,
                usual * (1.0 - gap.goes_on) + broken * gap.goes_on,
            ]
        });
        after = States::scaled(chances, after.logs);
        found.push(after.clone());
    }
    found.reverse();
    found
}

/// The logarithm of the chance of a segment with a change for the worse between the sites of
/// `before` and those of `after`: runs fail at a higher rate after it. The last commit before it
/// is not broken: a block that nothing mends before the change is its beginning. A block that
/// reaches the last site before it may be mended between that and the change.
fn worse(before: &States, after: &States, gap: Gap, grid: &Grid) -> f64 {
    let ((scale_before, before), (scale_after, after)) = (before.plain(), after.plain());
    let (mut sum, mut mass) = (0.0, 0.0);
    let (mut higher, mut higher_mass) = (0.0, 0.0);
    for rate in (0..RATES).rev() {
        let [usual, broken] = before[rate];
        sum += grid.before[rate] * (usual + broken * gap.mended) * higher;
        mass += grid.before[rate] * higher_mass;
        higher += grid.after[rate] * after[rate][0];
        higher_mass += grid.after[rate];
    }
    scale_before + scale_after + log(sum / mass)
}
