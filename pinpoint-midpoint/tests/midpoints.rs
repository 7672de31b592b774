//! The states between two states: each rule on the smallest world that shows it.

mod world;

use pinpoint_core::{Followed, Patch};
use pinpoint_midpoint::MidpointError;
use pinpoint_midpoint::manifest::MAX_FILE;
use world::{World, hash, names, state, wait, written};

/// Five commits of the main repository without dependencies.
fn line() -> World {
    World::default().with("C", &["", "", "", "", "", ""])
}

/// A main repository whose commit 2 rolls skia from 1 to 3.
fn roll() -> World {
    World::default().with("skia", &["", "", "", "", ""]).with(
        "C",
        &[
            &names("skia", 1),
            &names("skia", 1),
            &names("skia", 3),
            &names("skia", 3),
        ],
    )
}

fn midpoint(world: &World, lower: &str, higher: &str) -> String {
    let midpoints = world.midpoints();
    let found = wait(midpoints.midpoint(&state(lower), &state(higher)));
    written(&found.expect("a midpoint"))
}

fn between(world: &World, lower: &str, higher: &str) -> Vec<String> {
    let (_, states) = world
        .between(&state(lower), &state(higher))
        .expect("an answer");
    states.iter().map(written).collect()
}

/// The reasons for which changes are not followed, by path.
fn reasons(world: &World, lower: &str, higher: &str) -> Vec<(String, String)> {
    let (between, _) = world
        .between(&state(lower), &state(higher))
        .expect("an answer");
    between
        .changes()
        .iter()
        .filter_map(|change| match &change.followed {
            Followed::No { reason, .. } => Some((change.path.clone(), reason.clone())),
            _ => None,
        })
        .collect()
}

#[test]
fn of_two_middle_commits_the_older_is_the_midpoint() {
    assert_eq!(midpoint(&line(), "C@1", "C@4"), "C@2");
    assert_eq!(midpoint(&line(), "C@1", "C@5"), "C@3");
    assert_eq!(midpoint(&line(), "C@1", "C@3"), "C@2");
}

#[test]
fn between_neighbors_lies_nothing_and_the_higher_is_the_culprit() {
    assert_eq!(midpoint(&line(), "C@1", "C@2"), "C@1");
}

#[test]
fn a_roll_is_opened_between_neighbors_only() {
    assert_eq!(between(&roll(), "C@0", "C@2"), ["C@1"]);
    assert_eq!(
        between(&roll(), "C@1", "C@2"),
        ["C@1 C/skia@2", "C@1 C/skia@3"]
    );
    assert_eq!(midpoint(&roll(), "C@1", "C@2"), "C@1 C/skia@2");
}

#[test]
fn the_rest_of_a_roll_lies_between_a_part_of_it_and_the_roll() {
    assert_eq!(midpoint(&roll(), "C@1 C/skia@2", "C@2"), "C@1 C/skia@3");
}

#[test]
fn the_last_commit_of_a_roll_leaves_the_roll_itself() {
    assert_eq!(midpoint(&roll(), "C@1 C/skia@3", "C@2"), "C@1 C/skia@3");
}

#[test]
fn holding_what_is_named_anyway_changes_nothing() {
    assert_eq!(midpoint(&roll(), "C@1", "C@1 C/skia@1"), "C@1");
    assert_eq!(midpoint(&roll(), "C@1 C/skia@1", "C@1"), "C@1 C/skia@1");
}

#[test]
fn a_part_of_a_roll_comes_after_its_main_commit_and_before_the_next() {
    assert_eq!(between(&roll(), "C@1", "C@1 C/skia@3"), ["C@1 C/skia@2"]);
    assert_eq!(between(&roll(), "C@0", "C@1 C/skia@2"), ["C@1"]);
    assert_eq!(between(&roll(), "C@1 C/skia@2", "C@3"), ["C@2"]);
}

