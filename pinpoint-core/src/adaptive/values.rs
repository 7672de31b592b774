//! The evidence of the values of all runs for a change in each gap.
//!
//! The model of a value is a line with one step in it:
//!
//! ```text
//! value = level + step · [commit is at or after the change] + drift + bot + noise
//! ```
//!
//! A *Bayes factor* compares, for a change in each gap, how well the best step
//! of every plausible size explains all values, with how well no step does. All
//! runs on the same side of a gap are pooled, so that a run of any commit is
//! evidence about every gap. Level, noise and the sizes of the nuisances are
//! unknown and averaged over (the textbook marginal likelihood of a linear model
//! with conjugate priors: Gelman et al., *Bayesian Data Analysis*, 2013,
//! chapter 14). The sums over a side come from running sums over the sites, so
//! that all gaps together cost one pass over the runs.
//!
//! Values that scatter in proportion to their level are replaced by their logarithms, if those
//! explain them clearly better. The noise may have a memory: then each value is replaced by its
//! difference from the prediction of earlier ones (see `memory`), and so is each column of the
//! model. Every memory has its own fit, and the better it explains the values, the larger its share
//! of the evidence.
//!
//! Noise is not assumed to be normal. Each value has a *weight*, small for values
//! far away from every level: that of a Student distribution with
//! [`FREEDOM`] degrees of freedom (Lange, Little and Taylor, JASA 84, 1989). Far
//! means far from the *nearer* of the two levels around the best step, so that a
//! slow commit's values are not taken for outliers of the fast ones.

mod sums;

use std::ops::RangeInclusive;

use libm::{exp, log, log1p};
use pinpoint_compare::Direction;

use self::sums::Sums;
use super::cholesky::{backward, factorize, forward};
use super::fit::{Fit, normal_upper_tail};
use super::location::{self, FittedSegment, Residuals};
use super::log_sum::LogSum;
use super::memory::{Assumptions, Factors, Memory, Windows};
use super::runs::Runs;
use super::tuning::{
    BOT_OFFSET, CHEAP_SIZE, DRIFT_PER_RUN, FIT_ROUNDS, FREEDOM, IMPOSSIBLE_MEMORY, LARGEST_VALUE,
    LEAST_SIZE, LEAST_SOUGHT, LEAST_TICK, LEAST_UNEXPLAINED, LEAST_VARIANCE, LIMIT_VARIANCE,
    MOST_DRIFT, NEAR_NOISE, NO_PENALTY, PREFERENCE, QUARTILES, SCALE_OF_MEDIAN_DEVIATION,
    SCALE_ROUNDS, SIZE_SPREAD, SIZES, SMALL_SIZE, STEADY_FLOOR, UNTOLD_LEAST, UNTOLD_MOST,
    VALUES_FOR_MEMORY,
};

/// A run that gave values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value {
    pub(crate) site: usize,
    pub(crate) value: f64,
    /// The number of its bot; 0 where none is named.
    pub(crate) bot: usize,
    /// When it ran, from -0.5 for the first to 0.5 for the last run.
    pub(crate) time: f64,
}

/// The assumptions of the model besides the values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting<'a> {
    pub(crate) sites: usize,
    pub(crate) bots: usize,
    /// Gaps where a change is known to be, rising.
    pub(crate) changes: &'a [usize],
    /// The prior probability of each gap.
    pub(crate) prior: &'a [f64],
    /// The smallest change worth finding.
    pub(crate) magnitude: Option<Smallest>,
    pub(crate) direction: Direction,
    /// Nothing smaller than this part of the smallest known change is worth finding.
    pub(crate) least_of_known: f64,
    pub(crate) assumptions: &'a Assumptions,
}

impl Setting<'_> {
    /// The sites before and after a gap, up to the known changes next to it.
    pub(crate) fn sides(&self, gap: usize) -> [RangeInclusive<usize>; 2] {
        let mut changes = self.changes.iter();
        let first = (changes.rfind(|change| **change < gap)).map_or(0, |change| change + 1);
        let last = (self.changes.iter().find(|change| **change > gap))
            .map_or(self.sites - 1, |change| *change);
        [first..=gap, gap + 1..=last]
    }
}

