//! The states between two neighbors of which the higher is a merge.
//!
//! The commits that only the higher one holds are put into an order in which each comes after its
//! parents. Each state is the lower commit with the commits merged in up to one of them, so that it
//! adds the change of that commit to the state before:
//!
//! ```text
//! a ────────────── m        a+b1
//!  ╲              ╱         a+b2
//!   b1 ── b2 ── b3          m, which is a+b3
//! ```
//!
//! The order is that of the lines of first parents: first of the first merged parent, then of the
//! next (an octopus). A merge on such a line stands for all that it brought, and is opened in turn
//! when the states on both sides of it are neighbors:
//!
//! ```text
//! a ──────────────────── m        a+b1
//!  ╲                    ╱         a+b1+x1, a+b1+x2: between a+b1 and a+b2, later
//!   b1 ───── b2 ───── b3          a+b2, which differs from a+b1+x2 if the merge changed
//!    ╲      ╱                     something itself
//!     x1 ─ x2
//! ```
//!
//! # Skipped states
//!
//! A state with the same files as the one before: its commit changed nothing, such as a merge that
//! brings only commits that the lower one holds already (*Update branch*). A state whose commits
//! conflict: then several commits lie between two states, and one of them is to blame.

use pinpoint_core::Commit;

use crate::line::{Piece, heads, is_in_any};
use crate::{History, HistoryError};

/// Trial merges of one line at most; a longer one is first examined in parts of several commits. It
/// is also the most steps for which a range of conflicts is split.
const MOST_STEPS: u64 = 1_000;

/// Neighboring commits of a line, merged on top of others.
#[derive(Debug, Clone)]
struct Step {
    piece: Piece,
    /// The last of its commits.
    last: String,
    /// The commits merged before, below this line.
    below: Vec<String>,
    /// True if the commits that it merges are separate steps.
    is_opened: bool,
    /// True if it is the higher commit, and not a commit of a line whose first parent comes before
    /// it.
    is_higher: bool,
}

impl Step {
    /// The commits merged in, the last of this step included.
    fn merged(&self) -> Vec<String> {
        let mut merged = self.below.clone();
        merged.push(self.last.clone());
        merged
    }
}

/// The steps to a state that differs from the one before it.
#[derive(Debug, Clone)]
struct Group {
    /// More than one where the states between them conflict.
    steps: Vec<Step>,
    tree: Option<String>,
}

/// The states from one to another, the higher one included.
#[derive(Debug, Clone)]
pub(crate) struct Groups(Vec<Group>);

impl Groups {
    /// The states strictly between the two, as commits merged into the lower one's.
    pub(crate) fn states(&self) -> Vec<Vec<String>> {
        let between = self.0.split_last().map_or(&[][..], |(_, between)| between);
        (between.iter())
            .filter_map(|group| Some(group.steps.last()?.merged()))
            .collect()
    }

    /// The commits that may have made the last difference, oldest first; empty where nothing
    /// differs.
    pub(crate) async fn last(&self, history: &dyn History) -> Result<Vec<String>, HistoryError> {
        commits(history, self.0.last()).await
    }

    /// The commits that may have made the first difference.
    pub(crate) async fn first(&self, history: &dyn History) -> Result<Vec<String>, HistoryError> {
        commits(history, self.0.first()).await
    }
}

async fn commits(
    history: &dyn History,
    group: Option<&Group>,
) -> Result<Vec<String>, HistoryError> {
    let mut commits = Vec::new();
    let steps = group.map_or(&[][..], |group| &group.steps);
    for step in steps {
        for offset in 0..step.piece.count {
            commits.push(step.piece.nth(history, offset).await?);
        }
    }
    Ok(commits)
}

/// The states between a state and a later one that is the same commit with more merged in, or
/// the next commit of a line.
pub(crate) async fn open(
    history: &dyn History,
    lower: &Commit,
    higher: &Commit,
) -> Result<Groups, HistoryError> {
    let opening = Opening {
        history,
        lower,
        before: history.merged_tree(&lower.git_hash, &lower.merged).await?,
        after: (history.merged_tree(&higher.git_hash, &higher.merged)).await?,
    };
    let mut steps = opening.first_steps(higher).await?;
    loop {
        let groups = opening.told_apart(steps).await?;
        let [group] = &groups[..] else {
            return Ok(Groups(groups));
        };
        let can_be_opened = group.steps.len() == 1 || history.can_merge();
        match opening.opened(&group.steps).await? {
            Some(finer) if can_be_opened => steps = finer,
            _ => return Ok(Groups(groups)),
        }
    }
}

/// Two states between which merges are opened.
struct Opening<'a> {
    history: &'a dyn History,
    lower: &'a Commit,
    /// The files of the lower state, and those of the higher; absent for one that conflicts.
    before: Option<String>,
    after: Option<String>,
}

