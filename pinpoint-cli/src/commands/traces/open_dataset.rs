//! A dataset of the store, and the commits in it by the names that people give them.

use std::ops::RangeInclusive;
use std::path::Path;

use pinpoint_backends::local::Repository;
use pinpoint_backends::traces::{History, NumberedAnnotation, NumberedCommit};
use pinpoint_traces::{CommitName, CommitNumber, Dataset};

use crate::arguments::{Display, RangeArgument};
use crate::commands::ingest::git;
use crate::error::CliError;
use crate::job::storage::open_traces;

/// Longer texts of digits alone may be hashes, too.
const SHORTEST_HASH: usize = 7;

/// All commit numbers.
pub(crate) const ALL: RangeInclusive<CommitNumber> = CommitNumber(0)..=CommitNumber(u32::MAX);

/// A dataset of the store.
pub(crate) struct OpenDataset {
    pub(crate) history: History,
}

impl OpenDataset {
    pub(crate) async fn open(display: &Display, dataset: &Dataset) -> Result<Self, CliError> {
        let history = open_traces(display).await?.history(dataset);
        Ok(Self { history })
    }

    /// The greatest number of a commit that is known or has a value.
    pub(crate) async fn newest(&self) -> Result<CommitNumber, CliError> {
        self.history.newest_number().await?.ok_or_else(|| {
            CliError::Input(format!(
                "the dataset `{}` has neither commits nor values yet; `pinpoint ingest` adds them",
                self.history.dataset()
            ))
        })
    }

    /// A commit by its number, its hash, or its name in the repository here.
    pub(crate) async fn commit(&self, name: &str) -> Result<CommitNumber, CliError> {
        let newest = self.newest().await?;
        let number: Option<CommitNumber> = name.parse().ok();
        let may_be_hash = name.len() >= SHORTEST_HASH && !name.starts_with("CP:");
        match number {
            Some(number) if number <= newest || !may_be_hash => {
                return match number <= newest {
                    true => Ok(number),
                    false => Err(self.unknown(name, newest)),
                };
            }
            _ => {}
        }
        if let Ok(hash @ CommitName::Hash(_)) = CommitName::read(name)
            && let Some(number) = self.history.find_commit(&hash).await?
        {
            return Ok(number);
        }
        let here = git(|| Repository::discover(Path::new("."))).await;
        let Ok(repository) = here else {
            return Err(self.unknown(name, newest));
        };
        let revision = name.to_owned();
        let found = git(move || repository.resolve_revision(&revision)).await;
        let hash = match found {
            Ok(commit) => commit.git_hash,
            Err(_) => return Err(self.unknown(name, newest)),
        };
        match self
            .history
            .find_commit(&CommitName::Hash(hash.clone()))
            .await?
        {
            Some(number) => Ok(number),
            None => Err(CliError::Input(format!(
                "commit {hash} has no number in the dataset `{}`: it is not on the line that is numbered, or newer; `pinpoint ingest` adds new commits, and its --main names the line",
                self.history.dataset()
            ))),
        }
    }

    fn unknown(&self, name: &str, newest: CommitNumber) -> CliError {
        CliError::Input(format!(
            "the dataset `{}` has no commit `{name}`; its commits are 0 to {newest}, and names such as HEAD~3 need its repository here",
            self.history.dataset()
        ))
    }

    /// The commits of a range; all of them without one.
    pub(crate) async fn range(
        &self,
        range: &RangeArgument,
    ) -> Result<RangeInclusive<CommitNumber>, CliError> {
        let from = match &range.from {
            Some(name) => self.commit(name).await?,
            None => CommitNumber(0),
        };
        let to = match &range.to {
            Some(name) => self.commit(name).await?,
            None => self.newest().await?,
        };
        if from > to {
            return Err(CliError::Input(format!(
                "commit {from} comes after {to}; write the older one first"
            )));
        }
        Ok(from..=to)
    }

    /// Those of these commits, which ascend, that are known.
    pub(crate) async fn commits(
        &self,
        numbers: &[CommitNumber],
    ) -> Result<Vec<NumberedCommit>, CliError> {
        let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else {
            return Ok(Vec::new());
        };
        let mut commits = self.history.commits(*first..=*last).await?;
        commits.retain(|it| numbers.binary_search(&it.number).is_ok());
        Ok(commits)
    }

    /// The annotations at these commits, which ascend.
    pub(crate) async fn annotations(
        &self,
        numbers: &[CommitNumber],
    ) -> Result<Vec<NumberedAnnotation>, CliError> {
        let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else {
            return Ok(Vec::new());
        };
        Ok(self.history.annotations(*first..=*last).await?)
    }
}
