//! The changes of one trace, by `rank` and by `conformal`.

use pinpoint_compare::steps::{
    Conformal, ConformalAlarm, ConformalOptions, LEAST_VALUES, Shape, StepError, locate_change,
};

use super::alert::Algo;
use super::change::{Change, Place};
use super::range::CommitRange;
use super::standing::median;
use crate::commit::CommitNumber;
use crate::frame::Columns;
use crate::id::TraceId;
use crate::series_changes::trace_alarms;

/// The values of a trace that are present, and their commits.
#[derive(Debug, Clone)]
pub(super) struct Series {
    pub(super) trace: TraceId,
    pub(super) commits: Vec<CommitNumber>,
    pub(super) values: Vec<f64>,
}

/// A change that a detector found in this run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FoundChange {
    pub(super) change: Change,
    /// The first commit with a value that went back, of a spike.
    pub(super) back_at: Option<CommitNumber>,
    /// A regression whose place meets this range may be the same.
    pub(super) near: CommitRange,
}

impl Series {
    pub(super) fn of(trace: &TraceId, columns: &Columns, row: &[f64]) -> Self {
        let present = columns.iter().zip(row.iter().copied());
        let (commits, values) = present.filter(|(_, value)| !value.is_nan()).unzip();
        Self {
            trace: trace.clone(),
            commits,
            values,
        }
    }

    /// The commits of a change that begins at one of these values: after the value before the
    /// first, up to the last.
    pub(super) fn range(&self, first: usize, last: usize) -> Option<CommitRange> {
        let previous = *self.commits.get(first.checked_sub(1)?)?;
        CommitRange::new(previous, *self.commits.get(last)?).ok()
    }

    /// Values and commits from a commit on.
    pub(super) fn since(&self, commit: CommitNumber) -> Vec<(CommitNumber, f64)> {
        let pairs = self
            .commits
            .iter()
            .copied()
            .zip(self.values.iter().copied());
        pairs.filter(|(it, _)| *it >= commit).collect()
    }

    fn places(&self, posterior: impl Iterator<Item = (usize, f64)>) -> Vec<Place> {
        let place = |(at, probability)| {
            let range = self.range(at, at)?;
            Some(Place { range, probability })
        };
        posterior.filter_map(place).collect()
    }
}

/// The seed by which detectors order equal values of a trace, so that each is ordered in another way.
pub fn seed_of_trace(trace: &TraceId) -> u64 {
    let hash = trace.trace_hash().0;
    (hash.iter().take(8)).fold(0, |seed, byte| (seed << 8) | u64::from(*byte))
}

/// The changes that the rank detector finds.
pub(super) fn by_rank(series: &Series, rate: f64) -> Result<Vec<FoundChange>, StepError> {
    let alarms = trace_alarms(&series.values, rate, seed_of_trace(&series.trace))?;
    let number = |it: u64| usize::try_from(it).unwrap_or(usize::MAX);
    let found = alarms.into_iter().filter_map(|found| {
        let alarm = found.alarm;
        let (first, last) = alarm.interval;
        let interval = series.range(number(first).max(1), number(last))?;
        let posterior = alarm.posterior.iter().map(|&(at, p)| (number(at), p));
        let change = Change {
            trace: series.trace.clone(),
            range: series.range(number(alarm.at), number(alarm.at))?,
            interval,
            places: series.places(posterior),
            shape: alarm.shape,
            rose: alarm.rose,
            before: alarm.before,
            after: alarm.after,
            p: Some(libm::erfc(alarm.statistic.abs() / std::f64::consts::SQRT_2)),
            shown_at: *series.commits.get(number(alarm.raised_at))?,
            algo: Some(Algo::Rank),
            is_firm: found.is_firm,
            machine: None,
        };
        let back_at = found
            .back_at
            .and_then(|it| series.commits.get(number(it)).copied());
        Some(FoundChange {
            change,
            back_at,
            near: interval,
        })
    });
    Ok(found.collect())
}

/// The changes that the conformal detector finds.
pub(super) fn by_conformal(series: &Series, rate: f64) -> Result<Vec<FoundChange>, StepError> {
    let mut detector = Conformal::new(ConformalOptions {
        values_per_alarm: 1.0 / rate,
        seed: seed_of_trace(&series.trace),
    })?;
    let (mut found, mut began) = (Vec::new(), 0);
    for (number, value) in series.values.iter().enumerate() {
        if let Some(alarm) = detector.push(*value)? {
            found.extend(conformal_change(series, alarm, began, number)?);
            began = number + 1;
        }
    }
    Ok(found)
}

