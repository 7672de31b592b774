//! Repositories in memory, with the simplest manifests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use pinpoint_core::{CombinedCommit, Commit, ModifiedDependency};
use pinpoint_midpoint::manifest::{Dependency, Manifest, ManifestError, Source};
use pinpoint_midpoint::{Between, History, HistoryError, MidpointError, Midpoints, Repositories};

/// The only kind of manifest here: `path url revision` in each line.
pub(crate) struct Rolls;

impl Manifest for Rolls {
    fn file(&self) -> &'static str {
        "ROLLS"
    }

    fn read(
        &self,
        file: &str,
        _: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, Dependency>, ManifestError> {
        let dependency = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            let source = match words[..] {
                [_, "package", version] => Source::Package {
                    registry: "somewhere".into(),
                    name: words[0].into(),
                    version: version.into(),
                },
                _ => Source::Git {
                    url: words[1].into(),
                    revision: words[2].into(),
                },
            };
            let nested = vec!["ROLLS".into()];
            let condition = words.get(3).map(|word| (*word).to_owned());
            let dependency = Dependency {
                nested,
                condition,
                ..source.into()
            };
            (words[0].to_owned(), dependency)
        };
        Ok(file.lines().map(dependency).collect())
    }
}

/// A line of commits. The hash of the `n`-th, from 0, is the name and `n`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Repository {
    pub(crate) name: String,
    /// The manifest at each commit.
    pub(crate) manifests: Vec<String>,
    /// Commits that belong to another branch, parted from the first one.
    pub(crate) elsewhere: usize,
}

/// The hash of a commit: seven hexadecimal digits or more, as in git.
pub(crate) fn hash(name: &str, number: usize) -> String {
    let name: String = name.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("{name}0000{number:08}")
}

impl Repository {
    fn number(&self, hash: &str) -> Result<usize, HistoryError> {
        (0..self.manifests.len() + self.elsewhere)
            .find(|number| self::hash(&self.name, *number) == hash)
            .ok_or_else(|| HistoryError::UnknownRevision {
                repository: self.name.clone(),
                revision: hash.into(),
                hint: "make it".into(),
            })
    }
}

#[async_trait]
impl History for Repository {
    async fn resolve(&self, name: &str) -> Result<String, HistoryError> {
        self.number(name).map(|number| hash(&self.name, number))
    }

    async fn is_ancestor(&self, ancestor: &str, descendant: &str) -> Result<bool, HistoryError> {
        let (ancestor, descendant) = (self.number(ancestor)?, self.number(descendant)?);
        let line = self.manifests.len();
        Ok(ancestor <= descendant && (descendant < line || ancestor == 0 || ancestor >= line))
    }

    async fn count(&self, lower: &str, higher: &str) -> Result<u64, HistoryError> {
        Ok((self.number(higher)? - self.number(lower)?) as u64)
    }

    async fn nth(&self, lower: &str, _: &str, offset: u64) -> Result<String, HistoryError> {
        Ok(hash(&self.name, self.number(lower)? + 1 + offset as usize))
    }

    async fn parents(&self, commit: &str) -> Result<Vec<String>, HistoryError> {
        let number = self.number(commit)?;
        Ok(number
            .checked_sub(1)
            .map(|parent| hash(&self.name, parent))
            .into_iter()
            .collect())
    }

    async fn file(
        &self,
        commit: &str,
        _: &[String],
        path: &str,
        most: usize,
    ) -> Result<Option<Vec<u8>>, HistoryError> {
        let number = self.number(commit)?;
        let text = self.manifests.get(number).cloned().unwrap_or_default();
        if text.len() > most {
            return Err(HistoryError::TooLarge {
                repository: self.name.clone(),
                path: path.into(),
                object: format!("{} bytes", text.len()),
                size: text.len() as u64,
                most,
            });
        }
        Ok((path == "ROLLS").then(|| text.into_bytes()))
    }

