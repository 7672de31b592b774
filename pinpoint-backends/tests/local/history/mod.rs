//! Histories of real repositories, compared with git's answers.

mod merges;
mod names;
mod ranges;
mod registry;
mod searches;
mod shapes;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use pinpoint_backends::local::{LocalHistory, Repository};
use pinpoint_midpoint::{History, HistoryError};

use crate::world::{World, git};

impl World {
    pub(crate) fn history(&self) -> LocalHistory {
        self.history_of(&self.repository)
    }

    pub(crate) fn history_of(&self, repository: &Path) -> LocalHistory {
        let repository = Repository::discover(repository).unwrap();
        LocalHistory::open(&repository, &self.path("state")).unwrap()
    }

    /// Takes a stream of `git fast-import`.
    pub(crate) fn import(&self, stream: &str) {
        let marks = self.path("marks");
        let mut import = Command::new("git");
        import
            .arg("-C")
            .arg(&self.repository)
            .args(["fast-import", "--quiet", "--force"]);
        import.arg(format!("--export-marks={}", marks.display()));
        let mut import = import.stdin(Stdio::piped()).spawn().unwrap();
        import
            .stdin
            .take()
            .unwrap()
            .write_all(stream.as_bytes())
            .unwrap();
        assert!(import.wait().unwrap().success());
    }

    /// Makes commits, each by its parents among those before it, and returns
    /// their hashes. The branch `main` is at the last.
    pub(crate) fn make(&self, parents: &[Vec<usize>]) -> Vec<String> {
        let mut stream = String::new();
        for (index, parents) in parents.iter().enumerate() {
            let (mark, date) = (index + 1, 1_700_000_000 + index);
            writeln!(stream, "commit refs/made/{mark}\nmark :{mark}").unwrap();
            writeln!(stream, "committer Ada <ada@example.org> {date} +0100").unwrap();
            writeln!(stream, "data <<END\nChange {mark}\n\nEND").unwrap();
            for (place, parent) in parents.iter().enumerate() {
                let relation = if place == 0 { "from" } else { "merge" };
                writeln!(stream, "{relation} :{}", parent + 1).unwrap();
            }
            if parents.is_empty() {
                stream.push_str("deleteall\n");
            }
            writeln!(
                stream,
                "M 644 inline file{}\ndata <<END\n{mark}\nEND\n",
                mark % 7
            )
            .unwrap();
        }
        self.import(&stream);
        let marks = std::fs::read_to_string(self.path("marks")).unwrap();
        let marks: BTreeMap<usize, String> = marks
            .lines()
            .map(|line| {
                let (mark, hash) = line.strip_prefix(':').unwrap().split_once(' ').unwrap();
                (mark.parse().unwrap(), hash.to_owned())
            })
            .collect();
        let hashes: Vec<String> = marks.into_values().collect();
        let last = hashes.last().unwrap();
        git(&self.repository, &["update-ref", "refs/heads/main", last]);
        hashes
    }
}

/// The list by git of the commits between two others, oldest first.
pub(crate) fn listed(repository: &Path, lower: &str, higher: &str) -> Vec<String> {
    let excluded = format!("^{lower}");
    let arguments = ["rev-list", "--first-parent", "--reverse", higher, &excluded];
    git(repository, &arguments)
        .lines()
        .map(str::to_owned)
        .collect()
}

/// The list by a history of the commits between two others, oldest first.
pub(crate) async fn between(history: &LocalHistory, lower: &str, higher: &str) -> Vec<String> {
    let count = history.count(lower, higher).await.unwrap();
    let mut commits = Vec::new();
    for offset in 0..count {
        commits.push(history.nth(lower, higher, offset).await.unwrap());
    }
    let beyond = history.nth(lower, higher, count).await.unwrap_err();
    assert!(
        matches!(beyond, HistoryError::NoSuchOffset { count: whole, .. } if whole == count),
        "{beyond}"
    );
    commits
}

pub(crate) fn is_ancestor(repository: &Path, ancestor: &str, descendant: &str) -> bool {
    let status = Command::new("git")
        .arg("-C")
        .arg(repository)
        .args(["merge-base", "--is-ancestor", ancestor, descendant])
        .status()
        .unwrap();
    match status.code() {
        Some(0) => true,
        Some(1) => false,
        other => panic!("git merge-base: {other:?}"),
    }
}

/// The answers of git for every pair of commits: the commits in between, and whether
/// one is an ancestor of the other.
pub(crate) struct Truth(Vec<(String, String, Vec<String>, bool)>);

impl Truth {
    pub(crate) fn new(repository: &Path, commits: &[String]) -> Self {
        let mut pairs = Vec::new();
        for lower in commits {
            for higher in commits {
                pairs.push((
                    lower.clone(),
                    higher.clone(),
                    listed(repository, lower, higher),
                    is_ancestor(repository, lower, higher),
                ));
            }
        }
        Self(pairs)
    }

    pub(crate) async fn holds_for(&self, history: &LocalHistory) {
        for (lower, higher, listed, is_ancestor) in &self.0 {
            let found = between(history, lower, higher).await;
            assert_eq!(found, *listed, "from {lower} to {higher}");
            let found = history.is_ancestor(lower, higher).await.unwrap();
            assert_eq!(found, *is_ancestor, "{lower} in {higher}");
        }
    }
}
