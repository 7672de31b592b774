//! The interface of all formats, and the limit on their size.

use std::collections::BTreeMap;

use super::dependency::Dependency;
use super::error::ManifestError;

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

/// The largest file that is read, in bytes. Chromium's `DEPS` has 250 kB. A caller
/// that knows the size beforehand need not load a larger one: it can't be read.
pub const MAX_FILE: usize = 4 << 20;

pub(super) fn check_size(file: &'static str, text: &str) -> Result<(), ManifestError> {
    if text.len() <= MAX_FILE {
        return Ok(());
    }
    Err(ManifestError::too_large(file))
}