/// The change of an alarm about the values from `began` to `raised_at`.
fn conformal_change(
    series: &Series,
    alarm: ConformalAlarm,
    began: usize,
    raised_at: usize,
) -> Result<Option<FoundChange>, StepError> {
    let values = series.values.get(began..=raised_at).unwrap_or_default();
    let since = usize::try_from(alarm.since).unwrap_or(usize::MAX).max(1);
    let (mut at, mut interval, mut posterior) = (since, (since, raised_at), Vec::new());
    if values.len() >= LEAST_VALUES {
        let located = locate_change(values)?;
        at = began + located.at;
        interval = (began + located.interval.0, began + located.interval.1);
        posterior = located.posterior;
    }
    let level = |values: Option<&[f64]>| values.and_then(median);
    let before = level(series.values.get(began.min(at - 1)..at));
    let after = level(series.values.get(at..=raised_at));
    let ranges = (
        series.range(at, at),
        series.range(interval.0.max(1), interval.1),
    );
    let (Some(before), Some(after), (Some(range), Some(interval))) = (before, after, ranges) else {
        return Ok(None);
    };
    let change = Change {
        trace: series.trace.clone(),
        range,
        interval,
        places: series.places(posterior.into_iter().map(|(it, p)| (began + it, p))),
        shape: Shape::Step,
        rose: alarm.rose,
        before,
        after,
        p: None,
        shown_at: series
            .commits
            .get(raised_at)
            .copied()
            .unwrap_or(range.commit()),
        algo: Some(Algo::Conformal),
        is_firm: true,
        machine: None,
    };
    Ok(Some(FoundChange {
        change,
        back_at: None,
        near: interval,
    }))
}

/// Values that look random and do not repeat, about 10, from the commit 0 on, in tests.
#[cfg(test)]
pub(super) fn noise(count: u32) -> Vec<f64> {
    (0..count)
        .map(|i| 10.0 + f64::from((i * i * 37 + i * 11) % 101) / 101.0)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: &[f64]) -> Series {
        // Every second commit is measured.
        let columns = Columns::range(CommitNumber(0)..=CommitNumber(2 * values.len() as u32 - 1));
        let row: Vec<f64> = values.iter().flat_map(|it| [f64::NAN, *it]).collect();
        Series::of(&",a=b,".parse().unwrap(), &columns, &row)
    }

    fn with_step(at: usize, size: f64) -> Vec<f64> {
        let values = noise(100).into_iter().enumerate();
        values
            .map(|(i, it)| if i >= at { it + size } else { it })
            .collect()
    }

    #[test]
    fn both_detectors_find_a_step_between_its_commits() {
        let series = series(&with_step(60, 3.0));
        for found in [
            by_rank(&series, 1e-4).unwrap(),
            by_conformal(&series, 1e-3).unwrap(),
        ] {
            let [
                FoundChange {
                    change, back_at, ..
                },
            ] = found.as_slice()
            else {
                panic!("{found:?}");
            };
            assert_eq!((change.rose, *back_at), (true, None));
            let truth = CommitNumber(121);
            assert_eq!(
                change.range,
                super::super::range::range(119, 121),
                "{change:?}"
            );
            assert!(change.interval.contains(truth) && change.shown_at > truth);
            assert!((2.0..4.0).contains(&(change.after - change.before)));
            let sum: f64 = change.places.iter().map(|it| it.probability).sum();
            assert!((sum - 1.0).abs() < 1e-9 && change.is_firm);
        }
    }

    #[test]
    fn a_spike_says_where_it_went_back() {
        let mut values = noise(140);
        values[80..92].iter_mut().for_each(|it| *it += 5.0);
        let found = by_rank(&series(&values), 1e-4).unwrap();
        assert_eq!(found[0].back_at, Some(CommitNumber(2 * 92 + 1)));
    }

    #[test]
    fn a_short_series_has_no_changes() {
        let short = series(&noise(3));
        assert!(by_rank(&short, 1e-4).unwrap().is_empty());
        assert!(by_conformal(&short, 1e-4).unwrap().is_empty());
    }
}
