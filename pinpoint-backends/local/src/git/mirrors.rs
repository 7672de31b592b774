//! Repositories by URL, for machines without the user's clones: given clones, and our mirrors.
//!
//! A mirror is a bare repository with the branches and tags of a URL, in `STATE/mirrors/<hash>`. It
//! is made under another name and moved into place when it is complete, and fetched again only when
//! a commit is missing. Next to it are two locks: `.lock` is held by the process that clones or
//! fetches, `.used` shared by all readers.
//!
//! Nothing that was fetched is ever dropped: a build may belong to a commit that its branch has
//! left since. So a commit stays once it is found.
//!
//! Cloning and fetching take processor time, so they hold the machine as a build does, and never
//! run alongside a measurement. The machine is taken before a mirror's lock, as a build holds it
//! already when it needs a mirror.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use pinpoint_core::Key;
use sha2::{Digest, Sha256};

use crate::blocking::blocking;
use crate::error::LocalError;
use crate::git::git_command;
use crate::git::history::url::normal_form;
use crate::git::mirror_error::MirrorError;
use crate::git::remote_url::{RemoteUrl, RepositoryPattern, TRANSPORTS};
use crate::git::repository::Repository;
use crate::git::repository_error::RepositoryError;
use crate::git::workspace::Workspace;
use crate::process::child::{self, CancelGuard, Ended, Launch, NotRun, Processes};
use crate::process::files::{self, Locked, Mode, check_room};
use crate::process::machine_lock::{BuildHold, MachineLock};
use crate::process::sync::locked;

/// The longest that one call of git may take: cloning the largest repositories takes hours.
const GIT_TIMEOUT: Duration = Duration::from_hours(4);

/// The branches and tags of a URL.
const ALL: [&str; 2] = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];

/// A mirror with more packs than this is repacked.
const MOST_PACKS: usize = 32;

/// A repository on this machine, with the mirror that fetches what it lacks, if it is in one.
///
/// While it lives, the mirror is not removed.
#[derive(Debug, Clone)]
pub(crate) struct LocatedRepository {
    pub(crate) repository: Repository,
    pub(crate) mirror: Option<Mirror>,
}

impl From<Repository> for LocatedRepository {
    fn from(repository: Repository) -> Self {
        Self {
            repository,
            mirror: None,
        }
    }
}

/// A build that needs a repository. It holds the machine, so git runs as one of its steps.
#[async_trait]
pub(crate) trait FetchingBuild: Sync {
    /// The log that the output of its steps goes to.
    fn log(&self) -> &Path;

    /// Runs a command, and holds the lock until it has ended.
    async fn run_git(
        &self,
        lock: Arc<Locked>,
        command: Command,
        timeout: Duration,
    ) -> Result<Ended, LocalError>;
}

/// The repositories that a machine has, or may fetch, by URL.
#[derive(Debug, Clone)]
pub struct Mirrors(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    workspace: Workspace,
    /// Directories by URL in normal form.
    given: BTreeMap<String, PathBuf>,
    permitted: Vec<RepositoryPattern>,
    machine: MachineLock,
}

impl Mirrors {
    /// The repositories in the `given` directories, by URL, and those that a pattern permits to
    /// fetch. Mirrors are in the state directory.
    ///
    /// # Errors
    ///
    /// When there is no repository in a given directory, or one of our directories can't be used.
    pub fn open(
        state_dir: &Path,
        machine_dir: &Path,
        given: impl IntoIterator<Item = (String, PathBuf)>,
        permitted: Vec<RepositoryPattern>,
    ) -> Result<Self, LocalError> {
        let clone = |(url, directory): (String, PathBuf)| {
            let clone = Repository::discover(&directory)?;
            Ok((normal_form(&url), clone.path().to_owned()))
        };
        let workspace = Workspace::open(state_dir)?;
        files::create_dir(&workspace.mirrors())?;
        Ok(Self(Arc::new(Inner {
            workspace,
            given: { given.into_iter().map(clone) }.collect::<Result<_, LocalError>>()?,
            permitted,
            machine: MachineLock::open(machine_dir)?,
        })))
    }

