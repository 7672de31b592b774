//! One measurement at a time on the whole machine, without concurrent builds.
//!
//! There are two lock files. `machine` is held by one run alone, or shared by builds. `turnstile`
//! is held while waiting for `machine`, and released on getting it: a run that waits keeps further
//! builds from entering, so that it cannot be starved by them, nor they by runs.
//!
//! Polling a file lock is slow; among the tasks of one executor a fair lock in memory comes before
//! the files, so that no task waits unnecessarily. It also keeps runs in order.

use std::fs::{self, DirBuilder, File};
use std::future::Future;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock, watch};

use crate::process::child;
use crate::process::files::{self, FileError, Locked, Mode};

/// The directory of this machine's locks, the same for all programs of one user.
///
/// `$XDG_RUNTIME_DIR/pinpoint`; where that is not set, as in cron jobs, the place it would have
/// had; where that does not exist, a directory in `/tmp`, or in the home directory if another user
/// has made the one in `/tmp`. `$TMPDIR` is ignored: two shells may differ in it.
pub fn default_machine_dir() -> PathBuf {
    if let Some(runtime) = std::env::var_os("XDG_RUNTIME_DIR").filter(|value| !value.is_empty()) {
        return PathBuf::from(runtime).join("pinpoint");
    }
    let user = user();
    let runtime = PathBuf::from(format!("/run/user/{user}"));
    if runtime.is_dir() {
        return runtime.join("pinpoint");
    }
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    without_runtime_dir(PathBuf::from(format!("/tmp/pinpoint-{user}")), home)
}

