//! Regressions: changes as people see and triage them.

use std::collections::BTreeMap;

use pinpoint_compare::steps::Triage;
use serde::{Deserialize, Serialize};

use super::alert::AlertId;
use super::change::{Change, RegressionId};
use super::outcome::BisectionOutcome;
use super::range::CommitRange;
use super::standing::Standing;
use crate::commit::CommitNumber;
use crate::query::Query;

/// A change of a trace, and all that is known and was decided of it.
///
/// One change of a trace is one regression, however many alerts see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Regression {
    /// The name.
    pub id: RegressionId,
    /// The change as it was found first. Later runs of the detector recognize it by this.
    pub change: Change,
    /// The place, which a person may have moved.
    pub range: CommitRange,
    /// The commits that may be it: those of the change, or the range that a person gave.
    pub interval: CommitRange,
    /// True if it is for the better.
    pub is_improvement: bool,
    /// The alerts that see it.
    pub alerts: BTreeMap<AlertId, Seen>,
    /// The triage.
    pub triage: Triage,
    /// A message: a person's, or that of the bisection.
    pub message: String,
    /// The person that triaged it last. What a person said stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triaged_by: Option<String>,
    /// Its standing; absent until there are values enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<Standing>,
    /// The commit from which on the values went back so soon that it was a spike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_at: Option<CommitNumber>,
    /// True if a person made it, or said that it is one after all: then no detector retracts it.
    #[serde(default)]
    pub is_by_hand: bool,
    /// True if a person moved it.
    #[serde(default)]
    pub is_moved: bool,
    /// True if a person took it back: it is kept, so that it is not found again.
    #[serde(default)]
    pub is_taken_back: bool,
    /// The outcome of a bisection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<BisectionOutcome>,
}

/// An alert that sees a regression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// When it was seen first, in milliseconds of Unix time.
    pub at: i64,
    /// The query that was run.
    pub query: Query,
    /// The value by which the alert groups.
    pub value: String,
}

/// An alert, and one of its queries, that a change is seen by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Label {
    /// The alert.
    pub alert: AlertId,
    /// The query that was run.
    pub query: Query,
    /// The value of the trace by which the alert groups.
    pub value: String,
}

impl Regression {
    /// A regression that nobody has looked at.
    pub(super) fn new(change: Change) -> Self {
        Self {
            id: change.id(),
            range: change.range,
            interval: change.interval,
            is_improvement: change.is_improvement(),
            change,
            alerts: BTreeMap::new(),
            triage: Triage::New,
            message: String::new(),
            triaged_by: None,
            now: None,
            back_at: None,
            is_by_hand: false,
            is_moved: false,
            is_taken_back: false,
            outcome: None,
        }
    }

    /// Returns true unless it went back, was taken back, or is to be ignored: then it is grouped.
    pub fn is_open(&self) -> bool {
        self.back_at.is_none() && !self.is_taken_back && self.triage != Triage::Ignore
    }

    /// Notes that it was a spike.
    pub(super) fn went_back(&mut self, commit: CommitNumber) {
        self.back_at = Some(commit);
        self.now = Some(Standing::Gone { commit });
    }

    /// Forgets the outcome of a bisection that failed, since another one begins.
    pub(super) fn forget_failure(&mut self) {
        if (self.outcome.as_ref()).is_some_and(BisectionOutcome::is_failure) {
            self.outcome = None;
            if self.triaged_by.is_none() {
                self.message.clear();
            }
        }
    }

    /// Writes the outcome of a bisection. What a person said stays.
    pub(super) fn conclude(&mut self, outcome: &BisectionOutcome) {
        if self.is_taken_back {
            return;
        }
        if self.triaged_by.is_none() {
            self.message = outcome.to_string();
            if outcome.culprit().is_some() {
                self.triage = Triage::Bug;
            }
        }
        self.outcome = Some(outcome.clone());
    }
}
