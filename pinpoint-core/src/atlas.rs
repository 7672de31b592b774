//! What the positions of a search are called.

use std::collections::BTreeMap;

use crate::{CombinedCommit, Detail, Event, Listing, Located, Machine, Position, Record, Task};

/// Gives the places that a machine speaks of the names that an executor knows.
///
/// It is filled from the records of a job, so that it is whole again after a
/// restart: a listing names the ends of a range, a build names its commit.
#[derive(Debug, Clone, Default)]
pub struct Atlas {
    commits: BTreeMap<Position, CombinedCommit>,
    ranges: BTreeMap<u32, Listing>,
}

impl Atlas {
    /// The names that a machine starts with.
    pub fn of<M: Machine>(machine: &M) -> Self {
        let mut atlas = Self::default();
        if let Some((good, bad)) = machine.ends() {
            atlas.commits.insert(Position::Good, good.clone());
            atlas.commits.insert(Position::Bad, bad.clone());
        }
        atlas
    }

    /// Learns from an answer. `asked` is what it answers, when that is known.
    pub fn learn(&mut self, record: &Record, asked: Option<&Task>) {
        match (&record.detail, &record.event, asked) {
            (Some(Detail::Listed(listing)), Event::Listed { range, .. }, _) => {
                self.ranges.insert(*range, listing.clone());
            }
            (Some(Detail::Build(report)), _, Some(Task::Build { commit })) => {
                self.commits.insert(*commit, report.commit.clone());
            }
            _ => {}
        }
    }

    /// The commit at a position, if it was ever built.
    pub fn commit(&self, position: Position) -> Option<&CombinedCommit> {
        self.commits.get(&position)
    }

    /// A range, once it is listed.
    pub fn range(&self, range: u32) -> Option<&Listing> {
        self.ranges.get(&range)
    }

    /// What was listed between two commits, if it ever was.
    pub fn listing(&self, lower: &CombinedCommit, higher: &CombinedCommit) -> Option<&Listing> {
        self.ranges
            .values()
            .find(|listing| listing.lower == *lower && listing.higher == *higher)
    }

    /// The commit at a position by its name, or by its place in a known range.
    pub fn locate(&self, position: Position) -> Option<Located> {
        if let Some(commit) = self.commits.get(&position) {
            return Some(Located::Commit(commit.clone()));
        }
        let Position::Within { range, offset } = position else {
            return None;
        };
        Some(Located::Offset {
            listing: Box::new(self.ranges.get(&range)?.clone()),
            offset,
        })
    }
}
