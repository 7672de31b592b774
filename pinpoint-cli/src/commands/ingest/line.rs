//! The commits of the repository, added to the history.

use pinpoint_backends::local::{Repository, RepositoryError};
use pinpoint_backends::traces::{History, NumberedCommit, TraceStoreError};
use pinpoint_traces::CommitNumber;

use crate::arguments::Display;
use crate::error::CliError;
use crate::job::stop::Interrupt;
use crate::show::reading::Reading;

/// The commits that are read and added at a time.
const AT_A_TIME: usize = 1000;

/// The commits that came to a history, and what waited for them.
#[derive(Debug, Default)]
pub(super) struct Added {
    pub(super) commits: u64,
    pub(super) values: u64,
}

/// Adds the commits of the first-parent line that the history lacks. Interrupted, it adds the rest
/// the next time.
pub(super) async fn add(
    repository: &Repository,
    main: &str,
    history: &History,
    interrupt: &Interrupt,
    display: &Display,
) -> Result<Added, CliError> {
    let newest = match history.newest_commit().await {
        Err(TraceStoreError::NoDataset(_)) => None,
        newest => newest?,
    };
    let known = newest.as_ref().map(|it| it.hash.clone());
    let (here, main) = (repository.clone(), main.to_owned());
    let line = git(move || here.first_parent_line(&main, known.as_deref())).await?;
    let first = match newest {
        Some(newest) if line.continues => newest.number.0 + 1,
        _ => 0,
    };
    let mut added = Added::default();
    let progress = Reading::begin("commits", line.hashes.len(), display);
    for (at, hashes) in line.hashes.chunks(AT_A_TIME).enumerate() {
        if interrupt.is_heard() {
            return Err(CliError::Interrupted);
        }
        let (here, hashes) = (repository.clone(), hashes.to_vec());
        let commits = git(move || here.line_commits(&hashes)).await?;
        let mut numbered = Vec::with_capacity(commits.len());
        for (number, commit) in (at * AT_A_TIME..).zip(commits) {
            let number = u32::try_from(number)
                .ok()
                .and_then(|it| it.checked_add(first));
            numbered.push(NumberedCommit {
                number: CommitNumber(number.ok_or(TraceStoreError::Exhausted("commits"))?),
                hash: commit.git_hash,
                time: commit.time,
                author: commit.author,
                subject: commit.subject,
            });
        }
        added.values += history.add_commits(&numbered).await?;
        added.commits += numbered.len() as u64;
        progress.advance(numbered.len());
    }
    if line.hashes.is_empty() {
        // Files may wait that came before their commit did.
        added.values += history.add_commits(&[]).await?;
    }
    Ok(added)
}

/// Git's answer, for which a thread of its own waits.
pub(crate) async fn git<T: Send + 'static>(
    ask: impl FnOnce() -> Result<T, RepositoryError> + Send + 'static,
) -> Result<T, CliError> {
    match tokio::task::spawn_blocking(ask).await {
        Ok(answer) => Ok(answer?),
        // The process ends.
        Err(_) => Err(CliError::Interrupted),
    }
}