impl Opening<'_> {
    /// The coarsest steps: the last one leads to the higher state.
    async fn first_steps(&self, higher: &Commit) -> Result<Vec<Step>, HistoryError> {
        if higher.git_hash == self.lower.git_hash {
            return self.lines(&higher.merged, Vec::new()).await;
        }
        let merge = &higher.git_hash;
        let count = self.history.count(&self.lower.git_hash, merge).await?;
        Ok(vec![Step {
            piece: Piece {
                lower: self.lower.git_hash.clone(),
                higher: merge.clone(),
                from: count.saturating_sub(1),
                count: count.min(1),
            },
            last: merge.clone(),
            below: Vec::new(),
            is_opened: false,
            is_higher: true,
        }])
    }

    /// The steps of several lines, one on top of the other.
    async fn lines(
        &self,
        tips: &[String],
        mut below: Vec<String>,
    ) -> Result<Vec<Step>, HistoryError> {
        let mut steps = Vec::new();
        for tip in tips {
            if !self.is_below(tip, &below).await? {
                steps.extend(self.line(tip, &below).await?);
                below.push(tip.clone());
            }
        }
        Ok(steps)
    }

    /// Checks whether a state with these commits merged in holds another one already.
    async fn is_below(&self, commit: &str, below: &[String]) -> Result<bool, HistoryError> {
        let heads = [std::slice::from_ref(&self.lower.git_hash), below].concat();
        is_in_any(self.history, commit, &heads).await
    }

    /// The steps of a line of first parents, without those in the lower state or below the line.
    async fn line(&self, tip: &str, below: &[String]) -> Result<Vec<Step>, HistoryError> {
        let mut piece = None;
        let mut known = heads(self.lower);
        known.extend_from_slice(below);
        for head in known {
            let count = self.history.count(&head, tip).await?;
            if piece
                .as_ref()
                .is_none_or(|piece: &Piece| count < piece.count)
            {
                piece = Some(Piece {
                    lower: head,
                    higher: tip.to_owned(),
                    from: 0,
                    count,
                });
            }
        }
        match piece {
            Some(piece) => self.parts(&piece, below).await,
            None => Ok(Vec::new()),
        }
    }

    /// Splits a part of a line into steps of one commit, or of several if there are too many.
    async fn parts(&self, piece: &Piece, below: &[String]) -> Result<Vec<Step>, HistoryError> {
        let mut steps = Vec::new();
        let length = piece.count.div_ceil(MOST_STEPS).max(1);
        let mut offset = 0;
        while offset < piece.count {
            let count = length.min(piece.count - offset);
            let piece = Piece {
                from: piece.from + offset,
                count,
                ..piece.clone()
            };
            steps.push(Step {
                last: piece.nth(self.history, count - 1).await?,
                piece,
                below: below.to_vec(),
                is_opened: false,
                is_higher: false,
            });
            offset += count;
        }
        Ok(steps)
    }

    /// Groups steps that lead to the same files or to conflicts: each group leads to a state that
    /// differs from the one before it.
    async fn told_apart(&self, steps: Vec<Step>) -> Result<Vec<Group>, HistoryError> {
        let mut groups: Vec<Group> = Vec::new();
        let mut pending = Vec::new();
        let last = steps.len().saturating_sub(1);
        for (place, step) in steps.into_iter().enumerate() {
            let tree = if place == last {
                self.after.clone()
            } else {
                let merged = step.merged();
                (self.history.merged_tree(&self.lower.git_hash, &merged)).await?
            };
            let before = groups.last().map_or(&self.before, |group| &group.tree);
            if tree.is_some() && tree == *before {
                // All changes since then were reverted.
                pending.clear();
            } else {
                pending.push(step);
                if tree.is_some() || place == last {
                    let steps = std::mem::take(&mut pending);
                    groups.push(Group { steps, tree });
                }
            }
        }
        Ok(groups)
    }

    /// Splits steps into smaller ones; `None` if that is impossible, or gives too many.
    async fn opened(&self, steps: &[Step]) -> Result<Option<Vec<Step>>, HistoryError> {
        let mut finer = Vec::new();
        for step in steps {
            finer.extend(self.inside(step).await?);
            if step.piece.count == 1 {
                finer.push(Step {
                    is_opened: true,
                    ..step.clone()
                });
            }
        }
        let is_finer = finer.len() > steps.len();
        let are_few = steps.len() == 1 || finer.len() as u64 <= MOST_STEPS;
        Ok((is_finer && are_few).then_some(finer))
    }

    /// The parts of a step; for one commit, those that come before it.
    async fn inside(&self, step: &Step) -> Result<Vec<Step>, HistoryError> {
        if step.piece.count != 1 {
            return self.parts(&step.piece, &step.below).await;
        }
        if step.is_opened {
            return Ok(Vec::new());
        }
        let parents = self.history.parents(&step.last).await?;
        let mut below = step.below.clone();
        match &parents[..] {
            [] | [_] => Ok(Vec::new()),
            _ if step.is_higher => self.lines(&parents, below).await,
            [first, others @ ..] => {
                if !self.is_below(first, &below).await? {
                    below.push(first.clone());
                }
                self.lines(others, below).await
            }
        }
    }
}
