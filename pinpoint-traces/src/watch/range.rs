//! Ranges of commits, open at their older end.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::commit::CommitNumber;

/// The commits after one and up to another: (previous, commit]. It holds at least one commit.
///
/// A change between two values, at `previous` and at `commit`, is one of these commits. Two ranges
/// meet if they have a commit in common: (10, 11] and (11, 12] do not.
///
/// ```
/// use pinpoint_traces::{CommitNumber, watch::CommitRange};
///
/// let range = |previous, commit| CommitRange::new(CommitNumber(previous), CommitNumber(commit));
/// assert!(!range(10, 11)?.meets(range(11, 12)?));
/// assert_eq!(range(10, 14)?.intersection(range(12, 20)?), Some(range(12, 14)?));
/// assert!(range(11, 11).is_err());
/// # Ok::<(), pinpoint_traces::watch::EmptyRange>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "RangeFields")]
pub struct CommitRange {
    previous: CommitNumber,
    commit: CommitNumber,
}

/// A range as it is stored, before it is checked.
#[derive(Deserialize)]
struct RangeFields {
    previous: CommitNumber,
    commit: CommitNumber,
}

impl CommitRange {
    /// The commits after `previous` and up to `commit`.
    ///
    /// # Errors
    ///
    /// [`EmptyRange`] unless `previous` is before `commit`.
    pub fn new(previous: CommitNumber, commit: CommitNumber) -> Result<Self, EmptyRange> {
        if previous < commit {
            Ok(Self { previous, commit })
        } else {
            Err(EmptyRange { previous, commit })
        }
    }

    /// The last commit before the range: the good end of a search.
    pub fn previous(self) -> CommitNumber {
        self.previous
    }

    /// The last commit of the range: the bad end of a search.
    pub fn commit(self) -> CommitNumber {
        self.commit
    }

    /// The number of commits, at least 1.
    #[expect(clippy::len_without_is_empty, reason = "a range is never empty")]
    pub fn len(self) -> u32 {
        self.commit.0 - self.previous.0
    }

    /// Returns true if the commit is in the range.
    pub fn contains(self, commit: CommitNumber) -> bool {
        self.previous < commit && commit <= self.commit
    }

    /// Returns true if both ranges have a commit in common.
    pub fn meets(self, other: Self) -> bool {
        self.intersection(other).is_some()
    }

    /// The commits that both have.
    pub fn intersection(self, other: Self) -> Option<Self> {
        let previous = self.previous.max(other.previous);
        Self::new(previous, self.commit.min(other.commit)).ok()
    }

    /// The smallest range that holds both.
    pub fn hull(self, other: Self) -> Self {
        Self {
            previous: self.previous.min(other.previous),
            commit: self.commit.max(other.commit),
        }
    }
}

impl fmt::Display for CommitRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "({}, {}]", self.previous, self.commit)
    }
}

impl TryFrom<RangeFields> for CommitRange {
    type Error = EmptyRange;

    fn try_from(fields: RangeFields) -> Result<Self, EmptyRange> {
        Self::new(fields.previous, fields.commit)
    }
}

/// A range without a commit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no commit is after {previous} and not after {commit}")]
pub struct EmptyRange {
    /// The commit before the range.
    pub previous: CommitNumber,
    /// The last commit of the range.
    pub commit: CommitNumber,
}

/// The range of these numbers, in tests.
#[cfg(test)]
pub(super) fn range(previous: u32, commit: u32) -> CommitRange {
    CommitRange::new(CommitNumber(previous), CommitNumber(commit)).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_do_not_meet() {
        assert!(!range(10, 11).meets(range(11, 12)));
        assert_eq!(range(10, 11).hull(range(14, 15)), range(10, 15));
        assert!(range(10, 12).contains(CommitNumber(12)));
        assert!(!range(10, 12).contains(CommitNumber(10)));
        assert_eq!(range(10, 12).len(), 2);
    }

    #[test]
    fn an_empty_range_is_not_read() {
        let text = r#"{"previous":3,"commit":4}"#;
        let read: CommitRange = serde_json::from_str(text).unwrap();
        assert_eq!(
            (read, serde_json::to_string(&read).unwrap()),
            (range(3, 4), text.to_owned())
        );
        assert!(serde_json::from_str::<CommitRange>(r#"{"previous":4,"commit":4}"#).is_err());
    }
}
