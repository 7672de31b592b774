//! Repositories on this machine, found by URL.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use lru::LruCache;
use pinpoint_core::{CombinedCommit, Commit};
use pinpoint_midpoint::manifest::resolve_url;
use pinpoint_midpoint::{History, HistoryError, Repositories};

use super::super::executor::{blocking, locked};
use super::super::{LocalError, Repository, RepositoryError};
use super::LocalHistory;

/// Histories that are kept open.
const OPEN: NonZeroUsize = NonZeroUsize::new(32).unwrap();

/// The repositories at hand. Nothing is fetched from anywhere.
///
/// At hand are
///
/// - the main repository, by its path and by the URLs of its remotes;
/// - what the user says, URL by URL;
/// - the submodules that the main repository has cloned, and theirs;
/// - whatever is named by an absolute path or a `file://` URL.
///
/// URLs are the same repository when they differ in no more than a `/` or
/// `.git` at the end, the case of scheme and host, or the short form of an ssh
/// URL (`git@host:path`). Different schemes are different repositories.
///
/// Clones share what they have opened: the 32 histories used last.
#[derive(Clone)]
pub struct LocalRepositories(Arc<Registry>);

struct Registry {
    main: Repository,
    /// The URLs of the main repository's remotes.
    remotes: Vec<String>,
    /// By normalised URL.
    known: BTreeMap<String, Repository>,
    state_dir: PathBuf,
    open: Mutex<LruCache<PathBuf, LocalHistory>>,
}

impl LocalRepositories {
    /// What is at hand around a repository; `told` are directories by URL.
    ///
    /// # Errors
    ///
    /// [`RepositoryError::NotARepository`] for a directory that is none.
    pub fn new(
        main: &Repository,
        told: &BTreeMap<String, PathBuf>,
        state_dir: &Path,
    ) -> Result<Self, RepositoryError> {
        let mut known = BTreeMap::new();
        for directory in submodules(&main.common_dir().join("modules")) {
            // What can't be read there is not at hand.
            if let Ok(repository) = Repository::discover(&directory) {
                for url in repository.remotes()? {
                    known.insert(normalised(&url), repository.clone());
                }
            }
        }
        let remotes = main.remotes()?;
        for url in &remotes {
            known.insert(normalised(url), main.clone());
        }
        known.insert(normalised(&main.path().to_string_lossy()), main.clone());
        for (url, directory) in told {
            known.insert(normalised(url), Repository::discover(directory)?);
        }
        Ok(Self(Arc::new(Registry {
            main: main.clone(),
            remotes,
            known,
            state_dir: state_dir.into(),
            open: Mutex::new(LruCache::new(OPEN)),
        })))
    }

    /// The repository with that URL or path, if it is at hand.
    pub fn locate(&self, repository: &str) -> Option<Repository> {
        self.0.locate(repository)
    }

    /// The history of a repository at hand.
    ///
    /// # Errors
    ///
    /// [`HistoryError::UnknownRepository`] when it is not at hand.
    pub fn history(&self, repository: &str) -> Result<LocalHistory, HistoryError> {
        let located = self
            .0
            .locate(repository)
            .ok_or_else(|| HistoryError::UnknownRepository {
                repository: repository.into(),
                hint: format!("name a clone of it with --repository {repository}=DIR"),
            })?;
        let path = located.path().to_owned();
        if let Some(open) = locked(&self.0.open).get(&path) {
            return Ok(open.clone());
        }
        let history = LocalHistory::open(&located, &self.0.state_dir)?;
        locked(&self.0.open).put(path, history.clone());
        Ok(history)
    }

    /// A state with author, date and subject of each of its commits.
    ///
    /// # Errors
    ///
    /// When a repository at hand lacks the commit. A commit of one that is not
    /// at hand stays without.
    pub async fn describe(&self, state: CombinedCommit) -> Result<CombinedCommit, LocalError> {
        let mut states = [state];
        self.describe_all(&mut states).await?;
        let [state] = states;
        Ok(state)
    }

