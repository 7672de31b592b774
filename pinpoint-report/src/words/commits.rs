//! Commits, in a few words.

use std::fmt::Write;

use pinpoint_core::{CombinedCommit, Commit};

use crate::text::plain;

/// The short name of a state where there is little room: `1f2e3d4c5b`, followed by commits held
/// elsewhere, `skia@4c5b6a7980`.
pub fn short(state: &CombinedCommit) -> String {
    let mut text = short_commit(&state.main);
    for held in &state.modified_deps {
        let name = repository_name(&held.commit.repository);
        let _ = write!(text, " {name}@{}", short_commit(&held.commit));
    }
    text
}

/// The beginning of a hash, with those merged into it.
fn short_commit(commit: &Commit) -> String {
    // An existing build.
    if commit.git_hash.is_empty() {
        return plain(&commit.repository).into_owned();
    }
    let start = |hash: &str| plain(hash.get(..10).unwrap_or(hash)).into_owned();
    let hashes = std::iter::once(&commit.git_hash).chain(&commit.merged);
    let hashes: Vec<String> = hashes.map(|hash| start(hash)).collect();
    hashes.join("+")
}

/// The last part of a URL or path, the common name of the repository.
pub fn repository_name(repository: &str) -> String {
    let name = repository.trim_end_matches('/');
    let name = name.rsplit(['/', ':']).next().unwrap_or(name);
    plain(name.strip_suffix(".git").unwrap_or(name)).into_owned()
}

/// A state on one line, with the subject of the commit that was moved last.
pub fn line(state: &CombinedCommit) -> String {
    let moved = match state.modified_deps.last() {
        Some(held) => &held.commit,
        None => &state.main,
    };
    let subject = plain(moved.subject.as_deref().unwrap_or_default());
    format!("{} {subject}", short(state)).trim_end().to_owned()
}
