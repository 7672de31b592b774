//! The order of commits in a search, across its ranges.

use std::collections::BTreeMap;

use crate::{Position, Task};

/// The order of a search's ranges: a range opened between two neighbors comes right after the older
/// of them.
#[derive(Debug, Clone, Default)]
pub struct CommitOrder {
    lower: BTreeMap<u32, Position>,
}

impl CommitOrder {
    /// The order in the ranges that these tasks list.
    pub fn of<'a>(tasks: impl IntoIterator<Item = &'a Task>) -> Self {
        let mut order = Self::default();
        for task in tasks {
            order.add(task);
        }
        order
    }

    /// Takes in a task; only one that lists a range changes the order.
    pub fn add(&mut self, task: &Task) {
        if let Task::List { range, lower, .. } = task {
            self.lower.insert(*range, *lower);
        }
    }

    /// Sorts as the commits do, the good end first.
    pub fn key(&self, position: Position) -> Vec<u64> {
        let mut key = Vec::new();
        let mut place = position;
        // A range is inside one that was listed before it, so this ends; a corrupt journal must not
        // cause an endless loop.
        for _ in 0..=self.lower.len() {
            let Position::Within { range, offset } = place else {
                break;
            };
            // Of two ranges after the same commit, the one opened later is the nearer: it was
            // opened between that commit and its next neighbor.
            key.extend([offset, u64::MAX - u64::from(range)]);
            place = self.lower.get(&range).copied().unwrap_or(Position::Lower);
        }
        key.push(u64::from(place == Position::Higher));
        key.reverse();
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_lies_between_the_neighbors_it_was_opened_between() {
        let within = |range, offset| Position::Within { range, offset };
        let list = |range, lower, higher| Task::List {
            range,
            lower,
            higher,
        };
        let tasks = [
            list(0, Position::Lower, Position::Higher),
            list(1, within(0, 4), within(0, 5)),
            list(2, within(1, 0), within(1, 1)),
            list(3, within(0, 9), Position::Higher),
        ];
        let order = CommitOrder::of(&tasks);
        let expected = [
            Position::Lower,
            within(0, 0),
            within(0, 4),
            within(1, 0),
            within(2, 0),
            within(2, 1),
            within(1, 1),
            within(0, 5),
            within(0, 9),
            within(3, 0),
            Position::Higher,
        ];
        let mut sorted = expected;
        sorted.reverse();
        sorted.sort_by_key(|position| order.key(*position));
        assert_eq!(sorted, expected);
    }

    #[test]
    fn a_range_between_the_good_end_and_the_first_commit_comes_first() {
        let within = |range, offset| Position::Within { range, offset };
        let tasks = [
            Task::List {
                range: 0,
                lower: Position::Lower,
                higher: Position::Higher,
            },
            Task::List {
                range: 1,
                lower: Position::Lower,
                higher: within(0, 0),
            },
        ];
        let order = CommitOrder::of(&tasks);
        assert!(order.key(Position::Lower) < order.key(within(1, 7)));
        assert!(order.key(within(1, 7)) < order.key(within(0, 0)));
    }
}
