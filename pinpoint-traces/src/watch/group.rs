//! Groups of regressions that may have one cause.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::alert::AlertId;
use super::change::{RegressionId, short_hash};
use super::job::{BisectionJob, NotBisected};
use super::outcome::BisectionOutcome;
use super::range::CommitRange;

/// The fewest groups of ranges such that all ranges of a group meet: for each group, the indices of
/// its ranges, ascending, and their intersection. Groups come in the order of their last commits.
///
/// Ranges are taken by their ends: the first end is a commit that its group has in common, and all
/// ranges that hold it join. No other way needs fewer groups, since no two of those first ends lie
/// in one range. The order of the ranges changes only the indices.
///
/// ```
/// use pinpoint_traces::{CommitNumber, watch::{CommitRange, groups_of_ranges}};
///
/// let range = |previous, commit| CommitRange::new(CommitNumber(previous), CommitNumber(commit));
/// let ranges = [range(11, 12)?, range(10, 11)?, range(9, 11)?];
/// let groups = groups_of_ranges(&ranges);
/// assert_eq!(groups, [(vec![1, 2], range(10, 11)?), (vec![0], range(11, 12)?)]);
/// # Ok::<(), pinpoint_traces::watch::EmptyRange>(())
/// ```
///
/// # Cost
///
/// O(n log n).
pub fn groups_of_ranges(ranges: &[CommitRange]) -> Vec<(Vec<usize>, CommitRange)> {
    let mut by_end: Vec<(usize, CommitRange)> = ranges.iter().copied().enumerate().collect();
    by_end.sort_by_key(|(index, range)| (range.commit(), range.previous(), *index));
    let mut groups: Vec<(Vec<usize>, CommitRange)> = Vec::new();
    for (index, range) in by_end {
        // Ends ascend, so the last group ends with its first member's end.
        match groups.last_mut() {
            Some((members, shared)) if range.previous() < shared.commit() => {
                members.push(index);
                *shared = shared.intersection(range).unwrap_or(*shared);
            }
            _ => groups.push((vec![index], range)),
        }
    }
    for (members, _) in &mut groups {
        members.sort_unstable();
    }
    groups
}

/// The name of a group: `g`, 16 hexadecimal digits and, for a further group of members that left one,
/// a number. It is the name of its bisection, too.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GroupName(String);

impl GroupName {
    /// The name of a group of these members.
    pub fn of<'a>(
        alert: AlertId,
        value: &str,
        members: impl IntoIterator<Item = &'a RegressionId>,
    ) -> Self {
        let mut text = format!("{alert}\n{value}");
        let members: BTreeSet<&RegressionId> = members.into_iter().collect();
        for member in members {
            text.extend(["\n", member.as_str()]);
        }
        Self(short_hash("g", &text))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for GroupName {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for GroupName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Regressions of one alert, and of one benchmark, whose intervals all meet; or that a person put
/// together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// The name. That of an open group follows from its members; later it stays.
    pub name: GroupName,
    /// The alert.
    pub alert: AlertId,
    /// The value by which the alert groups, such as the benchmark.
    pub value: String,
    /// The commits that all members have in common. Of a group made by hand whose members have
    /// none, those of all of them.
    pub range: CommitRange,
    /// The members.
    pub members: BTreeSet<RegressionId>,
    /// Former members, which a person split off, joined with others or moved away.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub left: BTreeSet<RegressionId>,
    /// True if a person made it.
    #[serde(default)]
    pub is_by_hand: bool,
    /// The action that was taken; absent while the group is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acted: Option<Acted>,
    /// The outcome of its bisection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<BisectionOutcome>,
}

impl Group {
    /// Returns true if a bisection searches for its members, or has searched: one that failed has not.
    pub fn is_searched(&self) -> bool {
        let has_failed = (self.outcome.as_ref()).is_some_and(BisectionOutcome::is_failure);
        !has_failed && self.acted.as_ref().is_some_and(|it| it.job.is_some())
    }
}

/// The action on a group, and when it was taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Acted {
    /// In milliseconds of Unix time.
    pub at: i64,
    /// The bisection, if one was started; else somebody was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<BisectionJob>,
    /// The reason why none was started where the alert asks for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_bisected: Option<NotBisected>,
}

impl Group {
    /// Returns true while members may come and go: nothing was done with it, and no person made it.
    pub fn is_open(&self) -> bool {
        self.acted.is_none() && !self.is_by_hand
    }

