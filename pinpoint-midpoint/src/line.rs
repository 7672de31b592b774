//! The commits between two revisions of one repository.
//!
//! First the line of first parents. When two revisions are neighbours on it and
//! the higher is a merge, the branch that it merged: the lower one with the
//! commits of the branch merged in, one more each time, so that each step is
//! the change of one commit of the branch. Merges within the branch are opened in the
//! same way.
//!
//! ```text
//! a ───────────── m        a
//!  ╲             ╱         a+b1
//!   b1 ── b2 ── b3         a+b2        m is a with b3 merged in
//! ```

use pinpoint_core::Commit;

use crate::{History, HistoryError};

/// A branch with more commits is not opened: each costs a trial merge.
const LONGEST_BRANCH: u64 = 1_000;

/// States strictly between two, from the lower to the higher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// Commits of a line of first parents: [`History::nth`] of `lower` and
    /// `higher`, from offset 0.
    Forward {
        lower: String,
        higher: String,
        count: u64,
    },
    /// The same, walked from the newest to the oldest, from offset `count - 1`.
    Backward {
        lower: String,
        higher: String,
        count: u64,
    },
    /// A commit with this many others merged in, for each state.
    Merged {
        commit: String,
        merged: Vec<Vec<String>>,
    },
}

impl Line {
    /// No commit in between.
    pub(crate) fn none(commit: &Commit) -> Self {
        Self::Merged {
            commit: commit.git_hash.clone(),
            merged: Vec::new(),
        }
    }

    /// The same states from the higher to the lower.
    fn reversed(self) -> Self {
        match self {
            Self::Forward {
                lower,
                higher,
                count,
            } => Self::Backward {
                lower,
                higher,
                count,
            },
            Self::Backward {
                lower,
                higher,
                count,
            } => Self::Forward {
                lower,
                higher,
                count,
            },
            Self::Merged { commit, mut merged } => {
                merged.reverse();
                Self::Merged { commit, merged }
            }
        }
    }

