//! Which dependencies two revisions of a repository hold differently.

use std::collections::BTreeMap;

use pinpoint_core::{Commit, DependencyChange, Followed};

use crate::held::Held;
use crate::line::{self, Line, Relation};
use crate::manifest::{Dependency, Manifest, ManifestError, Source, resolve_url};
use crate::midpoints::Midpoints;
use crate::{History, HistoryError, MidpointError};

/// A repository within two states that are compared.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// The repositories that name one another down to this one, itself last.
    pub(crate) way: Vec<String>,
    /// The manifests that count in it.
    pub(crate) manifests: Vec<String>,
    /// What the lower state holds here.
    pub(crate) lower: Held,
    /// What the higher state holds here.
    pub(crate) higher: Held,
}

/// What a place holds differently.
#[derive(Debug, Default)]
pub(crate) struct Rolls {
    /// Dependencies that can be followed, in the order in which they roll.
    pub(crate) followed: Vec<Roll>,
    /// All that differs, the ones not followed included, by path, then URL.
    pub(crate) changes: Vec<DependencyChange>,
}

/// One dependency that rolls.
#[derive(Debug)]
pub(crate) struct Roll {
    pub(crate) place: Place,
    /// What lies strictly between its two revisions.
    pub(crate) line: Line,
}

/// The manifests of one revision, by file.
pub(crate) type Manifests = BTreeMap<String, ManifestFile>;

/// One version of a manifest.
#[derive(Debug)]
pub(crate) struct ManifestFile {
    text: String,
    /// What it names, or what is wrong with it.
    names: Result<BTreeMap<String, Dependency>, ManifestError>,
}

/// One dependency as the two states have it.
#[derive(Debug, Clone, Default)]
struct Both {
    path: String,
    before: Option<Dependency>,
    after: Option<Dependency>,
}

impl Place {
    pub(crate) fn repository(&self) -> &str {
        &self.lower.commit.repository
    }

    /// Do both states hold this repository itself at the same revision?
    pub(crate) fn is_at_one_revision(&self) -> bool {
        self.lower.commit == self.higher.commit
    }

    /// What is held differently here, and what can be followed of it.
    pub(crate) async fn rolls(&self, midpoints: &Midpoints) -> Result<Rolls, MidpointError> {
        let held: Vec<&str> = self
            .lower
            .below
            .iter()
            .chain(&self.higher.below)
            .map(|held| held.commit.repository.as_str())
            .collect();
        if self.is_at_one_revision() && held.is_empty() {
            return Ok(Rolls::default());
        }
        let before = midpoints.manifests(&self.lower.commit).await?;
        let after = midpoints.manifests(&self.higher.commit).await?;
        let mut rolls = Rolls::default();
        let mut repositories: BTreeMap<String, Vec<Both>> = BTreeMap::new();
        let missing = ManifestFile::missing();
        for file in &self.manifests {
            let before = before.get(file).unwrap_or(&missing);
            let after = after.get(file).unwrap_or(&missing);
            let (before, after) = match (&before.names, &after.names) {
                (Ok(names), Ok(names_after)) => (names, names_after),
                (Err(error), _) | (_, Err(error)) if !held.is_empty() => {
                    return Err(MidpointError::Manifest {
                        repository: self.repository().to_owned(),
                        revision: self.lower.commit.revision(),
                        source: Box::new(error.clone()),
                    });
                }
                // What it names can't be told, but that it changed nothing.
                _ if before.text == after.text => continue,
                (Err(error), _) | (_, Err(error)) => {
                    rolls.changes.push(DependencyChange {
                        path: file.clone(),
                        repository: self.repository().to_owned(),
                        before: Some(self.lower.commit.revision()),
                        after: Some(self.higher.commit.revision()),
                        followed: no(format!("it can't be read: {error}")),
                    });
                    continue;
                }
            };
            let mut paths: Vec<&String> = before.keys().chain(after.keys()).collect();
            paths.sort();
            paths.dedup();
            for path in paths {
                let both = Both {
                    path: path.clone(),
                    before: before.get(path).cloned(),
                    after: after.get(path).cloned(),
                };
                match both.repository(self.repository()) {
                    Some(repository) => repositories.entry(repository).or_default().push(both),
                    None => rolls.changes.extend(both.cannot_be_followed()),
                }
            }
        }
        for repository in &held {
            if !repositories.contains_key(*repository) && !rolls.mentions(repository) {
                return Err(MidpointError::NotNamed {
                    dependency: (*repository).to_owned(),
                    repository: self.repository().to_owned(),
                    revision: self.lower.commit.revision(),
                });
            }
        }
        let mut found = Vec::new();
        for (repository, everywhere) in repositories {
            found.extend(self.roll(midpoints, repository, &everywhere).await?);
        }
        found.sort_by(|(one, _), (other, _)| {
            (&one.path, &one.repository).cmp(&(&other.path, &other.repository))
        });
        for (change, roll) in found {
            rolls.changes.push(change);
            rolls.followed.extend(roll);
        }
        rolls.changes.sort_by(|one, other| {
            (&one.path, &one.repository).cmp(&(&other.path, &other.repository))
        });
        Ok(rolls)
    }

