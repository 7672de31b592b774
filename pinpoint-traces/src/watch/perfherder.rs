//! The changes of one trace, as Mozilla's Perfherder alerts.

use pinpoint_compare::steps::{PerfherderOptions, Shape, StepError, perfherder_alerts};

use super::alert::Algo;
use super::change::Change;
use super::detect::{FoundChange, Series};

/// The alerts of [`perfherder_alerts`] over all values, each of which is a revision. One is certain
/// when its neighbor has all of its values, too: no later value takes it back.
pub(super) fn by_perfherder(series: &Series) -> Result<Vec<FoundChange>, StepError> {
    let options = PerfherderOptions::default();
    let revisions: Vec<Vec<f64>> = series.values.iter().map(|value| vec![*value]).collect();
    let alerts = perfherder_alerts(&revisions, options)?;
    let found = alerts.into_iter().filter_map(|alert| {
        let shown_at = *series.commits.get(alert.at + options.fore_window)?;
        let range = series.range(alert.at, alert.at)?;
        let first = alert.at.saturating_sub(options.min_back_window).max(1);
        let near = series.range(first, alert.at + options.fore_window)?;
        let change = Change {
            trace: series.trace.clone(),
            range,
            interval: range,
            places: Vec::new(),
            shape: Shape::Step,
            rose: alert.after > alert.before,
            before: alert.before,
            after: alert.after,
            p: None,
            shown_at,
            algo: Some(Algo::Perfherder),
            is_firm: false,
            machine: None,
        };
        Some(FoundChange {
            change,
            back_at: None,
            near,
        })
    });
    Ok(found.collect())
}

#[cfg(test)]
mod tests {
    use super::super::detect::noise;
    use super::super::range::range;
    use super::*;
    use crate::commit::CommitNumber;
    use crate::frame::Columns;

    fn found(values: &[f64]) -> Vec<FoundChange> {
        let columns = Columns::range(CommitNumber(0)..=CommitNumber(values.len() as u32 - 1));
        by_perfherder(&Series::of(&",a=b,".parse().unwrap(), &columns, values)).unwrap()
    }

    #[test]
    fn a_step_is_an_alert_when_its_neighbor_is_complete() {
        let mut values = noise(80);
        values[40..].iter_mut().for_each(|value| *value += 3.0);
        assert!(found(&values[..52]).is_empty());
        for length in [53, 60, 80] {
            let changes = found(&values[..length]);
            let [one] = changes.as_slice() else {
                panic!("{length}: {changes:?}");
            };
            let change = &one.change;
            assert_eq!((change.range, change.rose), (range(39, 40), true));
            assert_eq!(change.shown_at, CommitNumber(52));
            assert!((2.0..4.0).contains(&(change.after - change.before)));
            assert!(one.near.contains(CommitNumber(35)));
        }
    }

    #[test]
    fn small_changes_and_noise_are_none() {
        assert!(found(&noise(80)).is_empty());
        let mut values: Vec<f64> = noise(80).iter().map(|value| value + 1000.0).collect();
        values[40..].iter_mut().for_each(|value| *value += 10.0);
        // 1 %, although it is plain.
        assert!(found(&values).is_empty());
    }
}