    /// The local repository of a URL, with this commit, named by its full hash. It is cloned on
    /// first use.
    ///
    /// # Errors
    ///
    /// [`LocalError::Mirror`], and when the given clone can't be read or lacks the commit.
    pub(crate) async fn repository_with(
        &self,
        url: &str,
        commit: &str,
    ) -> Result<LocatedRepository, LocalError> {
        let located = self.repository_during(url, None).await?;
        if let Some(mirror) = &located.mirror {
            mirror.bring(commit, None).await?;
        }
        let (clone, commit) = (located.repository.clone(), commit.to_owned());
        blocking((), move || Ok(clone.full_hash(&commit)?)).await?;
        Ok(located)
    }

    /// The local repository of a URL, cloned if it is missing; `build` is the build that needs it,
    /// if any.
    pub(crate) async fn repository_during(
        &self,
        url: &str,
        build: Option<&dyn FetchingBuild>,
    ) -> Result<LocatedRepository, LocalError> {
        match self.place(url).await? {
            UrlLocation::Given(directory) => {
                blocking((), move || Ok(Repository::discover(&directory)?.into())).await
            }
            UrlLocation::Mirror(mirror) => {
                mirror.make(build).await?;
                mirror.repository().await
            }
        }
    }

    /// The local repository of a URL, if it exists here.
    pub(crate) async fn repository_here(
        &self,
        url: &str,
    ) -> Result<Option<LocatedRepository>, LocalError> {
        match self.place(url).await? {
            UrlLocation::Mirror(mirror) if !mirror.0.path.is_dir() => Ok(None),
            UrlLocation::Mirror(mirror) => mirror.repository().await.map(Some),
            UrlLocation::Given(_) => self.repository_during(url, None).await.map(Some),
        }
    }

    async fn place(&self, url: &str) -> Result<UrlLocation, LocalError> {
        let url: RemoteUrl = url.parse().map_err(MirrorError::Url)?;
        let name = url.normal_form();
        if let Some(directory) = self.0.given.get(&name) {
            return Ok(UrlLocation::Given(directory.clone()));
        }
        if !self.0.permitted.iter().any(|pattern| pattern.permits(&url)) {
            let url = url.to_string();
            return Err(MirrorError::NotPermitted { url }.into());
        }
        let name = hex::encode(Sha256::digest(name));
        let path = self.0.workspace.mirrors().join(name);
        Ok(UrlLocation::Mirror(Mirror(Arc::new(MirrorInner {
            _used: files::lock(&path.with_extension("used"), Mode::Shared).await?,
            lock: path.with_extension("lock"),
            mirrors: self.clone(),
            missed: Mutex::default(),
            path,
            url,
        }))))
    }

    pub(crate) fn state_dir(&self) -> &Path {
        self.0.workspace.state_dir()
    }
}

/// The location of a URL's repository.
enum UrlLocation {
    /// In a given directory.
    Given(PathBuf),
    /// In a mirror, made or not.
    Mirror(Mirror),
}

/// One of our bare repositories that follows another repository.
#[derive(Debug, Clone)]
pub(crate) struct Mirror(Arc<MirrorInner>);

#[derive(Debug)]
struct MirrorInner {
    url: RemoteUrl,
    path: PathBuf,
    lock: PathBuf,
    mirrors: Mirrors,
    /// Revisions that were looked for in vain, and need not be again.
    missed: Mutex<BTreeSet<String>>,
    _used: Locked,
}

/// The locks held while a mirror changes, dropped in this order.
struct MirrorLocks<'a> {
    machine: Machine<'a>,
    lock: Arc<Locked>,
}

enum Machine<'a> {
    /// A build holds the machine.
    Build(&'a dyn FetchingBuild),
    Own(Arc<BuildHold>),
}

impl Mirror {
    pub(crate) fn url(&self) -> &RemoteUrl {
        &self.0.url
    }

    /// Opens the repository, once it was made.
    async fn repository(&self) -> Result<LocatedRepository, LocalError> {
        let (path, mirror) = (self.0.path.clone(), Self(Arc::clone(&self.0)));
        blocking((), move || {
            Ok(LocatedRepository {
                repository: Repository::discover(&path)?,
                mirror: Some(mirror),
            })
        })
        .await
    }

    /// Fetches the branches and tags.
    pub(crate) async fn update(&self) -> Result<(), LocalError> {
        let alone = self.lock(None).await?;
        let path = self.0.path.clone();
        blocking(Arc::clone(&alone.lock), move || remove_remains(&path)).await?;
        self.run(&alone, self.fetch(&ALL)).await
    }

