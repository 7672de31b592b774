//! Tries: values of a change under review, against the history of the same traces.

use std::collections::BTreeMap;

use pinpoint_core::Direction;
use serde::Serialize;

use crate::id::TraceId;

/// The number of values of the history that count: the last ones present.
pub const HISTORY: usize = 20;
/// The fewest values of a history.
pub const LEAST_HISTORY: usize = 4;
/// The largest deviation.
pub const MAX_DEVIATION: f64 = 1000.0;

/// The distance of a value from those before it, in deviations of their side: (x − median) / s_up
/// above the median, −(median − x) / s_down below.
///
/// `history` is in the order of commits; of the values present (not NaN) the last [`HISTORY`] count.
/// s_up and s_down are the sample deviations (divisor n − 1) about the median of the upper and the
/// lower half. Of the n sorted values, the lower half has the first ⌊n/2⌋. The result is at most
/// [`MAX_DEVIATION`] in both directions, and that much where a half does not vary.
///
/// `None` for fewer than [`LEAST_HISTORY`] values, or if `value` is missing.
///
/// ```
/// use pinpoint_traces::deviation;
///
/// let found = deviation(&[11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0], 20.0).unwrap();
/// assert!((found - 2.77746).abs() < 5e-6);
/// ```
pub fn deviation(history: &[f64], value: f64) -> Option<f64> {
    let present = history.iter().rev().copied().filter(|it| it.is_finite());
    let mut sorted: Vec<f64> = present.take(HISTORY).collect();
    if sorted.len() < LEAST_HISTORY || !value.is_finite() {
        return None;
    }
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let (lower, upper) = sorted.split_at(middle);
    // The upper half has the middle one of an odd number.
    let median = match (lower.last(), upper.first()) {
        (Some(below), Some(above)) if sorted.len().is_multiple_of(2) => below.midpoint(*above),
        (_, Some(middle)) => *middle,
        _ => return None,
    };
    let distance = value - median;
    if distance == 0.0 {
        return Some(0.0);
    }
    let half = if distance > 0.0 { upper } else { lower };
    let squares: f64 = half.iter().map(|it| (it - median) * (it - median)).sum();
    let spread = (squares / (half.len() - 1) as f64).sqrt();
    let deviation = distance / spread;
    // A spread of 0 gives an infinite one, and one that overflows in both parts gives no number.
    Some(if deviation.is_nan() {
        MAX_DEVIATION.copysign(distance)
    } else {
        deviation.clamp(-MAX_DEVIATION, MAX_DEVIATION)
    })
}

/// A trace of a try.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TriedTrace {
    /// The trace.
    pub trace: TraceId,
    /// The value with the change.
    pub value: f64,
    /// Its distance from the history: see [`deviation`].
    pub deviation: f64,
}

impl TriedTrace {
    /// The deviation to the worse: positive is worse where `improvement_direction` of the trace
    /// says what is better; else each deviation is bad.
    pub fn badness(&self) -> f64 {
        match trace_direction(&self.trace) {
            Direction::Up => -self.deviation,
            Direction::Down => self.deviation,
            Direction::Unknown => self.deviation.abs(),
        }
    }
}

/// The direction in which a trace improves, after its `improvement_direction`.
pub fn trace_direction(trace: &TraceId) -> Direction {
    match trace.get("improvement_direction") {
        Some("up") => Direction::Up,
        Some("down") => Direction::Down,
        _ => Direction::Unknown,
    }
}

/// All traces of a try that share a parameter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TriedParam {
    /// The key.
    pub key: String,
    /// The value of the key.
    pub value: String,
    /// The number of traces.
    pub traces: usize,
    /// The mean of their deviations.
    pub deviation: f64,
    /// The mean of what is worse: see [`TriedTrace::badness`].
    pub badness: f64,
}

/// A try beside the history.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct TryReport {
    /// Traces with enough history, the worst first, then by id.
    pub traces: Vec<TriedTrace>,
    /// The parameters of those, the worst first, then by key and value.
    pub params: Vec<TriedParam>,
    /// Traces with too little history, by id.
    pub left_out: Vec<TraceId>,
}

/// Compares a try with the history: for each trace, its values in the order of commits, and the
/// value with the change. The order of the traces makes no difference.
pub fn try_report<H: AsRef<[f64]>>(
    tried: impl IntoIterator<Item = (TraceId, H, f64)>,
) -> TryReport {
    let mut report = TryReport::default();
    for (trace, history, value) in tried {
        match deviation(history.as_ref(), value) {
            None => report.left_out.push(trace),
            Some(deviation) => report.traces.push(TriedTrace {
                trace,
                value,
                deviation,
            }),
        }
    }
    report.left_out.sort_unstable();
    report.traces.sort_unstable_by(|a, b| {
        (b.badness().total_cmp(&a.badness())).then_with(|| a.trace.cmp(&b.trace))
    });
    report.params = by_params(&report.traces);
    report
}

