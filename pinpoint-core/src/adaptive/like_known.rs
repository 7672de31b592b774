//! The search for a further change like those found, which lasts longer than that for a small one.
//!
//! Where one change was found, a second is unlikely, and "no further change" soon has the
//! confidence asked for: the few runs of the commits between two changes may be slow by chance, or
//! by the second one. To exclude every change that is worth finding, however small next to the one
//! found, would cost most where changes are largest. To exclude a change of at least a third of the
//! size of those found costs next to nothing there.
//!
//! So a search ends when there is likely no further change of any size, and a change like those
//! found is excluded although it was given a larger probability beforehand.

use super::posterior::{self, Analysis};
use super::runs::Runs;
use super::search::AdaptiveSearch;
use super::tuning::{LIKE_KNOWN, NO_CHANGE_LIKE_KNOWN, NO_CHANGE_TO_GO_ON};
use super::values::Setting;
use crate::search_state::SearchState;

impl AdaptiveSearch {
    /// Asks for the runs that show whether there is a further change like those found. False when
    /// there is likely none, or nothing can be asked for.
    pub(super) fn look_for_like(
        &mut self,
        runs: &Runs,
        changes: &[usize],
        state: &mut SearchState,
    ) -> bool {
        let is_of_values = |gap: &usize| {
            (self.changes.iter())
                .any(|change| self.line.site_of(change.lower) == Some(*gap) && !change.by_failures)
        };
        let may_be = self.question.shows_effects
            && !self.line.is_closed()
            && !changes.is_empty()
            && changes.iter().all(is_of_values);
        if !may_be {
            return false;
        }
        let analysis = self.analyze_like(runs, changes);
        if analysis.no_change >= self.question.confidence {
            return false;
        }
        // A budget that is spent ends the search with its findings so far.
        match self.ask(&analysis, state, changes) {
            Ok(Some(phase)) => {
                self.phase = phase;
                true
            }
            Ok(None) | Err(_) => false,
        }
    }

    /// Returns true if a further change like those found is likely enough to go on for.
    pub(super) fn is_like_likely(&self, state: &SearchState) -> bool {
        let runs = Runs::collect(&self.line, state);
        let changes = self.gaps_of_changes(None);
        self.question.remembers && self.analyze_like(&runs, &changes).no_change < NO_CHANGE_TO_GO_ON
    }

    fn analyze_like(&self, runs: &Runs, changes: &[usize]) -> Analysis {
        let prior = self.prior(changes);
        let setting = Setting {
            least_of_known: LIKE_KNOWN,
            ..self.setting(runs, changes, &prior)
        };
        posterior::analyze(runs, setting, NO_CHANGE_LIKE_KNOWN)
    }
}
