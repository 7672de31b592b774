//! The URLs by which a repository is known on other machines.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pinpoint_core::CombinedCommit;

use crate::git::history::url::normal_form;
use crate::git::history::urls_around;
use crate::git::remote_url::RemoteUrl;
use crate::git::repository::Repository;
use crate::git::repository_error::RepositoryError;

impl Repository {
    /// The URLs from which other machines can fetch this repository and related ones (see
    /// [`LocalRepositories`](crate::LocalRepositories)), by their names here; `named` are clones
    /// that the user named. Those without a usable remote are left out. They contain no
    /// credentials. Of several remotes the repository's is the one that has these commits (see
    /// [`published`](Self::published)), if one has them.
    ///
    /// # Errors
    ///
    /// When git can't be run.
    pub fn urls(
        &self,
        named: &BTreeMap<String, PathBuf>,
        commits: &[&str],
    ) -> Result<BTreeMap<String, String>, RepositoryError> {
        let mut urls = urls_around(self, named);
        let mut remotes = self.remotes()?;
        if remotes.len() > 1
            && let Ok(url) = self.published(commits)
        {
            remotes.retain(|(_, other)| *other == url);
        }
        if let Some((_, url)) = remotes.into_iter().next() {
            urls.insert(self.name(), url.to_string());
            urls.insert(url.normal_form(), url.to_string());
        }
        Ok(urls)
    }

    /// The URL from which other machines can fetch commits, named by their full hashes: of the
    /// first remote whose branches, as far as known here, hold all of them.
    ///
    /// # Errors
    ///
    /// [`RepositoryError::NoRemote`], and [`RepositoryError::NotPublished`] with a commit that has
    /// to be pushed.
    pub fn published(&self, commits: &[&str]) -> Result<RemoteUrl, RepositoryError> {
        let mut missing = None;
        for (name, url) in self.remotes()? {
            match self.unpublished(&name, commits)? {
                None => return Ok(url),
                Some(commit) => missing = missing.or(Some((name, commit))),
            }
        }
        let path = self.path().to_owned();
        Err(match missing {
            None => RepositoryError::NoRemote { path },
            Some((remote, commit)) => RepositoryError::NotPublished {
                path,
                remote,
                commit,
            },
        })
    }

    /// The first of these commits that is on no branch of a remote.
    fn unpublished(
        &self,
        remote: &str,
        commits: &[&str],
    ) -> Result<Option<String>, RepositoryError> {
        let branches = format!("refs/remotes/{remote}/");
        for commit in commits {
            let holds = format!("--contains={commit}");
            let found = self.ask(&["for-each-ref", "--count=1", &holds, &branches])?;
            if found.is_empty() {
                return Ok(Some((*commit).to_owned()));
            }
        }
        Ok(None)
    }

    /// The remotes with URLs that can be fetched: first that of the checked-out branch, then
    /// `origin`, then the others.
    fn remotes(&self) -> Result<Vec<(String, RemoteUrl)>, RepositoryError> {
        let branch = self.test(&["symbolic-ref", "--quiet", "--short", "HEAD"])?;
        let upstream = match branch {
            Some(branch) => {
                let key = format!("branch.{}.remote", branch.trim_end());
                self.test(&["config", "--get", &key])?
            }
            None => None,
        };
        let upstream = upstream.unwrap_or_default();
        let names = self.ask(&["remote"])?;
        let mut names: Vec<&str> = names.lines().collect();
        names.sort_by_key(|name| (*name != upstream.trim_end(), *name != "origin"));
        let mut remotes = Vec::new();
        for name in names {
            // As git would use it: only this machine knows `url.….insteadOf`.
            let url = self.ask(&["remote", "get-url", name])?;
            if let Ok(url) = url.trim_end_matches('\n').parse() {
                remotes.push((name.to_owned(), url));
            }
        }
        Ok(remotes)
    }

    /// Its name in jobs.
    pub(crate) fn name(&self) -> String {
        self.path().to_string_lossy().into_owned()
    }
}

/// The commit, with each repository named by its URL; absent if one of them has no URL.
pub(crate) fn by_url(
    commit: &CombinedCommit,
    urls: &BTreeMap<String, String>,
) -> Option<CombinedCommit> {
    let url = |name: &str| url_of(name, urls);
    let mut commit = commit.clone();
    commit.main.repository = url(&commit.main.repository)?;
    for held in &mut commit.modified_deps {
        held.commit.repository = url(&held.commit.repository)?;
        held.named_by = url(&held.named_by)?;
    }
    Some(commit)
}

/// The URL of the repository that has this name in a job, in normal form.
pub(crate) fn url_of(name: &str, urls: &BTreeMap<String, String>) -> Option<String> {
    let url = urls.get(name).or_else(|| urls.get(&normal_form(name)));
    url.map(|url| normal_form(url))
}