/// The smallest change worth finding.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Smallest {
    /// An amount in the unit of the values.
    Amount(f64),
    /// A fraction of the level before it.
    Fraction(f64),
}

/// The evidence of the values.
#[derive(Debug, Clone)]
pub(crate) struct Evidence {
    /// For each gap, the logarithm of the Bayes factor of a change for the worse.
    pub(crate) worse: Vec<f64>,
    /// The same for the better; none where the direction is not known, as every change
    /// is one for the worse then.
    pub(crate) better: Vec<f64>,
    /// The same of a change that is too small to be worth finding.
    pub(crate) small: Vec<f64>,
    /// For each gap, the estimated step in units of the noise's standard deviation.
    pub(crate) step: Vec<f64>,
}

pub(super) struct Model<'a> {
    setting: Setting<'a>,
    runs: &'a Runs,
    /// The values relative to their median, in units of their spread.
    values: Vec<f64>,
    pub(super) unit: f64,
    /// The smallest difference of two values.
    tick: f64,
    /// The values are logarithms of those that were measured.
    pub(super) is_logarithmic: bool,
    /// No two runs of one commit differ.
    is_steady: bool,
    /// The noise without memory.
    pub(super) noise: Noise,
    /// The values without drift and bots.
    plain: Vec<f64>,
    /// The segments between known changes.
    segments: Vec<FittedSegment>,
}

/// The noise, if it has this memory.
#[derive(Default)]
pub(super) struct Noise {
    has_memory: bool,
    /// The factors of each value and those before it.
    factors: Vec<Factors>,
    /// The weight of each value, compared with those before it.
    weights: Vec<f64>,
    /// The standard deviation.
    pub(super) scale: f64,
    /// The log likelihood of all values.
    likelihood: f64,
}

impl Noise {
    fn new(memory: Memory, windows: &Windows) -> Self {
        Self {
            has_memory: !memory.is_none(),
            factors: windows.factors(memory),
            weights: vec![1.0; windows.len()],
            scale: 1.0,
            likelihood: 0.0,
        }
    }

    /// Finds the likelihood, from the part of each difference that its level does not
    /// explain.
    fn estimate_likelihood(&mut self, windows: &Windows, distances: &[f64]) {
        self.likelihood = 0.0;
        for (difference, distance) in windows.differences(&self.factors).zip(distances) {
            let log = log(location::student(*distance, self.scale));
            self.likelihood += difference.log_density() + log;
        }
    }
}

/// The result of a round of the fit.
struct Round {
    /// The values without drift and bots.
    plain: Vec<f64>,
    segments: Vec<FittedSegment>,
    /// The part of each difference that its level does not explain, without a sign.
    distances: Vec<f64>,
}

/// The evidence of all values; none without at least two of them.
///
/// Cost: O(n·p² + m·p²) for n values at m sites with p nuisances.
pub(crate) fn weigh(runs: &Runs, setting: Setting<'_>) -> Evidence {
    let gaps = setting.sites - 1;
    let mut evidence = Evidence {
        worse: vec![0.0; gaps],
        better: vec![f64::NEG_INFINITY; gaps],
        small: vec![0.0; gaps],
        step: vec![0.0; gaps],
    };
    let Some(model) = Model::likelier(runs, setting) else {
        return evidence;
    };
    let with_memory = model.noises_with_memory();
    let noises = model.noises(&with_memory);
    let memories: Vec<Memory> = noises.iter().map(|(memory, _)| *memory).collect();
    let fits = model.fits(&noises);
    let like_known = model.size_like_known(&fits);
    for segment in &model.segments {
        let smallest = model.smallest_change(*segment).max(like_known);
        // A change found is the gap after its segment.
        for gap in segment.from..(segment.to + 1).min(gaps) {
            model.weigh_gap(gap, &fits, smallest, &mut evidence);
        }
    }
    let residuals = Residuals {
        plain: &model.plain,
        sites: &runs.sites,
        previous: &runs.previous,
        windows: &runs.windows,
        weights: &model.noise.weights,
        scale: model.noise.scale,
        tick: model.tick,
    };
    location::locate(
        residuals,
        &model.segments,
        setting.prior,
        (&memories, setting.assumptions.shape_uncertainty),
        &mut evidence.worse,
    );
    evidence
}