    async fn gitlinks(
        &self,
        _: &str,
        _: &[String],
        _: &[String],
    ) -> Result<BTreeMap<String, String>, HistoryError> {
        Ok(BTreeMap::new())
    }

    async fn merged_tree(
        &self,
        commit: &str,
        _: &[String],
    ) -> Result<Option<String>, HistoryError> {
        Ok(Some(commit.into()))
    }
}

/// Repositories by name. A `.git` at the end of a name makes no difference.
#[derive(Debug, Clone, Default)]
pub(crate) struct World(pub(crate) BTreeMap<String, Repository>);

#[async_trait]
impl Repositories for World {
    async fn open(&self, repository: &str) -> Result<Arc<dyn History>, HistoryError> {
        match self.0.get(repository.trim_end_matches(".git")) {
            Some(found) => Ok(Arc::new(found.clone())),
            None => Err(HistoryError::UnknownRepository {
                repository: repository.into(),
                hint: "make it".into(),
            }),
        }
    }

    async fn identities(
        &self,
        repositories: BTreeSet<String>,
    ) -> Result<BTreeMap<String, String>, HistoryError> {
        let identity = |name: String| (name.clone(), name.trim_end_matches(".git").to_owned());
        Ok(repositories.into_iter().map(identity).collect())
    }
}

impl World {
    /// Adds a repository with these manifests, from its commit 0 on.
    pub(crate) fn with(mut self, name: &str, manifests: &[&str]) -> Self {
        self.0.insert(
            name.into(),
            Repository {
                name: name.into(),
                manifests: manifests.iter().map(|text| (*text).to_owned()).collect(),
                elsewhere: 0,
            },
        );
        self
    }

    pub(crate) fn midpoints(&self) -> Midpoints {
        Midpoints::with_manifests(Arc::new(self.clone()), &[&Rolls])
    }

    /// Everything between two states, in order.
    pub(crate) fn between(
        &self,
        lower: &CombinedCommit,
        higher: &CombinedCommit,
    ) -> Result<(Arc<Between>, Vec<CombinedCommit>), MidpointError> {
        let midpoints = self.midpoints();
        wait(async {
            let between = midpoints.between(lower, higher).await?;
            let mut states = Vec::new();
            for offset in 0..between.count() {
                states.push(midpoints.nth(&between, offset).await?);
            }
            Ok((between, states))
        })
    }
}

/// `manifest("skia", 3)`: a line that names skia at its commit 3.
#[allow(dead_code, reason = "not every test file uses all of it")]
pub(crate) fn names(name: &str, number: usize) -> String {
    format!("{name} {name} {}", hash(name, number))
}

/// A state, written `C@1` or `C@1 C/skia@2 skia/fonts@3`: after a slash, a dependency of the
/// repository before it.
pub(crate) fn state(text: &str) -> CombinedCommit {
    let commit = |text: &str| {
        let (name, number) = text.split_once('@').expect("name@number");
        let number = number.parse().expect("a number");
        Commit::new(name, hash(name.trim_end_matches(".git"), number))
    };
    let mut words = text.split(' ');
    let main = commit(words.next().expect("a main commit"));
    let modified_deps = words
        .map(|word| {
            let (named_by, held) = word.split_once('/').expect("namer/name@number");
            ModifiedDependency {
                commit: commit(held),
                named_by: named_by.into(),
            }
        })
        .collect();
    CombinedCommit {
        modified_deps,
        ..main.into()
    }
}

/// The inverse of [`state`].
pub(crate) fn written(state: &CombinedCommit) -> String {
    let commit = |commit: &Commit| {
        let number = &commit.git_hash[commit.git_hash.len() - 8..];
        format!(
            "{}@{}",
            commit.repository,
            number.parse::<usize>().expect("a number")
        )
    };
    let mut text = commit(&state.main);
    for held in &state.modified_deps {
        text += &format!(" {}/{}", held.named_by, commit(&held.commit));
    }
    text
}

pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime")
        .block_on(future)
}
