//! The files in which a repository names its dependencies.
//!
//! A [`Manifest`] reads one version of such a file. A *roll* is a commit that changes its entries.
//! Dependencies that are git repositories can be followed: the commits between the two revisions
//! are candidates as well. Packages cannot, and are named only.
//!
//! Reading is pure and never runs anything. A file outside the grammar, or larger or deeper than
//! the limits, is a [`ManifestError`] with line and column: partial answers are not given, because
//! an overlooked dependency makes the roll look like the culprit.
//!
//! Anyone can write such a file, so a reader's time and memory stay proportional to its length:
//! repeated text is counted while it grows, not afterwards, and no list is searched once for each
//! of its own entries.

mod cargo_lock;
mod dependency;
mod deps;
mod error;
mod go_mod;
mod submodules;

use std::collections::BTreeMap;

pub use cargo_lock::CargoLock;
pub use dependency::{Dependency, Source};
pub use deps::Deps;
pub use error::{ManifestError, Problem};
pub use go_mod::GoMod;
pub use submodules::{Submodules, resolve_url};

/// A file format for dependencies and their revisions.
pub trait Manifest: Send + Sync {
    /// The file, relative to the top of the repository: `DEPS`, `.gitmodules`.
    fn file(&self) -> &'static str;

    /// The paths of the submodules that one version of the file names. Their
    /// revisions are in the tree of the commit.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    fn gitlinks(&self, file: &str) -> Result<Vec<String>, ManifestError> {
        let _ = file;
        Ok(Vec::new())
    }

    /// Every dependency that one version of the file names, by its path. The meaning of a path
    /// depends on the format, and each reader documents it; the same dependency has the same path
    /// in every version.
    ///
    /// `gitlinks` are the entries of mode 160000 in the tree of the same commit, path to hash, at
    /// the paths from [`gitlinks`](Self::gitlinks). Only submodules need them.
    ///
    /// # Errors
    ///
    /// The file is invalid, is larger or deeper than the limits, or uses features that this reader
    /// does not support.
    fn read(
        &self,
        file: &str,
        gitlinks: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, Dependency>, ManifestError>;
}

/// Every known format, in the order of their files' names.
pub fn all() -> [&'static dyn Manifest; 4] {
    [&Submodules, &CargoLock, &Deps, &GoMod]
}

/// The largest file that is read, in bytes. Chromium's `DEPS` has 250 kB. A caller
/// that knows the size beforehand need not load a larger one: it can't be read.
pub const MAX_FILE: usize = 4 << 20;

fn check_size(file: &'static str, text: &str) -> Result<(), ManifestError> {
    if text.len() <= MAX_FILE {
        return Ok(());
    }
    Err(ManifestError::too_large(file))
}
