//! Commits by their position, such as `refs/heads/main@{#1234}`.
//!
//! Chromium and similar projects number the commits of a branch: each has a footer
//!
//! ```text
//! Cr-Commit-Position: refs/heads/main@{#1234}
//! ```
//!
//! The numbers rise along the line, so that a bisection of it finds one by
//! reading some twenty messages. Commits without a number are skipped.

use gix_object::FindExt;
use pinpoint_midpoint::HistoryError;

use super::commits::Walk;
use super::line;
use super::local_history::Inner;

const FOOTER: &str = "Cr-Commit-Position: ";
/// Commits in a row without a number that are skipped. After more of them, numbers are assumed to
/// start later.
const GAP: usize = 1_000;

pub(super) struct CommitPosition<'a> {
    /// The branch, without `refs/heads/`.
    branch: &'a str,
    number: u64,
}

/// Reads `BRANCH@{#NUMBER}`.
pub(super) fn parse(name: &str) -> Option<CommitPosition<'_>> {
    let (branch, number) = name.strip_suffix('}')?.split_once("@{#")?;
    let branch = branch.strip_prefix("refs/heads/").unwrap_or(branch);
    let number = number.parse().ok()?;
    (!branch.is_empty()).then_some(CommitPosition { branch, number })
}

/// The hash of the commit at a position: on the branch, on its last fetched state, or on
/// the commit checked out.
pub(super) fn find(
    inner: &Inner,
    position: &CommitPosition<'_>,
) -> Result<Option<String>, HistoryError> {
    let branch = position.branch;
    let tips = [
        format!("refs/heads/{branch}"),
        format!("refs/remotes/origin/{branch}"),
        "HEAD".to_owned(),
    ];
    for tip in tips {
        let Some(tip) = inner.full_hash(&tip)? else {
            continue;
        };
        let mut walk = inner.commits.walk();
        let tip = walk.number(&tip)?;
        let mut line = line::whole(&mut walk, tip)?;
        line.reverse();
        if let Some(commit) = search(&walk, &line, position)? {
            return Ok(Some(walk.id(commit).to_string()));
        }
    }
    Ok(None)
}

/// Bisects a line, oldest first.
fn search(
    walk: &Walk<'_>,
    line: &[u32],
    position: &CommitPosition<'_>,
) -> Result<Option<u32>, HistoryError> {
    let (mut from, mut to) = (0, line.len());
    while from < to {
        let middle = from + (to - from) / 2;
        let mut numbered = None;
        for place in (from..=middle).rev().take(GAP) {
            if let Some(number) = number(walk, line[place], position.branch)? {
                numbered = Some((place, number));
                break;
            }
        }
        match numbered {
            Some((place, number)) if number == position.number => return Ok(Some(line[place])),
            Some((place, number)) if number > position.number => to = place,
            _ => from = middle + 1,
        }
    }
    Ok(None)
}

/// The number that a commit has on a branch.
fn number(walk: &Walk<'_>, commit: u32, branch: &str) -> Result<Option<u64>, HistoryError> {
    let unreadable = |error| walk.commits.unreadable(error);
    let mut buffer = Vec::new();
    let commit = walk.objects.find_commit(&walk.id(commit), &mut buffer);
    let message = commit.map_err(unreadable)?.message;
    // A commit picked from elsewhere may quote the footers it had there.
    let footers = message.rsplit(|byte| *byte == b'\n');
    let footer = { footers }.find_map(|line| line.strip_prefix(FOOTER.as_bytes()));
    let position = footer.and_then(|footer| parse(str::from_utf8(footer.trim_ascii()).ok()?));
    Ok(position
        .filter(|position| is_same(position.branch, branch))
        .map(|position| position.number))
}

/// Numbers continued when `master` was renamed to `main`.
fn is_same(one: &str, other: &str) -> bool {
    let renamed = |branch: &str| matches!(branch, "main" | "master");
    one == other || (renamed(one) && renamed(other))
}
