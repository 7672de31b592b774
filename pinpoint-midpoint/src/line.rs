//! The commits between two revisions of one repository.
//!
//! They are the line of history from the one up to the other. It follows first parents, except
//! where only another parent holds the lower revision: so each commit of the line holds all of the
//! lower revision, and its additions to the one before are known.
//!
//! ```text
//! r ── s ── M ── n      n's first parents are M, s and r, another root;
//!          ╱            the line from g up to n is g, h, M, n
//!    g ── h
//! ```
//!
//! Between neighbors on it, of which the higher is a merge, are the merged commits: see
//! [`crate::merge`].

use pinpoint_core::Commit;

use crate::merge::{self, Groups};
use crate::{History, HistoryError};

/// States strictly between two, from the lower to the higher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// Commits of a line of history.
    Commits {
        /// Its parts, the oldest first.
        pieces: Vec<Piece>,
        count: u64,
        /// True if walked from the newest to the oldest.
        backward: bool,
    },
    /// A commit with this many others merged in, for each state.
    Merged {
        commit: String,
        merged: Vec<Vec<String>>,
    },
}

/// Neighbors on a line of first parents: [`History::nth`] of `lower` and `higher`, from an offset
/// on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) lower: String,
    pub(crate) higher: String,
    pub(crate) from: u64,
    pub(crate) count: u64,
}

impl Piece {
    pub(crate) async fn nth(
        &self,
        history: &dyn History,
        offset: u64,
    ) -> Result<String, HistoryError> {
        (history.nth(&self.lower, &self.higher, self.from + offset)).await
    }
}

impl Line {
    /// A piece without commits in between.
    pub(crate) fn none(commit: &Commit) -> Self {
        Self::Merged {
            commit: commit.git_hash.clone(),
            merged: Vec::new(),
        }
    }

    /// Reverses the states.
    fn reversed(self) -> Self {
        match self {
            Self::Commits {
                pieces,
                count,
                backward,
            } => Self::Commits {
                pieces,
                count,
                backward: !backward,
            },
            Self::Merged { commit, mut merged } => {
                merged.reverse();
                Self::Merged { commit, merged }
            }
        }
    }

    pub(crate) fn count(&self) -> u64 {
        match self {
            Self::Commits { count, .. } => *count,
            Self::Merged { merged, .. } => merged.len() as u64,
        }
    }

    /// The state at an offset below the count, as a commit of this repository.
    pub(crate) async fn nth(
        &self,
        history: &dyn History,
        repository: &str,
        offset: u64,
    ) -> Result<Option<Commit>, HistoryError> {
        match self {
            Self::Commits {
                pieces,
                count,
                backward,
            } => {
                let offset = match backward {
                    true => count.checked_sub(offset + 1),
                    false => Some(offset),
                };
                let Some(offset) = offset else {
                    return Ok(None);
                };
                let hash = nth(history, pieces, offset).await?;
                Ok(hash.map(|hash| Commit::new(repository, hash)))
            }
            Self::Merged { commit, merged } => Ok(usize::try_from(offset)
                .ok()
                .and_then(|offset| merged.get(offset))
                .map(|merged| Commit {
                    merged: merged.clone(),
                    ..Commit::new(repository, commit)
                })),
        }
    }
}

async fn nth(
    history: &dyn History,
    pieces: &[Piece],
    offset: u64,
) -> Result<Option<String>, HistoryError> {
    let mut rest = offset;
    for piece in pieces {
        if rest < piece.count {
            return piece.nth(history, rest).await.map(Some);
        }
        rest -= piece.count;
    }
    Ok(None)
}

/// The relation of two revisions of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Relation {
    /// The higher comes after the lower.
    Forward(Line),
    /// The higher comes before the lower.
    Backward(Line),
    /// Neither is part of the other's history.
    Apart,
}

/// The states strictly between two revisions that differ.
pub(crate) async fn between(
    history: &dyn History,
    lower: &Commit,
    higher: &Commit,
) -> Result<Relation, HistoryError> {
    if let Some(line) = up(history, lower, higher).await? {
        return Ok(Relation::Forward(line));
    }
    Ok(match up(history, higher, lower).await? {
        Some(line) => Relation::Backward(line.reversed()),
        None => Relation::Apart,
    })
}

/// The states strictly between a revision and a later one; `None` if the other is not later.
async fn up(
    history: &dyn History,
    lower: &Commit,
    higher: &Commit,
) -> Result<Option<Line>, HistoryError> {
    let Some(path) = path(history, lower, higher).await? else {
        return Ok(None);
    };
    let between = path.commits - u64::from(higher.merged.is_empty() && path.commits > 0);
    if between > 0 {
        return Ok(Some(Line::Commits {
            pieces: path.pieces,
            count: between,
            backward: false,
        }));
    }
    let groups = merge::open(history, lower, higher).await?;
    Ok(Some(Line::Merged {
        commit: lower.git_hash.clone(),
        merged: groups.states(),
    }))
}

/// The commits that may make the difference between two neighboring states, by the direction of the
/// step.
pub(crate) enum Blame {
    /// One of these was added, and the last one is named.
    Added(Vec<String>),
    /// One of these was taken back.
    Undone(Vec<String>),
    /// The two are unrelated.
    Apart,
}

