//! A change of one trace, as a detector or a person found it.

use std::fmt;

use md5::{Digest, Md5};
use pinpoint_compare::steps::Shape;
use pinpoint_core::Direction;
use serde::{Deserialize, Serialize};

use super::alert::Algo;
use super::range::CommitRange;
use crate::annotation::MachineChange;
use crate::commit::CommitNumber;
use crate::deviation::trace_direction;
use crate::id::TraceId;

/// A change of one trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The trace.
    pub trace: TraceId,
    /// The likeliest place: after the last value before it, up to the first value since.
    pub range: CommitRange,
    /// The commits that may be it. Of `rank`, they hold it in at least 95 %.
    pub interval: CommitRange,
    /// The probability of each place, oldest first, in the model of one change; empty if all commits
    /// of the interval are alike.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Place>,
    /// The shape.
    pub shape: Shape,
    /// True if the values rose or, of a change of spread, if they scatter more.
    pub rose: bool,
    /// The median of the values before, in their unit.
    pub before: f64,
    /// The median of the values since.
    pub after: f64,
    /// The two-sided p-value of the difference at this place. It does not know of other places or
    /// traces: the alert's rate does. Absent where a detector has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// The commit of the value at which it showed.
    pub shown_at: CommitNumber,
    /// The detector; absent for a change that a person made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algo: Option<Algo>,
    /// True if a second detector, whose rate of false alarms is proven, agrees.
    #[serde(default)]
    pub is_firm: bool,
    /// The change of the machine in the interval, if any: then it says nothing of a commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineChange>,
}

/// The probability that a change is in a range: between two values that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// The commits.
    #[serde(flatten)]
    pub range: CommitRange,
    /// The probability that it is one of them.
    pub probability: f64,
}

impl Change {
    /// The name of the regression that this change is: the same for the same trace, commit and
    /// direction.
    pub fn id(&self) -> RegressionId {
        let shape = if self.shape == Shape::Spread {
            "spread"
        } else {
            "level"
        };
        let commit = self.range.commit();
        let text = format!("{}\n{commit}\n{}\n{shape}", self.trace, self.rose);
        RegressionId(short_hash("r", &text))
    }

    /// Returns true if the change is for the better, after `improvement_direction` of the trace. Of
    /// a change of spread, less is better.
    pub fn is_improvement(&self) -> bool {
        if self.shape == Shape::Spread {
            return !self.rose;
        }
        let rise = if self.rose { 1.0 } else { -1.0 };
        trace_direction(&self.trace).is_improvement(rise)
    }

    /// The direction in which the trace improves.
    pub fn direction(&self) -> Direction {
        trace_direction(&self.trace)
    }

    /// (after − before) / |before|; infinite where `before` is 0 and `after` is not.
    pub fn share(&self) -> f64 {
        let difference = self.after - self.before;
        if difference == 0.0 {
            0.0
        } else {
            difference / self.before.abs()
        }
    }
}

/// The name of a regression: `r` and 16 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RegressionId(pub(super) String);

impl RegressionId {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for RegressionId {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for RegressionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A letter, and 64 bits of the MD5 of a text.
pub(super) fn short_hash(letter: &str, text: &str) -> String {
    let hash = Md5::digest(text.as_bytes());
    let hash = hash.get(..8).unwrap_or_default();
    format!("{letter}{}", hex::encode(hash))
}

/// A step of a trace, in tests.
#[cfg(test)]
pub(super) fn step(trace: &str, previous: u32, commit: u32, before: f64, after: f64) -> Change {
    let range = super::range::range(previous, commit);
    Change {
        trace: trace.parse().unwrap(),
        range,
        interval: range,
        places: Vec::new(),
        shape: Shape::Step,
        rose: after > before,
        before,
        after,
        p: None,
        shown_at: CommitNumber(commit + 5),
        algo: Some(Algo::Rank),
        is_firm: false,
        machine: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_better_where_its_trace_says_so() {
        let better = |direction: &str, after| {
            let trace = format!(",improvement_direction={direction},");
            step(&trace, 1, 2, 10.0, after).is_improvement()
        };
        assert!(better("up", 12.0) && !better("up", 8.0));
        assert!(better("down", 8.0) && !better("down", 12.0));
        assert!(!better("x", 8.0) && !better("x", 12.0));
        let spread = |rose| Change {
            shape: Shape::Spread,
            rose,
            ..step(",improvement_direction=up,", 1, 2, 1.0, 1.0)
        };
        assert!(spread(false).is_improvement() && !spread(true).is_improvement());
    }

    #[test]
    fn a_share_is_of_the_level_before() {
        assert_eq!(step(",a=b,", 1, 2, -10.0, -12.0).share(), -0.2);
        assert_eq!(step(",a=b,", 1, 2, 0.0, 3.0).share(), f64::INFINITY);
        assert_eq!(step(",a=b,", 1, 2, 0.0, 0.0).share(), 0.0);
    }

    #[test]
    fn a_change_is_written_and_read() {
        let mut change = step(",a=b,", 1, 4, 10.0, 12.0);
        let id = change.id();
        assert_eq!(id.as_str().len(), 17);
        change.places = vec![Place {
            range: super::super::range::range(1, 3),
            probability: 0.25,
        }];
        change.p = Some(1e-9);
        let json = serde_json::to_string(&change).unwrap();
        assert!(
            json.contains(r#""places":[{"previous":1,"commit":3,"probability":0.25}]"#),
            "{json}"
        );
        assert_eq!(serde_json::from_str::<Change>(&json).unwrap(), change);
        assert_eq!(change.id(), id);
        assert_ne!(step(",a=b,", 1, 4, 12.0, 10.0).id(), id);
    }
}
