//! The dependencies that two revisions of a repository hold differently.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pinpoint_core::{Commit, DependencyChange, Followed};

use crate::held::DependencyTree;
use crate::line::{self, Line, Relation};
use crate::manifest::{Dependency, ManifestError, Source};
use crate::sources::{Content, Manifests, Sources, url};
use crate::{History, HistoryError, MidpointError};

/// The longest revision that is looked up, in bytes. No tag is that long.
const MAX_REVISION: usize = 1_000;

/// A repository within two states that are compared.
#[derive(Debug, Clone)]
pub(crate) struct ComparedRepository {
    /// The repositories from the top that name one another down to this one, itself last.
    pub(crate) way: Vec<String>,
    /// Their [identities](crate::Repositories::identities).
    pub(crate) lineage: BTreeSet<String>,
    /// Its effective manifests.
    pub(crate) manifests: Vec<String>,
    /// The dependency that the lower state holds here.
    pub(crate) lower: DependencyTree,
    /// The dependency that the higher state holds here.
    pub(crate) higher: DependencyTree,
}

/// The differences at a place.
#[derive(Debug, Default)]
pub(crate) struct Rolls {
    /// Dependencies that can be followed, in the order in which they roll.
    pub(crate) followed: Vec<Roll>,
    /// All differences, including those not followed, by path, then URL.
    pub(crate) changes: Vec<DependencyChange>,
}

/// One dependency that rolls.
#[derive(Debug)]
pub(crate) struct Roll {
    pub(crate) place: ComparedRepository,
    /// The line strictly between its two revisions.
    pub(crate) line: Line,
    /// Forward or backward.
    direction: Followed,
}

/// A dependency's entries in the two revisions.
#[derive(Debug, Clone)]
struct Pair {
    /// The path in the older one, or in the newer one if only that has it.
    path: String,
    before: Option<Dependency>,
    after: Option<Dependency>,
    /// The path in the newer one, if it differs.
    moved_to: Option<String>,
}

/// The names in the manifests of a place, by repository.
struct NamedRepositories<'a> {
    /// By identity: the entries that both revisions have.
    repositories: BTreeMap<String, Vec<Pair>>,
    /// The changes that can't be followed.
    changes: Vec<DependencyChange>,
    /// The identity of every URL that is named or held.
    identities: BTreeMap<String, String>,
    /// The identities of all named dependencies.
    known: BTreeSet<String>,
    unreadable: Option<&'a ManifestError>,
}

/// A repository that both revisions of a place name, and its possible roll.
struct Candidate<'a> {
    place: &'a ComparedRepository,
    /// Its name, in messages and in states.
    repository: String,
    identity: &'a str,
    /// The pairs that name it: at least one.
    pairs: &'a [Pair],
    /// The dependencies that the states hold in place of the named ones.
    lower: Option<&'a DependencyTree>,
    higher: Option<&'a DependencyTree>,
}

/// The reason why a candidate is not followed.
enum Unfollowed {
    /// The candidate is the same in both.
    Unchanged,
    /// The candidate is reported, with the reason.
    Because(Followed),
    /// The answer can't be determined.
    Error(MidpointError),
}

impl From<HistoryError> for Unfollowed {
    fn from(error: HistoryError) -> Self {
        Self::Error(error.into())
    }
}

impl ComparedRepository {
    /// The repository of the two states.
    ///
    /// # Errors
    ///
    /// When repositories can't be distinguished.
    pub(crate) async fn main(
        sources: &Sources,
        lower: DependencyTree,
        higher: DependencyTree,
    ) -> Result<Self, HistoryError> {
        let repository = lower.commit.repository.clone();
        let identities = sources.identities([repository.clone()].into()).await?;
        Ok(Self {
            way: vec![repository],
            lineage: identities.into_values().collect(),
            manifests: sources.every_manifest(),
            lower,
            higher,
        })
    }

    pub(crate) fn repository(&self) -> &str {
        &self.lower.commit.repository
    }

    /// Checks whether both states hold this repository itself at the same revision.
    pub(crate) fn is_at_one_revision(&self) -> bool {
        self.lower.commit == self.higher.commit
    }