#[test]
fn several_dependencies_roll_one_after_the_other_by_path() {
    let world = World::default()
        .with("skia", &["", "", ""])
        .with("angle", &["", "", ""])
        .with(
            "C",
            &[
                &format!("{}\n{}", names("skia", 0), names("angle", 0)),
                &format!("{}\n{}", names("skia", 2), names("angle", 2)),
            ],
        );
    let states = [
        "C@0 C/angle@1",
        "C@0 C/angle@2",
        "C@0 C/angle@2 C/skia@1",
        "C@0 C/angle@2 C/skia@2",
    ];
    assert_eq!(between(&world, "C@0", "C@1"), states);
    assert_eq!(between(&world, "C@0", states[3]), states[..3]);
    assert_eq!(between(&world, states[0], "C@1"), states[1..]);
    assert_eq!(between(&world, states[1], states[2]), [""; 0]);
}

/// C rolls D from 0 to 1, which rolls E from 1 to 3, whose commit 2 rolls F
/// from 0 to 2.
fn deep() -> World {
    World::default()
        .with("F", &["", "", ""])
        .with(
            "E",
            &[
                &names("F", 0),
                &names("F", 0),
                &names("F", 2),
                &names("F", 2),
            ],
        )
        .with("D", &[&names("E", 1), &names("E", 3)])
        .with("C", &[&names("D", 0), &names("D", 1)])
}

#[test]
fn a_roll_in_a_roll_in_a_roll_is_opened() {
    let world = deep();
    assert_eq!(between(&world, "C@0", "C@1"), ["C@0 C/D@1"]);
    let in_e = ["C@0 C/D@0 D/E@2", "C@0 C/D@0 D/E@3"];
    assert_eq!(between(&world, "C@0", "C@0 C/D@1"), in_e);
    let in_f = ["C@0 C/D@0 D/E@1 E/F@1", "C@0 C/D@0 D/E@1 E/F@2"];
    assert_eq!(between(&world, "C@0", in_e[0]), in_f);
    assert_eq!(between(&world, in_f[0], in_e[0]), in_f[1..]);
    assert_eq!(between(&world, in_f[1], in_e[0]), [""; 0]);
    assert_eq!(between(&world, in_f[0], "C@0 C/D@1"), in_e);
    assert_eq!(between(&world, in_f[0], "C@1"), ["C@0 C/D@1"]);
    assert_eq!(between(&world, "C@0", in_f[1]), in_f[..1]);
    // The roll of D itself changed something besides E.
    assert_eq!(between(&world, in_e[1], "C@0 C/D@1"), [""; 0]);
}

#[test]
fn a_revert_roll_is_walked_in_reverse() {
    let world = World::default()
        .with("skia", &["", "", "", "", ""])
        .with("C", &[&names("skia", 4), &names("skia", 1)]);
    let states = ["C@0 C/skia@3", "C@0 C/skia@2", "C@0 C/skia@1"];
    assert_eq!(between(&world, "C@0", "C@1"), states);
    assert_eq!(between(&world, states[0], states[2]), states[1..2]);
    assert_eq!(between(&world, states[1], "C@1"), states[2..]);
    let (between, _) = world
        .between(&state("C@0"), &state("C@1"))
        .expect("an answer");
    assert_eq!(between.changes()[0].followed, Followed::Backward);
}

#[test]
fn a_cycle_is_named_and_not_followed() {
    let world = World::default()
        .with("D", &[&names("C", 0), &names("C", 1)])
        .with("C", &[&names("D", 0), &names("D", 1)]);
    assert_eq!(between(&world, "C@0", "C@1"), ["C@0 C/D@1"]);
    assert_eq!(between(&world, "C@0", "C@0 C/D@1"), [""; 0]);
    let reasons = reasons(&world, "C@0", "C@0 C/D@1");
    assert_eq!(reasons[0].0, "C");
    assert!(reasons[0].1.contains("cycle"), "{reasons:?}");
}

#[test]
fn a_repository_that_comes_twice_is_followed_where_it_is_named() {
    // Both C and D name skia; D's copy is rolled by D, C's by C.
    let world = World::default()
        .with("skia", &["", "", ""])
        .with("D", &[&names("skia", 0), &names("skia", 2)])
        .with(
            "C",
            &[
                &format!("{}\n{}", names("D", 0), names("skia", 0)),
                &format!("{}\n{}", names("D", 1), names("skia", 1)),
            ],
        );
    let states = ["C@0 C/D@1", "C@0 C/D@1 C/skia@1"];
    assert_eq!(between(&world, "C@0", "C@1"), states);
    assert_eq!(
        between(&world, "C@0", states[0]),
        ["C@0 C/D@0 D/skia@1", "C@0 C/D@0 D/skia@2"]
    );
}

