//! The repositories on this machine, by URL. Nothing is fetched.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pinpoint_midpoint::{History, HistoryError, Repositories};

use super::super::executor::{blocking, locked};
use super::super::{Repository, RepositoryError};
use super::commits::unreadable;
use super::{LocalHistory, url};

/// The repositories that are at hand, looked for in this order:
///
/// 1. those that the user named: a URL and the directory where it is;
/// 2. the main repository, by its path or by the URL of one of its remotes;
/// 3. the submodules that the main repository has cloned, and theirs, by the
///    URL of one of their remotes or the one in `.gitmodules` or `.git/config`.
///
/// URLs are equal but for the case of scheme and host, a user of `https`, the
/// usual port, and `/` or `.git` at the end; `user@host:path` is the same as
/// `ssh://user@host/path`. A relative one (`../other`) is seen from the main
/// repository's remotes.
///
/// A path or a `file://` URL is looked for in the same way: a manifest, which may
/// be anybody's, opens no directory that the user did not name.
#[derive(Clone)]
pub struct LocalRepositories(Arc<Inner>);

struct Inner {
    main: Repository,
    /// By URL in normal form.
    named: Vec<(String, PathBuf)>,
    state_dir: PathBuf,
    /// By URL in normal form, the one used last at the end.
    open: Mutex<VecDeque<(String, LocalHistory)>>,
}

impl LocalRepositories {
    /// Histories kept open; one that is asked for again after that many others
    /// is read anew.
    const OPEN: usize = 16;

    /// The repositories around a main one. `named` are URLs and directories;
    /// the first of several equal URLs counts. Merges are made in the state
    /// directory.
    pub fn new(
        main: Repository,
        named: impl IntoIterator<Item = (String, PathBuf)>,
        state_dir: &Path,
    ) -> Self {
        let named = named.into_iter();
        Self(Arc::new(Inner {
            named: named
                .map(|(url, place)| (url::normal_form(&url), place))
                .collect(),
            main,
            state_dir: state_dir.into(),
            open: Mutex::default(),
        }))
    }

    /// Where a repository is, if it is at hand.
    ///
    /// # Errors
    ///
    /// When git does not read what is there.
    pub(in super::super) fn locate(
        &self,
        repository: &str,
    ) -> Result<Option<Repository>, RepositoryError> {
        match self.0.find(repository, &url::normal_form(repository)) {
            Some(place) => Repository::discover(&place).map(Some),
            None => Ok(None),
        }
    }

    /// The clones of submodules that the main repository has, of whatever depth,
    /// by their directories.
    pub(in super::super) fn submodules(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut open = vec![(self.0.main.common_dir().to_owned(), 0)];
        while let Some((git_dir, depth)) = open.pop() {
            if depth < DEEPEST {
                let below = clones(&git_dir);
                open.extend(below.iter().map(|clone| (clone.clone(), depth + 1)));
                found.extend(below);
            }
        }
        found.sort();
        found
    }

    /// As [`open`](Repositories::open), with what only local histories have.
    ///
    /// # Errors
    ///
    /// [`HistoryError::UnknownRepository`] when it is not at hand.
    pub async fn open_local(&self, repository: &str) -> Result<LocalHistory, HistoryError> {
        let inner = Arc::clone(&self.0);
        let name = repository.to_owned();
        match blocking((), move || Ok(inner.open(&name))).await {
            Ok(history) => history,
            Err(error) => Err(unreadable(repository, error)),
        }
    }
}

#[async_trait]
impl Repositories for LocalRepositories {
    async fn open(&self, repository: &str) -> Result<Arc<dyn History>, HistoryError> {
        Ok(Arc::new(self.open_local(repository).await?))
    }
}

impl Inner {
    fn open(&self, name: &str) -> Result<LocalHistory, HistoryError> {
        let key = url::normal_form(name);
        if let Some(history) = self.used(&key) {
            return Ok(history);
        }
        let unknown = |hint: String| HistoryError::UnknownRepository {
            repository: name.into(),
            hint,
        };
        let place = self.find(name, &key).ok_or_else(|| {
            unknown(format!(
                "clone it, and say where with --repository {name}=DIR"
            ))
        })?;
        let repository = match Repository::discover(&place) {
            Ok(repository) => repository,
            Err(RepositoryError::NotARepository { path, reason }) => {
                return Err(unknown(format!(
                    "{} is in no git repository ({reason}): say where it is with --repository {name}=DIR",
                    path.display()
                )));
            }
            Err(error) => return Err(unreadable(name, error)),
        };
        let history = LocalHistory::open(&repository, &self.state_dir)?;
        let mut open = locked(&self.open);
        open.push_back((key, history.clone()));
        if open.len() > LocalRepositories::OPEN {
            open.pop_front();
        }
        Ok(history)
    }

    fn used(&self, key: &str) -> Option<LocalHistory> {
        let mut open = locked(&self.open);
        let place = open.iter().position(|(known, _)| known == key)?;
        let used = open.remove(place)?;
        let history = used.1.clone();
        open.push_back(used);
        Some(history)
    }