    /// As [`describe`](Self::describe), for many at once, at the cost of a call
    /// of git for each repository.
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
            let Some(repository) = self.0.locate(&name) else {
                continue;
            };
            let hashes: Vec<String> = commits
                .iter()
                .map(|commit| commit.newest().to_owned())
                .collect();
            let known = blocking((), move || {
                let hashes: Vec<&str> = hashes.iter().map(String::as_str).collect();
                Ok(repository.describe_all(&hashes)?)
            })
            .await?;
            for (commit, known) in commits.into_iter().zip(known) {
                commit.author = known.author;
                commit.created = known.created;
                commit.subject = known.subject;
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Repositories for LocalRepositories {
    async fn open(&self, repository: &str) -> Result<Arc<dyn History>, HistoryError> {
        let (registry, name) = (self.clone(), repository.to_owned());
        match blocking((), move || Ok(registry.history(&name))).await {
            Ok(history) => Ok(Arc::new(history?)),
            Err(error) => Err(HistoryError::Unreadable {
                repository: repository.into(),
                source: Box::new(error),
            }),
        }
    }
}

impl Registry {
    fn locate(&self, name: &str) -> Option<Repository> {
        if let Some(known) = self.known.get(&normalised(name)) {
            return Some(known.clone());
        }
        let path = Path::new(name.strip_prefix("file://").unwrap_or(name));
        if !path.is_absolute() {
            return None;
        }
        match Repository::discover(path) {
            // Not one that merely encloses the path.
            Ok(found) if path.canonicalize().is_ok_and(|path| found.is_at(&path)) => Some(found),
            _ => self.beside_a_remote(path),
        }
    }

    /// A URL relative to the main repository is resolved by its path, which is
    /// how a job calls it; git resolves it by the URL of the remote.
    fn beside_a_remote(&self, path: &Path) -> Option<Repository> {
        let relative = relative(path, self.main.path())?;
        self.remotes.iter().find_map(|remote| {
            let url = resolve_url(remote, &relative)?;
            self.known.get(&normalised(&url)).cloned()
        })
    }
}

/// The clones of submodules that git keeps in a directory, and theirs.
fn submodules(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else {
            continue;
        };
        let mut below: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.is_dir() && !path.is_symlink())
            .collect();
        below.sort();
        for path in below {
            // A name may have slashes: what is no repository holds some.
            if path.join("HEAD").is_file() {
                directories.push(path.join("modules"));
                found.push(path);
            } else {
                directories.push(path);
            }
        }
    }
    found
}

/// The way from one directory to another, both absolute: `../lib`.
fn relative(to: &Path, from: &Path) -> Option<String> {
    let (to, from): (Vec<_>, Vec<_>) = (to.components().collect(), from.components().collect());
    let same = to
        .iter()
        .zip(&from)
        .take_while(|(one, other)| one == other)
        .count();
    let mut way = vec!["..".to_owned(); from.len() - same];
    for part in &to[same..] {
        match part {
            Component::Normal(name) => way.push(name.to_str()?.to_owned()),
            _ => return None,
        }
    }
    (same < from.len()).then(|| way.join("/"))
}

/// A URL in the one form that stands for all its spellings.
fn normalised(url: &str) -> String {
    let mut url = url.trim_end_matches('/');
    url = url.strip_suffix(".git").unwrap_or(url);
    url = url.trim_end_matches('/');
    url = match url.strip_prefix("file://") {
        Some(path) => path,
        None => url,
    };
    if url.starts_with('/') {
        return url.to_owned();
    }
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) => (scheme.to_ascii_lowercase(), rest.to_owned()),
        // `git@host:path` is short for an ssh URL.
        None => match url.split_once(':') {
            Some((host, path)) if !host.contains('/') => {
                let path = path.trim_start_matches('/');
                ("ssh".to_owned(), format!("{host}/{path}"))
            }
            _ => return url.to_owned(),
        },
    };
    let (host, path) = rest.split_once('/').unwrap_or((&rest, ""));
    let host = match host.rsplit_once('@') {
        Some((user, host)) => format!("{user}@{}", host.to_ascii_lowercase()),
        None => host.to_ascii_lowercase(),
    };
    format!("{scheme}://{host}/{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_url_are_one() {
        let same = [
            "https://host.example/team/tool",
            "https://host.example/team/tool/",
            "https://host.example/team/tool.git",
            "HTTPS://Host.Example/team/tool.git/",
        ];
        for url in same {
            assert_eq!(normalised(url), same[0]);
        }
        let same = [
            "ssh://git@host.example/team/tool",
            "git@host.example:team/tool.git",
            "git@HOST.example:/team/tool",
        ];
        for url in same {
            assert_eq!(normalised(url), same[0]);
        }
        assert_eq!(normalised("file:///src/tool.git"), "/src/tool");
        for other in [
            "https://host.example/Team/tool",
            "http://host.example/team/tool",
            "https://host.example:8443/team/tool",
        ] {
            assert_ne!(normalised(other), "https://host.example/team/tool");
        }
    }

    #[test]
    fn ways_between_directories() {
        let way = |to: &str, from: &str| relative(Path::new(to), Path::new(from));
        assert_eq!(way("/src/lib", "/src/tool").as_deref(), Some("../lib"));
        assert_eq!(way("/lib", "/src/tool").as_deref(), Some("../../lib"));
        assert_eq!(way("/src/tool/lib", "/src/tool"), None);
    }
}