    /// The differences here, with those that can be followed.
    pub(crate) async fn rolls(&self, sources: &Sources) -> Result<Rolls, MidpointError> {
        let holds_nothing = self.lower.below.is_empty() && self.higher.below.is_empty();
        if self.is_at_one_revision() && holds_nothing {
            return Ok(Rolls::default());
        }
        let before = sources.manifests(&self.lower.commit).await?;
        let after = sources.manifests(&self.higher.commit).await?;
        let named = self.named(sources, &before, &after).await?;
        self.check_held(&named)?;
        let mut found = Vec::new();
        for (identity, pairs) in &named.repositories {
            let Some(candidate) = self.candidate(&named, identity, pairs) else {
                continue;
            };
            match candidate.roll(sources).await {
                Ok(roll) => found.push((candidate.followed(&roll), Some(roll))),
                Err(Unfollowed::Because(why)) => found.push((candidate.change(why), None)),
                Err(Unfollowed::Unchanged) => {}
                Err(Unfollowed::Error(error)) => return Err(error),
            }
        }
        found.extend(named.changes.into_iter().map(|change| (change, None)));
        found.sort_by(|(one, _), (other, _)| {
            (&one.path, &one.repository).cmp(&(&other.path, &other.repository))
        });
        let mut rolls = Rolls::default();
        for (change, roll) in found {
            rolls.changes.push(change);
            rolls.followed.extend(roll);
        }
        Ok(rolls)
    }

    /// All dependencies that the manifests of two revisions name.
    async fn named<'a>(
        &self,
        sources: &Sources,
        before: &'a Manifests,
        after: &'a Manifests,
    ) -> Result<NamedRepositories<'a>, HistoryError> {
        let mut changes = Vec::new();
        let mut unreadable = None;
        let mut pairs = Vec::new();
        for file in &self.manifests {
            match names(before.get(file), after.get(file)) {
                Ok(paired) => pairs.extend(paired),
                Err((error, is_same)) => {
                    unreadable = Some(error);
                    // Its names are unknown; if the file is the same, at least nothing
                    // changed.
                    if !is_same {
                        changes.push(self.unreadable(file, error));
                    }
                }
            }
        }
        let namer = self.repository();
        let held = self.lower.below.iter().chain(&self.higher.below);
        let held = held.map(|held| held.commit.repository.clone());
        let urls = pairs.iter().flat_map(|pair| pair.urls(namer)).flatten();
        let identities = sources.identities(held.chain(urls).collect()).await?;
        let mut named = NamedRepositories {
            repositories: BTreeMap::new(),
            changes,
            identities,
            known: BTreeSet::new(),
            unreadable,
        };
        named.sort(namer, pairs);
        Ok(named)
    }

    /// A manifest that changed and can't be read.
    fn unreadable(&self, file: &str, error: &ManifestError) -> DependencyChange {
        DependencyChange {
            path: file.to_owned(),
            repository: self.repository().to_owned(),
            before: Some(self.lower.commit.revision()),
            after: Some(self.higher.commit.revision()),
            followed: no(format!("it can't be read: {error}")),
        }
    }

    /// Checks that all dependencies held here are also named here.
    fn check_held(&self, named: &NamedRepositories<'_>) -> Result<(), MidpointError> {
        for held in self.lower.below.iter().chain(&self.higher.below) {
            let repository = &held.commit.repository;
            let identity = named.identities.get(repository);
            if identity.is_some_and(|identity| named.known.contains(identity)) {
                continue;
            }
            let namer = self.repository().to_owned();
            let revision = self.lower.commit.revision();
            return Err(match named.unreadable {
                Some(error) => MidpointError::Manifest {
                    repository: namer,
                    revision,
                    source: Box::new(error.clone()),
                },
                None => MidpointError::NotNamed {
                    dependency: repository.clone(),
                    repository: namer,
                    revision,
                },
            });
        }
        Ok(())
    }

    fn candidate<'a>(
        &'a self,
        named: &NamedRepositories<'_>,
        identity: &'a str,
        pairs: &'a [Pair],
    ) -> Option<Candidate<'a>> {
        let held = |below: &'a [DependencyTree]| {
            below.iter().find(|held| {
                let known = named.identities.get(&held.commit.repository);
                known.is_some_and(|known| known == identity)
            })
        };
        let (lower, higher) = (held(&self.lower.below), held(&self.higher.below));
        // A state's existing name for it stays.
        let repository = match lower.or(higher) {
            Some(held) => held.commit.repository.clone(),
            None => url(self.repository(), pairs.first()?.before.as_ref()?)?,
        };
        Some(Candidate {
            place: self,
            repository,
            identity,
            pairs,
            lower,
            higher,
        })
    }
}

