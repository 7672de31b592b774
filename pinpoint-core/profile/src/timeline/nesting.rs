//! Nests entries in each other.

use std::cmp::Ordering;

use super::{Entry, Nesting, Source};

/// Orders entries by their beginnings; of entries that begin together the longest first, and of
/// equal ones calls before events, which they are assumed to have caused.
fn in_time(a: &Entry, b: &Entry) -> Ordering {
    let is_event = |entry: &Entry| !matches!(entry.source, Source::Call { .. });
    a.start
        .total_cmp(&b.start)
        .then(b.end().total_cmp(&a.end()))
        .then(is_event(a).cmp(&is_event(b)))
}

pub(super) fn sort(entries: &mut [Entry]) {
    entries.sort_by(in_time);
}

/// Events and calls, each in order, in one list.
pub(super) fn merge(events: Vec<Entry>, calls: Vec<Entry>) -> Vec<Entry> {
    if calls.is_empty() {
        return events;
    }
    let mut merged = Vec::with_capacity(events.len() + calls.len());
    let (mut events, mut calls) = (events.into_iter().peekable(), calls.into_iter().peekable());
    while let (Some(event), Some(call)) = (events.peek(), calls.peek()) {
        if in_time(event, call) == Ordering::Greater {
            merged.extend(calls.next());
        } else {
            merged.extend(events.next());
        }
    }
    merged.extend(events);
    merged.extend(calls);
    merged
}

/// Sets the place, the depth and the own duration of each entry.
///
/// An entry lies in the last one that has not ended when it begins. One that ends after that
/// one is left out of the tree: it cannot be drawn in it, and a sample may have come late.
pub(super) fn nest(entries: &mut [Entry]) {
    let mut open: Vec<usize> = Vec::new();
    for place in 0..entries.len() {
        let Entry {
            start, duration, ..
        } = entries[place];
        entries[place].own = duration;
        while open.pop_if(|top| entries[*top].end() <= start).is_some() {}
        entries[place].depth = open.len() as u32;
        let nesting = match open.last() {
            None => Nesting::Outermost,
            Some(&parent) if entries[place].end() <= entries[parent].end() => {
                entries[parent].own -= duration;
                Nesting::In(parent as u32)
            }
            Some(_) => Nesting::Across,
        };
        entries[place].nesting = nesting;
        if nesting != Nesting::Across {
            open.push(place);
        }
    }
}

/// The entries directly in each, as lists in two tables.
pub(super) struct Children {
    first: Vec<u32>,
    after: Vec<u32>,
}

impl Children {
    pub(super) fn from_entries(entries: &[Entry]) -> Self {
        let mut first = vec![u32::MAX; entries.len()];
        let mut after = vec![u32::MAX; entries.len()];
        for (place, entry) in entries.iter().enumerate().rev() {
            if let Some(parent) = entry.parent() {
                after[place] = first[parent];
                first[parent] = place as u32;
            }
        }
        Self { first, after }
    }

    /// The entries directly inside an entry, in the order of time.
    pub(super) fn of_entry(&self, place: usize) -> impl Iterator<Item = usize> + '_ {
        let known = |place: &u32| (*place != u32::MAX).then_some(*place);
        let first = self.first.get(place).and_then(known);
        std::iter::successors(first, move |place| {
            self.after.get(*place as usize).and_then(known)
        })
        .map(|place| place as usize)
    }
}
