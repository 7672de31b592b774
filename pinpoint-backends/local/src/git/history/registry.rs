//! The repositories of a job, by URL. Nothing is fetched except by mirrors.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use async_trait::async_trait;
use pinpoint_midpoint::manifest::MAX_FILE;
use pinpoint_midpoint::{History, HistoryError, Repositories};

use super::commits::unreadable;
use super::{LocalHistory, url};
use crate::blocking::blocking;
use crate::error::LocalError;
use crate::git::git_command;
use crate::git::mirrors::{FetchingBuild, LocatedRepository, Mirrors};
use crate::git::remote_url::RemoteUrl;
use crate::git::repository::Repository;
use crate::git::repository_error::RepositoryError;
use crate::process::sync::locked;

/// The repositories that are available locally, looked for in this order:
///
/// 1. those that the user named: a URL and its directory;
/// 2. the main repository, by its path or by the URL of one of its remotes;
/// 3. the cloned submodules of the main repository, and theirs, by the URL of one of their remotes
///    or the one in `.gitmodules` or `.git/config`.
///
/// They are looked up once, at the first question.
///
/// URLs are equal except for the case of scheme and host, a user of `https`, the usual port, and
/// `/` or `.git` at the end; `user@host:path` is the same as `ssh://user@host/path`. A relative one
/// (`../other`) is resolved against the main repository's remotes.
///
/// A path or a `file://` URL is a name like any other. A manifest, which anyone may have written,
/// opens no directory that the user did not name.
///
/// Where the job was created elsewhere, they are exactly those that it names, each from its URL
/// ([`Mirrors`]): builds are the same as there.
#[derive(Clone)]
pub struct LocalRepositories(Arc<Inner>);

struct Inner {
    main: LocatedRepository,
    /// The repositories that the user named, by URL in normal form.
    named: Vec<(String, PathBuf)>,
    /// Present where the job was created elsewhere.
    elsewhere: Option<Elsewhere>,
    state_dir: PathBuf,
    /// The histories kept open, by URL in normal form, the one used last at the end.
    open: Mutex<VecDeque<(String, LocalHistory)>>,
    known: OnceLock<KnownLocations>,
    /// The identity of the repository at each path.
    git_dirs: Mutex<BTreeMap<PathBuf, String>>,
}

/// The repositories of a job that was created elsewhere.
struct Elsewhere {
    mirrors: Mirrors,
    /// URLs by the job's names for the repositories.
    urls: BTreeMap<String, String>,
    /// The name of the main repository in the job.
    main: String,
}

impl LocalRepositories {
    /// The number of histories kept open; one requested again after that many others is read again.
    const OPEN: usize = 16;

    /// The repositories related to a main one. `named` are URLs and directories; the first of
    /// several equal URLs counts. Merges are made in the state directory.
    pub fn new(
        main: Repository,
        named: impl IntoIterator<Item = (String, PathBuf)>,
        state_dir: &Path,
    ) -> Self {
        let named = named.into_iter();
        let named = named.map(|(url, place)| (url::normal_form(&url), place));
        Self::with(main.into(), named.collect(), None, state_dir)
    }

    /// The repositories of a job that was created elsewhere: `urls` by its names for them, of which
    /// `main_name` is that of the main one.
    pub(crate) fn elsewhere(
        main: LocatedRepository,
        main_name: String,
        urls: BTreeMap<String, String>,
        mirrors: Mirrors,
        state_dir: &Path,
    ) -> Self {
        let elsewhere = Elsewhere {
            mirrors,
            urls,
            main: main_name,
        };
        Self::with(main, Vec::new(), Some(elsewhere), state_dir)
    }

    fn with(
        main: LocatedRepository,
        named: Vec<(String, PathBuf)>,
        elsewhere: Option<Elsewhere>,
        state_dir: &Path,
    ) -> Self {
        Self(Arc::new(Inner {
            named,
            elsewhere,
            main,
            state_dir: state_dir.into(),
            open: Mutex::default(),
            known: OnceLock::new(),
            git_dirs: Mutex::default(),
        }))
    }