    fn find(&self, name: &str, key: &str) -> Option<PathBuf> {
        if let Some((_, place)) = self.named.iter().find(|(url, _)| url == key) {
            return Some(place.clone());
        }
        let main = Cloned::read(self.main.common_dir());
        let names = main.names();
        // A relative URL may be resolved in as many ways as there are remotes.
        let keys: Vec<String> = match url::is_relative(name) {
            true => names
                .iter()
                .map(|base| url::normal_form(&url::resolve(base, name)))
                .collect(),
            false => vec![key.to_owned()],
        };
        let is_asked = |url: &String| keys.contains(&url::normal_form(url));
        if names.iter().any(is_asked) {
            return Some(main.git_dir);
        }
        // The user's own name for it is a URL, the manifest's the path.
        let is_there = |place: &PathBuf| is_asked(&place.to_string_lossy().into_owned());
        let mut places = self.named.iter().map(|(_, place)| place);
        places
            .find(|place| is_there(place))
            .cloned()
            .or_else(|| submodule(&main, &names, &is_asked, 0))
    }
}

/// A repository as far as its names go.
struct Cloned {
    git_dir: PathBuf,
    /// Its `config`; absent when it can't be read.
    config: Option<gix::config::File>,
}

impl Cloned {
    fn read(git_dir: &Path) -> Self {
        Self {
            config: fs::read(git_dir.join("config"))
                .ok()
                .and_then(|text| parse(&text)),
            git_dir: git_dir.into(),
        }
    }

    /// Its remotes' URLs and its path.
    fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for section in self.config.iter().flat_map(|config| config.sections()) {
            if section.header().name() == "remote" {
                names.extend(section.values("url").iter().map(|url| text(url)));
            }
        }
        let top = match self.git_dir.parent() {
            Some(parent) if self.git_dir.ends_with(".git") => parent,
            _ => &self.git_dir,
        };
        names.push(top.to_string_lossy().into_owned());
        names
    }

    /// The URL of each submodule, by its name, as the clone is told and as
    /// `.gitmodules` says in what is checked out.
    fn submodules(&self) -> Vec<(String, String)> {
        let checked_out = || {
            let options = gix::open::Options::isolated();
            let repository = gix::open_opts(&self.git_dir, options).ok()?;
            let tree = repository.head_commit().ok()?.tree().ok()?;
            let entry = tree.lookup_entry_by_path(".gitmodules").ok()??;
            parse(&entry.object().ok()?.data)
        };
        let mut submodules = Vec::new();
        for config in self.config.iter().chain(&checked_out()) {
            for section in config.sections() {
                let header = section.header();
                if header.name() == "submodule"
                    && let Some(name) = header.subsection_name()
                    && let Some(url) = section.value("url")
                {
                    submodules.push((text(name), text(&url)));
                }
            }
        }
        submodules
    }
}

fn text(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

fn parse(config: &[u8]) -> Option<gix::config::File> {
    let metadata = gix::config::file::Metadata::api();
    gix::config::File::from_bytes_no_includes(config, metadata, Default::default()).ok()
}

/// Submodules of submodules; no project has as many.
const DEEPEST: usize = 16;

/// The clones of a repository's own submodules, sorted. Git keeps them in
/// `modules/NAME` of its `.git`; a name may have slashes.
fn clones(git_dir: &Path) -> Vec<PathBuf> {
    let mut clones = Vec::new();
    let mut directories = vec![git_dir.join("modules")];
    while let Some(directory) = directories.pop() {
        let Ok(entries) = fs::read_dir(&directory) else {
            continue;
        };
        let entries = entries.flatten().filter(|entry| {
            // Links are not followed: they may lead in a circle.
            entry.file_type().is_ok_and(|kind| kind.is_dir())
        });
        for path in entries.map(|entry| entry.path()) {
            match path.join("HEAD").is_file() {
                true => clones.push(path),
                false => directories.push(path),
            }
        }
    }
    clones.sort();
    clones
}

/// The clone of a submodule that has one of the URLs asked for, of whatever
/// depth. `bases` are what the superproject is called.
///
/// Relative URLs of submodules of submodules are relative to what the one above
/// is called, by its own remotes or by the superproject's relative URL.
fn submodule(
    superproject: &Cloned,
    bases: &[String],
    is_asked: &impl Fn(&String) -> bool,
    depth: usize,
) -> Option<PathBuf> {
    if depth == DEEPEST {
        return None;
    }
    let top = superproject.git_dir.join("modules");
    let mut clones: Vec<(Cloned, Vec<String>)> = clones(&superproject.git_dir)
        .iter()
        .map(|clone| (Cloned::read(clone), Vec::new()))
        .collect();
    if clones.is_empty() {
        return None;
    }
    for (name, url) in superproject.submodules() {
        let place = top.join(&name);
        if let Some((_, names)) = clones.iter_mut().find(|(clone, _)| clone.git_dir == place) {
            names.extend(bases.iter().map(|base| url::resolve(base, &url)));
        }
    }
    if let Some((clone, _)) = clones.iter().find(|(_, names)| names.iter().any(is_asked)) {
        return Some(clone.git_dir.clone());
    }
    for (clone, names) in &mut clones {
        names.extend(clone.names());
        names.sort();
        names.dedup();
    }
    let by_remote = clones.iter().find(|(_, names)| names.iter().any(is_asked));
    by_remote
        .map(|(clone, _)| clone.git_dir.clone())
        .or_else(|| {
            clones
                .iter()
                .find_map(|(clone, names)| submodule(clone, names, is_asked, depth + 1))
        })
}
