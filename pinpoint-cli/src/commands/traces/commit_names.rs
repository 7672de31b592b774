//! Commits of the history by number, with the hashes that are known.

use std::collections::BTreeMap;

use pinpoint_backends::traces::History;
use pinpoint_traces::CommitNumber;
use pinpoint_traces::watch::CommitRange;

use crate::error::CliError;
use crate::show::ingested::short;

/// The hashes of commits.
#[derive(Debug, Default)]
pub(crate) struct CommitNames(BTreeMap<CommitNumber, String>);

impl CommitNames {
    /// Those of the ends of ranges.
    pub(crate) async fn of(
        history: &History,
        ranges: impl IntoIterator<Item = CommitRange>,
    ) -> Result<Self, CliError> {
        let ends = ranges
            .into_iter()
            .flat_map(|it| [it.previous(), it.commit()]);
        let ends: Vec<CommitNumber> = ends.collect();
        let (Some(first), Some(last)) = (ends.iter().min(), ends.iter().max()) else {
            return Ok(Self::default());
        };
        let known = history.commits(*first..=*last).await?.into_iter();
        Ok(Self(known.map(|it| (it.number, it.hash)).collect()))
    }

    /// The full hash of a commit, if it is known.
    pub(crate) fn hash(&self, commit: CommitNumber) -> Option<&str> {
        self.0.get(&commit).map(String::as_str)
    }

    /// "commit 14 (0123456789)".
    pub(crate) fn commit(&self, commit: CommitNumber) -> String {
        match self.hash(commit) {
            Some(hash) => format!("commit {commit} ({})", short(hash)),
            None => format!("commit {commit}"),
        }
    }

    /// A single commit, or "4 commits 10..14 (0123456789..abcdef0123)": as in git, without the
    /// first end.
    pub(crate) fn range(&self, range: CommitRange) -> String {
        if range.len() == 1 {
            return self.commit(range.commit());
        }
        let (previous, commit) = (range.previous(), range.commit());
        let hashes = match (self.hash(previous), self.hash(commit)) {
            (Some(good), Some(bad)) => format!(" ({}..{})", short(good), short(bad)),
            _ => String::new(),
        };
        format!("{} commits {previous}..{commit}{hashes}", range.len())
    }
}
