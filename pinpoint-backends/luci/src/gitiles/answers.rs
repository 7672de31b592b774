//! The answers of Gitiles.

use serde::{Deserialize, Serialize};

/// The prefix of the JSON, so that no page can run it as a script.
const GUARD: &[u8] = b")]}'";

/// A commit, alone or in a log.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct Commit {
    pub(super) commit: String,
    #[serde(default)]
    pub(super) tree: String,
    #[serde(default)]
    pub(super) parents: Vec<String>,
    pub(super) author: Person,
    pub(super) committer: Person,
    pub(super) message: String,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct Person {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) email: String,
    pub(super) time: String,
}

/// A page of a log, newest first.
#[derive(Debug, Deserialize)]
pub(super) struct Log {
    #[serde(default)]
    pub(super) log: Vec<Commit>,
    /// The start of the next page; absent on the last one.
    #[serde(default)]
    pub(super) next: Option<String>,
}

/// A folder.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct Tree {
    #[serde(default)]
    pub(super) entries: Vec<Entry>,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct Entry {
    /// `blob`, `tree`, or `commit` for a commit of another repository.
    pub(super) r#type: String,
    pub(super) id: String,
    pub(super) name: String,
}

/// Reads the JSON of an answer, or returns the problem with it.
pub(super) fn read<T: for<'a> Deserialize<'a>>(body: &[u8]) -> Result<T, String> {
    let json = body
        .strip_prefix(GUARD)
        .ok_or("its body does not begin with )]}'")?;
    serde_json::from_slice(json).map_err(|error| error.to_string())
}