    /// The repository of this name, if it is available; fetched for a build, if necessary.
    ///
    /// # Errors
    ///
    /// When git does not read the repository, or it can't be fetched.
    pub(crate) async fn locate(
        &self,
        repository: &str,
        build: Option<&dyn FetchingBuild>,
    ) -> Result<Option<LocatedRepository>, LocalError> {
        match self.0.find(repository, &url::normal_form(repository)) {
            Some(KnownLocation::Main) => Ok(Some(self.0.main.clone())),
            Some(KnownLocation::Directory(place)) => {
                let place = place.clone();
                blocking((), move || Ok(Some(Repository::discover(&place)?.into()))).await
            }
            Some(KnownLocation::Url(url)) => {
                let Some(Elsewhere { mirrors, .. }) = &self.0.elsewhere else {
                    return Ok(None);
                };
                mirrors.repository_during(url, build).await.map(Some)
            }
            None => Ok(None),
        }
    }

    /// The repository of this name, if it is available without fetching it.
    pub(crate) fn located(&self, repository: &str) -> Option<Repository> {
        match self.0.find(repository, &url::normal_form(repository))? {
            KnownLocation::Main => Some(self.0.main.repository.clone()),
            KnownLocation::Directory(place) => Repository::discover(place).ok(),
            KnownLocation::Url(_) => None,
        }
    }

    /// Returns the same text for all names of an available repository, and for all equal URLs.
    pub(crate) fn identity(&self, repository: &str) -> String {
        self.0.identity(repository)
    }

    /// The repositories that decide which dependencies are laid out, where the job was
    /// created elsewhere: their URLs in normal form.
    pub(crate) fn urls(&self) -> Option<BTreeSet<String>> {
        let urls = self.0.elsewhere.as_ref()?.urls.values();
        Some(urls.map(|url| url::normal_form(url)).collect())
    }

