//! The routes from actions of the whole to actions of its parts.

use std::collections::BTreeMap;

/// A machine that the whole is composed of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Verification,
    Bisection,
    /// The confirmation of a culprit, by its place among those of the search.
    Confirmation(usize),
}

/// The actions that are open: numbers are unique in the whole, and each part
/// counts its own from 0.
#[derive(Debug, Clone, Default)]
pub(super) struct Routes {
    inward: BTreeMap<u64, (Part, u64)>,
    outward: BTreeMap<(Part, u64), u64>,
}

impl Routes {
    pub(super) fn add(&mut self, number: u64, part: Part, inner: u64) {
        self.inward.insert(number, (part, inner));
        self.outward.insert((part, inner), number);
    }

    pub(super) fn get(&self, number: u64) -> Option<(Part, u64)> {
        self.inward.get(&number).copied()
    }

    pub(super) fn remove(&mut self, number: u64) {
        if let Some(inner) = self.inward.remove(&number) {
            self.outward.remove(&inner);
        }
    }

    /// The number in the whole of a part's action, while that is open.
    pub(super) fn number(&self, part: Part, inner: u64) -> Option<u64> {
        self.outward.get(&(part, inner)).copied()
    }
}
