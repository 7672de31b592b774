//! The names of positions, and the rolls that they lie in.

use pinpoint_core::{
    BuildReport, CombinedCommit, Commit, CommitNames, Listing, ModifiedDependency, Position,
    Report, Task,
};

fn main_commit(hash: &str) -> CombinedCommit {
    Commit::new("https://example.org/app", hash).into()
}

/// A state of the main repository with dependencies at other revisions.
fn held(hash: &str, dependencies: &[(&str, &str)]) -> CombinedCommit {
    let mut state = main_commit(hash);
    state.modified_deps = (dependencies.iter())
        .map(|(repository, hash)| ModifiedDependency {
            commit: Commit::new(*repository, *hash),
            named_by: "https://example.org/app".into(),
        })
        .collect();
    state
}

fn within(range: u32, offset: u64) -> Position {
    Position::Within { range, offset }
}

fn list(names: &mut CommitNames, range: u32, ends: [(Position, CombinedCommit); 2]) {
    let [(lower, lower_name), (higher, higher_name)] = ends;
    let task = Task::List {
        range,
        lower,
        higher,
    };
    let listing = Listing {
        lower: lower_name,
        higher: higher_name,
        count: 3,
        changes: Vec::new(),
        merge_base: None,
    };
    names.learn(&task, &Report::Listed(listing));
}

fn build(names: &mut CommitNames, position: Position, commit: CombinedCommit) {
    let report = Report::Built(BuildReport::built(commit));
    names.learn(&Task::Build { commit: position }, &report);
}

#[test]
fn a_state_inside_of_a_roll_is_rolled_by_its_newer_end() {
    let mut names = CommitNames::default();
    let (before, roll) = (within(0, 0), within(0, 1));
    let outer = [
        (Position::Lower, main_commit("0")),
        (Position::Higher, main_commit("9")),
    ];
    list(&mut names, 0, outer);
    let middle = [(before, main_commit("1")), (roll, main_commit("2"))];
    list(&mut names, 1, middle);
    let inner = [
        (within(1, 0), held("1", &[("middle", "a")])),
        (within(1, 1), held("1", &[("middle", "b")])),
    ];
    list(&mut names, 2, inner);
    build(&mut names, before, main_commit("1"));
    build(&mut names, within(1, 0), held("1", &[("middle", "a")]));
    let innermost = held("1", &[("middle", "a"), ("inner", "x")]);
    build(&mut names, within(2, 0), innermost);

    let rolled_by = |position| names.rolled_by(position).map(|it| &*it.git_hash);
    assert_eq!(rolled_by(within(1, 0)), Some("2"));
    assert_eq!(rolled_by(within(2, 0)), Some("2"));
    // A commit of the main repository, and one that was never built.
    assert_eq!(rolled_by(before), None);
    assert_eq!(rolled_by(within(1, 2)), None);
}
