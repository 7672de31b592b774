//! The changes of one series, at the rows of its table.

use pinpoint_compare::steps::{
    Alarm, Conformal, ConformalOptions, DEFAULT_RATE, Detector, DetectorOptions, LEAST_VALUES,
    Shape, StepError, StepEvent,
};
use serde::Serialize;

use crate::watch::Floor;

/// Options of [`series_changes`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangeOptions {
    /// False alarms for each new value without a change: 0.00005 to 0.01.
    pub rate: f64,
    /// Smaller changes of the median are left out, in the unit of the values.
    pub least_amount: f64,
    /// Smaller changes of the median are left out, as a share of the median before.
    pub least_share: f64,
    /// Orders equal values.
    pub seed: u64,
}

impl Default for ChangeOptions {
    fn default() -> Self {
        Self {
            rate: DEFAULT_RATE,
            least_amount: 0.0,
            least_share: 0.0,
            seed: 0,
        }
    }
}

/// The changes of a series, and the values that were looked at.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeriesChanges {
    /// The rows that have a value.
    pub values: usize,
    /// The rows that have no value.
    pub missing: usize,
    /// True if there are too few values for any change to show: nothing is known of the series.
    pub is_too_short: bool,
    /// The changes, in the order of their rows.
    pub changes: Vec<SeriesChange>,
    /// The changes that were left out because they are smaller than asked for.
    pub small: usize,
}

/// A change of a series. Rows count from 0.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeriesChange {
    /// The shape.
    pub shape: Shape,
    /// True if the values rose or, of a change of spread, if they scatter more.
    pub rose: bool,
    /// The likeliest first row of the change.
    pub row: usize,
    /// The probability that the change begins there, in the model of one change.
    pub probability: f64,
    /// The first and the last row at which it may begin; holds the change in at least 95 %.
    pub interval: [usize; 2],
    /// The row at which it showed.
    pub shown_at: usize,
    /// The row at which the values went back to where they came from, if they did: it was a spike.
    pub back_at: Option<usize>,
    /// The median of the values before, back to the previous change.
    pub before: f64,
    /// The median of the values from the change to the row at which it showed.
    pub after: f64,
    /// (after − before) / |before|, unless `before` is 0.
    pub share: Option<f64>,
    /// True if a second detector, whose rate of false alarms is proven for any distribution, raised
    /// an alarm of the same direction before the next change showed.
    pub is_firm: bool,
}

/// Finds the changes of a series with a value, or none, in each row.
///
/// [`Detector`] finds them, and [`Conformal`] says which are firm; both look at the values in their
/// order, as if they came one by one.
///
/// # Errors
///
/// [`StepError`] for a value that is not finite, with its place among the values, and for a rate out
/// of range.
///
/// # Cost
///
/// About 3 µs for each value.
pub fn series_changes(
    values: &[Option<f64>],
    options: ChangeOptions,
) -> Result<SeriesChanges, StepError> {
    let (rows, present): (Vec<usize>, Vec<f64>) = values
        .iter()
        .enumerate()
        .filter_map(|(row, value)| Some((row, (*value)?)))
        .unzip();
    let found = trace_alarms(&present, options.rate, options.seed)?;
    let row_of = |number: u64| rows.get(number as usize).copied().unwrap_or(values.len());
    let mut changes = Vec::new();
    let mut small = 0;
    let floor = Floor {
        least_amount: options.least_amount,
        least_share: options.least_share,
    };
    for found in &found {
        let alarm = &found.alarm;
        if floor.hides(alarm.before, alarm.after) && alarm.shape != Shape::Spread {
            small += 1;
            continue;
        }
        let (first, last) = alarm.interval;
        // A row without a value may hold the change, too.
        let first_row = first.checked_sub(1).map_or(0, |before| row_of(before) + 1);
        let at = alarm.posterior.iter().find(|(at, _)| *at == alarm.at);
        changes.push(SeriesChange {
            shape: alarm.shape,
            rose: alarm.rose,
            row: row_of(alarm.at),
            probability: at.map_or(0.0, |(_, probability)| *probability),
            interval: [first_row, row_of(last)],
            shown_at: row_of(alarm.raised_at),
            back_at: found.back_at.map(row_of),
            before: alarm.before,
            after: alarm.after,
            share: (alarm.before != 0.0).then(|| (alarm.after - alarm.before) / alarm.before.abs()),
            is_firm: found.is_firm,
        });
    }
    Ok(SeriesChanges {
        values: present.len(),
        missing: values.len() - present.len(),
        is_too_short: present.len() < LEAST_VALUES,
        changes,
        small,
    })
}

/// An alarm about values that follow each other, which are numbered from 0.
pub(crate) struct TraceAlarm {
    /// The alarm.
    pub(crate) alarm: Alarm,
    /// The number of the first value that went back, if it was a spike.
    pub(crate) back_at: Option<u64>,
    /// True if the second detector agrees before the next alarm is raised: so that it stays true.
    pub(crate) is_firm: bool,
}

