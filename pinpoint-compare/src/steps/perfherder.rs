//! Perfherder's own alerts: weighted t-statistics at every revision.

use std::ops::Range;

use super::error::{StepError, check_finite};

/// The seconds of history that Perfherder looks at: two weeks.
pub const PERFHERDER_SECONDS: f64 = 14.0 * 24.0 * 3600.0;

/// The smallest change that raises an alert.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum PerfherderThreshold {
    /// In percent of the size of the mean before.
    Percentage(f64),
    /// In the unit of the values.
    Absolute(f64),
}

/// Options of [`perfherder_alerts`]; the defaults are Perfherder's.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PerfherderOptions {
    /// The revisions before a point that are read at least, and the values that must be there:
    /// 1 to 255, 12 by default.
    pub min_back_window: usize,
    /// The revisions and values before a point that are read at most: `min_back_window` to 255, 24
    /// by default.
    pub max_back_window: usize,
    /// The values from a point on: 1 to 255, 12 by default.
    pub fore_window: usize,
    /// The t-statistic above which a point is an alert: 7 by default.
    pub t_threshold: f64,
    /// The smallest change of the plain means: 2 % by default.
    pub alert_threshold: PerfherderThreshold,
    /// True if a rise is a regression, as it is by default.
    pub lower_is_better: bool,
}

impl Default for PerfherderOptions {
    fn default() -> Self {
        Self {
            min_back_window: 12,
            max_back_window: 24,
            fore_window: 12,
            t_threshold: 7.0,
            alert_threshold: PerfherderThreshold::Percentage(2.0),
            lower_is_better: true,
        }
    }
}

/// An alert of [`perfherder_alerts`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct PerfherderAlert {
    /// The index of the first revision with the new level.
    pub at: usize,
    /// The size of the t-statistic there; infinite where neither side has any spread.
    pub t: f64,
    /// The plain mean of the values before.
    pub before: f64,
    /// The plain mean of the values from the revision on.
    pub after: f64,
    /// The change in percent of the size of `before`; infinite for a change from 0.
    pub percent: f64,
    /// True if the change is for the worse.
    pub is_regression: bool,
}

/// The part of a history that Perfherder looks at: the revisions of the last two weeks that are
/// newer than the last alert.
///
/// `seconds` are the times of the revisions, in order. O(log n).
pub fn perfherder_range(seconds: &[f64], now: f64, last_alert: Option<f64>) -> Range<usize> {
    let since = (now - PERFHERDER_SECONDS).max(last_alert.unwrap_or(f64::NEG_INFINITY));
    seconds.partition_point(|time| *time <= since)..seconds.len()
}

/// Alerts where Perfherder raises them: at a revision whose t-statistic is above the threshold and
/// not below either neighbor's, with a change that is large enough.
///
/// `revisions` holds the values of each revision, in order; a revision may have none. Before a
/// revision stand as many others as have passed since t was last above the threshold, within the
/// bounds of the window. The weight of a revision falls linearly with its distance. Equal weighted
/// means have t = 0, different ones without any spread an infinite one.
///
/// A relative change is one of the size of the mean before. Perfherder divides by the signed mean,
/// so that a series below zero never alerts, and takes a change from 0 for 0 %.
///
/// Errors: a value that is not finite, windows out of bounds, a threshold that is negative or not
/// finite. O(n · (`max_back_window` + `fore_window`)).
///
/// Source: Mozilla's treeherder, `treeherder/perfalert/perfalert/__init__.py` and
/// `treeherder/perf/alerts.py`. Its newer methods are switched off there and are not here.
pub fn perfherder_alerts(
    revisions: &[Vec<f64>],
    options: PerfherderOptions,
) -> Result<Vec<PerfherderAlert>, StepError> {
    check(revisions, options)?;
    let points = points(revisions, options);
    let t_at = |index: usize| points.get(index).map_or(0.0, |point| point.t);
    let mut alerts = Vec::new();
    for (at, point) in points.iter().enumerate().skip(1) {
        let is_full = point.back >= options.min_back_window && point.fore >= options.fore_window;
        let is_highest = t_at(at - 1) <= point.t && t_at(at + 1) <= point.t;
        if !is_full || point.t <= options.t_threshold || !is_highest {
            continue;
        }
        let delta = point.after - point.before;
        let percent = if delta == 0.0 {
            0.0
        } else {
            100.0 * (delta.abs() / point.before.abs())
        };
        let is_large = match options.alert_threshold {
            PerfherderThreshold::Percentage(least) => percent >= least,
            PerfherderThreshold::Absolute(least) => delta.abs() >= least,
        };
        if is_large {
            alerts.push(PerfherderAlert {
                at,
                t: point.t,
                before: point.before,
                after: point.after,
                percent,
                is_regression: (delta > 0.0) == options.lower_is_better && delta != 0.0,
            });
        }
    }
    Ok(alerts)
}