/// Both versions of a manifest, path by path.
///
/// # Errors
///
/// The first problem when one of them can't be read, and true if they are equal.
fn names<'a>(
    before: Option<&'a Content>,
    after: Option<&'a Content>,
) -> Result<Vec<Pair>, (&'a ManifestError, bool)> {
    let nothing = BTreeMap::new();
    let (before, after) = match (before, after) {
        (
            Some(Content::Unreadable { error, text }),
            Some(Content::Unreadable { text: other, .. }),
        ) => return Err((error, text == other)),
        (Some(Content::Unreadable { error, .. }), _)
        | (_, Some(Content::Unreadable { error, .. })) => return Err((error, false)),
        (before, after) => (read(before, &nothing), read(after, &nothing)),
    };
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let pair = |path: &String| Pair {
        path: path.clone(),
        before: before.get(path).cloned(),
        after: after.get(path).cloned(),
        moved_to: None,
    };
    Ok(paths.into_iter().map(pair).collect())
}

fn read<'a>(
    content: Option<&'a Content>,
    nothing: &'a BTreeMap<String, Dependency>,
) -> &'a BTreeMap<String, Dependency> {
    match content {
        Some(Content::Read(names)) => names,
        _ => nothing,
    }
}

impl NamedRepositories<'_> {
    /// Sorts the named dependencies by their repositories.
    fn sort(&mut self, namer: &str, pairs: Vec<Pair>) {
        // By identity: entries that only the older revision has, and those of the newer.
        let mut moving: BTreeMap<String, (Vec<Pair>, Vec<Pair>)> = BTreeMap::new();
        for pair in pairs {
            let [before, after] = pair.urls(namer).map(|url| {
                let identity = self.identities.get(&url?)?.clone();
                self.known.insert(identity.clone());
                Some(identity)
            });
            match (before, after) {
                (Some(before), Some(after)) if before == after => {
                    self.repositories.entry(before).or_default().push(pair);
                }
                (Some(before), None) if pair.after.is_none() => {
                    moving.entry(before).or_default().0.push(pair);
                }
                (None, Some(after)) if pair.before.is_none() => {
                    moving.entry(after).or_default().1.push(pair);
                }
                _ => self.changes.extend(pair.cannot_be_followed()),
            }
        }
        for (identity, (gone, new)) in moving {
            // Named at one path less or more: the remaining ones are followed.
            let stays = self.repositories.contains_key(&identity);
            let moved = if stays { 0 } else { gone.len().min(new.len()) };
            let (mut gone, mut new) = (gone.into_iter(), new.into_iter());
            for (gone, new) in gone.by_ref().zip(new.by_ref()).take(moved) {
                let pairs = self.repositories.entry(identity.clone()).or_default();
                pairs.push(Pair {
                    after: new.after,
                    moved_to: Some(new.path),
                    ..gone
                });
            }
            let alone = gone.chain(new);
            self.changes
                .extend(alone.filter_map(|pair| pair.cannot_be_followed()));
        }
    }
}

