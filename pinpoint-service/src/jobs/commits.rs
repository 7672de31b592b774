//! Commits by the names that requests give them: `HEAD`, positions and parts of hashes, looked
//! up in mirrors of the repositories that the operator has configured.
//!
//! A request never waits for git for long: fetches run in separate tasks, which continue after the
//! request is answered, and not twice within a short time. A fetch waits for a benchmark on the
//! same machine; until then, the mirror answers as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pinpoint_backends::local::{CommitDetails, CommitName, LocalError, MirrorError, Mirrors};
use tokio::sync::{Semaphore, watch};
use tonic::Status;

use crate::jobs::hosts::is_at_or_below;

/// The time after which a mirror is fetched again for names that may move.
const FRESH: Duration = Duration::from_secs(30);

/// The longest that a request waits for the first clone.
const CLONE_TIMEOUT: Duration = Duration::from_secs(20);

/// The longest that a request waits for a fetch where there is a mirror.
const PATIENCE_FOR_MORE: Duration = Duration::from_secs(5);

/// The most names of a repository that are remembered as absent.
const MOST_ABSENT: usize = 1_000;

/// Look-ups at once: that of a position reads the whole line of its branch.
static LOOK_UPS: Semaphore = Semaphore::const_new(2);

/// Fetches of commits that no branch of a mirror has, at once.
static FETCHES: Semaphore = Semaphore::const_new(1);

/// The commit that was last built for a bot.
pub(crate) const RECENT: &str = "Recent";

/// The mirrors that commits are looked up in.
#[derive(Debug)]
pub struct Commits {
    mirrors: Mirrors,
    pub(super) main_repository: Option<String>,
    /// The last update of each mirror, by its URL.
    updates: Mutex<BTreeMap<String, Update>>,
    absent: Mutex<BTreeMap<String, Absent>>,
}

/// The names that a mirror did not have after an update.
#[derive(Debug)]
struct Absent {
    /// The end of the update.
    as_of: Instant,
    names: BTreeSet<String>,
}

/// The end of an update, and its result; nothing while it runs.
type Update = watch::Receiver<Option<(Instant, Result<(), Status>)>>;

impl Commits {
    /// Commits of the repositories that these mirrors may fetch; `main_repository` is the one
    /// that GetCommit looks into.
    pub fn new(mirrors: Mirrors, main_repository: Option<String>) -> Self {
        Self {
            mirrors,
            main_repository,
            updates: Mutex::default(),
            absent: Mutex::default(),
        }
    }

    /// The commit of this name; nothing where the repository has none.
    pub(crate) async fn find(
        &self,
        repository: &str,
        name: &CommitName,
    ) -> Result<Option<CommitDetails>, Status> {
        let here = match self.absent_since(repository, name) {
            Some(_) => None,
            // The update repairs an unreadable mirror.
            None => self.look_up(repository, name).await.unwrap_or_default(),
        };
        // A name keeps its commit, except HEAD, and a hash whose beginning a newer commit may have
        // as its position.
        let keeps_its_name = |found: &CommitDetails| match name {
            CommitName::Head | CommitName::Ref(_) => false,
            CommitName::Digits(digits) => !found.git_hash.starts_with(digits),
            CommitName::Hash(_) | CommitName::Position { .. } => true,
        };
        if here.as_ref().is_some_and(keeps_its_name) {
            return Ok(here);
        }
        let has_mirror = here.is_some()
            || *name != CommitName::Head
                && matches!(
                    self.look_up(repository, &CommitName::Head).await,
                    Ok(Some(_))
                );
        let patience = match has_mirror {
            true => PATIENCE_FOR_MORE,
            false => CLONE_TIMEOUT,
        };
        let updated = match self.updated(repository, patience).await {
            Ok(Some(updated)) => updated,
            // As of the last fetch. A failure of this one is in the log.
            Ok(None) | Err(_) if here.is_some() => return Ok(here),
            Ok(None) => {
                let what = match has_mirror {
                    true => format!(
                        "{repository} had no commit {name} when it was last fetched; it is being fetched again"
                    ),
                    false => format!("{repository} is being fetched for the first time"),
                };
                return Err(Status::unavailable(format!(
                    "{what}, which takes a while, and longer while a benchmark runs on the machine of this service; try again in a minute"
                )));
            }
            Err(status) => return Err(status),
        };
        if self.absent_since(repository, name) == Some(updated) {
            return Ok(None);
        }
        let found = self.look_up(repository, name).await;
        let found = found.map_err(|error| failed(repository, &error))?;
        if found.is_none() {
            let mut absent = self.absent.lock().unwrap_or_else(PoisonError::into_inner);
            let of = absent.entry(repository.to_owned()).or_insert(Absent {
                as_of: updated,
                names: BTreeSet::new(),
            });
            if of.as_of != updated || of.names.len() >= MOST_ABSENT {
                of.as_of = updated;
                of.names.clear();
            }
            of.names.insert(name.to_string());
        }
        Ok(found)
    }