    /// Clones it, where it was not cloned or git can't open it, and completes the history of a
    /// shallow clone.
    async fn make(&self, build: Option<&dyn FetchingBuild>) -> Result<(), LocalError> {
        let shallow = self.0.path.join("shallow");
        if self.opens(&["rev-parse"]).await? && !shallow.exists() {
            return Ok(());
        }
        let alone = self.lock(build).await?;
        // Another process may have done so in the meantime.
        if !self.opens(&["rev-parse"]).await? {
            self.clone(&alone).await
        } else if shallow.exists() {
            self.run(&alone, self.fetch(&ALL)).await
        } else {
            Ok(())
        }
    }

    /// Checks whether a git command succeeds in it.
    async fn opens(&self, arguments: &[&str]) -> Result<bool, LocalError> {
        let mut command = git_command::git_at(&self.0.path);
        command.args(arguments);
        let path = self.0.path.clone();
        blocking((), move || {
            Ok(path.is_dir() && git_command::run(&mut command)?.status.success())
        })
        .await
    }

    /// Clones it, in place of a damaged one.
    async fn clone(&self, alone: &MirrorLocks<'_>) -> Result<(), LocalError> {
        let path = &self.0.path;
        let new = path.with_extension("new");
        let remains = new.clone();
        // Remains of a killed process. Git can't resume a partial clone.
        blocking(Arc::clone(&alone.lock), move || {
            Ok(files::remove(&remains)?)
        })
        .await?;
        let mut clone = self.git(&self.0.mirrors.0.workspace.mirrors());
        clone
            .args([
                "clone",
                "--quiet",
                "--bare",
                "--no-local",
                "--template=",
                "--",
            ])
            .arg(self.0.url.as_str())
            .arg(&new);
        self.run(alone, clone).await?;
        let mut index = self.git(&new);
        index.args(["commit-graph", "write", "--reachable"]);
        self.run(alone, index).await?;
        let damaged = path.with_extension("damaged");
        files::remove(&damaged)?;
        if path.exists() {
            fs::rename(path, &damaged).map_err(LocalError::io("write", &damaged))?;
        }
        fs::rename(&new, path).map_err(LocalError::io("write", path))?;
        blocking(Arc::clone(&alone.lock), move || {
            Ok(files::remove(&damaged)?)
        })
        .await
    }

    /// Fetches a commit, named by its full hash, or anything by its name, if it is missing.
    ///
    /// # Errors
    ///
    /// [`MirrorError::Fetch`], and [`MirrorError::NoCommit`] for a hash alone.
    pub(crate) async fn bring(
        &self,
        revision: &str,
        build: Option<&dyn FetchingBuild>,
    ) -> Result<(), LocalError> {
        let is_hash = matches!(revision.len(), 40 | 64)
            && revision.bytes().all(|digit| digit.is_ascii_hexdigit());
        let no_commit = || MirrorError::NoCommit {
            url: self.0.url.to_string(),
            revision: revision.to_owned(),
        };
        if self.has(revision).await? {
            return Ok(());
        }
        let alone = self.lock(build).await?;
        // Another process may have fetched it in the meantime.
        if self.has(revision).await? {
            return Ok(());
        }
        if locked(&self.0.missed).contains(revision) {
            return if is_hash {
                Err(no_commit().into())
            } else {
                Ok(())
            };
        }
        let path = self.0.path.clone();
        blocking(Arc::clone(&alone.lock), move || remove_remains(&path)).await?;
        let mut found = self.fetch_revision(&alone, revision, is_hash).await;
        if !matches!(found, Ok(true)) && !self.opens(&["rev-list", "--count", "--all"]).await? {
            self.clone(&alone).await?;
            found = self.fetch_revision(&alone, revision, is_hash).await;
        }
        if !found? {
            locked(&self.0.missed).insert(revision.to_owned());
            return if is_hash {
                Err(no_commit().into())
            } else {
                Ok(())
            };
        }
        let packs = fs::read_dir(self.0.path.join("objects/pack"));
        if packs.is_ok_and(|packs| packs.count() > 2 * MOST_PACKS) {
            let mut repack = self.git(&self.0.path);
            repack.args(["repack", "--quiet", "--geometric=2", "-d"]);
            // Only cleanup, which git before 2.32 does not support.
            let _ = self.run(&alone, repack).await;
        }
        Ok(())
    }

