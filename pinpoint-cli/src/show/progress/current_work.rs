//! The builds or the run under way, in words.

use pinpoint_core::{Action, CommitNames, Machine, Position, Task};
use pinpoint_report::words::short;

pub(super) fn is_run(action: &Action) -> bool {
    matches!(action.task, Task::Run { .. } | Task::RunPair { .. })
}

pub(super) fn name(position: Position, names: &CommitNames) -> String {
    match (names.commit(position), position) {
        (Some(commit), _) => short(commit),
        (None, Position::Within { offset, .. }) => format!("commit {}", offset + 1),
        (None, Position::Lower) => "the older end".into(),
        (None, Position::Higher) => "the newer end".into(),
    }
}

/// The builds or the run under way.
pub(super) fn now(machine: &impl Machine, names: &CommitNames) -> String {
    let outstanding = machine.outstanding();
    let finding = outstanding.iter().find_map(|action| match action.task {
        Task::FindMetric { commit } => Some(commit),
        _ => None,
    });
    if let Some(commit) = finding {
        return format!(
            "building {} and trying the benchmark there",
            name(commit, names)
        );
    }
    let building: Vec<String> = outstanding
        .iter()
        .filter_map(|action| match action.task {
            Task::Build { commit } => Some(name(commit, names)),
            _ => None,
        })
        .collect();
    if !building.is_empty() {
        return format!("building {}", building.join(", "));
    }
    match outstanding
        .iter()
        .find(|action| is_run(action))
        .map(|action| &action.task)
    {
        Some(Task::Run { commit, index, .. }) => {
            format!("running {}, run {}", name(*commit, names), index + 1)
        }
        Some(Task::RunPair {
            first,
            second,
            index,
            ..
        }) => format!(
            "running {} and {}, pair {}",
            name(*first, names),
            name(*second, names),
            index + 1
        ),
        _ => "looking at the history".into(),
    }
}