    pub(crate) fn count(&self) -> u64 {
        match self {
            Self::Forward { count, .. } | Self::Backward { count, .. } => *count,
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
        let plain = |hash| Some(Commit::new(repository, hash));
        match self {
            Self::Forward { lower, higher, .. } => {
                history.nth(lower, higher, offset).await.map(plain)
            }
            Self::Backward {
                lower,
                higher,
                count,
            } => match count.checked_sub(offset + 1) {
                None => Ok(None),
                Some(offset) => history.nth(lower, higher, offset).await.map(plain),
            },
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

/// The states strictly between a revision and a later one; none: the other is not
/// later.
async fn up(
    history: &dyn History,
    lower: &Commit,
    higher: &Commit,
) -> Result<Option<Line>, HistoryError> {
    let (older, newer) = (&lower.git_hash, &higher.git_hash);
    if older == newer {
        return branch(history, lower, &higher.merged, higher).await;
    }
    if !history.is_ancestor(older, newer).await? {
        return Ok(None);
    }
    let after = history.count(older, newer).await?;
    // With a branch merged into it, the higher commit itself is in between.
    let count = after - u64::from(higher.merged.is_empty() && after > 0);
    if count > 0 {
        return Ok(Some(Line::Forward {
            lower: older.clone(),
            higher: newer.clone(),
            count,
        }));
    }
    let parents = history.parents(newer).await?;
    let branches = parents.get(1..).unwrap_or_default();
    branch(history, lower, branches, higher).await
}

/// The states between a commit and the result of merging all of `branches` into it, which
/// is `higher`; none: it has more merged in than that.
async fn branch(
    history: &dyn History,
    lower: &Commit,
    branches: &[String],
    higher: &Commit,
) -> Result<Option<Line>, HistoryError> {
    let commit = &lower.git_hash;
    let mut branches = branches.to_vec();
    // Is the last of the branches, merged in, a state of its own?
    let mut ends_elsewhere = higher.git_hash != *commit;
    let mut merged = Vec::new();
    loop {
        let same = lower
            .merged
            .iter()
            .zip(&branches)
            .take_while(|(lower, higher)| lower == higher)
            .count();
        let Some(next) = branches.get(same) else {
            let is_lower = same == lower.merged.len() || ends_elsewhere;
            if !is_lower {
                return Ok(None);
            }
            break;
        };
        let from = lower.merged.get(same).unwrap_or(commit);
        if lower.merged.len() > same && !history.is_ancestor(from, next).await? {
            return Ok(None);
        }
        let after = history.count(from, next).await?;
        if after > LONGEST_BRANCH {
            break;
        }
        let is_last = same + 1 == branches.len() && !ends_elsewhere;
        for offset in 0..after - u64::from(is_last && after > 0) {
            let mut state = branches[..same].to_vec();
            state.push(history.nth(from, next, offset).await?);
            merged.push(state);
        }
        // Octopus: the branches after this one, each on top of those before.
        for (at, later) in branches.iter().enumerate().skip(same + 1) {
            let is_last = at + 1 == branches.len() && !ends_elsewhere;
            let after = history.count(commit, later).await?;
            if merged.len() as u64 + after > LONGEST_BRANCH {
                break;
            }
            for offset in 0..after - u64::from(is_last && after > 0) {
                let mut state = branches[..at].to_vec();
                state.push(history.nth(commit, later, offset).await?);
                merged.push(state);
            }
        }
        merged = states_of_their_own(history, lower, higher, merged).await?;
        if !merged.is_empty() || lower.merged.len() <= same {
            break;
        }
        // Neighbours on the branch: was the higher of them a merge itself?
        let parents = history.parents(next).await?;
        if parents.len() < 2 {
            break;
        }
        branches.truncate(same);
        branches.push(from.clone());
        branches.extend_from_slice(&parents[1..]);
        ends_elsewhere = true;
    }
    Ok(Some(Line::Merged {
        commit: commit.clone(),
        merged,
    }))
}

/// The one commit that a merge adds to the commit before it, with what is merged
/// into that, if it is one commit and the merge is nothing else.
pub(crate) async fn last_of_branch(
    history: &dyn History,
    before: &Commit,
    merge: &str,
) -> Result<Option<String>, HistoryError> {
    let parents = history.parents(merge).await?;
    let branches = parents.get(1..).unwrap_or_default();
    let Some((last, others)) = branches.split_last() else {
        return Ok(None);
    };
    let (from, merged) = match before.merged.split_last() {
        Some((from, merged)) => (from, merged),
        None => (&before.git_hash, &[][..]),
    };
    let is_next = merged == others
        && history.count(from, last).await? == 1
        && history.merged_tree(&before.git_hash, branches).await?
            == history.merged_tree(merge, &[]).await?;
    Ok(is_next.then(|| last.clone()))
}

/// Leaves out states that conflict, and states with the same tree as their neighbour.
async fn states_of_their_own(
    history: &dyn History,
    lower: &Commit,
    higher: &Commit,
    states: Vec<Vec<String>>,
) -> Result<Vec<Vec<String>>, HistoryError> {
    if states.is_empty() {
        return Ok(states);
    }
    let last = history
        .merged_tree(&higher.git_hash, &higher.merged)
        .await?;
    let mut before = history.merged_tree(&lower.git_hash, &lower.merged).await?;
    let mut kept = Vec::with_capacity(states.len());
    for state in states {
        let tree = history.merged_tree(&lower.git_hash, &state).await?;
        if tree.is_some() && tree != before {
            kept.push((state, tree.clone()));
            before = tree;
        }
    }
    while kept.last().is_some_and(|(_, tree)| *tree == last) {
        kept.pop();
    }
    Ok(kept.into_iter().map(|(state, _)| state).collect())
}
