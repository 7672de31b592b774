//! The changes of one trace by statistics in sliding windows: `stepfit`.

use pinpoint_compare::steps::{FLOOR, Judgement, Rule, Shape, Side, Statistic, StepError};

use super::alert::{Alert, Algo};
use super::change::Change;
use super::detect::{FoundChange, Series};
use super::standing::median;

/// A window whose rule triggers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    /// The place of its middle.
    pub(super) at: usize,
    pub(super) rose: bool,
    /// The larger, the clearer.
    pub(super) size: f64,
    /// The p-value, of a statistic that is one.
    pub(super) p: Option<f64>,
}

impl Point {
    /// The point of a judged window, if its rule triggers.
    pub(super) fn of(at: usize, judgement: &Judgement) -> Option<Self> {
        let fit = &judgement.reported;
        let is_p = fit.statistic == Statistic::MannWhitneyU;
        (judgement.triggers && fit.side != Side::Uninteresting).then(|| Self {
            at,
            rose: fit.side == Side::High,
            size: if is_p {
                1.0 - fit.regression
            } else {
                fit.regression.abs()
            },
            p: is_p.then_some(fit.regression),
        })
    }
}

/// The largest point of each run of neighbors of one direction, with the run's first and last place.
/// Points come in the order of their places.
pub(super) fn peaks(points: &[Point]) -> Vec<(Point, usize, usize)> {
    let mut peaks: Vec<(Point, usize, usize)> = Vec::new();
    for point in points {
        match peaks.last_mut() {
            Some((peak, _, last)) if *last + 1 == point.at && peak.rose == point.rose => {
                *last = point.at;
                if point.size > peak.size {
                    *peak = *point;
                }
            }
            _ => peaks.push((*point, point.at, point.at)),
        }
    }
    peaks
}

/// The values of a window for a rule: 2·radius + 1 if `original` is in it, else one less.
pub(super) fn window_length(rule: &Rule, radius: usize) -> usize {
    let lengths = rule
        .statistics()
        .into_iter()
        .map(|it| it.window_length(radius));
    lengths.max().unwrap_or_default()
}

/// The changes that the rule of an alert finds in windows over the values present: of neighbors
/// that all trigger, the largest. One at the newest window waits for the next value, which may be
/// larger.
pub(super) fn by_windows(series: &Series, alert: &Alert) -> Result<Vec<FoundChange>, StepError> {
    let (rule, radius) = (alert.rule(), alert.radius());
    let length = window_length(&rule, radius).max(3);
    let mut points = Vec::new();
    for (start, window) in series.values.windows(length).enumerate() {
        let judgement = rule.judge(window, FLOOR)?;
        points.extend(Point::of(start + length / 2, &judgement));
    }
    // The middle of the newest window.
    let newest = (series.values.len() + length / 2).saturating_sub(length);
    let settled = peaks(&points)
        .into_iter()
        .filter(|(peak, ..)| peak.at < newest);
    let found = settled.filter_map(|(peak, first, last)| {
        let start = peak.at - length / 2;
        let halves = (
            series.values.get(start..peak.at),
            series.values.get(peak.at..start + length),
        );
        let near = (peak.at.saturating_sub(radius).max(1), peak.at + radius);
        let change = Change {
            trace: series.trace.clone(),
            range: series.range(peak.at, peak.at)?,
            interval: series.range(first, last)?,
            places: Vec::new(),
            shape: Shape::Step,
            rose: peak.rose,
            before: median(halves.0?)?,
            after: median(halves.1?)?,
            p: peak.p,
            // The window after shows that this one is the largest.
            shown_at: *series.commits.get(start + length)?,
            algo: Some(Algo::Stepfit),
            is_firm: false,
            machine: None,
        };
        let last = near.1.min(series.values.len() - 1);
        let near = series.range(near.0, last)?;
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

    fn found(alert: &str, values: &[f64]) -> Vec<FoundChange> {
        let alert = Alert::from_json(alert).unwrap();
        let columns = Columns::range(CommitNumber(0)..=CommitNumber(values.len() as u32 - 1));
        let series = Series::of(&",a=b,".parse().unwrap(), &columns, values);
        by_windows(&series, &alert).unwrap()
    }

    fn stepped(count: u32, at: usize, size: f64) -> Vec<f64> {
        let values = noise(count).into_iter().enumerate();
        values
            .map(|(i, it)| if i >= at { it + size } else { it })
            .collect()
    }

    #[test]
    fn one_step_is_one_change_at_its_largest_window() {
        for rule in [
            r#""step": "cohen", "interesting": 3"#,
            r#""step": "mannwhitneyu", "interesting": 0.001"#,
            r#""interesting": 10"#,
            r#""detection_rule": {"complex_rule": {"op": "AND", "rules": [
                {"simple_rule": {"step": "percent", "threshold": 0.1}},
                {"simple_rule": {"step": "original", "threshold": 10}}]}}"#,
        ] {
            let alert = format!(r#"{{"query": "", "algo": "stepfit", {rule}}}"#);
            let changes = found(&alert, &stepped(60, 30, 3.0));
            let [one] = changes.as_slice() else {
                panic!("{rule}: {changes:?}");
            };
            assert_eq!(
                (one.change.range, one.change.rose),
                (range(29, 30), true),
                "{rule}"
            );
            assert!(one.change.interval.contains(CommitNumber(30)));
            assert!(one.near.contains(CommitNumber(24)) && !one.near.contains(CommitNumber(21)));
            assert!(found(&alert, &noise(60)).is_empty());
            // Too short for a window.
            assert!(found(&alert, &noise(5)).is_empty());
        }
    }

    #[test]
    fn the_newest_window_waits() {
        let alert = r#"{"query": "", "algo": "stepfit", "step": "cohen", "interesting": 3}"#;
        let values = stepped(60, 30, 3.0);
        // Cohen's windows have 7 values on each side.
        assert!(found(alert, &values[..37]).is_empty());
        let shown = found(alert, &values[..38]);
        assert_eq!(shown[0].change.range, range(29, 30));
        assert_eq!(shown[0].change.shown_at, CommitNumber(37));
        let p = found(
            r#"{"query": "", "algo": "stepfit", "step": "mannwhitneyu", "interesting": 0.01}"#,
            &values,
        );
        assert_eq!(p[0].change.p, Some(2.0 / 3432.0));
    }
}