/// The values relative to their median, in units of their spread, with the unit and
/// the smallest step between two of them; none when there are fewer than two.
fn normalize(mut values: Vec<f64>) -> Option<(f64, f64, Vec<f64>)> {
    if values.len() < 2 {
        return None;
    }
    // Halves, so that no difference leaves the range of numbers.
    values.iter_mut().for_each(|value| *value /= 2.0);
    let mut sorted = values.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let count = sorted.len();
    let median = sorted[count / 2];
    let spread = sorted[3 * count / 4] - sorted[count / 4];
    let most = (sorted[count - 1] - median).max(median - sorted[0]);
    let unit = [spread, most, median.abs()]
        .into_iter()
        .find(|unit| *unit > f64::MIN_POSITIVE)
        .unwrap_or(1.0);
    let normalize =
        |value: &mut f64| *value = ((*value - median) / unit).clamp(-LARGEST_VALUE, LARGEST_VALUE);
    sorted.iter_mut().for_each(normalize);
    values.iter_mut().for_each(normalize);
    let tick = (sorted.windows(2))
        .map(|pair| pair[1] - pair[0])
        .filter(|gap| *gap > 0.0)
        .fold(f64::INFINITY, f64::min);
    // All equal: as if they had been rounded to the ninth digit.
    let tick = if tick.is_finite() { tick } else { LEAST_TICK };
    Some((2.0 * unit, tick.max(LEAST_TICK), values))
}

impl<'a> Model<'a> {
    /// The values, or their logarithms if those explain them clearly better; none without at
    /// least two of them.
    pub(super) fn likelier(runs: &'a Runs, setting: Setting<'a>) -> Option<Self> {
        let values = || runs.values.iter().map(|value| value.value);
        let model = Self::from_values(values().collect(), runs, setting)?;
        let may_be_logarithms =
            setting.assumptions.may_be_proportional && values().all(|value| value > 0.0);
        if !may_be_logarithms {
            return Some(model);
        }
        let logarithms: Vec<f64> = values().map(log).collect();
        let densities: f64 = logarithms.iter().sum();
        let proportional = Self::from_values(logarithms, runs, setting)
            .filter(|of| of.log_likelihood() - densities - model.log_likelihood() > PREFERENCE);
        Some(match proportional {
            Some(proportional) => Self {
                is_logarithmic: true,
                ..proportional
            },
            None => model,
        })
    }

    /// The values with noise that has no memory; none without at least two of them.
    fn from_values(values: Vec<f64>, runs: &'a Runs, setting: Setting<'a>) -> Option<Self> {
        let (unit, tick, values) = normalize(values)?;
        let mut model = Self {
            setting,
            runs,
            values,
            unit,
            tick,
            is_logarithmic: false,
            is_steady: setting.assumptions.distinguishes && runs.are_steady(),
            noise: Noise::default(),
            plain: Vec::new(),
            segments: Vec::new(),
        };
        let mut noise = Noise::new(Memory::NONE, &runs.windows);
        for round in 0..FIT_ROUNDS {
            let found = model.improve_each(&mut [&mut noise], round == 0).pop()?;
            if round + 1 == FIT_ROUNDS {
                noise.estimate_likelihood(&runs.windows, &found.distances);
                (model.plain, model.segments) = (found.plain, found.segments);
            }
        }
        model.noise = noise;
        Some(model)
    }

    /// The logarithm of the likelihood of the values, in their own unit.
    fn log_likelihood(&self) -> f64 {
        self.noise.likelihood - self.values.len() as f64 * log(self.unit)
    }

    /// The part of the evidence about the memory that counts: few values show it badly.
    fn trust_in_memory(&self) -> f64 {
        (self.values.len() as f64 / VALUES_FOR_MEMORY).min(1.0)
    }