/// The alarms about these values, in order, with the word of both detectors.
pub(crate) fn trace_alarms(
    values: &[f64],
    rate: f64,
    seed: u64,
) -> Result<Vec<TraceAlarm>, StepError> {
    let mut detector = Detector::new(DetectorOptions { rate, seed })?;
    let mut second = Conformal::new(ConformalOptions {
        values_per_alarm: 1.0 / rate,
        seed,
    })?;
    let mut found: Vec<TraceAlarm> = Vec::new();
    let mut of_second = Vec::new();
    for value in values {
        match detector.push(*value)? {
            Some(StepEvent::Alarm(alarm)) => found.push(TraceAlarm {
                alarm,
                back_at: None,
                is_firm: false,
            }),
            Some(StepEvent::Retraction { change, at, .. }) => {
                if let Some(of) = found.iter_mut().rfind(|it| it.alarm.at == change) {
                    of.back_at = Some(at);
                }
            }
            _ => {}
        }
        of_second.extend(second.push(*value)?);
    }
    let mut next = u64::MAX;
    for it in found.iter_mut().rev() {
        let since = it.alarm.at..next;
        it.is_firm = it.alarm.shape != Shape::Spread
            && of_second
                .iter()
                .any(|second| second.rose == it.alarm.rose && since.contains(&second.raised_at));
        next = it.alarm.raised_at;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values about 10 that look random, and do not repeat.
    fn noise(count: u32) -> impl Iterator<Item = f64> {
        (0..count).map(|i| 10.0 + f64::from((i * i * 37 + i * 11) % 101) / 101.0)
    }

    fn with_step(missing: &[usize]) -> Vec<Option<f64>> {
        let mut values: Vec<Option<f64>> = (0..)
            .zip(noise(120))
            .map(|(row, value)| Some(if row < 60 { value } else { value + 3.0 }))
            .collect();
        missing.iter().for_each(|row| values[*row] = None);
        values
    }

    #[test]
    fn a_step_is_found_at_its_row() {
        let found = series_changes(&with_step(&[]), ChangeOptions::default()).unwrap();
        let [change] = found.changes.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!(
            (change.row, change.shape, change.rose),
            (60, Shape::Step, true)
        );
        assert!(
            change
                .share
                .is_some_and(|share| (0.2..0.4).contains(&share))
        );
        assert!(change.is_firm && change.back_at.is_none(), "{change:?}");
        assert!(change.interval[0] <= 60 && 60 <= change.interval[1]);
    }

    #[test]
    fn rows_without_values_before_a_change_may_hold_it() {
        let found = series_changes(&with_step(&[3, 57, 58, 59]), ChangeOptions::default()).unwrap();
        assert_eq!((found.values, found.missing), (116, 4));
        let [first, last] = found.changes[0].interval;
        assert!(first <= 57 && 60 <= last, "{found:?}");
    }

    #[test]
    fn small_changes_are_left_out_and_counted() {
        for options in [
            ChangeOptions {
                least_amount: 3.5,
                ..ChangeOptions::default()
            },
            ChangeOptions {
                least_share: 0.5,
                ..ChangeOptions::default()
            },
        ] {
            let found = series_changes(&with_step(&[]), options).unwrap();
            assert_eq!((found.changes.len(), found.small), (0, 1));
        }
    }

    #[test]
    fn nothing_is_known_of_a_short_series() {
        let values: Vec<Option<f64>> = noise(10).map(Some).collect();
        let found = series_changes(&values, ChangeOptions::default()).unwrap();
        assert!(found.is_too_short && found.changes.is_empty());
        let found = series_changes(&[], ChangeOptions::default()).unwrap();
        assert!(found.is_too_short);
    }

    #[test]
    fn a_spike_says_where_it_went_back() {
        let values: Vec<Option<f64>> = (0..)
            .zip(noise(140))
            .map(|(row, value)| {
                Some(if (80..92).contains(&row) {
                    value + 5.0
                } else {
                    value
                })
            })
            .collect();
        let found = series_changes(&values, ChangeOptions::default()).unwrap();
        let change = &found.changes[0];
        // Its place is by ranks: the value before it was the largest so far.
        assert!((78..=80).contains(&change.row), "{found:?}");
        assert_eq!((change.interval[1], change.back_at), (80, Some(92)));
    }

    #[test]
    fn nonsense_is_an_error() {
        let options = ChangeOptions {
            rate: 2.0,
            ..ChangeOptions::default()
        };
        assert!(series_changes(&[Some(1.0)], options).is_err());
        assert!(series_changes(&[Some(f64::NAN)], ChangeOptions::default()).is_err());
    }
}
