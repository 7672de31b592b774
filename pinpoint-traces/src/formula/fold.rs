//! Functions that fold traces, commit by commit, into one.

use super::functions::FoldFunction;

/// Rows that are folded before the results of others are added. The same for any number of
/// threads, and with it the order of additions.
const BLOCK_ROWS: usize = 512;

/// A change to the copy of a row.
pub(crate) type Prepare<'a> = &'a (dyn Fn(&mut [f64]) + Sync);

/// Folds rows of this width into one, commit by commit. `prepare` changes a copy of each row
/// before that.
pub(crate) fn fold(
    function: FoldFunction,
    values: &[f64],
    width: usize,
    prepare: Prepare<'_>,
) -> Vec<f64> {
    let folded = |block: &[f64]| {
        let mut part = Part::new(function, width);
        let mut row = vec![0.0; width];
        for values in block.chunks_exact(width) {
            row.copy_from_slice(values);
            prepare(&mut row);
            part.add(function, &row);
        }
        part
    };
    let mut whole = Part::new(function, width);
    if width > 0 {
        for part in parts(values, BLOCK_ROWS * width, folded) {
            whole.merge(function, &part);
        }
    }
    let means = (function == FoldFunction::Std).then(|| whole.finish(FoldFunction::Ave));
    match means {
        None => whole.finish(function),
        Some(means) => deviations(values, width, &means, prepare),
    }
}

/// The deviation of the population at each commit, given its means.
fn deviations(values: &[f64], width: usize, means: &[f64], prepare: Prepare<'_>) -> Vec<f64> {
    let squared = |row: &mut [f64]| {
        prepare(row);
        for (value, mean) in row.iter_mut().zip(means) {
            *value = (*value - mean) * (*value - mean);
        }
    };
    let mut variances = fold(FoldFunction::Ave, values, width, &squared);
    for variance in &mut variances {
        *variance = variance.sqrt();
    }
    variances
}

/// The parts of all blocks of values, in their order.
#[cfg(feature = "rayon")]
fn parts(values: &[f64], block: usize, folded: impl Fn(&[f64]) -> Part + Sync) -> Vec<Part> {
    use rayon::prelude::*;
    values.par_chunks(block).map(&folded).collect()
}

/// The parts of all blocks of values, in their order.
#[cfg(not(feature = "rayon"))]
fn parts(values: &[f64], block: usize, folded: impl Fn(&[f64]) -> Part) -> Vec<Part> {
    values.chunks(block).map(folded).collect()
}

/// The result of a fold over some rows: a total and the number of values in it, for each commit.
struct Part {
    totals: Vec<f64>,
    counts: Vec<f64>,
}

impl Part {
    fn new(function: FoldFunction, width: usize) -> Self {
        let start = match function {
            FoldFunction::Min => f64::INFINITY,
            FoldFunction::Max => f64::NEG_INFINITY,
            _ => 0.0,
        };
        Self {
            totals: vec![start; width],
            counts: vec![0.0; width],
        }
    }

    fn add(&mut self, function: FoldFunction, row: &[f64]) {
        match function {
            FoldFunction::Ave | FoldFunction::Sum | FoldFunction::Count | FoldFunction::Std => {
                self.add_terms(row, |total, it| total + it);
            }
            FoldFunction::Min => self.add_terms(row, f64::min),
            FoldFunction::Max => self.add_terms(row, f64::max),
            FoldFunction::Geo => {
                let logarithms: Vec<f64> = row.iter().map(|it| libm::log(*it)).collect();
                // The logarithm of a negative value is NaN, and that of 0 is minus infinity.
                self.add_terms(&logarithms, |total, it| total + it);
            }
        }
    }

    fn add_terms(&mut self, row: &[f64], added: impl Fn(f64, f64) -> f64) {
        for ((total, count), value) in self.totals.iter_mut().zip(&mut self.counts).zip(row) {
            let is_present = !value.is_nan();
            *total = if is_present {
                added(*total, *value)
            } else {
                *total
            };
            *count += if is_present { 1.0 } else { 0.0 };
        }
    }

    fn merge(&mut self, function: FoldFunction, part: &Self) {
        for (total, other) in self.totals.iter_mut().zip(&part.totals) {
            *total = match function {
                FoldFunction::Min => total.min(*other),
                FoldFunction::Max => total.max(*other),
                _ => *total + other,
            };
        }
        for (count, other) in self.counts.iter_mut().zip(&part.counts) {
            *count += other;
        }
    }

    fn finish(&self, function: FoldFunction) -> Vec<f64> {
        let finished = |(total, count): (&f64, &f64)| match function {
            FoldFunction::Count => *count,
            _ if *count == 0.0 => f64::NAN,
            FoldFunction::Ave => total / count,
            FoldFunction::Geo => libm::exp(total / count),
            _ => *total,
        };
        let finite = |it: f64| if it.is_finite() { it } else { f64::NAN };
        (self.totals.iter().zip(&self.counts))
            .map(|it| finite(finished(it)))
            .collect()
    }
}