    /// The noise with each memory that is not next to impossible, besides the one without.
    pub(super) fn noises_with_memory(&self) -> Vec<(Memory, Noise)> {
        let windows = &self.runs.windows;
        let mut noises: Vec<(Memory, Noise)> = (self.setting.assumptions.memories.iter())
            .filter(|memory| !memory.is_none())
            .map(|memory| (*memory, Noise::new(*memory, windows)))
            .collect();
        let improve = |noises: &mut Vec<(Memory, Noise)>, round: usize| {
            let mut each: Vec<&mut Noise> = noises.iter_mut().map(|(_, noise)| noise).collect();
            let found = self.improve_each(&mut each, round == 0);
            if round == 0 || round + 1 == FIT_ROUNDS {
                for (noise, found) in each.into_iter().zip(found) {
                    noise.estimate_likelihood(windows, &found.distances);
                }
            }
        };
        improve(&mut noises, 0);
        let likeliest = (noises.iter()).fold(self.noise.likelihood, |most, (_, noise)| {
            most.max(noise.likelihood)
        });
        let trust = self.trust_in_memory();
        noises.retain(|(_, noise)| trust * (likeliest - noise.likelihood) < IMPOSSIBLE_MEMORY);
        (1..FIT_ROUNDS).for_each(|round| improve(&mut noises, round));
        noises
    }