/// Finds the commits that make the difference between two neighbors. Where there are others between
/// the two, that could not be measured, only the last step counts.
pub(crate) async fn blame(
    history: &dyn History,
    prior: &Commit,
    culprit: &Commit,
) -> Result<Blame, HistoryError> {
    if let Some(groups) = last_step(history, prior, culprit).await? {
        return Ok(Blame::Added(groups.last(history).await?));
    }
    Ok(match first_step(history, culprit, prior).await? {
        Some(groups) => Blame::Undone(groups.first(history).await?),
        None => Blame::Apart,
    })
}

/// The commits that the last commit of the line from a state up to a later one adds.
async fn last_step(
    history: &dyn History,
    lower: &Commit,
    higher: &Commit,
) -> Result<Option<Groups>, HistoryError> {
    let Some(path) = path(history, lower, higher).await? else {
        return Ok(None);
    };
    let before = match path.commits {
        0 => None,
        // A merge into the last commit of the line.
        commits if !higher.merged.is_empty() => nth(history, &path.pieces, commits - 1).await?,
        1 => None,
        commits => nth(history, &path.pieces, commits - 2).await?,
    };
    let before = before.map(|hash| Commit::new(&*lower.repository, hash));
    merge::open(history, before.as_ref().unwrap_or(lower), higher)
        .await
        .map(Some)
}

/// The commits that the first commit of the line from a state up to a later one adds.
async fn first_step(
    history: &dyn History,
    lower: &Commit,
    higher: &Commit,
) -> Result<Option<Groups>, HistoryError> {
    let Some(path) = path(history, lower, higher).await? else {
        return Ok(None);
    };
    let after = match path.commits {
        0 => None,
        1 if higher.merged.is_empty() => None,
        _ => nth(history, &path.pieces, 0).await?,
    };
    let after = after.map(|hash| Commit::new(&*lower.repository, hash));
    merge::open(history, lower, after.as_ref().unwrap_or(higher))
        .await
        .map(Some)
}

/// The line of history from a state up to a commit.
struct Path {
    /// Its parts, the oldest first; the last commit is its upper end.
    pieces: Vec<Piece>,
    commits: u64,
}

/// The line from a state up to the commit of a later one; `None` if the other is not later. It is
/// empty where both are the same commit with others merged in.
///
/// Each of its commits holds all of the state, through any parent; the first parent that has it
/// counts.
async fn path(
    history: &dyn History,
    lower: &Commit,
    higher: &Commit,
) -> Result<Option<Path>, HistoryError> {
    let mut path = Path {
        pieces: Vec::new(),
        commits: 0,
    };
    if lower.git_hash == higher.git_hash {
        let heads = heads(higher);
        for merged in &lower.merged {
            if !is_in_any(history, merged, &heads).await? {
                return Ok(None);
            }
        }
        return Ok(Some(path));
    }
    if !holds(history, &higher.git_hash, lower).await? {
        return Ok(None);
    }
    let mut tip = higher.git_hash.clone();
    loop {
        let count = history.count(&lower.git_hash, &tip).await?;
        let Some((from, parents)) = lowest(history, lower, &tip, count).await? else {
            break;
        };
        path.pieces.push(Piece {
            lower: lower.git_hash.clone(),
            higher: tip.clone(),
            from,
            count: count - from,
        });
        path.commits += count - from;
        let mut next = None;
        for parent in parents {
            if parent == lower.git_hash || holds(history, &parent, lower).await? {
                next = Some(parent);
                break;
            }
        }
        match next.filter(|parent| *parent != lower.git_hash) {
            Some(parent) => tip = parent,
            None => break,
        }
    }
    path.pieces.reverse();
    Ok(Some(path))
}

/// The offset of the oldest commit of a line that holds a state, and its parents: on the line of
/// first parents of `tip`, which holds the state. `None` where the line is empty.
async fn lowest(
    history: &dyn History,
    lower: &Commit,
    tip: &str,
    count: u64,
) -> Result<Option<(u64, Vec<String>)>, HistoryError> {
    if count == 0 {
        return Ok(None);
    }
    let first = history.nth(&lower.git_hash, tip, 0).await?;
    let parents = history.parents(&first).await?;
    if parents.first() == Some(&lower.git_hash) && lower.merged.is_empty() {
        return Ok(Some((0, parents)));
    }
    // Those that hold it are the newest of the line.
    let (mut without, mut with) = (0, count - 1);
    while without < with {
        let middle = without + (with - without) / 2;
        let commit = history.nth(&lower.git_hash, tip, middle).await?;
        if holds(history, &commit, lower).await? {
            with = middle;
        } else {
            without = middle + 1;
        }
    }
    let commit = history.nth(&lower.git_hash, tip, with).await?;
    let parents = history.parents(&commit).await?;
    Ok(Some((with, parents)))
}

/// Checks that all of a state is part of a commit's history.
async fn holds(history: &dyn History, commit: &str, state: &Commit) -> Result<bool, HistoryError> {
    for head in heads(state) {
        if !history.is_ancestor(&head, commit).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The commits whose histories a state holds.
pub(crate) fn heads(state: &Commit) -> Vec<String> {
    let mut heads = vec![state.git_hash.clone()];
    heads.extend(state.merged.iter().cloned());
    heads
}

/// Checks whether a commit is one of these, or part of the history of one.
pub(crate) async fn is_in_any(
    history: &dyn History,
    commit: &str,
    heads: &[String],
) -> Result<bool, HistoryError> {
    for head in heads {
        if history.is_ancestor(commit, head).await? {
            return Ok(true);
        }
    }
    Ok(false)
}