#[test]
fn one_repository_at_several_paths_rolls_as_one_or_not_at_all() {
    let at = |path: &str, number| format!("{path} skia {}", hash("skia", number));
    let world = World::default().with("skia", &["", "", ""]).with(
        "C",
        &[
            &format!("{}\n{}", at("a", 0), at("b", 0)),
            &format!("{}\n{}", at("a", 2), at("b", 2)),
            &format!("{}\n{}", at("a", 2), at("b", 1)),
        ],
    );
    assert_eq!(
        between(&world, "C@0", "C@1"),
        ["C@0 C/skia@1", "C@0 C/skia@2"]
    );
    assert_eq!(between(&world, "C@1", "C@2"), [""; 0]);
    assert!(reasons(&world, "C@1", "C@2")[0].1.contains("several paths"));
}

#[test]
fn one_repository_under_two_urls_rolls_as_one() {
    let at = |number| format!("a skia {0}\nb skia.git {0}", hash("skia", number));
    let world = World::default()
        .with("skia", &["", "", "", ""])
        .with("C", &[&at(0), &at(3), &at(3)]);
    let states = ["C@0 C/skia@1", "C@0 C/skia@2", "C@0 C/skia@3"];
    assert_eq!(between(&world, "C@0", "C@1"), states);
    assert_eq!(between(&world, states[0], "C@1"), states[1..]);
    assert_eq!(between(&world, states[0], states[2]), states[1..2]);
    // Under any of its names, and even if the ends use different ones.
    let other = states.map(|state| state.replace("skia", "skia.git"));
    assert_eq!(between(&world, &other[0], "C@1"), other[1..]);
    assert_eq!(between(&world, &other[0], states[2]), other[1..2]);
    assert_eq!(between(&world, "C@0", &other[2]), other[..2]);
}

#[test]
fn a_repository_whose_url_changes_with_the_roll_is_followed() {
    let world = World::default().with("skia", &["", "", ""]).with(
        "C",
        &[
            &format!("a skia.git {}", hash("skia", 0)),
            &format!("a skia {}", hash("skia", 2)),
        ],
    );
    let states = ["C@0 C/skia.git@1", "C@0 C/skia.git@2"];
    assert_eq!(between(&world, "C@0", "C@1"), states);
    assert_eq!(between(&world, states[0], "C@1"), states[1..]);
}

#[test]
fn a_cycle_under_two_names_is_a_cycle() {
    let world = World::default()
        .with("D", &[&names("C.git", 0), &names("C.git", 1)])
        .with("C", &[&names("D", 0), &names("D", 1)]);
    assert_eq!(between(&world, "C@0", "C@0 C/D@1"), [""; 0]);
    let reasons = reasons(&world, "C@0", "C@0 C/D@1");
    assert!(
        reasons[0].1.contains("cycle") || reasons[0].1.contains("no commit"),
        "{reasons:?}"
    );
}

#[test]
fn a_dependency_that_moves_and_rolls_in_one_commit_is_followed() {
    let at = |path: &str, number| format!("{path} skia {}", hash("skia", number));
    let world = World::default()
        .with("skia", &["", "", ""])
        .with("v8", &["", "", ""])
        .with(
            "C",
            &[
                &format!("{}\nb v8 {}", at("a", 0), hash("v8", 0)),
                &format!("{}\nb v8 {}", at("z", 2), hash("v8", 1)),
                &format!("{}\nb v8 {}", at("y", 2), hash("v8", 1)),
            ],
        );
    // Its old path decides the order, as in all states between.
    let states = ["C@0 C/skia@1", "C@0 C/skia@2", "C@0 C/skia@2 C/v8@1"];
    assert_eq!(between(&world, "C@0", "C@1"), states);
    assert_eq!(between(&world, states[0], "C@1"), states[1..]);
    assert_eq!(between(&world, "C@0", states[2]), states[..2]);
    assert_eq!(between(&world, "C@1", "C@2"), [""; 0]);
    let reasons = reasons(&world, "C@1", "C@2");
    assert_eq!(reasons, [("z".to_owned(), "it moved to y".to_owned())]);
}

