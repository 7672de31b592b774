//! The state directory, and the repositories in it that borrow the objects of the user's.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use pinpoint_state::create_state_dir;
use sha2::{Digest, Sha256};

use crate::error::LocalError;
use crate::git::git_command;
use crate::git::repository::Repository;
use crate::process::files::{self, Locked, Mode, check_room};

/// The state directory.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    state: PathBuf,
}

impl Workspace {
    pub(crate) fn open(state: &Path) -> Result<Self, LocalError> {
        create_state_dir(state).map_err(LocalError::io("create", state))?;
        for name in ["repositories", "builds", "locks"] {
            files::create_dir(&state.join(name))?;
        }
        // Work trees are named to git, which runs elsewhere.
        let state = state
            .canonicalize()
            .map_err(LocalError::io("read", state))?;
        if state.to_str().is_none() {
            return Err(LocalError::StateDirNotUnicode { path: state });
        }
        Ok(Self { state })
    }

    pub(crate) fn state_dir(&self) -> &Path {
        &self.state
    }

    /// Our own repositories.
    pub(crate) fn repositories(&self) -> PathBuf {
        self.state.join("repositories")
    }

    /// Mirrors of repositories that are named by URL.
    pub(crate) fn mirrors(&self) -> PathBuf {
        self.state.join("mirrors")
    }

    /// Keeps [`clean`](crate::clean()) from removing repositories until it is dropped. The
    /// repositories that a build needs are not known before it is finished.
    pub(crate) async fn keep_repositories(&self) -> Result<Locked, LocalError> {
        Ok(files::lock(&self.making(), Mode::Shared).await?)
    }

    /// Held shared by all processes that make builds.
    pub(crate) fn making(&self) -> PathBuf {
        self.state.join("locks/making")
    }

    /// Our repository that borrows the objects of the user's, created if missing. Its lock is held
    /// while the list of work trees changes: git does not expect several of its processes to change
    /// it at once.
    pub(crate) async fn borrow_objects(
        &self,
        repository: &Repository,
    ) -> Result<(Borrowed, Locked), LocalError> {
        // The number is raised when their layout changes.
        let mut name = Sha256::new_with_prefix("2 ");
        name.update(repository.path().as_os_str().as_encoded_bytes());
        let name = hex::encode(name.finalize());
        let borrowed = Borrowed::at(self.state.join("repositories").join(name));
        let alone = files::lock(&borrowed.lock, Mode::Alone).await?;
        let alternates = borrowed.path.join("objects/info/alternates");
        let mut line = repository.objects().into_os_string();
        line.push("\n");
        // Written last, and git finds no repository without the others, which a cleanup
        // tool may remove.
        if fs::read(&alternates).is_ok_and(|found| found == line.as_encoded_bytes())
            && ["HEAD", "config", "objects", "refs"]
                .iter()
                .all(|name| borrowed.path.join(name).exists())
        {
            return Ok((borrowed, alone));
        }
        // It stays: work trees belong to it.
        let format = format!("--object-format={}", repository.object_format());
        let arguments = ["init", "--quiet", "--bare", "--template=", &format];
        let output = git_command::run(
            git_command::git(&self.state)
                .args(arguments)
                .arg(&borrowed.path),
        )?;
        if !output.status.success() {
            check_room(&self.state)?;
            return Err(git_command::failed(&arguments, &borrowed.path, &output).into());
        }
        // As in our own checkouts: files of Git LFS stay pointers, and `git status` in a build does
        // not fail where its filter is required and not installed.
        for (name, value) in [("process", ""), ("smudge", ""), ("required", "false")] {
            let name = format!("filter.lfs.{name}");
            let arguments = ["config", &name, value];
            let output = git_command::run(git_command::git_at(&borrowed.path).args(arguments))?;
            if !output.status.success() {
                check_room(&self.state)?;
                return Err(git_command::failed(&arguments, &borrowed.path, &output).into());
            }
        }
        files::create_dir(&borrowed.path.join("objects/info"))?;
        let unfinished = alternates.with_extension("new");
        fs::write(&unfinished, line.as_encoded_bytes())
            .and_then(|()| fs::rename(&unfinished, &alternates))
            .map_err(LocalError::io("write", &alternates))?;
        Ok((borrowed, alone))
    }
}

/// Our bare repository, with the user's objects.
#[derive(Debug, Clone)]
pub(crate) struct Borrowed {
    path: PathBuf,
    pub(crate) lock: PathBuf,
}

impl Borrowed {
    pub(crate) fn at(path: PathBuf) -> Self {
        Self {
            lock: path.with_extension("lock"),
            path,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the user's tags those of this repository, so that `git describe`
    /// answers in work trees. It has no branches. Only for the holder of its lock.
    pub(crate) fn take_tags(&self, users: &Repository) -> Result<(), LocalError> {
        let mut packed = b"# pack-refs with: sorted \n".to_vec();
        packed.extend(users.tags()?);
        replace(&self.path.join("packed-refs"), Some(packed))?;
        // In a shallow clone, the tree's history is shallow, too.
        let shallow = users.common_dir().join("shallow");
        let ends = match fs::read(&shallow) {
            Ok(ends) => Some(ends),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(LocalError::io("read", &shallow)(error)),
        };
        replace(&self.path.join("shallow"), ends)
    }

    /// The command that registers a work tree, still empty. Forced, since the
    /// remains of an earlier one may be registered at this place.
    pub(crate) fn add_tree(&self, tree: &Path, hash: &str) -> Command {
        let mut command = git_command::git_at(&self.path);
        command
            .args(["worktree", "add", "--quiet", "--force", "--force"])
            .args(["--detach", "--no-checkout"])
            .arg(tree)
            .arg(hash);
        command
    }
}

/// The command that fills a work tree.
pub(crate) fn fill_tree(tree: &Path) -> Command {
    let mut command = git_command::git(tree);
    command.args(["reset", "--quiet", "--hard"]);
    command
}

/// The command that applies a patch.
pub(crate) fn apply_patch(tree: &Path, patch: &Path) -> Command {
    let mut command = git_command::git(tree);
    command.args(["apply", "--whitespace=nowarn"]).arg(patch);
    command
}

/// Gives a file this content, or removes it; a correct file stays untouched.
fn replace(path: &Path, content: Option<Vec<u8>>) -> Result<(), LocalError> {
    let Some(content) = content else {
        return Ok(files::remove(path)?);
    };
    if fs::read(path).is_ok_and(|found| found == content) {
        return Ok(());
    }
    let unfinished = path.with_extension("new");
    fs::write(&unfinished, content)
        .and_then(|()| fs::rename(&unfinished, path))
        .map_err(LocalError::io("write", path))
}