/// A directory where anyone may create one of that name; if someone else has, one in the home
/// directory, for this machine, since several may share that.
fn without_runtime_dir(temporary: PathBuf, home: Option<PathBuf>) -> PathBuf {
    let is_usable = match fs::symlink_metadata(&temporary) {
        Ok(metadata) => metadata.is_dir() && metadata.uid() == user(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    match home {
        Some(home) if !is_usable => {
            let name = sysinfo::System::host_name().unwrap_or_default();
            let name = name.replace('/', "_");
            home.join(format!(".cache/pinpoint/machine-{name}"))
        }
        _ => temporary,
    }
}

#[expect(unsafe_code, reason = "the standard library has no such call")]
fn user() -> u32 {
    // SAFETY: it takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}

/// The directory of the machine's locks can't be used.
#[derive(Debug)]
pub(crate) enum MachineDirError {
    /// It belongs to another user.
    Foreign { path: PathBuf },
    /// The directory, or a file in it, can't be made or opened.
    Unusable { path: PathBuf, source: io::Error },
}

/// The locks of this machine.
#[derive(Debug)]
pub(crate) struct MachineLock {
    turnstile: PathBuf,
    machine: PathBuf,
    /// The directory of records of processes started under the lock since the machine booted.
    registers: PathBuf,
    in_process: Arc<RwLock<()>>,
    /// True once nothing more may begin in this process.
    draining: watch::Sender<bool>,
    /// Runs and builds of this process that wait for another process.
    waiting: watch::Sender<u32>,
}

/// Counts one more waiter for another process, until dropped.
struct Waits<'a>(&'a watch::Sender<u32>);

impl<'a> Waits<'a> {
    fn begin(waiting: &'a watch::Sender<u32>) -> Self {
        waiting.send_modify(|waiting| *waiting += 1);
        Self(waiting)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|waiting| *waiting -= 1);
    }
}

/// The machine, held by one run.
#[derive(Debug)]
pub(crate) struct RunHold {
    register: PathBuf,
    // Dropped in this order: the next run in this process finds the file free.
    _machine: Locked,
    _in_process: OwnedRwLockWriteGuard<()>,
}

/// The machine, shared with other builds.
#[derive(Debug)]
pub(crate) struct BuildHold {
    register: PathBuf,
    _shared: SharedHold,
}

/// The machine, shared with builds, before one begins.
#[derive(Debug)]
pub(crate) struct SharedHold {
    registers: PathBuf,
    _machine: Locked,
    _in_process: OwnedRwLockReadGuard<()>,
}

impl MachineLock {
    pub(crate) fn open(directory: &Path) -> Result<Self, MachineDirError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| MachineDirError::Unusable { path, source }
        };
        match DirBuilder::new().mode(0o700).create(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(directory).map_err(failed(directory))?;
            }
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed(directory)(error));
            }
            _ => {}
        }
        // In /tmp anyone can be first to make a directory of that name.
        let metadata = fs::symlink_metadata(directory).map_err(failed(directory))?;
        if metadata.uid() != user() {
            return Err(MachineDirError::Foreign {
                path: directory.into(),
            });
        }
        // Processes are distinguished by their start, counted from the boot.
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let registers = directory.join(format!("processes-{}", boot.trim()));
        fs::create_dir_all(&registers).map_err(failed(&registers))?;
        let (turnstile, machine) = (directory.join("turnstile"), directory.join("machine"));
        for file in [&turnstile, &machine] {
            // Now, and not at the first run.
            files::try_open_or_create(file).map_err(failed(file))?;
        }
        Ok(Self {
            turnstile,
            machine,
            registers,
            in_process: Arc::default(),
            draining: watch::Sender::default(),
            waiting: watch::Sender::default(),
        })
    }

    /// The number of runs and builds of this process that wait for another process to measure or
    /// build.
    pub(crate) fn waiting(&self) -> watch::Receiver<u32> {
        self.waiting.subscribe()
    }

    /// Takes the machine when it is this one's turn.
    async fn take(&self, mode: Mode) -> Result<Locked, FileError> {
        let turn = self.take_file(&self.turnstile, Mode::Alone).await?;
        let machine = self.take_file(&self.machine, mode).await?;
        drop(turn);
        Ok(machine)
    }

    async fn take_file(&self, path: &Path, mode: Mode) -> Result<Locked, FileError> {
        if let Some(locked) = files::try_lock(path, mode)? {
            return Ok(locked);
        }
        let _waits = Waits::begin(&self.waiting);
        files::lock(path, mode).await
    }

    /// Prevents new runs and builds in this process, and waits for the holders of the machine to
    /// end.
    pub(crate) async fn drain(&self) {
        self.draining.send_replace(true);
        drop(self.in_process.write().await);
    }

    /// Waits for the machine; forever, if draining begins before it is free.
    async fn unless_draining<T>(&self, hold: impl Future<Output = T>) -> T {
        let mut draining = self.draining.subscribe();
        tokio::select! {
            biased;
            _ = draining.wait_for(|draining| *draining) => {}
            hold = hold => return hold,
        }
        std::future::pending().await
    }

    /// Waits until nothing else runs or builds.
    pub(crate) async fn for_run(&self) -> Result<RunHold, FileError> {
        self.unless_draining(self.run_hold()).await
    }

    async fn run_hold(&self) -> Result<RunHold, FileError> {
        let in_process = Arc::clone(&self.in_process).write_owned().await;
        let machine = self.take(Mode::Alone).await?;
        // A process on record has lost its parent: every parent holds the lock.
        let register = self.registers.join("run");
        let unreadable = |error| FileError::io("read", &self.registers)(error);
        for entry in fs::read_dir(&self.registers).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            end_recorded(&path).await?;
            if path != register {
                files::remove(&path)?;
            }
        }
        Ok(RunHold {
            register,
            _machine: machine,
            _in_process: in_process,
        })
    }

    /// Waits until nothing runs. The tree names the build: no other process may be building in it.
    pub(crate) async fn for_build(&self, tree: &Path) -> Result<BuildHold, FileError> {
        self.shared().await?.build_in(tree).await
    }

    /// Like [`for_build`](Self::for_build), for callers that take another lock before they begin in
    /// a tree. That lock comes after the machine, as it does for builds: in the other order they
    /// wait for each other forever as soon as a run waits.
    pub(crate) async fn shared(&self) -> Result<SharedHold, FileError> {
        self.unless_draining(self.shared_hold()).await
    }

    async fn shared_hold(&self) -> Result<SharedHold, FileError> {
        let in_process = Arc::clone(&self.in_process).read_owned().await;
        let machine = self.take(Mode::Shared).await?;
        end_recorded(&self.registers.join("run")).await?;
        Ok(SharedHold {
            registers: self.registers.clone(),
            _machine: machine,
            _in_process: in_process,
        })
    }
}

