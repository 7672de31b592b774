//! The names of commits, and of those that roll dependencies.

use pinpoint_core::{
    CombinedCommit, Commit, CommitNames, Listing, ModifiedDependency, Position, Report, Task,
};

fn main_commit(hash: &str) -> CombinedCommit {
    Commit::new("https://example.org/app", hash).into()
}

/// A state of the main repository with a dependency at another revision.
fn held(main: &CombinedCommit, revision: &str) -> CombinedCommit {
    let dependency = ModifiedDependency {
        commit: Commit::new("middle", revision),
        named_by: "https://example.org/app".into(),
    };
    CombinedCommit {
        modified_deps: vec![dependency],
        ..main.clone()
    }
}

/// The commit 7 with others merged into it.
fn merged(others: &[&str]) -> CombinedCommit {
    let mut state = main_commit("7");
    state.main.merged = others.iter().map(|hash| (*hash).to_owned()).collect();
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
        (within(1, 0), held(&main_commit("1"), "a")),
        (within(1, 1), held(&main_commit("1"), "b")),
    ];
    list(&mut names, 2, inner);
    let states = ["a", "b"].map(|revision| held(&main_commit("1"), revision));
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
    let states = ["a", "b"].map(|revision| held(&main_commit("x"), revision));
    let rolled_by = |position| names.rolled_by(position, [&states[0], &states[1]]).unwrap();
    assert_eq!(rolled_by(within(1, 1)).git_hash, "0");
    assert_eq!(rolled_by(within(2, 1)).git_hash, "2");
    // The commit before the merge base is taken back in the last state of its roll.
    let last = names.rolled_by(
        within(0, 1),
        [&held(&main_commit("0"), "a"), &main_commit("1")],
    );
    assert_eq!(last.unwrap().git_hash, "0");
}

#[test]
fn between_two_neighbors_the_newer_end_has_rolled() {
    let mut names = CommitNames::default();
    let (lower, higher) = (main_commit("1"), main_commit("2"));
    let ends = [
        (Position::Lower, lower.clone()),
        (Position::Higher, higher.clone()),
    ];
    list(&mut names, 0, ends);
    let states = ["a", "b"].map(|revision| held(&lower, revision));
    let rolled_by = |position, states| names.rolled_by(position, states).unwrap().git_hash;
    assert_eq!(rolled_by(within(0, 0), [&lower, &states[0]]), "2");
    assert_eq!(rolled_by(within(0, 1), [&states[0], &states[1]]), "2");
    assert_eq!(rolled_by(Position::Higher, [&states[1], &higher]), "2");
}

#[test]
fn a_roll_in_a_merged_branch_is_named_and_not_the_merge() {
    let mut names = CommitNames::default();
    let ends = [
        (Position::Lower, main_commit("6")),
        (Position::Higher, main_commit("9")),
    ];
    list(&mut names, 0, ends);
    let merge = [
        (within(0, 0), main_commit("7")),
        (within(0, 1), main_commit("8")),
    ];
    list(&mut names, 1, merge);
    let (before, roll) = (merged(&["first"]), merged(&["first", "roll"]));
    let branch = [(within(1, 0), before.clone()), (within(1, 1), roll.clone())];
    list(&mut names, 2, branch);
    let states = ["a", "b"].map(|revision| held(&before, revision));
    let rolled_by = |position, states| names.rolled_by(position, states).unwrap().git_hash;
    assert_eq!(rolled_by(within(2, 1), [&states[0], &states[1]]), "roll");
    assert_eq!(rolled_by(within(1, 1), [&states[1], &roll]), "roll");
}

#[test]
fn a_commit_left_out_of_the_range_is_not_named_as_the_roll() {
    let mut names = CommitNames::default();
    let ends = [
        (Position::Lower, main_commit("0")),
        (Position::Higher, main_commit("4")),
    ];
    list(&mut names, 0, ends);
    // The commits 1 to 3 are not in the range: the first state of the roll lies after them.
    let first = held(&main_commit("3"), "a");
    let rolled_by = names.rolled_by(within(0, 0), [&main_commit("0"), &first]);
    assert_eq!(rolled_by.unwrap().git_hash, "4");
}