    /// Fetches everything, and then a commit by its hash. Returns true if the commit exists now.
    async fn fetch_revision(
        &self,
        alone: &MirrorLocks<'_>,
        revision: &str,
        is_hash: bool,
    ) -> Result<bool, LocalError> {
        self.run(alone, self.fetch(&ALL)).await?;
        if !is_hash || self.has(revision).await? {
            return self.has(revision).await;
        }
        // A commit on no branch, such as a change under review.
        let kept = format!("{revision}:refs/pinpoint/{revision}");
        match self.run(alone, self.fetch(&[&kept])).await {
            Ok(()) => self.has(revision).await,
            Err(LocalError::Mirror(MirrorError::Fetch { .. })) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn has(&self, revision: &str) -> Result<bool, LocalError> {
        let (path, revision) = (self.0.path.clone(), revision.to_owned());
        let found = blocking((), move || {
            let clone = Repository::discover(&path)?;
            match clone.full_hash(&revision) {
                Ok(_) => Ok(true),
                Err(
                    RepositoryError::UnknownRevision { .. } | RepositoryError::Ambiguous { .. },
                ) => Ok(false),
                Err(error) => Err(error.into()),
            }
        });
        found.await
    }

    /// The command that fetches these references.
    fn fetch(&self, references: &[&str]) -> Command {
        let mut fetch = self.git(&self.0.path);
        fetch
            .args(["-c", "fetch.writeCommitGraph=true"])
            .args(["-c", "fetch.unpackLimit=1"])
            .args([
                "fetch",
                "--quiet",
                "--prune",
                "--no-tags",
                "--no-write-fetch-head",
            ])
            .arg("--no-auto-gc");
        if self.0.path.join("shallow").exists() {
            fetch.arg("--unshallow");
        }
        fetch.arg("--").arg(self.0.url.as_str()).args(references);
        fetch
    }

    /// A git command that may reach the network, and asks for no password.
    fn git(&self, directory: &Path) -> Command {
        let mut command = git_command::git(directory);
        command
            .args(["-c", "safe.bareRepository=all"])
            // Slower than this for so long, a connection is dead.
            .args([
                "-c",
                "http.lowSpeedLimit=100",
                "-c",
                "http.lowSpeedTime=300",
                // The target of a redirect may not be permitted.
                "-c",
                "http.followRedirects=false",
            ])
            .env("GIT_ALLOW_PROTOCOL", TRANSPORTS)
            .env("GIT_ASKPASS", "")
            .env("SSH_ASKPASS", "")
            .env("SSH_ASKPASS_REQUIRE", "never");
        command
    }

    /// Takes the machine, unless the build holds it, and then the mirror.
    async fn lock<'a>(
        &self,
        build: Option<&'a dyn FetchingBuild>,
    ) -> Result<MirrorLocks<'a>, LocalError> {
        let Some(build) = build else {
            let machine = self.0.mirrors.0.machine.shared().await?;
            let lock = files::lock(&self.0.lock, Mode::Alone).await?;
            let machine = machine.build_in(&self.0.path).await?;
            return Ok(MirrorLocks {
                machine: Machine::Own(Arc::new(machine)),
                lock: Arc::new(lock),
            });
        };
        Ok(MirrorLocks {
            machine: Machine::Build(build),
            lock: Arc::new(files::lock(&self.0.lock, Mode::Alone).await?),
        })
    }

    async fn run(&self, alone: &MirrorLocks<'_>, command: Command) -> Result<(), LocalError> {
        let lock = Arc::clone(&alone.lock);
        let (ended, said) = match &alone.machine {
            Machine::Build(build) => {
                let before = fs::metadata(build.log()).map_or(0, |log| log.len());
                let ended = build.run_git(lock, command, GIT_TIMEOUT).await?;
                let said = File::open(build.log()).and_then(|log| files::tail_after(&log, before));
                (ended, said.map_err(LocalError::io("read", build.log()))?)
            }
            Machine::Own(machine) => self.run_apart(machine, lock, command).await?,
        };
        match ended.failure(&errors(&said)) {
            None => Ok(()),
            Some(failure) => {
                let directory = self.0.mirrors.0.workspace.mirrors();
                // Git may have freed the space again by removing what it wrote.
                if NO_ROOM.iter().any(|words| said.contains(words)) {
                    let full = io::Error::from(io::ErrorKind::StorageFull);
                    return Err(LocalError::io("write to", &directory)(full));
                }
                check_room(&directory)?;
                let url = self.0.url.to_string();
                let reason = format!("git {failure}");
                Err(MirrorError::Fetch { url, reason }.into())
            }
        }
    }