    /// The main repository's clones of submodules, of any depth, by their directories.
    pub(crate) fn submodules(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut open = vec![(self.0.main.repository.common_dir().to_owned(), 0)];
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

    /// Like [`open`](Repositories::open), with the extras of local histories.
    ///
    /// # Errors
    ///
    /// [`HistoryError::UnknownRepository`] when it is not available locally.
    pub async fn open_local(&self, repository: &str) -> Result<LocalHistory, HistoryError> {
        let key = url::normal_form(repository);
        if let Some(history) = self.0.used(&key) {
            return Ok(history);
        }
        let unknown = |hint: String| HistoryError::UnknownRepository {
            repository: repository.into(),
            hint,
        };
        let clone = match self.locate(repository, None).await {
            Ok(Some(clone)) => clone,
            Ok(None) => {
                return Err(unknown(match url::local_path(repository) {
                    // A commit may not open arbitrary directories.
                    Some(path) => format!(
                        "{} is opened only if it is named as its clone",
                        path.display()
                    ),
                    None => "name a local clone of it".into(),
                }));
            }
            Err(LocalError::Repository(RepositoryError::NotARepository { path, reason })) => {
                return Err(unknown(format!(
                    "{} is not in a git repository ({reason})",
                    path.display()
                )));
            }
            Err(LocalError::Mirror(error)) => return Err(unreadable(repository, error)),
            Err(LocalError::Repository(error)) => return Err(unreadable(repository, error)),
            Err(error) => return Err(unreadable(repository, error)),
        };
        let inner = Arc::clone(&self.0);
        match blocking((), move || Ok(inner.keep(key, clone))).await {
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

    async fn identities(
        &self,
        repositories: BTreeSet<String>,
    ) -> Result<BTreeMap<String, String>, HistoryError> {
        let inner = Arc::clone(&self.0);
        let identities = blocking((), move || {
            let identity = |name: String| (inner.identity(&name), name);
            let identities = repositories.into_iter().map(identity);
            Ok(identities
                .map(|(identity, name)| (name, identity))
                .collect())
        });
        let main = self.0.main.repository.path().to_string_lossy();
        identities.await.map_err(|error| unreadable(&main, error))
    }
}

impl Inner {
    /// Opens the history of a repository, and keeps it for the next question.
    fn keep(&self, key: String, clone: LocatedRepository) -> Result<LocalHistory, HistoryError> {
        let history = LocalHistory::open_located(clone, &self.state_dir)?;
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

    fn find(&self, name: &str, key: &str) -> Option<&KnownLocation> {
        let known = self.known();
        // A relative URL may be resolved against each remote.
        let bases = known.bases.iter().filter(|_| url::is_relative(name));
        let resolved = bases.map(|base| url::normal_form(&url::resolve(base, name)));
        { resolved.chain([key.to_owned()]) }.find_map(|key| known.places.get(&key))
    }

    fn known(&self) -> &KnownLocations {
        self.known.get_or_init(|| match &self.elsewhere {
            None => KnownLocations::around(&self.main.repository, &self.named),
            Some(elsewhere) => KnownLocations::elsewhere(&self.main.repository, elsewhere),
        })
    }

    /// Like [`Repositories::identities`]: the path of a repository, or its URL.
    fn identity(&self, name: &str) -> String {
        let key = url::normal_form(name);
        let place = match self.find(name, &key) {
            None => return key,
            Some(KnownLocation::Url(url)) => return url::normal_form(url),
            Some(KnownLocation::Main) => {
                return git_dir_name(self.main.repository.common_dir());
            }
            Some(KnownLocation::Directory(place)) => place,
        };
        // The user may have named a work tree, or a directory in one.
        let git_dir = match locked(&self.git_dirs).get(place) {
            Some(known) => return known.clone(),
            None => Repository::discover(place).map(|found| found.common_dir().to_owned()),
        };
        let identity = git_dir_name(&git_dir.unwrap_or_else(|_| place.to_owned()));
        locked(&self.git_dirs).insert(place.to_owned(), identity.clone());
        identity
    }
}

/// The location of a known repository.
enum KnownLocation {
    /// The main repository.
    Main,
    /// A clone on this machine.
    Directory(PathBuf),
    /// At a URL, for a job that was created elsewhere.
    Url(String),
}

/// The identity of a repository on this machine, which no URL in normal form equals.
fn git_dir_name(git_dir: &Path) -> String {
    format!("{}/", git_dir.display())
}

/// The locations of all known repositories.
struct KnownLocations {
    /// The bases of relative URLs.
    bases: Vec<String>,
    /// The locations by URL in normal form.
    places: BTreeMap<String, KnownLocation>,
}

/// The URLs from which other machines can fetch the repositories related to one, by their names on
/// this machine.
pub(crate) fn urls_around(
    main: &Repository,
    named: &BTreeMap<String, PathBuf>,
) -> BTreeMap<String, String> {
    let named: Vec<_> = { named.iter() }
        .map(|(url, place)| (url::normal_form(url), place.clone()))
        .collect();
    let known = KnownLocations::around(main, &named);
    let mut by_place = BTreeMap::new();
    let mut urls = BTreeMap::new();
    for (name, place) in known.places {
        // Without the password that a remote may have.
        let Ok(name) = name.parse::<RemoteUrl>() else {
            continue;
        };
        let KnownLocation::Directory(place) = place else {
            continue;
        };
        let url = match named.iter().any(|(_, directory)| *directory == place) {
            true => Some(name.clone()),
            false => { by_place.entry(place) }
                .or_insert_with_key(|place| Cloned::read(place).remote())
                .clone(),
        };
        if let Some(url) = url {
            urls.insert(name.normal_form(), url.to_string());
        }
    }
    urls
}

impl KnownLocations {
    /// The repositories related to one on this machine.
    fn around(main: &Repository, named: &[(String, PathBuf)]) -> Self {
        let main = Cloned::read(main.common_dir());
        let mut known = Self {
            bases: main.names(),
            places: BTreeMap::new(),
        };
        for (url, place) in named {
            known.add(url.clone(), KnownLocation::Directory(place.clone()));
        }
        for name in main.names() {
            known.add(url::normal_form(&name), KnownLocation::Main);
        }
        known.add_submodules(&main, &main.names(), 0);
        known
    }

    /// The repositories of a job that was created elsewhere.
    fn elsewhere(main: &Repository, elsewhere: &Elsewhere) -> Self {
        let url = elsewhere.urls.get(&elsewhere.main);
        let names = || url.into_iter().chain([&elsewhere.main]).cloned();
        let mut known = Self {
            bases: names()
                .chain(Cloned::read(main.common_dir()).names())
                .collect(),
            places: BTreeMap::new(),
        };
        for name in names() {
            known.add(url::normal_form(&name), KnownLocation::Main);
        }
        for (name, url) in &elsewhere.urls {
            known.add(url::normal_form(name), KnownLocation::Url(url.clone()));
            known.add(url::normal_form(url), KnownLocation::Url(url.clone()));
        }
        known
    }

    /// Adds a URL, whose first known location counts.
    fn add(&mut self, url: String, place: KnownLocation) {
        self.places.entry(url).or_insert(place);
    }

    /// Adds the clones of a repository's submodules, and of theirs. `bases` are the URLs of the
    /// superproject.
    ///
    /// Relative URLs of submodules of submodules are relative to the names of the one above: its
    /// own remotes, or the superproject's relative URL.
    fn add_submodules(&mut self, superproject: &Cloned, bases: &[String], depth: usize) {
        let clones = clones(&superproject.git_dir);
        if depth == DEEPEST || clones.is_empty() {
            return;
        }
        let mut names: BTreeMap<PathBuf, Vec<String>> = clones
            .into_iter()
            .map(|clone| (clone, Vec::new()))
            .collect();
        let top = superproject.git_dir.join("modules");
        for (name, url) in superproject.submodules() {
            if let Some(names) = names.get_mut(&top.join(&name)) {
                names.extend(bases.iter().map(|base| url::resolve(base, &url)));
            }
        }
        for (clone, names) in &names {
            for name in names {
                self.add(
                    url::normal_form(name),
                    KnownLocation::Directory(clone.clone()),
                );
            }
        }
        let clones: Vec<(Cloned, Vec<String>)> = names
            .into_iter()
            .map(|(clone, names)| (Cloned::read(&clone), names))
            .collect();
        for (clone, _) in &clones {
            for name in clone.names() {
                self.add(
                    url::normal_form(&name),
                    KnownLocation::Directory(clone.git_dir.clone()),
                );
            }
        }
        for (clone, mut names) in clones {
            names.extend(clone.names());
            names.sort();
            names.dedup();
            self.add_submodules(&clone, &names, depth + 1);
        }
    }
}

/// The names of a cloned repository.
struct Cloned {
    git_dir: PathBuf,
    /// Its `config`; empty when it can't be read.
    config: Vec<(String, String)>,
}

impl Cloned {
    fn read(git_dir: &Path) -> Self {
        let config = git_dir.join("config");
        // As a file, independent of its repository.
        let mut command = git_command::git(Path::new("/"));
        command.args(LIST).arg("--file").arg(config);
        let output = git_command::run(&mut command).ok();
        let output = output.filter(|output| output.status.success());
        Self {
            config: output.map_or_else(Vec::new, |output| {
                entries(&String::from_utf8_lossy(&output.stdout))
            }),
            git_dir: git_dir.into(),
        }
    }

    /// The URL of `origin`, or else of the first remote, if it can be fetched.
    fn remote(&self) -> Option<RemoteUrl> {
        let is_url = |key: &str| key.starts_with("remote.") && key.ends_with(".url");
        let mut urls: Vec<_> = self.config.iter().filter(|(key, _)| is_url(key)).collect();
        urls.sort_by_key(|(key, _)| key != "remote.origin.url");
        urls.iter().find_map(|(_, url)| url.parse().ok())
    }

    /// Its remotes' URLs and its path.
    fn names(&self) -> Vec<String> {
        let urls = self.config.iter().filter_map(|(key, url)| {
            let name = key.strip_prefix("remote.")?;
            name.ends_with(".url").then(|| url.clone())
        });
        let mut names: Vec<String> = urls.collect();
        let top = match self.git_dir.parent() {
            Some(parent) if self.git_dir.ends_with(".git") => parent,
            _ => &self.git_dir,
        };
        names.push(top.to_string_lossy().into_owned());
        names
    }

    /// The URL of each submodule, by its name, as configured in the clone and as written in the
    /// checked-out `.gitmodules`.
    fn submodules(&self) -> Vec<(String, String)> {
        let submodule = |(key, url): (String, String)| {
            let name = key.strip_prefix("submodule.")?.strip_suffix(".url")?;
            Some((name.to_owned(), url))
        };
        let checked_out = self.checked_out().unwrap_or_default();
        let entries = self.config.iter().cloned().chain(checked_out);
        entries.filter_map(submodule).collect()
    }

    fn checked_out(&self) -> Option<Vec<(String, String)>> {
        const FILE: &str = "HEAD:.gitmodules";
        let repository = Repository::discover(&self.git_dir).ok()?;
        let size = repository.ask(&["cat-file", "-s", FILE]).ok()?;
        if size.trim_end().parse::<usize>().ok()? > MAX_FILE {
            return None;
        }
        let arguments = [&LIST[..], &["--blob", FILE]].concat();
        repository.ask(&arguments).ok().map(|list| entries(&list))
    }
}

const LIST: [&str; 4] = ["config", "--no-includes", "--null", "--list"];

/// Reads `KEY\nVALUE\0`, with sections and names in lower case. A key without a value
/// is left out.
fn entries(list: &str) -> Vec<(String, String)> {
    let entries = list.split_terminator('\0');
    let pairs = entries.filter_map(|entry| entry.split_once('\n'));
    pairs
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

/// The greatest depth of submodules in submodules. No project is as deep.
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
