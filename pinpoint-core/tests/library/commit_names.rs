//! The names of positions, and the rolls that they lie in.

use pinpoint_core::{
    CombinedCommit, Commit, CommitNames, Listing, ModifiedDependency, Position, Report, Task,
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
    let states = [held("1", &[("middle", "a")]), held("1", &[("middle", "b")])];
    let rolled_by = |position| {
        let rolled_by = names.rolled_by(position, [&states[0], &states[1]]);
        rolled_by.map(|it| it.git_hash)
    };
    for state in [within(1, 1), within(2, 0)] {
        assert_eq!(rolled_by(state).as_deref(), Some("2"));
    }
    // The last state of a roll is the commit that rolls.
    let last = names.rolled_by(roll, [&states[1], &main_commit("2")]);
    assert_eq!(last.unwrap().git_hash, "2");
    // Other dependencies of one commit of the main repository are no roll.
    assert_eq!(rolled_by(Position::Higher), None);
}

#[test]
fn where_the_line_goes_back_in_time_the_older_commit_has_rolled() {
    let mut names = CommitNames::default();
    let ends = [
        (Position::Lower, main_commit("good")),
        (Position::Higher, main_commit("bad")),
    ];
    let task = Task::List {
        range: 0,
        lower: ends[0].0,
        higher: ends[1].0,
    };
    let [(_, lower), (_, higher)] = ends;
    let listing = Listing {
        lower,
        higher,
        count: 3,
        changes: Vec::new(),
        merge_base: Some(1),
    };
    names.learn(&task, &Report::Listed(listing));
    let line = |offset: u64| (within(0, offset), main_commit(&offset.to_string()));
    list(&mut names, 1, [line(0), line(1)]);
    list(&mut names, 2, [line(1), line(2)]);
    let states = [held("x", &[("middle", "a")]), held("x", &[("middle", "b")])];
    let rolled_by = |position| names.rolled_by(position, [&states[0], &states[1]]).unwrap();
    assert_eq!(rolled_by(within(1, 1)).git_hash, "0");
    assert_eq!(rolled_by(within(2, 1)).git_hash, "2");
    // The commit before the merge base is taken back in the last state of its roll.
    let last = names.rolled_by(
        within(0, 1),
        [&held("0", &[("middle", "a")]), &main_commit("1")],
    );
    assert_eq!(last.unwrap().git_hash, "0");
}

#[test]
fn a_merged_commit_that_rolls_is_named_by_its_own_hash() {
    let names = CommitNames::default();
    let mut merged = main_commit("8");
    merged.main.merged.push("side".into());
    let rolled_by = names.rolled_by(within(0, 1), [&main_commit("8"), &merged]);
    assert_eq!(rolled_by.unwrap().git_hash, "side");
}
