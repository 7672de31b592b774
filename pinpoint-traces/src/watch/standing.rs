//! The standing of a change now, by the values since.

use serde::{Deserialize, Serialize};

use crate::commit::CommitNumber;

/// The standing of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "standing", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Standing {
    /// The values are where they went.
    StillThere,
    /// They have come back by a part of the way.
    Better,
    /// They are back where they came from.
    Gone {
        /// The first commit with a value that is back.
        commit: CommitNumber,
    },
    /// They have gone further.
    Worse,
}

/// The values of the level now.
const NEWEST: usize = 10;

/// Fewer values say nothing of a level.
const LEAST: usize = 3;

/// The logarithm of the evidence for one level against the other that is enough: 1000 to 1.
const ENOUGH: f64 = 6.9;

/// The most that one value may say, so that no outlier decides.
const MOST: f64 = 3.0;

/// The standing of a change from the level `before` to `after`, by the values since it and their
/// commits, in order. `None` with fewer than 3 of them.
///
/// The values are back if, from one of them on, they are 1000 to 1 for the level before it (normal
/// values of one deviation; a value counts for at most e³), and their median agrees. The deviation is
/// that of the differences of neighbors, which a step does not move. Else the median of the last 10
/// is the level now: it is another one if it is further away than three standard errors and than a
/// quarter of the change.
///
/// # Cost
///
/// O(n log n).
///
/// ```
/// use pinpoint_traces::{CommitNumber, watch::{Standing, standing}};
///
/// let at = |values: &[f64]| (20..).map(CommitNumber).zip(values.iter().copied()).collect::<Vec<_>>();
/// let back = at(&[12.1, 11.9, 12.0, 12.2, 10.1, 10.0, 9.9]);
/// assert_eq!(standing(10.0, 12.0, &back), Some(Standing::Gone { commit: CommitNumber(24) }));
/// assert_eq!(standing(10.0, 12.0, &back[..4]), Some(Standing::StillThere));
/// ```
pub fn standing(before: f64, after: f64, since: &[(CommitNumber, f64)]) -> Option<Standing> {
    let present: Vec<(CommitNumber, f64)> = (since.iter().copied())
        .filter(|(_, value)| value.is_finite())
        .collect();
    if present.len() < LEAST {
        return None;
    }
    let values: Vec<f64> = present.iter().map(|(_, value)| *value).collect();
    let size = (after - before).abs();
    let deviation = deviation_of(&values);
    let margin = |count: usize| (3.0 * 1.2533 * deviation / (count as f64).sqrt()).max(size / 4.0);
    if let Some(back) = back_from(before, after, &values, deviation)
        && let Some(now) = median(values.get(back..)?)
        && (now - before).abs() <= margin(values.len() - back)
    {
        let (commit, _) = *present.get(back)?;
        return Some(Standing::Gone { commit });
    }
    let newest = values.get(values.len().saturating_sub(NEWEST)..)?;
    let now = median(newest)?;
    let further = if after >= before {
        now - after
    } else {
        after - now
    };
    let margin = margin(newest.len());
    Some(if further > margin {
        Standing::Worse
    } else if further < -margin {
        Standing::Better
    } else {
        Standing::StillThere
    })
}

/// The first value from which on the values are for the level before, if that is sure enough.
fn back_from(before: f64, after: f64, values: &[f64], deviation: f64) -> Option<usize> {
    let variance = 2.0 * deviation * deviation;
    let said = |value: &f64| {
        let (near, far) = (value - before, value - after);
        let said = (far * far - near * near) / variance;
        // Without any noise, the nearer level is the one.
        if said.is_nan() {
            0.0
        } else {
            said.clamp(-MOST, MOST)
        }
    };
    let (mut sum, mut best) = (0.0, (ENOUGH, None));
    for (at, value) in values.iter().enumerate().rev() {
        sum += said(value);
        if sum >= best.0 && values.len() - at >= LEAST {
            best = (sum, Some(at));
        }
    }
    best.1
}

/// The standard deviation of values about their level, if they are normal: from the median size of
/// the differences of neighbors, which is 0.954 of it.
fn deviation_of(values: &[f64]) -> f64 {
    let pairs = values.iter().zip(values.iter().skip(1));
    let sizes: Vec<f64> = pairs.map(|(a, b)| (b - a).abs()).collect();
    median(&sizes).unwrap_or_default() / 0.954
}

/// The median, of an even number the mean of the middle two.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    if !sorted.len().is_multiple_of(2) {
        return Some(upper);
    }
    let lower = *sorted.get(sorted.len() / 2 - 1)?;
    Some(lower.midpoint(upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values about a level, from the commit 100 on.
    fn about(levels: &[(f64, u32)]) -> Vec<(CommitNumber, f64)> {
        let levels = levels.iter();
        let levels = levels.flat_map(|(level, count)| std::iter::repeat_n(*level, *count as usize));
        let noise = |i: u32| f64::from((i * i * 37 + i * 11) % 101) / 101.0 - 0.5;
        (0..)
            .zip(levels)
            .map(|(i, level)| (CommitNumber(100 + i), level + noise(i)))
            .collect()
    }

    #[test]
    fn each_standing_is_told() {
        let of = |levels: &[(f64, u32)]| standing(10.0, 12.0, &about(levels));
        assert_eq!(of(&[(12.0, 2)]), None);
        assert_eq!(of(&[(12.0, 20)]), Some(Standing::StillThere));
        assert_eq!(of(&[(12.0, 20), (11.0, 10)]), Some(Standing::Better));
        assert_eq!(of(&[(12.0, 20), (14.0, 10)]), Some(Standing::Worse));
        let commit = CommitNumber(120);
        assert_eq!(
            of(&[(12.0, 20), (10.0, 5)]),
            Some(Standing::Gone { commit })
        );
        // One value is an outlier.
        assert_eq!(of(&[(12.0, 20), (10.0, 1)]), Some(Standing::StillThere));
        assert_eq!(
            of(&[(12.0, 20), (10.0, 9), (12.0, 20)]),
            Some(Standing::StillThere)
        );
    }

    #[test]
    fn falls_and_constant_values_stand_as_well() {
        let fell = |levels: &[(f64, u32)]| standing(12.0, 10.0, &about(levels));
        assert_eq!(fell(&[(10.0, 9), (8.0, 9)]), Some(Standing::Worse));
        assert_eq!(fell(&[(10.0, 9), (11.1, 9)]), Some(Standing::Better));
        let constant = |values: &[f64]| {
            let since: Vec<_> = (7..)
                .map(CommitNumber)
                .zip(values.iter().copied())
                .collect();
            standing(100.0, 101.0, &since)
        };
        assert_eq!(constant(&[101.0; 4]), Some(Standing::StillThere));
        let gone = constant(&[101.0, 101.0, 100.0, 100.0, 100.0]);
        assert_eq!(
            gone,
            Some(Standing::Gone {
                commit: CommitNumber(9)
            })
        );
        assert_eq!(
            constant(&[101.0, f64::NAN, 102.0, 102.0, 102.0]),
            Some(Standing::Worse)
        );
        // No change at all.
        let since: Vec<_> = (7..).map(CommitNumber).zip([1.0; 5]).collect();
        assert_eq!(standing(1.0, 1.0, &since), Some(Standing::StillThere));
    }
}