    /// How one repository rolls, that is named at these paths.
    async fn roll(
        &self,
        midpoints: &Midpoints,
        repository: String,
        everywhere: &[Both],
    ) -> Result<Option<(DependencyChange, Option<Roll>)>, MidpointError> {
        let Some(first) = everywhere.first() else {
            return Ok(None);
        };
        let (lower, higher) = (self.lower.get(&repository), self.higher.get(&repository));
        let revision = |held: Option<&Held>, named: Option<&str>| match held {
            Some(held) => Some(held.commit.revision()),
            None => named.map(str::to_owned),
        };
        let mut change = DependencyChange {
            path: first.path.clone(),
            before: revision(lower, first.before_revision()),
            after: revision(higher, first.after_revision()),
            followed: Followed::Forward,
            repository,
        };
        let refuse = |mut change: DependencyChange, reason: String| {
            change.followed = no(reason);
            Ok(Some((change, None)))
        };
        let below = |held: Option<&Held>| held.map_or_else(Vec::new, |held| held.below.clone());
        let uneven = everywhere.iter().any(|both| {
            (lower.is_none() && both.before_revision() != first.before_revision())
                || (higher.is_none() && both.after_revision() != first.after_revision())
        });
        if uneven {
            let changed = everywhere
                .iter()
                .any(|both| both.before_revision() != both.after_revision());
            if !changed && lower.is_none() && higher.is_none() {
                return Ok(None);
            }
            return refuse(
                change,
                "it is used at several paths, and not at one revision".into(),
            );
        }
        if change.before == change.after && below(lower) == below(higher) {
            let used_otherwise = everywhere
                .iter()
                .any(|both| both.use_before() != both.use_after());
            return if used_otherwise {
                refuse(
                    change,
                    "what changed is the condition under which it is used".into(),
                )
            } else {
                Ok(None)
            };
        }
        if self.way.contains(&change.repository) {
            return refuse(
                change,
                "it is one of the repositories that lead to it: a cycle".into(),
            );
        }
        let history = match midpoints.open(&change.repository).await {
            Ok(history) => history,
            Err(error @ HistoryError::UnknownRepository { .. }) => {
                return refuse(change, error.to_string());
            }
            Err(error) => return Err(error.into()),
        };
        let mut ends = Vec::with_capacity(2);
        for (held, named) in [
            (lower, first.before_revision()),
            (higher, first.after_revision()),
        ] {
            let commit = match held {
                Some(held) => Ok(held.commit.clone()),
                None => fixed(&*history, &change.repository, named.unwrap_or_default()).await?,
            };
            match commit {
                Ok(commit) => ends.push(Held {
                    commit,
                    below: below(held),
                }),
                Err(reason) => return refuse(change, reason),
            }
        }
        let (Some(higher), Some(lower)) = (ends.pop(), ends.pop()) else {
            return Ok(None);
        };
        change.before = Some(lower.commit.revision());
        change.after = Some(higher.commit.revision());
        if lower == higher {
            return Ok(None);
        }
        let line = if lower.commit == higher.commit {
            Line::none(&lower.commit)
        } else {
            match line::between(&*history, &lower.commit, &higher.commit).await {
                Ok(Relation::Forward(line)) => line,
                Ok(Relation::Backward(line)) => {
                    change.followed = Followed::Backward;
                    line
                }
                Ok(Relation::Apart) => {
                    return refuse(change, "its two revisions are on different branches".into());
                }
                Err(error @ HistoryError::UnknownRevision { .. }) => {
                    return refuse(change, error.to_string());
                }
                Err(error) => return Err(error.into()),
            }
        };
        let mut way = self.way.clone();
        way.push(change.repository.clone());
        let place = Place {
            way,
            // What counts on one side only changes with the roll itself.
            manifests: match (&first.before, &first.after) {
                (Some(before), Some(after)) => before
                    .nested
                    .iter()
                    .filter(|file| after.nested.contains(file))
                    .cloned()
                    .collect(),
                _ => Vec::new(),
            },
            lower,
            higher,
        };
        Ok(Some((change, Some(Roll { place, line }))))
    }
}

impl Rolls {
    fn mentions(&self, repository: &str) -> bool {
        self.changes
            .iter()
            .any(|change| change.repository == repository)
    }
}

impl Both {
    /// The repository, when it is one and the same before and after.
    fn repository(&self, namer: &str) -> Option<String> {
        let url = |named: &Option<Dependency>| match named.as_ref().map(|named| &named.source) {
            Some(Source::Git { url, .. }) => resolve_url(namer, url),
            _ => None,
        };
        url(&self.before).filter(|before| url(&self.after).as_ref() == Some(before))
    }