#[test]
fn a_path_more_does_not_keep_a_dependency_from_being_followed() {
    let at = |path: &str, number| format!("{path} skia {}", hash("skia", number));
    let world = World::default().with("skia", &["", "", ""]).with(
        "C",
        &[&at("a", 0), &format!("{}\n{}", at("a", 2), at("b", 2))],
    );
    assert_eq!(
        between(&world, "C@0", "C@1"),
        ["C@0 C/skia@1", "C@0 C/skia@2"]
    );
    let reasons = reasons(&world, "C@0", "C@1");
    assert_eq!(reasons, [("b".to_owned(), "it is new".to_owned())]);
}

#[test]
fn a_manifest_that_is_too_large_is_named_and_ends_nothing() {
    let (large, larger) = (" ".repeat(MAX_FILE + 1), " ".repeat(MAX_FILE + 2));
    let world = World::default().with("C", &["", &large, &large, &larger, ""]);
    assert_eq!(between(&world, "C@0", "C@4"), ["C@1", "C@2", "C@3"]);
    // If it stays the same, none of its parts can have changed.
    assert_eq!(reasons(&world, "C@1", "C@2"), []);
    for (lower, higher) in [("C@0", "C@1"), ("C@2", "C@3"), ("C@3", "C@4")] {
        let reasons = reasons(&world, lower, higher);
        assert_eq!(reasons.len(), 1, "{reasons:?}");
        assert_eq!(reasons[0].0, "ROLLS");
        assert!(
            reasons[0].1.contains("more than 4194304 bytes"),
            "{reasons:?}"
        );
    }
}

#[test]
fn a_revision_of_any_length_is_not_looked_up() {
    let long = |digit: &str| format!("a skia {}", digit.repeat(200_000));
    let world = World::default()
        .with("skia", &["", ""])
        .with("C", &[&long("a"), &long("b")]);
    let (between, _) = world
        .between(&state("C@0"), &state("C@1"))
        .expect("an answer");
    let change = &between.changes()[0];
    let Followed::No { reason, .. } = &change.followed else {
        panic!("{change:?}");
    };
    assert!(reason.contains("1000 bytes"), "{reason}");
    let shown = [&change.before, &change.after].map(|it| it.as_ref().map_or(0, String::len));
    assert!(shown.iter().all(|length| *length < 1_100), "{shown:?}");
}

#[test]
fn what_cannot_be_followed_is_named_with_the_reason() {
    let mut world = World::default().with("skia", &["", "", ""]).with(
        "C",
        &[
            &[
                "appears-not y 1".into(),
                "package package 1".into(),
                format!("moved skia {}", hash("skia", 0)),
                "far nowhere 0000001".into(),
                format!("lost skia {}", hash("skia", 0)),
                format!("branch angle {}", hash("angle", 0)),
                "moves v8 main".into(),
                format!("when v9 {}", hash("v9", 0)),
            ]
            .join("\n"),
            &[
                "appears x 1".into(),
                "package package 2".into(),
                format!("moved elsewhere {}", hash("skia", 0)),
                "far nowhere 0000002".into(),
                "lost skia fffffffffffffff".into(),
                format!("branch angle {}", hash("angle", 3)),
                "moves v8 other".into(),
                format!("when v9 {} linux", hash("v9", 0)),
            ]
            .join("\n"),
        ],
    );
    world = world
        .with("angle", &["", ""])
        .with("v8", &[""])
        .with("v9", &[""]);
    world.0.get_mut("angle").expect("angle").elsewhere = 2;
    // From a commit of the one branch to one of the other.
    let before = world.0["C"].manifests[0].replace(
        &format!("branch angle {}", hash("angle", 0)),
        &format!("branch angle {}", hash("angle", 1)),
    );
    world.0.get_mut("C").expect("C").manifests[0] = before;

    assert_eq!(between(&world, "C@0", "C@1"), [""; 0]);
    let reasons = reasons(&world, "C@0", "C@1");
    let expected = [
        ("appears", "it is new"),
        ("appears-not", "it is gone"),
        ("branch", "different branches"),
        ("far", "not available"),
        ("lost", "no commit \"fffffff"),
        ("moved", "another repository"),
        ("moves", "may move"),
        ("package", "a package"),
        ("when", "condition"),
    ];
    assert_eq!(reasons.len(), expected.len(), "{reasons:#?}");
    for ((path, reason), (expected_path, part)) in reasons.iter().zip(expected) {
        assert_eq!(path, expected_path);
        assert!(reason.contains(part), "{path}: {reason}");
    }
}