impl Candidate<'_> {
    async fn roll(&self, sources: &Sources) -> Result<Roll, Unfollowed> {
        self.check_one_revision()?;
        self.check_change()?;
        self.check_no_cycle()?;
        let history = self.history(sources).await?;
        let lower = self.end(&*history, self.lower, self.before()).await?;
        let higher = self.end(&*history, self.higher, self.after()).await?;
        if lower == higher {
            return Err(Unfollowed::Unchanged);
        }
        let (direction, line) = self.line(&*history, &lower.commit, &higher.commit).await?;
        let mut way = self.place.way.clone();
        way.push(self.repository.clone());
        let mut lineage = self.place.lineage.clone();
        lineage.insert(self.identity.to_owned());
        Ok(Roll {
            place: ComparedRepository {
                way,
                lineage,
                manifests: self.manifests(),
                lower,
                higher,
            },
            line,
            direction,
        })
    }

    /// Checks that all paths that name it have one revision.
    fn check_one_revision(&self) -> Result<(), Unfollowed> {
        let uneven = self.pairs.iter().any(|pair| {
            (self.lower.is_none() && pair.before_revision() != self.before())
                || (self.higher.is_none() && pair.after_revision() != self.after())
        });
        if !uneven {
            return Ok(());
        }
        let stays = |pair: &Pair| pair.before_revision() == pair.after_revision();
        if self.lower.is_none() && self.higher.is_none() && self.pairs.iter().all(stays) {
            return Err(Unfollowed::Unchanged);
        }
        because("it is used at several paths, at different revisions")
    }

    fn check_change(&self) -> Result<(), Unfollowed> {
        let below =
            |held: Option<&DependencyTree>| held.map_or_else(Vec::new, |held| held.below.clone());
        if self.lower_revision() != self.higher_revision()
            || below(self.lower) != below(self.higher)
        {
            return Ok(());
        }
        if let Some(path) = self.pairs.iter().find_map(|pair| pair.moved_to.as_ref()) {
            return because(format!("it moved to {path}"));
        }
        if self.pairs.iter().any(Pair::is_used_otherwise) {
            return because("the condition for its use changed");
        }
        Err(Unfollowed::Unchanged)
    }

    fn check_no_cycle(&self) -> Result<(), Unfollowed> {
        if self.place.lineage.contains(self.identity) {
            return because("it is one of the repositories that lead to it: a cycle");
        }
        Ok(())
    }

    async fn history(&self, sources: &Sources) -> Result<Arc<dyn History>, Unfollowed> {
        match sources.open(&self.repository).await {
            Err(error @ HistoryError::UnknownRepository { .. }) => {
                Err(Unfollowed::Because(Followed::No {
                    reason: error.to_string(),
                    unavailable: true,
                }))
            }
            other => Ok(other?),
        }
    }

    /// One end: the held commit, or else the named one.
    async fn end(
        &self,
        history: &dyn History,
        held: Option<&DependencyTree>,
        named: Option<&str>,
    ) -> Result<DependencyTree, Unfollowed> {
        let Some(held) = held else {
            let commit = fixed(history, &self.repository, named.unwrap_or_default()).await?;
            return Ok(DependencyTree::alone(commit));
        };
        // The other state may use another name.
        let repository = self.repository.clone();
        Ok(DependencyTree {
            commit: Commit {
                repository,
                ..held.commit.clone()
            },
            below: held.below.clone(),
        })
    }

    async fn line(
        &self,
        history: &dyn History,
        lower: &Commit,
        higher: &Commit,
    ) -> Result<(Followed, Line), Unfollowed> {
        if lower == higher {
            return Ok((Followed::Forward, Line::none(lower)));
        }
        match line::between(history, lower, higher).await {
            Ok(Relation::Forward(line)) => Ok((Followed::Forward, line)),
            Ok(Relation::Backward(line)) => Ok((Followed::Backward, line)),
            Ok(Relation::Apart) => because("its two revisions are on different branches"),
            Err(error @ HistoryError::UnknownRevision { .. }) => because(error.to_string()),
            Err(error) => Err(error.into()),
        }
    }

    /// The manifests that are effective before and after: those of one side only change with the
    /// roll itself.
    fn manifests(&self) -> Vec<String> {
        let first = self.pairs.first();
        let Some((before, after)) =
            first.and_then(|pair| pair.before.as_ref().zip(pair.after.as_ref()))
        else {
            return Vec::new();
        };
        let both = before
            .nested
            .iter()
            .filter(|&file| after.nested.contains(file));
        both.cloned().collect()
    }

    fn before(&self) -> Option<&str> {
        self.pairs.first().and_then(Pair::before_revision)
    }

    fn after(&self) -> Option<&str> {
        self.pairs.first().and_then(Pair::after_revision)
    }

    fn lower_revision(&self) -> Option<String> {
        let held = self.lower.map(|held| held.commit.revision());
        held.or_else(|| self.before().map(shown))
    }

    fn higher_revision(&self) -> Option<String> {
        let held = self.higher.map(|held| held.commit.revision());
        held.or_else(|| self.after().map(shown))
    }

    fn followed(&self, roll: &Roll) -> DependencyChange {
        DependencyChange {
            before: Some(roll.place.lower.commit.revision()),
            after: Some(roll.place.higher.commit.revision()),
            ..self.change(roll.direction.clone())
        }
    }

    fn change(&self, followed: Followed) -> DependencyChange {
        let path = self.pairs.first().map(|pair| pair.path.clone());
        DependencyChange {
            path: path.unwrap_or_default(),
            repository: self.repository.clone(),
            before: self.lower_revision(),
            after: self.higher_revision(),
            followed,
        }
    }
}

