//! Commits, with what their messages say in footers.

use super::super::messages;
use crate::{CombinedCommit, Commit};

/// The main commit, then each dependency that is held elsewhere.
pub(super) fn of(
    state: &CombinedCommit,
    message: &dyn Fn(&Commit) -> Option<String>,
) -> Vec<messages::Commit> {
    let held = state.modified_deps.iter().map(|held| &held.commit);
    let commits = std::iter::once(&state.main).chain(held);
    commits.map(|commit| one(commit, message(commit))).collect()
}

fn one(commit: &Commit, message: Option<String>) -> messages::Commit {
    let repository = &commit.repository;
    let git_hash = commit.revision();
    let message = message.unwrap_or_default();
    let (first, body) = message.split_once('\n').unwrap_or((&message, ""));
    let footers = Footers::of(body);
    messages::Commit {
        url: format!("{repository}/+/{git_hash}"),
        author: commit
            .author
            .as_deref()
            .map(address)
            .unwrap_or_default()
            .into(),
        created: commit.created.as_deref().and_then(|it| it.parse().ok()),
        subject: commit.subject.clone().unwrap_or_else(|| first.into()),
        message: body.trim_matches('\n').into(),
        change_id: footers.change_id.into(),
        review_url: footers.review_url.into(),
        commit_branch: footers.branch.into(),
        commit_position: footers.position,
        git_hash,
        repository: repository.clone(),
    }
}

/// The address alone, out of `Ada Lovelace <ada@example.org>` or `Ada Lovelace (ada@example.org)`.
fn address(author: &str) -> &str {
    let last = author.rsplit(' ').next().unwrap_or(author);
    last.trim_matches(['<', '>', '(', ')'])
}

/// The footers of a message. A damaged one is left out.
#[derive(Debug, Default, PartialEq)]
struct Footers<'a> {
    change_id: &'a str,
    review_url: &'a str,
    branch: &'a str,
    position: i32,
}

impl<'a> Footers<'a> {
    /// The last one of each name counts: a cherry-pick quotes those of its original.
    fn of(body: &'a str) -> Self {
        let mut footers = Self::default();
        for line in body.lines() {
            if let Some(id) = line.strip_prefix("Change-Id: ") {
                footers.change_id = id.trim();
            } else if let Some(url) = line.strip_prefix("Reviewed-on: ") {
                footers.review_url = url.trim();
            } else if let Some(place) = line.strip_prefix("Cr-Commit-Position: ")
                && let Some((branch, number)) = position(place.trim())
            {
                (footers.branch, footers.position) = (branch, number);
            }
        }
        footers
    }
}

/// `BRANCH@{#N}` taken apart.
fn position(place: &str) -> Option<(&str, i32)> {
    let (branch, number) = place.split_once("@{#")?;
    let number = number.strip_suffix('}')?.parse().ok()?;
    (!branch.is_empty() && number > 0).then_some((branch, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_has_what_its_message_says() {
        let commit = Commit {
            author: Some("Ada Lovelace <ada@example.org>".into()),
            created: Some("2026-08-21T11:08:42Z".into()),
            subject: Some("Sort faster".into()),
            ..Commit::new("https://example.org/src", "a1")
        };
        let message = "Sort faster\n\nIt is quick.\n\nChange-Id: I1\nReviewed-on: https://r/1\n\
                       Cr-Commit-Position: refs/heads/main@{#1500000}\n";
        let shown = one(&commit, Some(message.into()));
        let expected = messages::Commit {
            git_hash: "a1".into(),
            repository: "https://example.org/src".into(),
            url: "https://example.org/src/+/a1".into(),
            author: "ada@example.org".into(),
            created: "2026-08-21T11:08:42Z".parse().ok(),
            subject: "Sort faster".into(),
            message: message["Sort faster\n\n".len()..].trim_end().into(),
            commit_branch: "refs/heads/main".into(),
            commit_position: 1_500_000,
            review_url: "https://r/1".into(),
            change_id: "I1".into(),
        };
        assert_eq!(shown, expected);
        assert_eq!(one(&commit, None).message, "");
    }

    #[test]
    fn a_damaged_footer_is_left_out() {
        for damaged in [
            "Cr-Commit-Position: refs/heads/main",
            "Cr-Commit-Position: refs/heads/main@{#x}",
            "Cr-Commit-Position: refs/heads/main@{#3000000000}",
            "Cr-Commit-Position: refs/heads/main@{#7",
            "Cr-Commit-Position: @{#7}",
            "Change-Id:I1",
        ] {
            assert_eq!(Footers::of(damaged), Footers::default(), "{damaged}");
        }
        let twice = "Change-Id: I1\n> quoted\nChange-Id: I2\n";
        assert_eq!(Footers::of(twice).change_id, "I2");
    }

    #[test]
    fn an_author_is_an_address() {
        for author in ["Ada B <ada@b.c>", "Ada B (ada@b.c)", "ada@b.c", "<ada@b.c>"] {
            assert_eq!(address(author), "ada@b.c");
        }
    }
}
