//! The alarms of the last days, and how many chance alone would have given.

use serde::Serialize;

use super::alert::{Alert, Algo};
use super::state::{DAY, WatchState};

/// The days that are counted, today among them.
pub const DAYS_COUNTED: i64 = 30;

/// The days for which counts are kept.
pub(super) const DAYS_KEPT: i64 = 40;

/// The alarms of an alert in [`DAYS_COUNTED`] days.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AlarmCount {
    /// The regressions that its detector found, with those that went back or were taken back.
    pub alarms: u64,
    /// The new values that were tested.
    pub values: u64,
    /// The alarms to expect if nothing had changed. Absent for detectors without a stated rate.
    pub by_chance: Option<f64>,
}

/// The alarms of an alert in the last [`DAYS_COUNTED`] days of Unix time (UTC), up to and with that
/// of `now` (milliseconds of Unix time).
///
/// By chance, rate · values are expected. That is the most: floors and a direction hide some.
pub fn alarm_count(state: &WatchState, alert: &Alert, now: i64) -> AlarmCount {
    let today = now.div_euclid(DAY);
    let days = today - DAYS_COUNTED + 1..=today;
    let tested = state.tested.get(&alert.id);
    let values = tested.map_or(0, |it| {
        it.range(days.clone()).map(|(_, values)| values).sum()
    });
    let alarms = state.regressions.values().filter(|regression| {
        let seen = regression.alerts.get(&alert.id);
        let is_recent = seen.is_some_and(|seen| days.contains(&seen.at.div_euclid(DAY)));
        is_recent && regression.change.algo.is_some()
    });
    AlarmCount {
        alarms: alarms.count() as u64,
        values,
        by_chance: by_chance(alert, values),
    }
}

/// The alarms that an alert gives by chance in so many new values without a change.
pub(super) fn by_chance(alert: &Alert, values: u64) -> Option<f64> {
    match alert.algo {
        Algo::Rank | Algo::Conformal => Some(alert.rate * values as f64),
        Algo::Kmeans | Algo::Stepfit | Algo::Perfherder => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::alert::AlertId;
    use super::super::change::step;
    use super::super::event::{Event, EventKind};
    use super::super::regression::Label;
    use super::*;

    #[test]
    fn the_alarms_of_thirty_days_are_counted_beside_chance() {
        let alert =
            Alert::from_json(r#"{"id_as_string": "1", "query": "", "rate": 0.001}"#).unwrap();
        let mut state = WatchState::default();
        let days = |days: i64| days * DAY;
        let label = |alert| Label {
            alert: AlertId(alert),
            query: "".parse().unwrap(),
            value: String::new(),
        };
        let mut apply = |at, kind| state.apply(&Event::new(at, "x", kind)).unwrap();
        for (at, commit, of) in [
            (days(70), 5, 1),
            (days(71), 15, 1),
            (days(99), 25, 1),
            (days(99), 35, 2),
        ] {
            let change = step(",a=b,", commit - 1, commit, 1.0, 2.0);
            apply(
                at,
                EventKind::Detected {
                    label: label(of),
                    change,
                },
            );
            apply(
                at,
                EventKind::Tested {
                    alert: AlertId(of),
                    values: 2000,
                },
            );
        }
        let change = super::super::change::Change {
            algo: None,
            ..step(",a=b,", 60, 61, 1.0, 2.0)
        };
        apply(
            days(99),
            EventKind::MadeByHand {
                label: Some(label(1)),
                change,
            },
        );
        assert_eq!(state.last_run, Some(days(99)));
        let count = alarm_count(&state, &alert, days(100) + 5);
        assert_eq!(
            (count.alarms, count.values, count.by_chance),
            (2, 4000, Some(4.0))
        );
        let count = alarm_count(&state, &alert, days(200));
        assert_eq!(
            (count.alarms, count.values, count.by_chance),
            (0, 0, Some(0.0))
        );
        let windows = Alert::from_json(r#"{"query": "", "algo": "stepfit"}"#).unwrap();
        assert_eq!(alarm_count(&state, &windows, days(100)).by_chance, None);
    }
}