/// Returns true if a run or a build holds the machine; `None` when that can't be determined.
///
/// The check takes the machine for a moment: others that want it try again at once.
pub(crate) fn is_held(directory: &Path) -> Option<bool> {
    let path = directory.join("machine");
    if !path.exists() {
        return Some(false);
    }
    let locked = files::try_lock(&path, Mode::Alone).ok()?;
    Some(locked.is_none())
}

async fn end_recorded(register: &Path) -> Result<(), FileError> {
    match fs::read(register) {
        Ok(record) => {
            child::end_leftover(&String::from_utf8_lossy(&record)).await;
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(FileError::io("read", register)(error)),
    }
}

impl RunHold {
    /// The record of the process that runs under this lock. It stays: once the process is dead it
    /// names none.
    pub(crate) fn register(&self) -> Result<File, FileError> {
        files::open_or_create(&self.register)
    }
}

impl SharedHold {
    /// Begins in a tree, in which no other process may be building.
    pub(crate) async fn build_in(self, tree: &Path) -> Result<BuildHold, FileError> {
        let name = Sha256::digest(tree.as_os_str().as_encoded_bytes());
        let name = format!("build-{}", hex::encode(name));
        let register = self.registers.join(name);
        end_recorded(&register).await?;
        Ok(BuildHold {
            register,
            _shared: self,
        })
    }
}

impl BuildHold {
    /// The record of the process that builds under this lock.
    pub(crate) fn register(&self) -> Result<File, FileError> {
        files::open_or_create(&self.register)
    }
}

impl Drop for BuildHold {
    fn drop(&mut self) {
        // Only cleanup: the record of a dead process does no harm, and the next run removes it.
        let _ = fs::remove_file(&self.register);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_machine_that_is_held_can_be_seen() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("machine");
        assert_eq!(is_held(&place), Some(false));
        let lock = MachineLock::open(&place).unwrap();
        let run = lock.for_run().await.unwrap();
        assert_eq!(is_held(&place), Some(true));
        drop(run);
        assert_eq!(is_held(&place), Some(false));
        let build = lock.for_build(Path::new("tree")).await.unwrap();
        assert_eq!(is_held(&place), Some(true));
        drop(build);
        assert_eq!(is_held(&place), Some(false));
    }

    #[tokio::test]
    async fn what_has_begun_ends_and_nothing_more_begins() {
        let directory = tempfile::tempdir().unwrap();
        let lock = MachineLock::open(directory.path()).unwrap();
        let run = lock.for_run().await.unwrap();
        let mut next = pin!(lock.for_run());
        assert!(next.as_mut().now_or_never().is_none());
        let mut drain = pin!(lock.drain());
        assert!(drain.as_mut().now_or_never().is_none());
        drop(run);
        tokio::select! {
            _ = &mut next => panic!("it has begun"),
            () = drain => {}
        }
        assert!(lock.for_build(Path::new("tree")).now_or_never().is_none());

        // Work still waiting for another process has not begun.
        let other = MachineLock::open(directory.path()).unwrap();
        let _run = other.for_run().await.unwrap();
        let lock = MachineLock::open(directory.path()).unwrap();
        let waiting = lock.waiting();
        {
            let mut waits = pin!(lock.for_run());
            assert!(waits.as_mut().now_or_never().is_none());
            assert_eq!(*waiting.borrow(), 1);
            tokio::select! {
                _ = waits => panic!("two at once"),
                () = lock.drain() => {}
            }
        }
        assert_eq!(*waiting.borrow(), 0);
    }

    #[test]
    fn a_directory_of_somebody_else_is_not_used() {
        let directory = tempfile::tempdir().unwrap();
        let home = Some(directory.path().to_owned());
        let path = |name: &str| directory.path().join(name);
        let choose = |name: &str| without_runtime_dir(path(name), home.clone());
        assert_eq!(choose("new"), path("new"));
        fs::create_dir(path("mine")).unwrap();
        assert_eq!(choose("mine"), path("mine"));
        // A directory that another user made can't be made ours without privileges; here
        // it stands for something that is not our directory for another reason.
        fs::write(path("file"), "").unwrap();
        std::os::unix::fs::symlink(path("mine"), path("link")).unwrap();
        for name in ["file", "link"] {
            assert!(choose(name).starts_with(path(".cache")), "{name}");
        }
        if user() == 0 {
            std::os::unix::fs::chown(path("mine"), Some(1), None).unwrap();
            assert!(choose("mine").starts_with(path(".cache")));
        }
    }
}