    fn before_revision(&self) -> Option<&str> {
        revision(self.before.as_ref())
    }

    fn after_revision(&self) -> Option<&str> {
        revision(self.after.as_ref())
    }

    fn use_before(&self) -> Option<(&Option<String>, &[String])> {
        self.before.as_ref().map(usage)
    }

    fn use_after(&self) -> Option<(&Option<String>, &[String])> {
        self.after.as_ref().map(usage)
    }

    /// As a change that is named and not followed; nothing if nothing changed.
    fn cannot_be_followed(&self) -> Option<DependencyChange> {
        if self.before == self.after {
            return None;
        }
        let name = |named: &Dependency| match &named.source {
            Source::Git { url, .. } => url.clone(),
            Source::Package { name, .. } => name.clone(),
        };
        let is_git = |named: &Dependency| matches!(named.source, Source::Git { .. });
        let reason = match (&self.before, &self.after) {
            (None, _) => "it is new",
            (_, None) => "it is gone",
            (Some(before), Some(after)) if name(before) == name(after) && is_git(after) => {
                "its URL leads out of where it is relative to"
            }
            (Some(before), Some(after)) if is_git(before) && is_git(after) => {
                "it comes from another repository than before"
            }
            _ => "it is a package, not a repository",
        };
        Some(DependencyChange {
            path: self.path.clone(),
            repository: self.after.as_ref().or(self.before.as_ref()).map(name)?,
            before: self.before_revision().map(str::to_owned),
            after: self.after_revision().map(str::to_owned),
            followed: no(reason.into()),
        })
    }
}

/// All but the revision.
fn usage(named: &Dependency) -> (&Option<String>, &[String]) {
    (&named.condition, &named.nested)
}

fn revision(named: Option<&Dependency>) -> Option<&str> {
    named.map(|named| match &named.source {
        Source::Git { revision, .. } => revision.as_str(),
        Source::Package { version, .. } => version.as_str(),
    })
}

fn no(reason: String) -> Followed {
    Followed::No { reason }
}

/// The commit that a manifest's revision names once and for all, or why there
/// is none: a branch moves, and says nothing about what was built then.
async fn fixed(
    history: &dyn History,
    repository: &str,
    revision: &str,
) -> Result<Result<Commit, String>, HistoryError> {
    let is_hash = revision.len() >= 7 && revision.bytes().all(|byte| byte.is_ascii_hexdigit());
    let name = if is_hash || revision.starts_with("refs/tags/") {
        revision.to_owned()
    } else {
        format!("refs/tags/{revision}")
    };
    match history.resolve(&name).await {
        Ok(hash) => Ok(Ok(Commit::new(repository, hash))),
        Err(error @ HistoryError::UnknownRevision { .. }) if is_hash => Ok(Err(error.to_string())),
        Err(HistoryError::UnknownRevision { .. }) => Ok(Err(format!(
            "{revision} is no commit and no tag of it, so that it may move"
        ))),
        Err(error) => Err(error),
    }
}

/// A dependency that somebody names.
pub(crate) struct Found {
    /// Its repository.
    pub(crate) repository: String,
    /// The manifests that count in it.
    pub(crate) nested: Vec<String>,
}

/// The git dependency of that URL or path, in the manifests that count.
pub(crate) fn find(
    manifests: &Manifests,
    count: &[String],
    namer: &str,
    dependency: &str,
) -> Option<Found> {
    let named = count
        .iter()
        .filter_map(|file| manifests.get(file)?.names.as_ref().ok())
        .flatten();
    let mut repositories = named.filter_map(|(path, named)| match &named.source {
        Source::Git { url, .. } => Some((path, resolve_url(namer, url)?, named)),
        Source::Package { .. } => None,
    });
    repositories
        .find(|(path, url, _)| *path == dependency || url == dependency)
        .map(|(_, repository, named)| Found {
            repository,
            nested: named.nested.clone(),
        })
}

impl ManifestFile {
    fn missing() -> Self {
        Self {
            text: String::new(),
            names: Ok(BTreeMap::new()),
        }
    }
}

/// Reads the manifests of one revision.
pub(crate) async fn read(
    history: &dyn History,
    commit: &Commit,
    readers: &[&'static dyn Manifest],
) -> Result<Manifests, HistoryError> {
    let mut manifests = Manifests::new();
    for reader in readers {
        let file = reader.file();
        let Some(bytes) = history.file(&commit.git_hash, &commit.merged, file).await? else {
            continue;
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let names = match reader.gitlinks(&text) {
            Err(error) => Err(error),
            Ok(paths) => {
                let links = if paths.is_empty() {
                    BTreeMap::new()
                } else {
                    history
                        .gitlinks(&commit.git_hash, &commit.merged, &paths)
                        .await?
                };
                reader.read(&text, &links)
            }
        };
        manifests.insert(file.to_owned(), ManifestFile { text, names });
    }
    Ok(manifests)
}