    /// Returns true if a regression of this interval that is found later belongs to the group: it
    /// meets its range and, once the culprit is known, holds that. A search without a culprit
    /// explains no later regression.
    pub fn explains(&self, interval: CommitRange) -> bool {
        match &self.outcome {
            None => self.range.meets(interval),
            Some(BisectionOutcome::Culprit { commit, .. }) => interval.contains(*commit),
            Some(BisectionOutcome::RangeLeft { range }) => range.meets(interval),
            Some(_) => false,
        }
    }
}

/// A regression to group: its name, alert and value, and its interval.
pub(super) type Ungrouped<'a> = (&'a RegressionId, AlertId, &'a str, CommitRange);

/// The open groups of these regressions.
pub(super) fn open_groups<'a>(regressions: impl Iterator<Item = Ungrouped<'a>>) -> Vec<Group> {
    let mut apart: BTreeMap<(AlertId, &str), Vec<(&RegressionId, CommitRange)>> = BTreeMap::new();
    for (id, alert, value, interval) in regressions {
        apart
            .entry((alert, value))
            .or_default()
            .push((id, interval));
    }
    let mut groups = Vec::new();
    for ((alert, value), regressions) in apart {
        let ranges: Vec<CommitRange> = regressions.iter().map(|(_, range)| *range).collect();
        for (indices, range) in groups_of_ranges(&ranges) {
            let members = indices.iter().filter_map(|index| regressions.get(*index));
            let members: BTreeSet<RegressionId> = members.map(|(id, _)| (*id).clone()).collect();
            groups.push(Group {
                name: GroupName::of(alert, value, &members),
                alert,
                value: value.to_owned(),
                range,
                members,
                left: BTreeSet::new(),
                is_by_hand: false,
                acted: None,
                outcome: None,
            });
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::super::range::range;
    use super::*;
    use proptest::prelude::*;

    /// The fewest commits such that each range holds one of them, by trying all sets of commits.
    fn fewest_slowly(ranges: &[CommitRange]) -> u32 {
        let is_enough = |set: &u32| {
            ranges.iter().all(|it| {
                (0..12).any(|commit| {
                    set & (1 << commit) != 0 && it.contains(crate::CommitNumber(commit))
                })
            })
        };
        (0..1 << 12)
            .filter(is_enough)
            .map(u32::count_ones)
            .min()
            .unwrap()
    }

    fn ranges() -> impl Strategy<Value = Vec<CommitRange>> {
        let one = (0_u32..11, 1_u32..6)
            .prop_map(|(previous, length)| range(previous, (previous + length).min(11)));
        proptest::collection::vec(one, 0..9)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_way_needs_fewer_groups(ranges in ranges()) {
            let groups = groups_of_ranges(&ranges);
            prop_assert_eq!(groups.len() as u32, fewest_slowly(&ranges));
            let mut seen: Vec<usize> = groups.iter().flat_map(|(members, _)| members.clone()).collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..ranges.len()).collect::<Vec<_>>());
            for (members, shared) in &groups {
                let all = members.iter().map(|it| ranges[*it]);
                let met = all.map(Some).reduce(|a, b| a?.intersection(b?)).flatten();
                prop_assert_eq!(met, Some(*shared));
            }
        }

        #[test]
        fn the_order_of_arrival_makes_no_difference(
            (ranges, order) in ranges().prop_flat_map(|it| {
                let order = Just((0..it.len()).collect::<Vec<_>>()).prop_shuffle();
                (Just(it), order)
            })
        ) {
            let ids: Vec<RegressionId> =
                (0..ranges.len()).map(|it| RegressionId(format!("r{it}"))).collect();
            let grouped = |order: &[usize]| {
                open_groups(order.iter().map(|&it| (&ids[it], AlertId(1), "b", ranges[it])))
            };
            let in_order: Vec<usize> = (0..ranges.len()).collect();
            prop_assert_eq!(grouped(&order), grouped(&in_order));
        }
    }

    #[test]
    fn alerts_and_values_are_kept_apart() {
        let ids: Vec<RegressionId> = ["a", "b", "c"].iter().map(|it| (*it).into()).collect();
        let groups = open_groups(
            [
                (&ids[0], AlertId(1), "x", range(10, 14)),
                (&ids[1], AlertId(1), "x", range(12, 20)),
                (&ids[1], AlertId(2), "x", range(12, 20)),
                (&ids[2], AlertId(1), "y", range(10, 14)),
            ]
            .into_iter(),
        );
        let found: Vec<_> = groups
            .iter()
            .map(|it| (it.alert.0, &*it.value, it.range))
            .collect();
        assert_eq!(
            found,
            [
                (1, "x", range(12, 14)),
                (1, "y", range(10, 14)),
                (2, "x", range(12, 20))
            ]
        );
        assert_eq!(groups[0].name, GroupName::of(AlertId(1), "x", &ids[..2]));
    }
}
