//! Commits and their work, in words.

use std::collections::BTreeMap;

use maud::{Markup, html};
use pinpoint_core::{Action, CombinedCommit, CommitNames, Position, Task};
use pinpoint_report::words::short;
use pinpoint_report::{Foreign, commit_page};

/// A commit, with a link to its web page if that is known.
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

/// Work to be done, with equal kinds counted.
pub(super) fn work(names: &CommitNames, outstanding: &[Action]) -> Vec<(Markup, usize)> {
    let mut work: Vec<(&Task, usize)> = Vec::new();
    let mut known = BTreeMap::new();
    for Action { task, .. } in outstanding {
        let place = *known.entry(kind(task)).or_insert(work.len());
        match work.get_mut(place) {
            Some((_, count)) => *count += 1,
            None => work.push((task, 1)),
        }
    }
    let in_words = |(task, count)| (words(names, task), count);
    work.into_iter().map(in_words).collect()
}

/// The words for a task depend on this alone.
fn kind(task: &Task) -> (u8, Option<Position>, Option<Position>) {
    match *task {
        Task::FindMetric { commit } => (0, Some(commit), None),
        Task::List { lower, higher, .. } => (1, Some(lower), Some(higher)),
        Task::Build { commit } => (2, Some(commit), None),
        Task::Run { commit, .. } => (3, Some(commit), None),
        Task::RunPair { first, second, .. } => (4, Some(first), Some(second)),
        Task::Cancel { .. } => (5, None, None),
        _ => (6, None, None),
    }
}

fn words(names: &CommitNames, task: &Task) -> Markup {
    match *task {
        Task::FindMetric { commit } => {
            html! { "run " (at(names, commit)) " once, to find the metric" }
        }
        Task::List { lower, higher, .. } => {
            html! { "list the commits between " (at(names, lower)) " and " (at(names, higher)) }
        }
        Task::Build { commit } => html! { "build " (at(names, commit)) },
        Task::Run { commit, .. } => html! { "run " (at(names, commit)) },
        Task::RunPair { first, second, .. } => {
            html! { "run " (at(names, first)) " and " (at(names, second)) " in a pair" }
        }
        Task::Cancel { .. } => html! { "stop work that is no longer needed" },
        _ => html! { (task.kind()) },
    }
}
