//! The interface of a strategy.

use pinpoint_compare::CompareError;

use crate::Position;
use crate::budget::Exhausted;
use crate::outcome::{Comparison, Culprit, Posterior, Unchanged};
use crate::search_state::SearchState;

/// Chooses the commits to build and run, and interprets the runs.
pub(crate) trait SearchStrategy {
    /// Decides as much as the answers so far allow. True when nothing is left to do.
    fn advance(&mut self, state: &mut SearchState) -> Result<bool, CompareError>;
    /// Ends the search: undecided questions stay undecided.
    fn stop(&mut self, state: &SearchState);
    /// The budget that kept it from deciding.
    fn exhausted(&self) -> Option<Exhausted>;
    /// The culprits, oldest first.
    fn culprits(&self, state: &SearchState) -> Result<Vec<Culprit>, CompareError>;
    /// Commits one of which changed something, when it is not known which.
    fn candidates(&self) -> Vec<Position>;
    /// The probability of each commit, if the strategy keeps one.
    fn posterior(&self) -> Option<Posterior>;
    /// Every comparison of two commits.
    fn comparisons(&self) -> Vec<Comparison>;
    /// Commits excluded because the builds on both sides of them are the same.
    fn unchanged(&self) -> Vec<Unchanged>;
    /// Commits that were measured, and whose runs failed on their own: later ones pass.
    fn mended(&self, state: &SearchState) -> Vec<Position>;
    /// The ranges still searched for a culprit, oldest first.
    fn open_ranges(&self) -> Vec<OpenRange>;
    /// A lower bound of the remaining runs, beyond those under way.
    fn runs_to_come(&self, state: &SearchState) -> u64;
}

/// A part of the range that is still being searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenRange {
    /// The older end.
    pub lower: Position,
    /// The newer end.
    pub higher: Position,
    /// Commits strictly between them.
    pub between: u64,
}
