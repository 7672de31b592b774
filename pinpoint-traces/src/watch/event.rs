//! Events: all that happens to regressions and groups, with who and when.

use pinpoint_compare::steps::{Found, Triage};
use serde::{Deserialize, Serialize};

use super::alert::AlertId;
use super::change::{Change, RegressionId};
use super::group::{Group, GroupName};
use super::job::{BisectionJob, NotBisected};
use super::outcome::BisectionOutcome;
use super::quiet::QuietTrace;
use super::range::CommitRange;
use super::regression::Label;
use super::standing::Standing;
use super::state::{WatchError, read_versioned};
use crate::commit::CommitNumber;
use crate::id::TraceId;
use crate::query::Query;

/// The version of [`Event`] that this library writes. It reads all up to it.
pub const EVENT_VERSION: u32 = 1;

/// Something that happened. A log of events is all that has to be stored:
/// [`WatchState`](super::WatchState) follows from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The version of this record, [`EVENT_VERSION`].
    pub version: u32,
    /// When, in milliseconds of Unix time.
    pub at: i64,
    /// The person or program.
    pub by: String,
    /// The event itself.
    #[serde(flatten)]
    pub kind: EventKind,
}

impl Event {
    /// An event of a person or program at a time, in milliseconds of Unix time.
    pub fn new(at: i64, by: impl Into<String>, kind: EventKind) -> Self {
        Self {
            version: EVENT_VERSION,
            at,
            by: by.into(),
            kind,
        }
    }

    /// Reads an event of a log: one line of JSON Lines.
    ///
    /// # Errors
    ///
    /// [`WatchError::Version`] of a newer one, [`WatchError::Json`].
    pub fn from_json(text: &str) -> Result<Self, WatchError> {
        read_versioned(text, EVENT_VERSION)
    }

    /// The group that it is about, if it is about one.
    pub fn group(&self) -> Option<&GroupName> {
        match &self.kind {
            EventKind::ActedOn { group, .. } => Some(&group.name),
            EventKind::Bisected { group, .. } => Some(group),
            _ => None,
        }
    }

    /// Returns true if it names this regression.
    pub fn names(&self, regression: &RegressionId) -> bool {
        match &self.kind {
            EventKind::Detected { change, .. } | EventKind::MadeByHand { change, .. } => {
                change.id() == *regression
            }
            EventKind::Labeled { regression: id, .. }
            | EventKind::Firm { regression: id }
            | EventKind::Retracted { regression: id, .. }
            | EventKind::Stands { regression: id, .. }
            | EventKind::Triaged { regression: id, .. }
            | EventKind::Moved { regression: id, .. }
            | EventKind::TakenBack { regression: id, .. } => id == regression,
            EventKind::Split { regressions, .. } | EventKind::Joined { regressions, .. } => {
                regressions.contains(regression)
            }
            EventKind::ActedOn { group, .. } => group.members.contains(regression),
            EventKind::Clustered { .. }
            | EventKind::Tested { .. }
            | EventKind::WentQuiet(_)
            | EventKind::Resumed { .. }
            | EventKind::FingerprintTriaged { .. }
            | EventKind::Bisected { .. } => false,
        }
    }
}

/// A kind of event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "most events of a run are of the largest kind"
)]
#[non_exhaustive]
pub enum EventKind {
    /// A detector found a change.
    Detected {
        /// The alert that sees it.
        label: Label,
        /// The change.
        change: Change,
    },
    /// A further alert sees a regression.
    Labeled {
        /// The regression.
        regression: RegressionId,
        /// The alert.
        label: Label,
    },
    /// The second detector agrees.
    Firm {
        /// The regression.
        regression: RegressionId,
    },
    /// The values went back where they came from: it was a spike.
    Retracted {
        /// The regression.
        regression: RegressionId,
        /// The first commit with a value that is back.
        back_at: CommitNumber,
    },
    /// A regression stands in another way than before.
    Stands {
        /// The regression.
        regression: RegressionId,
        /// Its standing.
        #[serde(flatten)]
        now: Standing,
    },
    /// A run found interesting clusters, or none.
    Clustered {
        /// The alert.
        alert: AlertId,
        /// The query that was run.
        query: Query,
        /// The first commit of the tile.
        first: CommitNumber,
        /// The last commit of the tile.
        last: CommitNumber,
        /// The clusters.
        clusters: Vec<Found>,
    },
    /// An alert was run over new values.
    Tested {
        /// The alert.
        alert: AlertId,
        /// The number of new values.
        values: u64,
    },
    /// A trace has had no value for longer than it usually does.
    WentQuiet(QuietTrace),
    /// A quiet trace has values again.
    Resumed {
        /// The trace.
        trace: TraceId,
    },
    /// Somebody triaged a regression.
    Triaged {
        /// The regression.
        regression: RegressionId,
        /// The triage.
        triage: Triage,
        /// A message.
        #[serde(default)]
        message: String,
    },
    /// Somebody triaged a cluster.
    FingerprintTriaged {
        /// The alert.
        alert: AlertId,
        /// The query that was run.
        query: Query,
        /// The id of the fingerprint.
        fingerprint: u64,
        /// The triage.
        triage: Triage,
        /// A message.
        #[serde(default)]
        message: String,
    },
    /// Somebody moved a regression by commits.
    Moved {
        /// The regression.
        regression: RegressionId,
        /// The new place.
        range: CommitRange,
    },
    /// Somebody put regressions into a group apart from the others.
    Split {
        /// The alert whose groups are meant.
        alert: AlertId,
        /// The regressions that leave.
        regressions: Vec<RegressionId>,
    },
    /// Somebody put regressions into one group, whether they meet or not.
    Joined {
        /// The alert whose groups are meant.
        alert: AlertId,
        /// The regressions.
        regressions: Vec<RegressionId>,
    },
    /// Somebody took a regression back.
    TakenBack {
        /// The regression.
        regression: RegressionId,
        /// The reason.
        #[serde(default)]
        message: String,
    },
    /// Somebody made a regression where the machine was blind.
    MadeByHand {
        /// The alert to whose groups it belongs, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<Label>,
        /// The change.
        change: Change,
    },
    /// A group was acted on. From now on its members stay.
    ActedOn {
        /// The group, as it was then.
        group: Group,
        /// The bisection, if one is started; else somebody is notified.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        job: Option<BisectionJob>,
        /// The reason why none is started where the alert asks for one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_bisected: Option<NotBisected>,
    },
    /// The bisection of a group ended.
    Bisected {
        /// The group.
        group: GroupName,
        /// The outcome.
        #[serde(flatten)]
        outcome: BisectionOutcome,
    },
}