impl Pair {
    /// The repository before, and the one after.
    fn urls(&self, namer: &str) -> [Option<String>; 2] {
        [&self.before, &self.after].map(|named| url(namer, named.as_ref()?))
    }

    fn before_revision(&self) -> Option<&str> {
        revision(self.before.as_ref())
    }

    fn after_revision(&self) -> Option<&str> {
        revision(self.after.as_ref())
    }

    /// Checks whether more changed than the revision.
    fn is_used_otherwise(&self) -> bool {
        let usage = |named: &Dependency| (named.condition.clone(), named.nested.clone());
        self.before.as_ref().map(usage) != self.after.as_ref().map(usage)
    }

    /// Describes the change without following it; absent if nothing changed.
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
                "its relative URL leads outside its base"
            }
            (Some(before), Some(after)) if is_git(before) && is_git(after) => {
                "it now comes from another repository"
            }
            _ => "it is a package, not a repository",
        };
        Some(DependencyChange {
            path: self.path.clone(),
            repository: self.after.as_ref().or(self.before.as_ref()).map(name)?,
            before: self.before_revision().map(shown),
            after: self.after_revision().map(shown),
            followed: no(reason.into()),
        })
    }
}

fn revision(named: Option<&Dependency>) -> Option<&str> {
    named.map(|named| match &named.source {
        Source::Git { revision, .. } => revision.as_str(),
        Source::Package { version, .. } => version.as_str(),
    })
}

/// Shortens a revision for messages.
fn shown(revision: &str) -> String {
    match revision.len() {
        0..=MAX_REVISION => revision.to_owned(),
        _ => format!(
            "{}…",
            &revision[..revision.floor_char_boundary(MAX_REVISION)]
        ),
    }
}

fn no(reason: String) -> Followed {
    Followed::No {
        reason,
        unavailable: false,
    }
}

fn because<T>(reason: impl Into<String>) -> Result<T, Unfollowed> {
    Err(Unfollowed::Because(no(reason.into())))
}

/// The commit that a manifest's revision names permanently. A branch does not: it moves, and its
/// commit at the time of a build is unknown.
async fn fixed(
    history: &dyn History,
    repository: &str,
    revision: &str,
) -> Result<Commit, Unfollowed> {
    if revision.len() > MAX_REVISION {
        return because(format!("its revision has more than {MAX_REVISION} bytes"));
    }
    let is_hash = revision.len() >= 7 && revision.bytes().all(|byte| byte.is_ascii_hexdigit());
    let name = if is_hash || revision.starts_with("refs/tags/") {
        revision.to_owned()
    } else {
        format!("refs/tags/{revision}")
    };
    match history.resolve(&name).await {
        Ok(hash) => Ok(Commit::new(repository, hash)),
        Err(error @ HistoryError::UnknownRevision { .. }) if is_hash => because(error.to_string()),
        Err(HistoryError::UnknownRevision { .. }) => because(format!(
            "{revision} is neither a commit nor a tag of it, so it may move"
        )),
        Err(error) => Err(error.into()),
    }
}
