//! The outputs of tasks.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use pinpoint_core::Series;

use crate::cas::{Cas, CasError, Digest, DigestError, Tree};
use crate::swarming::CasReference;

/// Paths that an error names, at most.
const MOST_LISTED: usize = 3;

/// Reads the outputs of tasks: [`Cas`], or a test.
#[async_trait]
pub trait TaskOutputs: Send + Sync {
    /// The charts of a benchmark under this root.
    async fn charts(
        &self,
        root: &CasReference,
        benchmark: &str,
    ) -> Result<BTreeMap<String, Series>, OutputError>;

    /// The files under this root whose paths match a pattern, at least one: fetched into a folder,
    /// or without one just found, and then without paths. Of files with the same content only one
    /// is returned. Implementations that only read charts find nothing.
    async fn profiles(
        &self,
        root: &CasReference,
        pattern: &str,
        most_bytes: u64,
        folder: Option<&Path>,
    ) -> Result<Vec<PathBuf>, OutputError> {
        let _ = (root, pattern, most_bytes, folder);
        Err(OutputError::None("its files can't be read".into()))
    }
}

/// The charts cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The benchmark left none, or unreadable ones: the run has failed.
    #[error("{0}")]
    None(String),
    /// The store no longer has them, or cannot be reached.
    #[error(transparent)]
    Trouble(Box<dyn Error + Send + Sync>),
}

/// The store is asked for the instance of its own options.
#[async_trait]
impl TaskOutputs for Cas {
    async fn charts(
        &self,
        root: &CasReference,
        benchmark: &str,
    ) -> Result<BTreeMap<String, Series>, OutputError> {
        let charts = self.perf_results(&digest_of(root)?, benchmark).await;
        charts.map_err(|error| match error {
            CasError::NoResults { .. } | CasError::Results { .. } => {
                OutputError::None(error.to_string())
            }
            error => trouble(error),
        })
    }

    async fn profiles(
        &self,
        root: &CasReference,
        pattern: &str,
        most_bytes: u64,
        folder: Option<&Path>,
    ) -> Result<Vec<PathBuf>, OutputError> {
        let tree = self.tree(&digest_of(root)?).await.map_err(trouble)?;
        let files = matching(&tree, pattern);
        if files.is_empty() {
            let there = listed(tree.files.keys());
            return Err(OutputError::None(format!(
                "no file that it left matches {pattern}; there {there}"
            )));
        }
        let bytes: u64 = files.iter().map(Digest::size).sum();
        if bytes > most_bytes {
            return Err(OutputError::None(format!(
                "its profiles have {bytes} bytes, and at most {most_bytes} are read"
            )));
        }
        match folder {
            Some(folder) => self.download_files(&files, folder).await.map_err(trouble),
            None => Ok(Vec::new()),
        }
    }
}

fn digest_of(root: &CasReference) -> Result<Digest, OutputError> {
    let digest = root.digest.to_string().parse();
    digest.map_err(|error: DigestError| OutputError::Trouble(Box::new(error)))
}

fn trouble(error: CasError) -> OutputError {
    OutputError::Trouble(Box::new(error))
}

/// The contents of the files that match, in the order of their paths.
fn matching(tree: &Tree, pattern: &str) -> Vec<Digest> {
    let options = glob::MatchOptions {
        require_literal_separator: true,
        ..glob::MatchOptions::default()
    };
    // It was checked when it was read.
    let Ok(pattern) = glob::Pattern::new(pattern) else {
        return Vec::new();
    };
    let mut files: Vec<Digest> = Vec::new();
    for (path, file) in &tree.files {
        if pattern.matches_with(path, options) && !files.contains(&file.digest) {
            files.push(file.digest);
        }
    }
    files
}

/// The first of these paths, in words that follow "there".
fn listed<'a>(paths: impl ExactSizeIterator<Item = &'a String>) -> String {
    let count = paths.len();
    let first: Vec<&str> = paths.take(MOST_LISTED).map(String::as_str).collect();
    match (count, count - first.len()) {
        (0, _) => "is no file at all".into(),
        (_, 0) => format!("is {}", first.join(", ")),
        (_, more) => format!("is {}, and {more} more", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cas::File;

    #[test]
    fn files_match_by_their_whole_paths_once_each() {
        let file = |content: &str| File {
            digest: Digest::of(content.as_bytes()),
            is_executable: false,
        };
        let files = [
            ("b/output/1/trace.json", file("one")),
            ("b/output/2/trace.json.gz", file("two")),
            ("b/output/merged/trace.json", file("one")),
            ("b/perf_results.json", file("values")),
        ];
        let tree = Tree {
            files: files.map(|(path, file)| (path.to_owned(), file)).into(),
            ..Tree::default()
        };
        let found = matching(&tree, "b/output/**/trace*.json*");
        assert_eq!(found, [Digest::of(b"one"), Digest::of(b"two")]);
        assert_eq!(matching(&tree, "*.json"), []);
        let shown = listed(tree.files.keys());
        assert_eq!(
            shown,
            "is b/output/1/trace.json, b/output/2/trace.json.gz, b/output/merged/trace.json, and 1 more"
        );
    }
}