fn check(revisions: &[Vec<f64>], options: PerfherderOptions) -> Result<(), StepError> {
    for values in revisions {
        check_finite("revisions", values)?;
    }
    let in_range = |argument, value: f64, least: f64, most: f64| {
        if (least..=most).contains(&value) {
            Ok(())
        } else {
            Err(StepError::OutOfRange {
                argument,
                value,
                least,
                most,
            })
        }
    };
    let (least, most) = (
        options.min_back_window as f64,
        options.max_back_window as f64,
    );
    in_range("min_back_window", least, 1.0, 255.0)?;
    in_range("max_back_window", most, least, 255.0)?;
    in_range("fore_window", options.fore_window as f64, 1.0, 255.0)?;
    in_range("t_threshold", options.t_threshold, 0.0, f64::MAX)?;
    match options.alert_threshold {
        // The schema of Mozilla's results has these bounds.
        PerfherderThreshold::Percentage(value) => in_range("alert_threshold", value, 0.0, 1000.0),
        PerfherderThreshold::Absolute(value) => in_range("alert_threshold", value, 0.0, f64::MAX),
    }
}

/// Both sides of a revision.
#[derive(Debug, Clone, Copy, Default)]
struct Point {
    t: f64,
    /// The number of values before, and from here on.
    back: usize,
    fore: usize,
    /// Their plain means.
    before: f64,
    after: f64,
}

fn points(revisions: &[Vec<f64>], options: PerfherderOptions) -> Vec<Point> {
    let mut points = vec![Point::default(); revisions.len()];
    let mut since_high = 0;
    for (at, point) in points.iter_mut().enumerate().skip(1) {
        let reach = since_high.clamp(options.min_back_window, options.max_back_window);
        let nearest_first = revisions[..at].iter().rev().take(reach);
        let back = Side::of(nearest_first, options.max_back_window);
        let fore = Side::of(revisions[at..].iter(), options.fore_window);
        let t = t_statistic(&back, &fore);
        *point = Point {
            t,
            back: back.count,
            fore: fore.count,
            before: back.mean,
            after: fore.mean,
        };
        since_high = if t > options.t_threshold {
            0
        } else {
            since_high + 1
        };
    }
    points
}

/// The values of one side of a revision.
struct Side {
    count: usize,
    mean: f64,
    weighted_mean: f64,
    /// Over n − 1, about the weighted mean.
    variance: f64,
}

impl Side {
    /// Whole revisions, nearest first, until there are as many values as asked.
    fn of<'a>(nearest_first: impl Iterator<Item = &'a Vec<f64>>, enough: usize) -> Self {
        let mut taken: Vec<&[f64]> = Vec::new();
        let mut count = 0;
        for values in nearest_first {
            if count >= enough {
                break;
            }
            count += values.len();
            taken.push(values);
        }
        let all = || taken.iter().flat_map(|values| values.iter().copied());
        let length = taken.len() as f64;
        let weight = |index: usize| (length - index as f64) / length;
        let weighted = taken.iter().enumerate();
        let (sum, weights) = weighted.fold((0.0, 0.0), |(sum, weights), (index, values)| {
            let weight = weight(index);
            let sum_of_values: f64 = values.iter().map(|value| value * weight).sum();
            (sum + sum_of_values, weights + weight * values.len() as f64)
        });
        let weighted_mean = if count == 0 { 0.0 } else { sum / weights };
        let squares: f64 = all()
            .map(|value| (value - weighted_mean) * (value - weighted_mean))
            .sum();
        Self {
            count,
            mean: if count == 0 {
                0.0
            } else {
                all().sum::<f64>() / count as f64
            },
            weighted_mean,
            variance: if count > 1 {
                squares / (count - 1) as f64
            } else {
                0.0
            },
        }
    }
}