fn by_params(traces: &[TriedTrace]) -> Vec<TriedParam> {
    let mut sums: BTreeMap<(&str, &str), (usize, f64, f64)> = BTreeMap::new();
    for tried in traces {
        for param in tried.trace.iter() {
            let (count, deviation, badness) = sums.entry(param).or_default();
            *count += 1;
            *deviation += tried.deviation;
            *badness += tried.badness();
        }
    }
    let averaged = |((key, value), (traces, deviation, badness)): (_, (usize, f64, f64))| {
        let (key, value): (&str, &str) = (key, value);
        TriedParam {
            key: key.to_owned(),
            value: value.to_owned(),
            traces,
            deviation: deviation / traces as f64,
            badness: badness / traces as f64,
        }
    };
    let mut params: Vec<TriedParam> = sums.into_iter().map(averaged).collect();
    // A stable sort keeps keys and values in their order.
    params.sort_by(|a, b| b.badness.total_cmp(&a.badness));
    params
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_side_has_its_own_deviation() {
        let history = [17.0, 12.0, 13.0, 14.0, 15.0, 16.0, 11.0];
        let up = deviation(&history, 20.0).unwrap();
        assert!((up - 6.0 / (14.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        let down = deviation(&history, 8.0).unwrap();
        assert!((down + 6.0 / 7.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(deviation(&history, 14.0), Some(0.0));
    }

    #[test]
    fn four_values_are_needed_and_twenty_count() {
        assert_eq!(deviation(&[1.0, 2.0, 3.0, f64::NAN], 5.0), None);
        assert_eq!(deviation(&[1.0, 2.0, 3.0, 4.0], f64::NAN), None);
        let found = deviation(&[1.0, 2.0, 3.0, 4.0], 5.0).unwrap();
        assert!((found - 2.5 / 2.5_f64.sqrt()).abs() < 1e-12);
        let mut long = vec![1e6; 30];
        long.extend([10.0, 11.0].repeat(10));
        assert_eq!(
            deviation(&long, 12.0),
            deviation(&[10.0, 11.0].repeat(10), 12.0)
        );
    }

    #[test]
    fn a_history_that_does_not_vary_gives_the_largest_deviation() {
        let flat = [3.0; 6];
        assert_eq!(deviation(&flat, 3.0), Some(0.0));
        assert_eq!(deviation(&flat, 3.1), Some(1000.0));
        assert_eq!(deviation(&flat, 2.9), Some(-1000.0));
        let huge = deviation(&[f64::MAX, -f64::MAX, 0.0, 1.0], f64::MAX).unwrap();
        assert!((0.0..=1000.0).contains(&huge));
    }

    #[test]
    fn the_worst_comes_first_and_parameters_are_averaged() {
        let history = [11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0];
        let id = |text: &str| text.parse::<TraceId>().unwrap();
        let report = try_report([
            (id(",improvement_direction=up,test=a,"), &history[..], 20.0),
            (
                id(",improvement_direction=down,test=b,"),
                &history[..],
                20.0,
            ),
            (id(",test=c,"), &history[..], 14.0),
            (id(",test=d,"), &history[..3], 14.0),
        ]);
        let order: Vec<_> = report
            .traces
            .iter()
            .map(|it| it.trace.get("test").unwrap())
            .collect();
        assert_eq!(order, ["b", "c", "a"]);
        assert_eq!(report.left_out, [id(",test=d,")]);
        let params: Vec<_> = (report.params.iter())
            .map(|it| format!("{}={} {} {:.2}", it.key, it.value, it.traces, it.badness))
            .collect();
        assert_eq!(
            params,
            [
                "improvement_direction=down 1 2.78",
                "test=b 1 2.78",
                "test=c 1 0.00",
                "improvement_direction=up 1 -2.78",
                "test=a 1 -2.78",
            ]
        );
    }

    proptest! {
        #[test]
        fn a_deviation_has_the_side_of_its_value(
            history in proptest::collection::vec(-1e9_f64..1e9, 4..30),
            value in -1e9_f64..1e9,
        ) {
            let found = deviation(&history, value).unwrap();
            let mut last: Vec<f64> = history.iter().rev().take(20).copied().collect();
            last.sort_by(f64::total_cmp);
            let (low, high) = (last[(last.len() - 1) / 2], last[last.len() / 2]);
            let median = low.midpoint(high);
            prop_assert_eq!(found > 0.0, value > median);
            prop_assert_eq!(found < 0.0, value < median);
            prop_assert!(found.abs() <= 1000.0);
        }
    }
}
