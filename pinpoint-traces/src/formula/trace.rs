//! Functions that make one trace of one trace.

use super::functions::TraceFunction;

/// Applies a function to the values of one trace, in place. What is not finite becomes missing.
pub(super) fn apply(function: TraceFunction, values: &mut [f64]) {
    match function {
        TraceFunction::Norm(least) => {
            let (mean, deviation) = mean_and_deviation(values);
            let divisor = if deviation > least { deviation } else { 1.0 };
            map(values, |it| (it - mean) / divisor);
        }
        TraceFunction::Fill => fill(values),
        TraceFunction::Log => map(
            values,
            |it| {
                if it > 0.0 { libm::log10(it) } else { f64::NAN }
            },
        ),
        TraceFunction::Iqrr => remove_outliers(values),
        TraceFunction::ScaleByAve => {
            let mean = mean(values);
            map(values, |it| it / mean);
        }
        TraceFunction::TraceAve => {
            let mean = mean(values);
            set(values, mean);
        }
        TraceFunction::TraceStddev => {
            let (_, deviation) = mean_and_deviation(values);
            set(values, deviation);
        }
        TraceFunction::TraceCov => {
            let (mean, deviation) = mean_and_deviation(values);
            set(values, deviation / mean);
        }
        TraceFunction::Step => {
            let (first, rest) = values.split_at(values.len() / 2);
            let step = mean(first) / mean(rest);
            set(values, step);
        }
    }
}

fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { f64::NAN }
}

fn map(values: &mut [f64], function: impl Fn(f64) -> f64) {
    for value in values {
        *value = finite(function(*value));
    }
}

fn set(values: &mut [f64], value: f64) {
    values.fill(finite(value));
}

/// Sum and number of what is present, in four lanes, so that the additions do not wait for each
/// other.
fn sum_and_count(values: &[f64], term: impl Fn(f64) -> f64) -> (f64, f64) {
    let mut sums = [0.0; 4];
    let mut counts = [0.0; 4];
    let add = |lane: &mut f64, count: &mut f64, value: f64| {
        let is_present = !value.is_nan();
        *lane += if is_present { term(value) } else { 0.0 };
        *count += if is_present { 1.0 } else { 0.0 };
    };
    let mut groups = values.chunks_exact(4);
    for group in &mut groups {
        for ((lane, count), value) in sums.iter_mut().zip(&mut counts).zip(group) {
            add(lane, count, *value);
        }
    }
    for ((lane, count), value) in sums.iter_mut().zip(&mut counts).zip(groups.remainder()) {
        add(lane, count, *value);
    }
    let total = |it: [f64; 4]| (it[0] + it[1]) + (it[2] + it[3]);
    (total(sums), total(counts))
}

/// The mean of what is present; NaN without any.
fn mean(values: &[f64]) -> f64 {
    let (sum, count) = sum_and_count(values, |it| it);
    if sum.is_finite() {
        sum / count
    } else {
        // The mean of finite values is finite even where their sum is not.
        sum_and_count(values, |it| it / count).0
    }
}

/// Mean and deviation of the population of what is present; NaN without any.
fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let mean = mean(values);
    let (squares, count) = sum_and_count(values, |it| (it - mean) * (it - mean));
    (mean, (squares / count).sqrt())
}

fn fill(values: &mut [f64]) {
    let last = values.iter().rev().copied().find(|it| !it.is_nan());
    let mut next = last.unwrap_or(0.0);
    for value in values.iter_mut().rev() {
        if value.is_nan() {
            *value = next;
        } else {
            next = *value;
        }
    }
}

fn remove_outliers(values: &mut [f64]) {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|it| !it.is_nan()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let (Some(low), Some(high)) = (quantile(&sorted, 0.25), quantile(&sorted, 0.75)) else {
        return;
    };
    let reach = 1.5 * (high - low);
    let kept = low - reach..=high + reach;
    map(values, |it| if kept.contains(&it) { it } else { f64::NAN });
}

/// A quantile of sorted values by Hyndman and Fan's type 8: the value of rank (n + 1/3)·p + 1/3,
/// between its neighbors.
fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    let rank = (sorted.len() as f64 + 1.0 / 3.0) * p + 1.0 / 3.0;
    let whole = rank.floor();
    // Ranks are counted from 1, and those outside are clamped.
    let last = sorted.len().checked_sub(1)?;
    let at = |rank: f64| {
        sorted
            .get(((rank - 1.0).max(0.0) as usize).min(last))
            .copied()
    };
    let (low, high) = (at(whole)?, at(whole + 1.0)?);
    Some(low + (rank - whole) * (high - low))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with R's `quantile(x, c(0.25, 0.75), type = 8)`.
    #[test]
    fn quartiles_are_of_type_8() {
        let sorted = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0];
        assert!((quantile(&sorted, 0.25).unwrap() - 2.916_666_666_666_667).abs() < 1e-12);
        assert!((quantile(&sorted, 0.75).unwrap() - 8.083_333_333_333_334).abs() < 1e-12);
        assert_eq!(quantile(&[7.0], 0.25), Some(7.0));
        assert_eq!(quantile(&[], 0.25), None);
        assert_eq!(quantile(&[1.0, 2.0], 0.25), Some(1.0));
    }
}
