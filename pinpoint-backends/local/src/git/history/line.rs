//! The range between two commits.
//!
//! The commits of `higher`'s line that `lower`'s history does not hold. If
//! `lower` is on the line, they end before it. If it came in by a merge, they
//! end before the newest commit of the line in `lower`'s history, here `C`:
//!
//! ```text
//! A - B - C - D - E - F     the line of F
//!          \     /
//!           x - y           from y to F: D, E, F
//! ```

use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::ops;
use std::sync::Arc;

use pinpoint_midpoint::HistoryError;

use super::commits::Walk;

/// The commits of a range, as numbers.
pub(super) struct Range {
    line: Arc<Vec<u32>>,
    part: ops::Range<usize>,
}

impl Range {
    pub(super) fn newest_first(&self) -> &[u32] {
        &self.line[self.part.clone()]
    }
}

/// Ranges that were walked, the one used last at the end.
#[derive(Default)]
pub(super) struct Ranges(VecDeque<Walked>);

struct Walked {
    lower: u32,
    higher: u32,
    line: Arc<Vec<u32>>,
}

impl Walked {
    /// The part from one commit to another. A search requests smaller and smaller parts of the same
    /// range.
    fn part(&self, lower: u32, higher: u32) -> Option<ops::Range<usize>> {
        if (self.lower, self.higher) == (lower, higher) {
            return Some(0..self.line.len());
        }
        let start = self.place(higher)?;
        let end = match lower == self.lower {
            true => self.line.len(),
            false => self.place(lower)?,
        };
        (start <= end).then_some(start..end)
    }

    fn place(&self, commit: u32) -> Option<usize> {
        self.line.iter().position(|number| *number == commit)
    }
}

impl Ranges {
    /// Commits kept at most, at 4 bytes each; one range alone may have more.
    const COMMITS: usize = 4 << 20;
    /// Ranges kept at most, so that looking for one stays quick.
    const RANGES: usize = 64;

    /// The commits between two.
    ///
    /// A range that is part of one walked before costs a scan of that. Any other costs a step for
    /// each of its commits, and if `lower` is not on the line, for the commits between it and the
    /// line.
    pub(super) fn between(
        &mut self,
        walk: &mut Walk<'_>,
        lower: u32,
        higher: u32,
    ) -> Result<Range, HistoryError> {
        let known = self.0.iter().enumerate().rev();
        let known = known.filter_map(|(at, walked)| Some((at, walked.part(lower, higher)?)));
        if let Some((at, part)) = { known }.next()
            && let Some(walked) = self.0.remove(at)
        {
            let line = Arc::clone(&walked.line);
            self.0.push_back(walked);
            return Ok(Range { line, part });
        }
        let line = Arc::new(between(walk, lower, higher)?);
        self.0.push_back(Walked {
            lower,
            higher,
            line: Arc::clone(&line),
        });
        let mut commits: usize = self.0.iter().map(|walked| walked.line.len()).sum();
        while self.0.len() > 1 && (commits > Self::COMMITS || self.0.len() > Self::RANGES) {
            commits -= self.0.pop_front().map_or(0, |walked| walked.line.len());
        }
        let part = 0..line.len();
        Ok(Range { line, part })
    }
}

/// Checks whether one commit is the other, or part of its history.
///
/// Commits whose generation rules out that they have it in their history are skipped. First parents
/// come first: the answer often is on the line.
pub(super) fn is_ancestor(
    walk: &mut Walk<'_>,
    ancestor: u32,
    descendant: u32,
) -> Result<bool, HistoryError> {
    let lowest = walk.generation(ancestor);
    let mut seen = CommitSet::default();
    let mut stack = vec![descendant];
    let mut parents = Vec::new();
    while let Some(commit) = stack.pop() {
        if commit == ancestor {
            return Ok(true);
        }
        let too_old = walk.is_indexed(commit) && walk.generation(commit) <= lowest;
        if too_old || !seen.insert(commit) {
            continue;
        }
        walk.parents(commit, &mut parents)?;
        stack.extend(parents.drain(..).rev());
    }
    Ok(false)
}

/// The whole line of a commit, newest first.
pub(super) fn whole(walk: &mut Walk<'_>, commit: u32) -> Result<Vec<u32>, HistoryError> {
    let mut line = Line::new(commit);
    while line.next.is_some() {
        line.step(walk)?;
    }
    Ok(line.commits)
}

