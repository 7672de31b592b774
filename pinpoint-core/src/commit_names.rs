//! The names of the commits at the positions of a search.

use std::collections::BTreeMap;

use crate::{Artifact, CombinedCommit, Commit, Listing, Located, Machine, Position, Report, Task};

/// Gives the positions of a machine the names that an executor knows.
///
/// It follows from the reports of a job, so that it is complete again after a
/// restart: a listing names the ends of a range, a build names its commit.
#[derive(Debug, Clone, Default)]
pub struct CommitNames {
    commits: BTreeMap<Position, CombinedCommit>,
    artifacts: BTreeMap<Position, Artifact>,
    ranges: BTreeMap<u32, (Ends, Listing)>,
}

/// The positions that a range lies between: the older, and the newer.
type Ends = (Position, Position);

impl CommitNames {
    /// The names that a machine starts with.
    pub fn of<M: Machine>(machine: &M) -> Self {
        let mut names = Self::default();
        if let Some((good, bad)) = machine.ends() {
            names.commits.insert(Position::Lower, good.clone());
            names.commits.insert(Position::Higher, bad.clone());
        }
        names
    }

    /// Learns from the report of a task.
    pub fn learn(&mut self, task: &Task, report: &Report) {
        match (task, report) {
            (
                Task::List {
                    range,
                    lower,
                    higher,
                },
                Report::Listed(listing),
            ) => {
                let ends = (*lower, *higher);
                self.ranges.insert(*range, (ends, listing.clone()));
            }
            (Task::Build { commit }, Report::Built(report)) => {
                self.commits.insert(*commit, report.commit.clone());
                if let Some(artifact) = &report.artifact {
                    self.artifacts.insert(*commit, artifact.clone());
                }
            }
            _ => {}
        }
    }

    /// The commit at a position, if it is an end or was ever built.
    pub fn commit(&self, position: Position) -> Option<&CombinedCommit> {
        self.commits.get(&position)
    }

    /// The build of the commit at a position, if its executor named one.
    pub fn artifact(&self, position: Position) -> Option<&Artifact> {
        self.artifacts.get(&position)
    }

    /// A range, once it is listed.
    pub fn range(&self, range: u32) -> Option<&Listing> {
        self.ranges.get(&range).map(|(_, listing)| listing)
    }

    /// The commit of the main repository that makes the difference between two neighboring states,
    /// the second of which is at this position: inside of a roll the commit that rolls, and where
    /// the line goes back in time the one that is taken back. Absent where no commit of the main
    /// repository makes it. If the range leaves commits out, such as those outside of certain
    /// paths, it is the first one in the range that has the roll.
    pub fn rolled_by(&self, position: Position, states: [&CombinedCommit; 2]) -> Option<Commit> {
        let ([mut prior, mut state], mut at) = (states, position);
        // A state of a dependency lies between two others, which may be such states themselves.
        while state.moved_since(prior).repository != state.main.repository {
            let Position::Within { range, .. } = at else {
                return None;
            };
            let ((_, higher), listing) = self.ranges.get(&range)?;
            [prior, state] = [&listing.lower, &listing.higher];
            at = *higher;
        }
        let [prior, state] = [&prior.main, &state.main];
        let roll = if self.takes_back(position) {
            prior
        } else {
            state
        };
        (prior != state).then(|| Commit::new(&*roll.repository, roll.newest()))
    }

    /// Returns true if the state at a position lacks a commit of the main repository that the one
    /// before it has: up to the merge base of the two ends, the line goes back in time.
    fn takes_back(&self, mut position: Position) -> bool {
        while let Position::Within { range, offset } = position
            && let Some(((_, higher), listing)) = self.ranges.get(&range)
        {
            if let Some(merge_base) = listing.merge_base {
                return offset <= merge_base;
            }
            position = *higher;
        }
        false
    }

    /// All positions that have a name, in order.
    pub fn commits(&self) -> impl Iterator<Item = (Position, &CombinedCommit)> {
        self.commits
            .iter()
            .map(|(position, name)| (*position, name))
    }

    /// All listings, with the positions that they were asked for between.
    pub fn listings(&self) -> impl Iterator<Item = (Position, Position, &Listing)> {
        self.ranges
            .values()
            .map(|((lower, higher), listing)| (*lower, *higher, listing))
    }

    /// The listing of the commits between two others, if there is one.
    pub fn listing(&self, lower: &CombinedCommit, higher: &CombinedCommit) -> Option<&Listing> {
        (self.ranges.values())
            .map(|(_, listing)| listing)
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
            listing: Box::new(self.range(range)?.clone()),
            offset,
        })
    }
}
