//! Remarks on a job for its user, noted where they arise: a sentence each.
//!
//! Of each kind the first is kept: most other runs show the same.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::LocalError;
use crate::process::files;

/// The kinds of remarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Remark {
    /// A file of the user's checkout is named by the command.
    NamedFile,
    /// A file that the command names has changes that are not committed.
    Uncommitted,
    /// The benchmark of an earlier job had changed a build that was kept.
    ChangedKept,
    /// The benchmark changes tracked files.
    ChangedFiles,
    /// The benchmark checks out another commit.
    OtherCommit,
    /// Files that are pointers of Git LFS.
    Pointers,
    /// A filter that is not applied.
    Filter,
    /// Submodules that are not checked out.
    Submodules,
    /// The frame pointers did not yield callers.
    CallersMissing,
}

impl Remark {
    /// Checks whether a job has a remark of this kind.
    pub(crate) fn is_noted(self, job_dir: &Path) -> Result<bool, LocalError> {
        Ok(self.noted(job_dir)?.is_some())
    }

    /// The sentence of a job's remark of this kind.
    pub(crate) fn noted(self, job_dir: &Path) -> Result<Option<String>, LocalError> {
        let mut noted = load(job_dir)?.into_iter();
        Ok(noted.find_map(|(kind, sentence)| (kind == self).then_some(sentence)))
    }

    /// Notes this remark on a job, if it has none of its kind.
    pub(crate) fn note(self, job_dir: &Path, sentence: &str) -> Result<(), LocalError> {
        if self.is_noted(job_dir)? {
            return Ok(());
        }
        Ok(files::append_json_line(&file(job_dir), &(self, sentence))?)
    }
}

fn file(job_dir: &Path) -> PathBuf {
    job_dir.join("remarks.jsonl")
}

fn load(job_dir: &Path) -> Result<Vec<(Remark, String)>, LocalError> {
    Ok(files::read_json_lines(&file(job_dir))?)
}

/// The remarks on a job, in the order of their creation.
pub(crate) fn remarks(job_dir: &Path) -> Result<Vec<String>, LocalError> {
    let mut seen = Vec::new();
    let mut sentences = Vec::new();
    for (kind, sentence) in load(job_dir)? {
        if !seen.contains(&kind) {
            seen.push(kind);
            sentences.push(sentence);
        }
    }
    Ok(sentences)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn one_of_each_kind_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let job = directory.path();
        assert!(remarks(job).unwrap().is_empty());
        Remark::ChangedFiles.note(job, "it changes a").unwrap();
        Remark::Pointers.note(job, "b is a pointer").unwrap();
        Remark::ChangedFiles.note(job, "it changes c").unwrap();
        assert_eq!(remarks(job).unwrap(), ["it changes a", "b is a pointer"]);
        // A line that was cut off spoils no other.
        let whole = fs::read(file(job)).unwrap();
        fs::write(file(job), &whole[..whole.len() - 3]).unwrap();
        Remark::Submodules.note(job, "d is empty").unwrap();
        assert_eq!(remarks(job).unwrap(), ["it changes a", "d is empty"]);
    }
}