/// Walks from the higher end, newest first.
fn between(walk: &mut Walk<'_>, lower: u32, higher: u32) -> Result<Vec<u32>, HistoryError> {
    let mut line = Line::new(higher);
    let lowest = walk.generation(lower);
    while let Some(commit) = line.next {
        if commit == lower || walk.is_indexed(commit) && walk.generation(commit) <= lowest {
            break;
        }
        line.step(walk)?;
    }
    let end = if line.next == Some(lower) {
        line.commits.len()
    } else if let Some(place) = line.commits.iter().position(|commit| *commit == lower) {
        place
    } else {
        newest_in_history(walk, &mut line, lower)?
    };
    line.commits.truncate(end);
    line.commits.shrink_to_fit();
    Ok(line.commits)
}

/// The walked part of a line.
struct Line {
    commits: Vec<u32>,
    next: Option<u32>,
    /// Commits of the commit-graph among them.
    indexed: usize,
}

impl Line {
    /// Beyond this length it pays to read all first parents.
    const SHORT: usize = 1 << 12;

    fn new(higher: u32) -> Self {
        Self {
            commits: Vec::new(),
            next: Some(higher),
            indexed: 0,
        }
    }

    /// Walks one commit further, or from a certain length on, to the end.
    fn step(&mut self, walk: &mut Walk<'_>) -> Result<(), HistoryError> {
        let Some(commit) = self.next else {
            return Ok(());
        };
        if self.indexed == Self::SHORT {
            self.next = None;
            return walk.rest_of_line(commit, &mut self.commits);
        }
        self.indexed += usize::from(walk.is_indexed(commit));
        self.commits.push(commit);
        self.next = walk.first_parent(commit)?;
        Ok(())
    }

    /// The commit at a place of the line, which is walked up to there.
    fn get(&mut self, walk: &mut Walk<'_>, place: usize) -> Result<Option<u32>, HistoryError> {
        while self.commits.len() <= place && self.next.is_some() {
            self.step(walk)?;
        }
        Ok(self.commits.get(place).copied())
    }
}

/// The place on a line of its newest commit that a history holds; the line's
/// length if it holds none. The line has been walked as far as it is newer
/// than the commit-graph, or to a later place.
fn newest_in_history(
    walk: &mut Walk<'_>,
    line: &mut Line,
    commit: u32,
) -> Result<usize, HistoryError> {
    // Commits newer than the commit-graph are ordered only by their parents: all of them are
    // examined, up to the line.
    let mut newer = HashMap::new();
    for (place, number) in line.commits.iter().enumerate() {
        if walk.is_indexed(*number) {
            break;
        }
        newer.insert(*number, place);
    }
    let mut newest = None;
    let mut seen = CommitSet::default();
    let mut stack = vec![commit];
    let mut by_generation = BinaryHeap::new();
    while let Some(commit) = stack.pop() {
        if !seen.insert(commit) {
            continue;
        }
        if walk.is_indexed(commit) {
            by_generation.push((walk.generation(commit), commit));
        } else if let Some(place) = newer.get(&commit) {
            newest = newest.into_iter().chain([*place]).min();
        } else {
            walk.parents(commit, &mut stack)?;
        }
    }
    if let Some(place) = newest {
        return Ok(place);
    }
    // In the commit-graph, the history and the line are walked together, greater generations first:
    // their first common commit is the newest place.
    let mut place = newer.len();
    let mut parents = Vec::new();
    while let Some((generation, commit)) = by_generation.pop() {
        while let Some(on_line) = line.get(walk, place)?
            && walk.generation(on_line) > generation
        {
            place += 1;
        }
        match line.get(walk, place)? {
            Some(on_line) if on_line == commit => return Ok(place),
            Some(_) => {}
            None => break,
        }
        walk.parents(commit, &mut parents)?;
        for parent in parents.drain(..) {
            if seen.insert(parent) {
                by_generation.push((walk.generation(parent), parent));
            }
        }
    }
    while line.next.is_some() {
        line.step(walk)?;
    }
    Ok(line.commits.len())
}

/// A set of commits.
#[derive(Default)]
struct CommitSet(Vec<bool>);

impl CommitSet {
    /// Adds a commit; returns true if it was new.
    fn insert(&mut self, commit: u32) -> bool {
        let place = commit as usize;
        if place >= self.0.len() {
            self.0.resize((place + 1).next_power_of_two(), false);
        }
        !std::mem::replace(&mut self.0[place], true)
    }
}
