//! The regressions that a run already knows of its traces.

use std::collections::{BTreeMap, BTreeSet};

use pinpoint_compare::steps::Shape;

use super::alert::AlertId;
use super::change::RegressionId;
use super::detect::FoundChange;
use super::regression::Regression;
use crate::id::TraceId;

use super::state::WatchState;

/// The regressions of some traces, with those that the run has added.
#[derive(Debug, Default)]
pub(super) struct Known(BTreeMap<TraceId, Vec<Regression>>);

impl Known {
    /// The regressions of these traces.
    pub(super) fn of(state: &WatchState, traces: &BTreeSet<&TraceId>) -> Self {
        let mut known: BTreeMap<TraceId, Vec<Regression>> = BTreeMap::new();
        for regression in state.regressions.values() {
            let trace = &regression.change.trace;
            if traces.contains(trace) {
                known
                    .entry(trace.clone())
                    .or_default()
                    .push(regression.clone());
            }
        }
        Self(known)
    }

    pub(super) fn add(&mut self, regression: Regression) {
        let trace = regression.change.trace.clone();
        self.0.entry(trace).or_default().push(regression);
    }

    pub(super) fn of_trace(&self, trace: &TraceId) -> &[Regression] {
        self.0.get(trace).map_or(&[], Vec::as_slice)
    }

    pub(super) fn get_mut(
        &mut self,
        trace: &TraceId,
        id: &RegressionId,
    ) -> Option<&mut Regression> {
        self.0.get_mut(trace)?.iter_mut().find(|it| it.id == *id)
    }

    /// For each change of one trace, the regression that it is, if it is known. The one of the same
    /// name, or else the nearest of the same direction that meets it where it was found, or where a
    /// person moved it, and that no other change is.
    pub(super) fn matched(
        &self,
        trace: &TraceId,
        found: &[FoundChange],
    ) -> Vec<Option<RegressionId>> {
        let known = self.of_trace(trace);
        let mut taken = BTreeSet::new();
        let mut matched: Vec<Option<RegressionId>> = Vec::with_capacity(found.len());
        for it in found {
            let id = it.change.id();
            // A drift may be followed by a step at the same place: they are one.
            let is_known = known.iter().any(|regression| regression.id == id);
            if is_known {
                taken.insert(id.clone());
            }
            matched.push(is_known.then_some(id));
        }
        for (it, slot) in found.iter().zip(&mut matched) {
            if slot.is_some() {
                continue;
            }
            let candidates = known
                .iter()
                .filter(|regression| !taken.contains(&regression.id) && is_same(it, regression));
            let nearest = candidates.min_by_key(|regression| {
                let commit = it.change.range.commit().0;
                let found_at = regression.change.range.commit().0.abs_diff(commit);
                (
                    found_at.min(regression.range.commit().0.abs_diff(commit)),
                    &regression.id,
                )
            });
            if let Some(regression) = nearest {
                taken.insert(regression.id.clone());
                *slot = Some(regression.id.clone());
            }
        }
        matched
    }

    /// Returns true if the regression is known.
    pub(super) fn has(&self, trace: &TraceId, id: &RegressionId) -> bool {
        self.of_trace(trace).iter().any(|it| it.id == *id)
    }

    /// Returns true if an alert sees the regression.
    pub(super) fn is_seen(&self, trace: &TraceId, id: &RegressionId, alert: AlertId) -> bool {
        let regression = self.of_trace(trace).iter().find(|it| it.id == *id);
        regression.is_some_and(|it| it.alerts.contains_key(&alert))
    }
}

fn is_same(found: &FoundChange, known: &Regression) -> bool {
    let is_spread = |shape: Shape| shape == Shape::Spread;
    found.change.rose == known.change.rose
        && is_spread(found.change.shape) == is_spread(known.change.shape)
        && (found.near.meets(known.change.interval) || found.near.meets(known.interval))
}

#[cfg(test)]
mod tests {
    use super::super::change::step;
    use super::super::range::range;
    use super::*;

    fn found(previous: u32, commit: u32, near: (u32, u32)) -> FoundChange {
        FoundChange {
            change: step(",a=b,", previous, commit, 1.0, 2.0),
            back_at: None,
            near: range(near.0, near.1),
        }
    }

    #[test]
    fn each_regression_is_matched_once_and_the_nearest_first() {
        let trace: TraceId = ",a=b,".parse().unwrap();
        let mut known = Known::default();
        let first = Regression::new(step(",a=b,", 9, 10, 1.0, 2.0));
        let mut moved = Regression::new(step(",a=b,", 29, 30, 1.0, 2.0));
        (moved.range, moved.interval) = (range(39, 40), range(39, 40));
        known.add(first.clone());
        known.add(moved.clone());
        known.add(Regression::new(step(",a=b,", 10, 11, 2.0, 1.0)));
        let ids = |list: &[FoundChange]| known.matched(&trace, list);
        // The second change overlaps the first regression, which is taken.
        let list = [found(8, 9, (5, 12)), found(11, 12, (9, 14))];
        assert_eq!(ids(&list), [Some(first.id.clone()), None]);
        // By name before by place.
        let list = [found(8, 9, (5, 12)), found(9, 10, (9, 14))];
        assert_eq!(ids(&list), [None, Some(first.id)]);
        // Where it was found, and where it was moved.
        for list in [[found(28, 29, (28, 30))], [found(38, 40, (37, 41))]] {
            assert_eq!(ids(&list), [Some(moved.id.clone())]);
        }
        assert_eq!(ids(&[found(33, 34, (32, 36))]), [None]);
    }
}