fn t_statistic(back: &Side, fore: &Side) -> f64 {
    if back.count == 0 || fore.count == 0 {
        return 0.0;
    }
    let delta = (fore.weighted_mean - back.weighted_mean).abs();
    if delta == 0.0 {
        return 0.0;
    }
    let scatter = back.variance / back.count as f64 + fore.variance / fore.count as f64;
    if scatter == 0.0 {
        return f64::INFINITY;
    }
    delta / scatter.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One value for each revision.
    fn single(values: impl IntoIterator<Item = f64>) -> Vec<Vec<f64>> {
        values.into_iter().map(|value| vec![value]).collect()
    }

    fn step(before: f64, after: f64) -> Vec<Vec<f64>> {
        single((0..40).map(|i| if i < 20 { before } else { after }))
    }

    fn alerts(revisions: &[Vec<f64>]) -> Vec<PerfherderAlert> {
        perfherder_alerts(revisions, PerfherderOptions::default()).unwrap()
    }

    #[test]
    fn a_step_without_spread_is_one_alert_at_its_first_revision() {
        let [alert] = alerts(&step(100.0, 110.0))[..] else {
            panic!("one alert");
        };
        assert_eq!((alert.at, alert.t), (20, f64::INFINITY));
        assert_eq!(
            (alert.before, alert.after, alert.percent),
            (100.0, 110.0, 10.0)
        );
        assert!(alert.is_regression);
        assert_eq!(alerts(&step(100.0, 100.0)), []);
    }

    /// By hand: the newest of n = 3 weighs 1, the others 2/3 and 1/3.
    #[test]
    fn t_is_that_of_weighted_means() {
        let before = single([1.0, 2.0, 4.0]);
        let side = Side::of(before.iter().rev(), 24);
        let mean = (4.0 + 2.0 * 2.0 / 3.0 + 1.0 / 3.0) / 2.0;
        assert!((side.weighted_mean - mean).abs() < 1e-12);
        let square = |x: f64| (x - mean) * (x - mean);
        let variance = (square(1.0) + square(2.0) + square(4.0)) / 2.0;
        assert!((side.variance - variance).abs() < 1e-12);
        let after = single([9.0, 7.0]);
        let fore = Side::of(after.iter(), 12);
        let fore_mean = (9.0 + 7.0 / 2.0) / 1.5;
        let fore_square = |x: f64| (x - fore_mean) * (x - fore_mean);
        let fore_variance = fore_square(9.0) + fore_square(7.0);
        let expected = (fore_mean - mean) / (variance / 3.0 + fore_variance / 2.0).sqrt();
        assert!((t_statistic(&side, &fore) - expected).abs() < 1e-12);
    }

    /// Means of 50 and 53, where 4 values scatter by 5: 6 %, and t is about 2.
    #[test]
    fn a_change_within_the_scatter_is_no_alert() {
        let noise = [-5.0, 5.0, -5.0, 5.0];
        let values = (0..40).map(|i| if i < 20 { 50.0 } else { 53.0 } + noise[i % 4]);
        let revisions = single(values);
        assert_eq!(alerts(&revisions), []);
        let options = PerfherderOptions {
            t_threshold: 1.0,
            ..PerfherderOptions::default()
        };
        assert!(!perfherder_alerts(&revisions, options).unwrap().is_empty());
    }

    #[test]
    fn both_windows_are_full() {
        let of = |before: usize, after: usize| {
            let values = (0..before + after).map(|i| if i < before { 100.0 } else { 110.0 });
            alerts(&single(values)).len()
        };
        assert_eq!((of(12, 12), of(11, 12), of(12, 11)), (1, 0, 0));
        // Values count, and not revisions.
        let several: Vec<Vec<f64>> = (0..8)
            .map(|i| vec![if i < 4 { 100.0 } else { 110.0 }; 3])
            .collect();
        assert_eq!(alerts(&several).len(), 1);
    }

    #[test]
    fn the_threshold_is_reached_in_percent_or_in_the_unit() {
        assert_eq!(alerts(&step(100.0, 102.0)).len(), 1);
        assert_eq!(alerts(&step(100.0, 101.99)).len(), 0);
        let absolute = |least: f64| {
            let options = PerfherderOptions {
                alert_threshold: PerfherderThreshold::Absolute(least),
                ..PerfherderOptions::default()
            };
            perfherder_alerts(&step(100.0, 101.0), options)
                .unwrap()
                .len()
        };
        assert_eq!((absolute(1.0), absolute(1.5)), (1, 0));
    }

    #[test]
    fn changes_below_zero_and_from_zero_are_relative_to_the_size() {
        let [below] = alerts(&step(-100.0, -90.0))[..] else {
            panic!("one alert");
        };
        assert_eq!((below.percent, below.is_regression), (10.0, true));
        let [from_zero] = alerts(&step(0.0, 1.0))[..] else {
            panic!("one alert");
        };
        assert_eq!(from_zero.percent, f64::INFINITY);
    }

    #[test]
    fn the_direction_tells_regressions() {
        let options = PerfherderOptions {
            lower_is_better: false,
            ..PerfherderOptions::default()
        };
        let of = |before, after| {
            let alerts = perfherder_alerts(&step(before, after), options).unwrap();
            alerts[0].is_regression
        };
        assert_eq!((of(100.0, 110.0), of(110.0, 100.0)), (false, true));
    }

    #[test]
    fn the_window_grows_with_the_revisions_since_the_last_high_t() {
        // 30 revisions: the point behind 20 quiet ones reads 20, and one further on 24 at most.
        let values = single((0..30).map(|i| f64::from(i % 2)));
        let points = points(&values, PerfherderOptions::default());
        assert_eq!(
            [
                points[5].back,
                points[13].back,
                points[20].back,
                points[29].back
            ],
            [5, 12, 19, 24]
        );
        // After a high t it is 12 again.
        let points = super::points(&step(100.0, 110.0), PerfherderOptions::default());
        assert_eq!(points[34].back, 12);
    }

    #[test]
    fn two_weeks_are_looked_at_from_the_last_alert_on() {
        let day = 24.0 * 3600.0;
        let times: Vec<f64> = (0..30).map(|i| f64::from(i) * day).collect();
        assert_eq!(perfherder_range(&times, 29.0 * day, None), 16..30);
        assert_eq!(
            perfherder_range(&times, 29.0 * day, Some(20.0 * day)),
            21..30
        );
        assert_eq!(perfherder_range(&times, 29.0 * day, Some(0.0)), 16..30);
        assert_eq!(perfherder_range(&[], 0.0, None), 0..0);
    }

    #[test]
    fn wrong_arguments_are_refused() {
        let fine = PerfherderOptions::default();
        for options in [
            PerfherderOptions {
                min_back_window: 0,
                ..fine
            },
            PerfherderOptions {
                max_back_window: 11,
                ..fine
            },
            PerfherderOptions {
                max_back_window: 256,
                ..fine
            },
            PerfherderOptions {
                fore_window: 0,
                ..fine
            },
            PerfherderOptions {
                t_threshold: f64::NAN,
                ..fine
            },
            PerfherderOptions {
                alert_threshold: PerfherderThreshold::Percentage(1001.0),
                ..fine
            },
            PerfherderOptions {
                alert_threshold: PerfherderThreshold::Absolute(-1.0),
                ..fine
            },
        ] {
            assert!(perfherder_alerts(&[], options).is_err(), "{options:?}");
        }
        assert!(perfherder_alerts(&[vec![1.0, f64::NAN]], fine).is_err());
        assert_eq!(alerts(&[]), []);
        assert_eq!(alerts(&vec![Vec::new(); 50]), []);
    }
}