    /// Returns true if the repository lacks this full hash, as far as can be found out soon:
    /// workers understand hashes, too.
    pub(crate) async fn lacks(&self, repository: &str, name: &CommitName) -> bool {
        if let Ok(Some(_)) = self.look_up(repository, name).await {
            return false;
        }
        let (mirrors, url, hash) = (
            self.mirrors.clone(),
            repository.to_owned(),
            name.to_string(),
        );
        let asked = tokio::spawn(async move {
            let _turn = FETCHES.acquire().await;
            mirrors.has_commit(&url, &hash).await
        });
        match tokio::time::timeout(PATIENCE_FOR_MORE, asked).await {
            Ok(Ok(Ok(has))) => !has,
            Ok(Ok(Err(error))) => {
                failed(repository, &error);
                false
            }
            Ok(Err(_)) | Err(_) => false,
        }
    }

    /// The end of the update after which the mirror had no commit of this name.
    fn absent_since(&self, repository: &str, name: &CommitName) -> Option<Instant> {
        let absent = self.absent.lock().unwrap_or_else(PoisonError::into_inner);
        let absent = absent.get(repository)?;
        let is_known = absent.names.contains(&name.to_string());
        is_known.then_some(absent.as_of)
    }

    /// The number of commits between two, where the mirror has both.
    pub(crate) async fn count_between(
        &self,
        repository: &str,
        good: &str,
        bad: &str,
    ) -> Option<u64> {
        let _turn = LOOK_UPS.acquire().await;
        let counted = self.mirrors.count_between(repository, good, bad).await;
        counted.unwrap_or_else(|error| {
            failed(repository, &error);
            None
        })
    }

    /// The commit of this name, in the mirror as it is.
    async fn look_up(
        &self,
        repository: &str,
        name: &CommitName,
    ) -> Result<Option<CommitDetails>, LocalError> {
        let (mirrors, repository, name) =
            (self.mirrors.clone(), repository.to_owned(), name.clone());
        let turn = LOOK_UPS.acquire().await;
        // Git continues when the client has left, and so keeps its turn.
        let found = tokio::spawn(async move {
            let found = mirrors.find(&repository, &name).await;
            drop(turn);
            found
        });
        match found.await {
            Ok(found) => found,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// Brings the mirror of a repository up to date, unless that was done lately, and returns the
    /// time of the update; nothing while it still runs.
    async fn updated(
        &self,
        repository: &str,
        patience: Duration,
    ) -> Result<Option<Instant>, Status> {
        let mut update = {
            let mut updates = self.updates.lock().unwrap_or_else(PoisonError::into_inner);
            let is_fresh = |update: &Update| match &*update.borrow() {
                Some((ended, _)) => ended.elapsed() < FRESH,
                // Under way.
                None => update.has_changed().is_ok(),
            };
            match updates.get(repository).filter(|update| is_fresh(update)) {
                Some(update) => update.clone(),
                None => {
                    let update = self.update(repository);
                    updates.insert(repository.to_owned(), update.clone());
                    update
                }
            }
        };
        match tokio::time::timeout(patience, update.wait_for(Option::is_some)).await {
            Ok(Ok(ended)) => match &*ended {
                Some((ended, result)) => result.clone().map(|()| Some(*ended)),
                None => Ok(None),
            },
            Ok(Err(_)) => Err(Status::internal("the repository can't be fetched")),
            Err(_) => Ok(None),
        }
    }

    fn update(&self, repository: &str) -> Update {
        let (tell, update) = watch::channel(None);
        let (mirrors, repository) = (self.mirrors.clone(), repository.to_owned());
        tokio::spawn(async move {
            let updated = mirrors.update(&repository).await;
            let updated = updated.map_err(|error| failed(&repository, &error));
            tell.send_replace(Some((Instant::now(), updated)));
        });
        update
    }
}

/// Logs a failure of git, whose output is not sent to clients.
fn failed(repository: &str, error: &LocalError) -> Status {
    tracing::warn!(
        repository,
        error = error as &dyn std::error::Error,
        "a commit can't be looked up"
    );
    match error {
        LocalError::Mirror(MirrorError::NotPermitted { .. }) => {
            Status::failed_precondition(format!(
                "this service may not fetch {repository}; its operator allows repositories in `[commits]`"
            ))
        }
        LocalError::Mirror(_) => Status::unavailable(format!(
            "{repository} can't be fetched at the moment; the operator finds the reason in the log"
        )),
        _ => Status::internal(format!(
            "the mirror of {repository} can't be read; the operator finds the reason in the log"
        )),
    }
}

/// The web page of a commit; empty where its host is not known.
pub(crate) fn web_url(repository: &str, hash: &str) -> String {
    let base = repository.trim_end_matches('/');
    let base = base.strip_suffix(".git").unwrap_or(base);
    let host = base
        .strip_prefix("https://")
        .and_then(|rest| rest.split('/').next());
    let at = |known: &str| host.is_some_and(|host| is_at_or_below(host, known));
    if at("googlesource.com") {
        format!("{base}/+/{hash}")
    } else if at("github.com") {
        format!("{base}/commit/{hash}")
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_looked_at_where_its_host_shows_it() {
        let src = "https://chromium.googlesource.com/chromium/src.git";
        assert_eq!(
            web_url(src, "a1"),
            "https://chromium.googlesource.com/chromium/src/+/a1"
        );
        assert_eq!(
            web_url("https://github.com/v8/v8/", "a1"),
            "https://github.com/v8/v8/commit/a1"
        );
        for other in [
            "/srv/tool.git",
            "https://github.com.evil.example/v8",
            "http://github.com/v8/v8",
            "git@github.com:v8/v8",
        ] {
            assert_eq!(web_url(other, "a1"), "");
        }
    }
}
