//! Descriptions of commits, of any repository.

use std::collections::BTreeMap;

use pinpoint_core::{CombinedCommit, Commit};
use pinpoint_midpoint::{HistoryError, MidpointError};

use super::{LocalHistory, LocalRepositories};
use crate::blocking::blocking;
use crate::error::LocalError;
use crate::git::repository_error::RepositoryError;

impl LocalRepositories {
    /// A state with author, date and subject of each of its commits.
    ///
    /// # Errors
    ///
    /// When a repository lacks the commit. A commit of a repository that is not available locally
    /// stays without them.
    pub async fn describe(&self, state: CombinedCommit) -> Result<CombinedCommit, LocalError> {
        let mut states = [state];
        self.describe_all(&mut states).await?;
        let [state] = states;
        Ok(state)
    }

    /// Like [`describe`](Self::describe), for many at once, at the cost of one call of git for each
    /// repository.
    ///
    /// # Errors
    ///
    /// As [`describe`](Self::describe).
    pub async fn describe_all(&self, states: &mut [CombinedCommit]) -> Result<(), LocalError> {
        let mut unknown: BTreeMap<String, Vec<&mut Commit>> = BTreeMap::new();
        for state in states {
            let held = state.modified_deps.iter_mut().map(|held| &mut held.commit);
            for commit in std::iter::once(&mut state.main).chain(held) {
                if commit.subject.is_none() {
                    let name = commit.repository.clone();
                    unknown.entry(name).or_default().push(commit);
                }
            }
        }
        for (name, commits) in unknown {
            let history = match self.open_local(&name).await {
                Ok(history) => history,
                Err(HistoryError::UnknownRepository { .. }) => continue,
                Err(error) => return Err(MidpointError::from(error).into()),
            };
            let hashes: Vec<String> = commits
                .iter()
                .map(|commit| commit.newest().to_owned())
                .collect();
            let known = match (describe(&history, &hashes).await, history.mirror()) {
                (Err(LocalError::Repository(RepositoryError::Git { .. })), Some(mirror)) => {
                    for hash in &hashes {
                        mirror.bring(hash, None).await?;
                    }
                    describe(&history, &hashes).await?
                }
                (known, _) => known?,
            };
            for (commit, known) in commits.into_iter().zip(known) {
                commit.author = known.author;
                commit.created = known.created;
                commit.subject = known.subject;
            }
        }
        Ok(())
    }
}

async fn describe(history: &LocalHistory, hashes: &[String]) -> Result<Vec<Commit>, LocalError> {
    let (history, hashes) = (history.clone(), hashes.to_vec());
    blocking((), move || {
        let hashes: Vec<&str> = hashes.iter().map(String::as_str).collect();
        Ok(history.repository().describe_all(&hashes)?)
    })
    .await
}
