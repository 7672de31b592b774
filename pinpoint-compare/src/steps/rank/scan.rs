//! The statistics over all splits of a window.
//!
//! Everything here is a function of ranks alone, so that under exchangeable values, of whatever
//! distribution, its distribution is one and the same.

use std::sync::OnceLock;

use super::window::{CAPACITY, Window};
use crate::normal::upper_quantile;

/// The fewest values in a window that is judged.
pub(super) const LEAST: usize = 20;

/// The fewest values on a side of a split. Three cannot reach the default threshold.
const LEAST_SIDE: usize = 4;

/// The charge of a short side: a change of one deviation lasts 20 values until it can be seen,
/// and one of four stands out after five. Chosen by simulation.
const CHARGE: f64 = 0.3;
const CHARGE_WHOLE: f64 = 8.0;
const CHARGE_NONE: f64 = 30.0;

/// Values and correlation that the estimate of the correlation starts from.
const PRIOR_WEIGHT: f64 = 10.0;
const PRIOR: f64 = 0.1;

/// Corrections of the estimate for n values: its bias is about −(1 + 3φ)/n for each mean taken out
/// (Kendall 1954) and more at the split that fits best; it is then raised by a part of its standard
/// error, since too low an estimate multiplies false alarms and too high a one only delays.
const BIAS: f64 = 2.0;
const BIAS_OF_CORRELATION: f64 = 20.0;
const RAISE: f64 = 0.35;
const RAISE_ALWAYS: f64 = 0.015;

const MOST_CORRELATION: f64 = 0.9;

/// Constants of windows of one length n.
struct Row {
    /// Normal scores Φ⁻¹((rank + 1)/(n + 1)).
    scores: Vec<f64>,
    /// √(n / (left·right)) of the splits after 1, 2, … values, and their charges. A split that is
    /// too near to an end has weight 0.
    weights: Vec<f64>,
    charges: Vec<f64>,
}

fn row(n: usize) -> &'static Row {
    static ROWS: OnceLock<Vec<Row>> = OnceLock::new();
    let make = |n: usize| {
        let count = n as f64;
        let weight = |left: usize| {
            let (left, right) = (left as f64, (n - left) as f64);
            if left.min(right) < LEAST_SIDE as f64 {
                0.0
            } else {
                (count / (left * right)).sqrt()
            }
        };
        Row {
            scores: (1..=n)
                .map(|i| -upper_quantile(i as f64 / (count + 1.0)))
                .collect(),
            weights: (1..n).map(weight).collect(),
            charges: (1..n)
                .map(|left| charge(left.min(n - left) as f64))
                .collect(),
        }
    };
    let rows = ROWS.get_or_init(|| (0..=CAPACITY).map(make).collect());
    &rows[n.min(CAPACITY)]
}

/// Sums from which a lag-1 correlation follows, of pairs that are no longer in the window.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Memory {
    pub(super) products: f64,
    pub(super) squares: f64,
    pub(super) count: f64,
}

/// Each pair counts this much less than the next one.
const FORGET: f64 = 0.999;

impl Memory {
    pub(super) fn add(&mut self, products: f64, squares: f64, count: f64) {
        self.products += products;
        self.squares += squares;
        self.count += count;
    }

    /// Adds the pair that is about to leave a full window.
    pub(super) fn leave(&mut self, ranks: &[u8]) {
        let row = row(ranks.len());
        let score = |i: usize| {
            ranks
                .get(i)
                .and_then(|&rank| row.scores.get(usize::from(rank)))
        };
        if let (Some(first), Some(second)) = (score(0), score(1)) {
            self.products *= FORGET;
            self.squares *= FORGET;
            self.count *= FORGET;
            self.add(first * second, first * first, 1.0);
        }
    }
}

/// A window's scores, whitened, and its best split.
#[derive(Debug, Clone)]
pub(super) struct Scan {
    pub(super) n: usize,
    /// The lag-1 correlation that was taken out.
    pub(super) correlation: f64,
    /// The sums that the window adds to the memory when it ends.
    pub(super) ending: Memory,
    whitened: [f64; CAPACITY],
    /// The largest statistic of the location, less its charge.
    pub(super) location: f64,
    /// The same for the spread.
    pub(super) spread: f64,
}

impl Scan {
    /// Scans a window of at least [`LEAST`] values. If it `drifts`, the line that fits best is
    /// taken out first.
    pub(super) fn of(ranks: &[u8], memory: &Memory, drifts: bool) -> Self {
        let row = row(ranks.len());
        let mut scores = [0.0; CAPACITY];
        for (score, rank) in scores.iter_mut().zip(ranks) {
            *score = row
                .scores
                .get(usize::from(*rank))
                .copied()
                .unwrap_or_default();
        }
        Self::of_scores(scores, ranks.len().min(CAPACITY), memory, drifts)
    }

    /// The same with one score for equal values, the mean of theirs. Its thresholds are unknown, but
    /// it shows a place without chance.
    pub(super) fn with_ties(window: &Window, memory: &Memory, drifts: bool) -> Self {
        let n = window.len().min(CAPACITY);
        let row = row(n);
        let mut order = [0; CAPACITY];
        for (i, rank) in window.ranks.iter().enumerate().take(n) {
            order[usize::from(*rank)] = i;
        }
        let mut scores = [0.0; CAPACITY];
        let mut start = 0;
        for group in order[..n].chunk_by(|&a, &b| window.values[a] == window.values[b]) {
            let end = start + group.len();
            let sum: f64 = row.scores[start..end].iter().sum();
            group
                .iter()
                .for_each(|&i| scores[i] = sum / group.len() as f64);
            start = end;
        }
        Self::of_scores(scores, n, memory, drifts)
    }

