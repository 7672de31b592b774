//! Commits and what is done with them, in words.

use maud::{Markup, html};
use pinpoint_core::{Action, CombinedCommit, CommitNames, Position, Task};
use pinpoint_report::words::short;
use pinpoint_report::{Foreign, commit_page};

/// A commit, with a link to its page on the web where that is known.
pub(in crate::ui) fn linked(commit: &CombinedCommit) -> Markup {
    let main = &commit.main;
    let is_plain = commit.modified_deps.is_empty() && main.merged.is_empty();
    let page = commit_page(&main.repository, &main.git_hash).filter(|_| is_plain);
    let name = html! { code { (Foreign(&short(commit))) } };
    match page {
        Some(page) => html! { a href=(page) rel="noreferrer" { (name) } },
        None => name,
    }
}

/// The commit at a position of the search.
pub(super) fn at(names: &CommitNames, position: Position) -> Markup {
    match (names.commit(position), position) {
        (Some(commit), _) => linked(commit),
        (None, Position::Lower) => html! { "the good end" },
        (None, Position::Higher) => html! { "the bad end" },
        (None, Position::Within { range, offset }) => {
            let count = names.range(range).map(|listing| listing.count);
            html! {
                "commit " (offset.saturating_add(1))
                @if let Some(count) = count { " of " (count) }
            }
        }
    }
}

/// Work to be done, the same kind of it once with its count.
pub(super) fn work(names: &CommitNames, outstanding: &[Action]) -> Vec<(Markup, usize)> {
    let mut work: Vec<(Markup, usize)> = Vec::new();
    for action in outstanding {
        let words = match &action.task {
            Task::FindMetric { commit } => {
                html! { "run " (at(names, *commit)) " once, to find the metric" }
            }
            Task::List { lower, higher, .. } => {
                html! { "list the commits between " (at(names, *lower)) " and " (at(names, *higher)) }
            }
            Task::Build { commit } => html! { "build " (at(names, *commit)) },
            Task::Run { commit, .. } => html! { "run " (at(names, *commit)) },
            Task::RunPair { first, second, .. } => {
                html! { "run " (at(names, *first)) " and " (at(names, *second)) " in a pair" }
            }
            Task::Cancel { .. } => html! { "end work that is no longer needed" },
        };
        match work.iter_mut().find(|(known, _)| known.0 == words.0) {
            Some((_, count)) => *count += 1,
            None => work.push((words, 1)),
        }
    }
    work
}
