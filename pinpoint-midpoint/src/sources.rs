//! Repositories, and the contents of their manifests, which are cached.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use pinpoint_core::Commit;

use crate::manifest::{Dependency, MAX_FILE, Manifest, ManifestError, Source, resolve_url};
use crate::{History, HistoryError, Repositories};

/// Revisions whose manifests are remembered.
const REVISIONS: NonZeroUsize = NonZeroUsize::new(256).unwrap();
/// The most memory for all manifests together, in bytes. Those of Chromium
/// take some 300 kB.
const MAX_MEMORY: usize = 128 << 20;

/// The repositories, and the cached manifests.
pub(crate) struct Sources {
    repositories: Arc<dyn Repositories>,
    readers: Vec<&'static dyn Manifest>,
    manifests: Mutex<Remembered>,
}

struct Remembered {
    revisions: LruCache<Commit, Arc<Manifests>>,
    /// Their total size.
    size: usize,
}

/// The manifests of one revision, by file.
#[derive(Debug, Default)]
pub(crate) struct Manifests {
    files: BTreeMap<String, Content>,
    /// Their approximate size in bytes.
    size: usize,
}

/// The names in a manifest.
#[derive(Debug)]
pub(crate) enum Content {
    /// The dependencies by path.
    Read(BTreeMap<String, Dependency>),
    /// It can't be read.
    Unreadable {
        /// The reason.
        error: ManifestError,
        /// The file, or its hash where it is too large: equal if the files are.
        text: String,
    },
}

/// A dependency that a manifest names.
pub(crate) struct NamedDependency {
    /// Its repository.
    pub(crate) repository: String,
    /// Its effective manifests.
    pub(crate) nested: Vec<String>,
}

impl Sources {
    pub(crate) fn new(
        repositories: Arc<dyn Repositories>,
        readers: &[&'static dyn Manifest],
    ) -> Self {
        Self {
            repositories,
            readers: readers.into(),
            manifests: Mutex::new(Remembered {
                revisions: LruCache::new(REVISIONS),
                size: 0,
            }),
        }
    }

    pub(crate) async fn open(&self, repository: &str) -> Result<Arc<dyn History>, HistoryError> {
        self.repositories.open(repository).await
    }

    /// Like [`Repositories::identities`].
    pub(crate) async fn identities(
        &self,
        repositories: BTreeSet<String>,
    ) -> Result<BTreeMap<String, String>, HistoryError> {
        self.repositories.identities(repositories).await
    }

    /// The files of all known kinds of manifest.
    pub(crate) fn every_manifest(&self) -> Vec<String> {
        let files = self.readers.iter().map(|reader| reader.file().to_owned());
        files.collect()
    }

    /// The names in a revision's manifests.
    pub(crate) async fn manifests(&self, commit: &Commit) -> Result<Arc<Manifests>, HistoryError> {
        if let Some(known) = self.remembered().revisions.get(commit) {
            return Ok(Arc::clone(known));
        }
        let history = self.open(&commit.repository).await?;
        let mut manifests = Manifests::default();
        for reader in &self.readers {
            if let Some(content) = read(&*history, commit, *reader).await? {
                manifests.size += content.size();
                manifests.files.insert(reader.file().to_owned(), content);
            }
        }
        let manifests = Arc::new(manifests);
        self.remembered().put(commit, &manifests);
        Ok(manifests)
    }

    /// The git dependency of that URL or path, in the effective manifests of a commit.
    pub(crate) async fn find(
        &self,
        namer: &Commit,
        count: &[String],
        dependency: &str,
    ) -> Result<Option<NamedDependency>, HistoryError> {
        let manifests = self.manifests(namer).await?;
        let named: Vec<(&String, String, &Dependency)> = count
            .iter()
            .filter_map(|file| match manifests.get(file)? {
                Content::Read(names) => Some(names),
                Content::Unreadable { .. } => None,
            })
            .flatten()
            .filter_map(|(path, named)| Some((path, url(&namer.repository, named)?, named)))
            .collect();
        let urls = named.iter().map(|(_, url, _)| url.clone());
        let identities = self
            .identities(urls.chain([dependency.to_owned()]).collect())
            .await?;
        let same = |url: &str| identities.get(url) == identities.get(dependency);
        let found = named
            .iter()
            .find(|(path, url, _)| *path == dependency || url == dependency)
            .or_else(|| named.iter().find(|(_, url, _)| same(url)));
        Ok(found.map(|(_, url, named)| NamedDependency {
            repository: url.clone(),
            nested: named.nested.clone(),
        }))
    }

    /// Locks what is remembered. No holder of the lock panics.
    fn remembered(&self) -> MutexGuard<'_, Remembered> {
        self.manifests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Remembered {
    fn put(&mut self, commit: &Commit, manifests: &Arc<Manifests>) {
        self.size += manifests.size;
        // The entries that are evicted, or replaced.
        if let Some((_, old)) = self.revisions.push(commit.clone(), Arc::clone(manifests)) {
            self.size = self.size.saturating_sub(old.size);
        }
        while self.size > MAX_MEMORY
            && let Some((_, old)) = self.revisions.pop_lru()
        {
            self.size = self.size.saturating_sub(old.size);
        }
    }
}

impl Manifests {
    /// The names in a file; `None` if the file does not exist.
    pub(crate) fn get(&self, file: &str) -> Option<&Content> {
        self.files.get(file)
    }
}

impl Content {
    fn size(&self) -> usize {
        match self {
            Self::Unreadable { text, .. } => text.len(),
            Self::Read(names) => names
                .iter()
                .map(|(path, named)| {
                    let source = match &named.source {
                        Source::Git { url, revision } => url.len() + revision.len(),
                        Source::Package {
                            registry,
                            name,
                            version,
                        } => registry.len() + name.len() + version.len(),
                    };
                    let condition = named.condition.as_ref().map_or(0, String::len);
                    size_of::<Dependency>() + path.len() + source + condition
                })
                .sum(),
        }
    }
}

/// The repository of a dependency that can be followed, resolved against the one that names it.
pub(crate) fn url(namer: &str, named: &Dependency) -> Option<String> {
    match &named.source {
        Source::Git { url, .. } => resolve_url(namer, url),
        Source::Package { .. } => None,
    }
}

/// Reads a manifest of one revision; `None` if the file does not exist.
async fn read(
    history: &dyn History,
    commit: &Commit,
    reader: &dyn Manifest,
) -> Result<Option<Content>, HistoryError> {
    let (hash, merged) = (&commit.git_hash, &commit.merged);
    let bytes = match history.file(hash, merged, reader.file(), MAX_FILE).await {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok(None),
        Err(HistoryError::TooLarge { object, .. }) => {
            return Ok(Some(Content::Unreadable {
                error: ManifestError::too_large(reader.file()),
                text: object,
            }));
        }
        Err(error) => return Err(error),
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let names = match reader.gitlinks(&text) {
        Err(error) => Err(error),
        Ok(paths) => {
            let links = if paths.is_empty() {
                BTreeMap::new()
            } else {
                history.gitlinks(hash, merged, &paths).await?
            };
            reader.read(&text, &links)
        }
    };
    Ok(Some(match names {
        Ok(names) => Content::Read(names),
        Err(error) => Content::Unreadable { error, text },
    }))
}