    /// The noise without memory, if that is one of the assumptions, and these.
    pub(super) fn noises<'b>(
        &'b self,
        with_memory: &'b [(Memory, Noise)],
    ) -> Vec<(Memory, &'b Noise)> {
        let without = (self.setting.assumptions.memories.iter())
            .find(|memory| memory.is_none())
            .map(|memory| (*memory, &self.noise));
        (without.into_iter())
            .chain(with_memory.iter().map(|(memory, noise)| (*memory, noise)))
            .collect()
    }

    /// The fits with each memory, without and, where there are several, with bots; each
    /// with its share of the posterior probability.
    pub(super) fn fits(&self, noises: &[(Memory, &Noise)]) -> Vec<(f64, Fit)> {
        let trust = self.trust_in_memory();
        let each: Vec<&Noise> = noises.iter().map(|(_, noise)| *noise).collect();
        let without_bots = self.fit(&each, false);
        let with_bots = if self.has_bots() {
            self.fit(&each, true)
        } else {
            Vec::new()
        };
        let mut with_bots = with_bots.into_iter();
        let mut fits = Vec::new();
        for ((memory, noise), fit) in noises.iter().zip(without_bots) {
            let of_memory: Vec<Fit> = [fit].into_iter().chain(with_bots.next()).collect();
            let strongest = (of_memory.iter())
                .map(|fit| fit.evidence)
                .fold(f64::NEG_INFINITY, f64::max);
            let of_noise = if noises.len() > 1 {
                // Without the best step, as all shares are.
                let likelihood = noise.likelihood - of_memory[0].log_gain(self.values.len());
                log(memory.prior) + trust * likelihood
            } else {
                0.0
            };
            fits.extend(
                (of_memory.into_iter()).map(|fit| (fit.evidence - strongest + of_noise, fit)),
            );
        }
        let strongest = (fits.iter()).fold(f64::NEG_INFINITY, |most, (share, _)| share.max(most));
        let mut sum = 0.0;
        for (share, _) in &mut fits {
            *share = exp(*share - strongest);
            sum += *share;
        }
        fits.iter_mut().for_each(|(share, _)| *share /= sum);
        fits
    }

    /// The step in a gap and its standard deviation, averaged over these fits; none where there are
    /// too few values.
    pub(super) fn step(&self, fits: &[(f64, Fit)], gap: usize) -> Option<(f64, f64)> {
        let free = fits.iter().map(|(_, fit)| fit.free).max()?;
        let freedom = (self.values.len())
            .checked_sub(free + 1)
            .filter(|left| *left > 0)? as f64;
        let (mut mean, mut mean_square) = (0.0, 0.0);
        for (share, fit) in fits {
            let (cross, square) = fit.steps[gap];
            if square <= 0.0 {
                return None;
            }
            let step = cross / square;
            let rest = (fit.rest - cross * step).max(0.0);
            let variance = LIMIT_VARIANCE * rest / (freedom * square);
            mean += share * step;
            mean_square += share * (step * step + variance);
        }
        Some((mean, (mean_square - mean * mean).max(0.0).sqrt()))
    }

    /// The smallest change that is looked for in a segment.
    fn smallest_change(&self, segment: FittedSegment) -> f64 {
        let range = self.noise.scale * QUARTILES;
        let told = self.setting.magnitude;
        let is_capped = self.setting.assumptions.distinguishes;
        let Some(magnitude) = told.or(is_capped.then_some(Smallest::Fraction(UNTOLD_MOST))) else {
            return range;
        };
        // Before its best step.
        let level = || {
            let mut before: Vec<f64> = (self.runs.values.iter())
                .filter(|value| (segment.from..=segment.best).contains(&value.site))
                .map(|value| value.value)
                .collect();
            if before.is_empty() {
                0.0
            } else {
                median(&mut before).abs()
            }
        };
        let magnitude = match (magnitude, self.is_logarithmic) {
            (Smallest::Amount(amount), false) => amount,
            (Smallest::Amount(amount), true) => log1p(amount / level().max(f64::MIN_POSITIVE)),
            (Smallest::Fraction(fraction), false) => fraction * level(),
            (Smallest::Fraction(fraction), true) => log1p(fraction),
        };
        let magnitude = (magnitude / self.unit).min(LARGEST_VALUE);
        if told.is_none() {
            return match magnitude > 0.0 {
                true => magnitude.clamp(UNTOLD_LEAST * range, range),
                false => range,
            };
        }
        (magnitude / 2.0)
            .max(magnitude.min(CHEAP_SIZE * range))
            .max(LEAST_SIZE * range)
    }

    /// The size at which a change is worth finding besides the known ones.
    fn size_like_known(&self, fits: &[(f64, Fit)]) -> f64 {
        if self.setting.least_of_known == 0.0 {
            return 0.0;
        }
        // The first column is the level.
        let size = |change: usize| -> f64 {
            (fits.iter())
                .map(|(share, fit)| share * fit.coefficients[1 + change])
                .sum()
        };
        let smallest = (0..self.setting.changes.len())
            .map(|change| size(change).abs())
            .reduce(f64::min);
        smallest.map_or(0.0, |smallest| self.setting.least_of_known * smallest)
    }

    /// The evidence of a change in one gap, averaged over the fits and the sizes.
    fn weigh_gap(&self, gap: usize, fits: &[(f64, Fit)], smallest: f64, evidence: &mut Evidence) {
        let count = self.values.len() as f64;
        let [mut up, mut down, mut small] = [LogSum::EMPTY; 3];
        let mut step = 0.0;
        let distinguishes = self.setting.assumptions.distinguishes;
        let range = self.noise.scale * QUARTILES;
        let least = (LEAST_SOUGHT * smallest - NEAR_NOISE[0] * range).max(NEAR_NOISE[1] * smallest);
        // The prior probability that a step of each size is worth finding.
        let beforehand = SIZES.map(|(size, _)| {
            let center = size * smallest;
            log(normal_upper_tail((least - center) / (SIZE_SPREAD * center)))
        });
        for (share, fit) in fits {
            let freedom = (count - fit.free as f64).max(1.0);
            for ((size, prior), beforehand) in SIZES.into_iter().zip(beforehand) {
                let prior = log(share * prior);
                let center = size * smallest;
                let spread = SIZE_SPREAD * center;
                let [higher, lower] = fit.sized(gap, [center, -center], spread, freedom);
                let [mut rises, mut falls] = [higher, lower].map(|it| prior + it.log_factor);
                if distinguishes {
                    // The logarithm below is never positive, and costs more than all else here.
                    rises -= beforehand;
                    if !up.is_beyond(rises) {
                        rises += log(higher.is_at_least(least));
                    }
                    falls -= beforehand;
                    if !down.is_beyond(falls) {
                        falls += log(lower.is_at_most(-least));
                    }
                }
                up.add(rises);
                down.add(falls);
            }
            let [about_zero] = fit.sized(gap, [0.0], SMALL_SIZE * smallest, freedom);
            let is_small = match distinguishes {
                true => (about_zero.is_at_least(-least) - about_zero.is_at_least(least)).max(0.0),
                false => 1.0,
            };
            small.add(log(*share) + about_zero.log_factor + log(is_small));
            let (cross, square) = fit.steps[gap];
            if square > 0.0 {
                step += share * cross / square / fit.fresh;
            }
        }
        let [up, down] = [up, down].map(LogSum::value);
        let both = |signs: [f64; 2]| {
            let mut both = LogSum::EMPTY;
            both.add(log(signs[0]) + up);
            both.add(log(signs[1]) + down);
            both.value()
        };
        // Half the probability for each sign where the direction is not known.
        let signs = match self.setting.direction {
            Direction::Unknown => [0.5, 0.5],
            Direction::Down => [1.0, 0.0],
            Direction::Up => [0.0, 1.0],
        };
        evidence.worse[gap] = both(signs);
        if self.setting.direction != Direction::Unknown {
            evidence.better[gap] = both([signs[1], signs[0]]);
        }
        evidence.small[gap] = small.value();
        evidence.step[gap] = step;
    }

    /// The number of columns: level, known changes, drift and, where asked for, bots.
    fn columns(&self, bots: bool) -> usize {
        2 + self.setting.changes.len() + if bots { self.setting.bots } else { 0 }
    }

    /// Returns true if bots are part of the model because there are several.
    fn has_bots(&self) -> bool {
        self.setting.bots > 1
    }

    /// A fit for each noise.
    fn fit(&self, noises: &[&Noise], bots: bool) -> Vec<Fit> {
        let columns = self.columns(bots);
        (noises.iter().zip(self.sums(noises, columns)))
            .map(|(noise, sums)| self.solve(noise, sums, columns))
            .collect()
    }

    /// The fit whose sums these are.
    fn solve(&self, of: &Noise, sums: Sums, columns: usize) -> Fit {
        let floor = self.floor();
        let (sites, changes) = (self.setting.sites, self.setting.changes);
        let free = 1 + changes.len();
        let count = self.values.len() as f64;
        let drift = (DRIFT_PER_RUN * count).min(MOST_DRIFT) * of.scale;
        let offset = BOT_OFFSET * of.scale;
        let penalty: Vec<f64> = (0..columns)
            .map(|column| match column {
                column if column < free => NO_PENALTY,
                column if column == free => 1.0 / (drift * drift),
                _ => 1.0 / (offset * offset),
            })
            .collect();
        let noise = of.scale * of.scale;
        let Sums {
            mut normal,
            right,
            total,
            by_site,
        } = sums;
        let width = columns + 2;
        for (column, penalty) in penalty.iter().enumerate() {
            normal[column * columns + column] += penalty * noise;
        }
        factorize(&mut normal, columns);
        let mut solved = right;
        forward(&normal, &mut solved, columns);
        let explained: f64 = solved.iter().map(|x| x * x).sum();
        let rest = (total - explained)
            .max(floor * count)
            .max(f64::MIN_POSITIVE);
        let mut steps = vec![(0.0, 0.0); sites - 1];
        let mut sums = vec![0.0; width];
        let mut crossed = vec![0.0; columns];
        for gap in (0..sites - 1).rev() {
            for (sum, site) in sums.iter_mut().zip(&by_site[(gap + 1) * width..]) {
                *sum += site;
            }
            crossed.copy_from_slice(&sums[..columns]);
            forward(&normal, &mut crossed, columns);
            let (mut cross, mut square) = (sums[columns], sums[columns + 1]);
            for (x, y) in crossed.iter().zip(&solved) {
                cross -= x * y;
                square -= x * x;
            }
            // Any part that the nuisances explain is not a step.
            if square > LEAST_UNEXPLAINED * sums[columns + 1] {
                steps[gap] = (cross, square);
            }
        }
        let determinant: f64 = (0..columns)
            .map(|column| log(normal[column * columns + column]))
            .sum();
        let prior: f64 = (free..columns)
            .map(|column| 0.5 * log(penalty[column] * noise))
            .sum();
        let mut coefficients = solved;
        backward(&normal, &mut coefficients, columns);
        Fit {
            evidence: prior - determinant - 0.5 * (count - free as f64) * log(rest),
            rest,
            steps,
            coefficients,
            free,
            scale: of.scale,
            fresh: of.scale / self.runs.windows.last_own_factor(&of.factors),
        }
    }

    /// The variance by rounding: values that are rounded are as if they had that much
    /// more noise.
    fn floor(&self) -> f64 {
        if self.is_steady {
            STEADY_FLOOR * self.tick * self.tick
        } else {
            self.tick * self.tick / 12.0
        }
    }

    /// A round of the fit of each noise.
    fn improve_each(&self, noises: &mut [&mut Noise], first: bool) -> Vec<Round> {
        let fitted: Vec<&Noise> = noises.iter().map(|noise| &**noise).collect();
        let fits = self.fit(&fitted, self.has_bots());
        (noises.iter_mut().zip(&fits))
            .map(|(noise, fit)| self.improve(noise, fit, first))
            .collect()
    }

    /// New weights and a new scale from the deviations from the nearer level.
    fn improve(&self, noise: &mut Noise, fit: &Fit, first: bool) -> Round {
        let free = fit.free;
        let (drift, bots) = (fit.coefficients[free], &fit.coefficients[free + 1..]);
        let plain: Vec<f64> = (self.values.iter().zip(&self.runs.values))
            .map(|(number, value)| {
                let bot = if bots.is_empty() {
                    0.0
                } else {
                    bots[value.bot]
                };
                number - (value.time * drift + bot)
            })
            .collect();
        let (deviations, segments) = self.deviations(fit, &plain);
        let distances: Vec<f64> = (self.runs.windows.differences(&noise.factors))
            .map(|difference| difference.of(&deviations).abs())
            .collect();
        let squares: Vec<f64> = (distances.iter())
            .map(|distance| distance * distance)
            .collect();
        let count = squares.len() as f64;
        if first {
            let mut sorted = distances.clone();
            noise.scale = median(&mut sorted) * SCALE_OF_MEDIAN_DEVIATION;
        }
        let least = self.floor().max(LEAST_VARIANCE).sqrt();
        let mut scale = noise.scale.max(least);
        for _ in 0..SCALE_ROUNDS {
            let variance = scale * scale;
            let part = |square: f64| (FREEDOM + 1.0) * square / (FREEDOM + square / variance);
            // In pieces, whose divisions are independent of the sum.
            let mut sum = 0.0;
            let (pieces, rest) = squares.as_chunks::<8>();
            for piece in pieces {
                piece.map(part).into_iter().for_each(|part| sum += part);
            }
            rest.iter().for_each(|square| sum += part(*square));
            let freedom = (count - free as f64 - 1.0).max(1.0);
            scale = (sum / freedom).sqrt().max(least);
        }
        noise.scale = scale;
        let variance = scale * scale;
        for (weight, square) in noise.weights.iter_mut().zip(&squares) {
            *weight = (FREEDOM + 1.0) / (FREEDOM + square / variance);
        }
        Round {
            plain,
            segments,
            distances,
        }
    }

    /// The deviation of each value from the nearer level of its segment: those before and
    /// after the segment's best step; and the segments.
    fn deviations(&self, fit: &Fit, plain: &[f64]) -> (Vec<f64>, Vec<FittedSegment>) {
        let mut deviations = vec![0.0; plain.len()];
        let mut segments = Vec::new();
        let changes = self.setting.changes;
        for segment in 0..=changes.len() {
            let from = if segment == 0 {
                0
            } else {
                changes[segment - 1] + 1
            };
            let to = changes
                .get(segment)
                .map_or(self.setting.sites - 1, |change| *change);
            let best = fit.best(|gap| (from..to).contains(&gap)).unwrap_or(to);
            // The values are in the order of their sites.
            let values_before = |site: usize| self.runs.sites.partition_point(|at| *at < site);
            let [first, middle, last] = [from, best + 1, to + 1].map(values_before);
            let level = |values: &[f64]| (!values.is_empty()).then(|| median(&mut values.to_vec()));
            let levels = [level(&plain[first..middle]), level(&plain[middle..last])];
            segments.push(FittedSegment { from, best, to });
            for (deviation, plain) in deviations[first..last].iter_mut().zip(&plain[first..last]) {
                *deviation = (levels.iter().flatten())
                    .map(|level| plain - level)
                    .fold(f64::INFINITY, |a, b| if b.abs() < a.abs() { b } else { a });
            }
        }
        (deviations, segments)
    }
}

pub(super) fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}