    fn of_scores(mut scores: [f64; CAPACITY], n: usize, memory: &Memory, drifts: bool) -> Self {
        let row = row(n);
        if drifts {
            take_out_line(&mut scores[..n]);
        }
        let ending = lagged(&scores[..n], row);
        let correlation = correlation(memory, &ending);
        let mut whitened = [0.0; CAPACITY];
        // Sums up to each value: of the whitened scores and of their sizes.
        let (mut sums, mut sizes) = ([0.0; CAPACITY], [0.0; CAPACITY]);
        let (mut sum, mut size, mut squares, mut previous) = (0.0, 0.0, 0.0, 0.0);
        let first = (1.0 - correlation * correlation).sqrt();
        for i in 0..n {
            let score = scores[i];
            let rest = if i == 0 {
                score * first
            } else {
                score - correlation * previous
            };
            previous = score;
            sum += rest;
            size += rest.abs();
            squares += rest * rest;
            (whitened[i], sums[i], sizes[i]) = (rest, sum, size);
        }
        let location = best_split(&sums[..n], squares, row);
        let spread = best_split(&sizes[..n], squares, row);
        Self {
            n,
            correlation,
            ending,
            whitened,
            location,
            spread,
        }
    }

    pub(super) fn whitened(&self) -> &[f64] {
        &self.whitened[..self.n]
    }

    /// The standardized difference of the newest `after` values from those before.
    pub(super) fn standardized(&self, after: usize) -> f64 {
        let values = self.whitened();
        let n = values.len() as f64;
        let sum: f64 = values.iter().sum();
        let squares: f64 = values.iter().map(|v| v * v).sum();
        let variance = (squares - sum * sum / n) / (n - 1.0);
        let newest: f64 = values[values.len() - after..].iter().sum();
        let after = after as f64;
        let scale = variance * after * (n - after) / n;
        if scale > 0.0 {
            (newest - sum * after / n) / scale.sqrt()
        } else {
            0.0
        }
    }
}

fn take_out_line(values: &mut [f64]) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let middle = (n - 1.0) / 2.0;
    let slope = slope(values);
    for (i, value) in values.iter_mut().enumerate() {
        *value -= mean + slope * (i as f64 - middle);
    }
}

/// The slope of the least squares line over the index.
pub(super) fn slope(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let middle = (n - 1.0) / 2.0;
    let along: f64 = values
        .iter()
        .enumerate()
        .map(|(i, value)| (i as f64 - middle) * value)
        .sum();
    along / (n * (n * n - 1.0) / 12.0)
}

/// Products of neighbors and squares around the means on both sides of the best split, so that a
/// step does not count as correlation.
fn lagged(scores: &[f64], row: &Row) -> Memory {
    let n = scores.len();
    let mut sums = [0.0; CAPACITY];
    let mut sum = 0.0;
    for (slot, score) in sums.iter_mut().zip(scores) {
        sum += score;
        *slot = sum;
    }
    let (_, split) = strongest(&sums[..n], row, 1.0, false);
    let left = sums.get(split.wrapping_sub(1)).copied().unwrap_or_default();
    let left_mean = left / split.max(1) as f64;
    let right_mean = (sum - left) / (n - split).max(1) as f64;
    let (mut products, mut squares, mut previous) = (0.0, 0.0, 0.0);
    for (i, score) in scores.iter().enumerate() {
        let rest = score - if i < split { left_mean } else { right_mean };
        products += rest * previous;
        squares += rest * rest;
        previous = rest;
    }
    Memory {
        products,
        squares,
        count: n as f64,
    }
}

fn correlation(memory: &Memory, window: &Memory) -> f64 {
    let count = memory.count + window.count + PRIOR_WEIGHT;
    let products = memory.products + window.products + PRIOR_WEIGHT * PRIOR;
    let plain = products / (memory.squares + window.squares + PRIOR_WEIGHT);
    let unbiased = plain + (BIAS + BIAS_OF_CORRELATION * plain.max(0.0)) / count;
    (unbiased + RAISE / count.sqrt() + RAISE_ALWAYS).clamp(0.0, MOST_CORRELATION)
}

/// The charge of a split whose shorter side has this many values.
fn charge(shorter: f64) -> f64 {
    CHARGE * ((CHARGE_NONE - shorter) / (CHARGE_NONE - CHARGE_WHOLE)).clamp(0.0, 1.0)
}

/// The largest standardized difference of the means over all splits, less its charge.
fn best_split(sums: &[f64], squares: f64, row: &Row) -> f64 {
    let n = sums.len() as f64;
    let sum = sums.last().copied().unwrap_or_default();
    let variance = (squares - sum * sum / n) / (n - 1.0);
    if variance <= 0.0 {
        return 0.0;
    }
    strongest(sums, row, 1.0 / variance.sqrt(), true).0
}

fn strongest(sums: &[f64], row: &Row, scale: f64, charged: bool) -> (f64, usize) {
    let mean = sums.last().copied().unwrap_or_default() / sums.len() as f64;
    let mut all = [0.0; CAPACITY];
    let share = if charged { 1.0 } else { 0.0 };
    let constants = row.weights.iter().zip(&row.charges);
    for (i, ((z, sum), (weight, charge))) in all.iter_mut().zip(sums).zip(constants).enumerate() {
        let apart = sum - mean * (i + 1) as f64;
        *z = apart.abs() * weight * scale - charge * share;
    }
    let (mut best, mut before) = (0.0, 0);
    for (i, &z) in all[..sums.len()].iter().enumerate() {
        if z > best {
            (best, before) = (z, i + 1);
        }
    }
    (best, before)
}