    /// Runs a command with the machine held as by a build.
    async fn run_apart(
        &self,
        machine: &Arc<BuildHold>,
        lock: Arc<Locked>,
        command: Command,
    ) -> Result<(Ended, String), LocalError> {
        let directory = self.0.mirrors.0.workspace.mirrors();
        let (stdout, stderr) = (
            files::create_unnamed(&directory)?,
            files::create_unnamed(&directory)?,
        );
        let said = stderr
            .try_clone()
            .map_err(LocalError::io("open", &directory))?;
        let launch = Launch {
            command,
            stdout,
            stderr,
            cpus: None,
            count_instructions: false,
        };
        let register = machine.register()?;
        let key = Key {
            job: "mirror".into(),
            action: 0,
        };
        let CancelGuard(processes) = &CancelGuard(Processes::new(key, None, Arc::default()));
        let holds = (Arc::clone(machine), lock);
        let ended = child::execute(processes, launch, Some(GIT_TIMEOUT), register, holds).await;
        let ended = ended.map_err(|error| match error {
            NotRun::Interrupted(reason) => LocalError::from(reason),
            NotRun::Spawn(source) => RepositoryError::not_started(source).into(),
        })?;
        let said = files::tail(&said).map_err(LocalError::io("read", &directory))?;
        Ok((ended, said))
    }
}

/// The words of the C library for a full disk or quota.
const NO_ROOM: [&str; 2] = ["No space left on device", "Disk quota exceeded"];

/// The errors in the output of git, in one line: its last line is often advice.
fn errors(said: &str) -> String {
    let is_error = |line: &&str| {
        let marks = ["fatal:", "error:", "ERROR:", "ssh:"];
        let refusals = ["Permission denied", "Host key verification failed"];
        marks.iter().any(|mark| line.starts_with(mark))
            || refusals.iter().any(|refusal| line.contains(refusal))
    };
    let lines: Vec<&str> = said.lines().map(str::trim).filter(is_error).collect();
    let mut errors = match lines.is_empty() {
        true => said.lines().last().unwrap_or_default().to_owned(),
        false => lines.join("; "),
    };
    if errors.contains("The requested URL returned error: 3") {
        errors += "; it leads to another URL, which is not followed: name that one as the remote";
    }
    errors
}

/// Removes the remains of a killed fetch: git's locks, and partial packs. Only for the holder of
/// our lock.
fn remove_remains(mirror: &Path) -> Result<(), LocalError> {
    let mut open = vec![mirror.to_owned()];
    while let Some(directory) = open.pop() {
        let unreadable = |error| LocalError::io("read", &directory)(error);
        for entry in fs::read_dir(&directory).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            if entry.file_type().map_err(unreadable)?.is_dir() {
                // The directories of loose objects contain no such files.
                if name.len() > 2 {
                    open.push(path);
                }
            } else if name.ends_with(".lock") || name.starts_with("tmp_") {
                files::remove(&path)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_errors_of_git_are_told_from_its_advice() {
        let advice =
            "\n\nPlease make sure you have the correct access rights\nand the repository exists.";
        let unread = "fatal: Could not read from remote repository.";
        for (said, expected) in [
            (
                format!(
                    "ssh: Could not resolve hostname x: Name or service not known\n{unread}{advice}"
                ),
                format!("ssh: Could not resolve hostname x: Name or service not known; {unread}"),
            ),
            (
                format!("banner\ngit@host: Permission denied (publickey).\n{unread}{advice}"),
                format!("git@host: Permission denied (publickey).; {unread}"),
            ),
            (
                format!("ERROR: Repository not found.\n{unread}{advice}"),
                format!("ERROR: Repository not found.; {unread}"),
            ),
            ("first\nlast".into(), "last".into()),
            (String::new(), String::new()),
        ] {
            assert_eq!(errors(&said), expected);
        }
    }
}