#[test]
fn ends_between_which_nothing_can_lie_are_errors() {
    let world = roll().with("D", &[""]);
    let ask = |lower: &str, higher: &str| match world.between(&state(lower), &state(higher)) {
        Ok(_) => panic!("no error between {lower} and {higher}"),
        Err(error) => error,
    };
    assert!(matches!(ask("C@1", "C@1"), MidpointError::SameCommit(_)));
    assert!(matches!(
        ask("C@1", "D@0"),
        MidpointError::DifferentRepositories { .. }
    ));
    let order = |lower: &str, higher: &str| {
        let (lower, higher) = (state(lower), state(higher));
        wait(world.midpoints().check_order(&lower, &higher))
    };
    assert!(matches!(
        order("C@2", "C@1"),
        Err(MidpointError::Reversed { .. })
    ));
    assert!(order("C@1", "C@2").is_ok() && order("C@1", "C@1").is_ok());
    assert!(matches!(
        ask("C@1", "C@1 C/v8@1"),
        MidpointError::NotNamed { .. }
    ));
    assert!(matches!(
        ask("C@1", "C@1 skia/v8@1"),
        MidpointError::NotNamed { .. }
    ));
    assert!(matches!(ask("C@1", "C@77"), MidpointError::History(_)));
    let mut patched = state("C@2");
    patched.patch = Some(Patch::File {
        name: "try.diff".into(),
        sha256: "00".into(),
    });
    assert!(matches!(
        world.between(&state("C@1"), &patched),
        Err(MidpointError::DifferentPatches)
    ));
    let mut apart = roll();
    apart.0.get_mut("C").expect("C").elsewhere = 1;
    assert!(matches!(
        apart.between(&state("C@1"), &state("C@4")),
        Err(MidpointError::Apart { .. })
    ));
}

#[test]
fn an_offset_beyond_the_range_is_an_error() {
    let world = roll();
    let midpoints = world.midpoints();
    let error = wait(async {
        let between = midpoints.between(&state("C@1"), &state("C@2")).await?;
        midpoints.nth(&between, 2).await
    });
    assert!(matches!(
        error,
        Err(MidpointError::NoSuchOffset {
            offset: 2,
            count: 2
        })
    ));
}

#[test]
fn the_patch_is_on_every_state_between() {
    let patch = Some(Patch::File {
        name: "try.diff".into(),
        sha256: "00".into(),
    });
    let (mut lower, mut higher) = (state("C@1"), state("C@2"));
    lower.patch.clone_from(&patch);
    higher.patch.clone_from(&patch);
    let (_, states) = roll().between(&lower, &higher).expect("an answer");
    assert!(states.iter().all(|state| state.patch == patch));
}

#[test]
fn a_dependency_is_held_where_a_manifest_names_it() {
    let world = deep();
    let midpoints = world.midpoints();
    let hold = |lower: &str, dependency: &str, number: usize| {
        let (lower, revision) = (state(lower), hash(dependency, number));
        let held = wait(midpoints.hold(&lower, dependency, &revision));
        held.map(|held| written(&held))
    };
    assert_eq!(hold("C@0", "D", 1).expect("named"), "C@0 C/D@1");
    assert_eq!(hold("C@0 C/D@1", "D", 0).expect("named"), "C@0 C/D@0");
    assert_eq!(hold("C@0 C/D@1", "E", 2).expect("named"), "C@0 C/D@1 D/E@2");
    assert_eq!(
        hold("C@0 C/D@1 D/E@2", "F", 1).expect("named"),
        "C@0 C/D@1 D/E@2 E/F@1"
    );
    assert!(matches!(
        hold("C@0", "E", 2),
        Err(MidpointError::NotNamed { .. })
    ));
    assert!(matches!(
        hold("C@0", "D", 9),
        Err(MidpointError::History(_))
    ));
}
