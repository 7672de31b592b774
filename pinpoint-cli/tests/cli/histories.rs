//! Culprits in nonlinear histories: updated branches, histories that were brought in, release
//! branches.

use std::fmt::Write as _;

use serde_json::Value;

use crate::world::{BENCHMARK, World, fast_import, git};

/// A commit: its branch, its parents by their places from 1 on, and files that it has in place
/// of its first parent's.
type Made<'a> = (&'a str, &'a [usize], &'a [(&'a str, &'a str)]);

/// Makes commits, each with its place as its subject, and the ends of the range.
fn with(commits: &[Made<'_>], good: usize, bad: usize) -> World {
    let mut world = World::new();
    let mut stream = String::new();
    for (place, (branch, parents, files)) in (1..).zip(commits) {
        let subject = format!("commit {place}");
        let _ = write!(
            stream,
            "commit refs/heads/{branch}\nmark :{place}\n\
             committer Ada Lovelace <ada@example.org> {} +0000\ndata {}\n{subject}\n",
            1_700_000_000 + place * 3600,
            subject.len(),
        );
        for (parent, words) in parents.iter().zip(["from", "merge"]) {
            let _ = writeln!(stream, "{words} :{parent}");
        }
        for (file, text) in *files {
            let _ = writeln!(
                stream,
                "M 100644 inline {file}\ndata {}\n{text}",
                text.len()
            );
        }
        stream.push('\n');
    }
    for (name, place) in [("good", good), ("bad", bad)] {
        let _ = write!(stream, "reset refs/tags/{name}\nfrom :{place}\n\n");
    }
    fast_import(&world.repository, &stream);
    let ends = ["good", "bad"].map(|name| git(&world.repository, &["rev-parse", name]));
    world.commits = ends.into();
    world
}

fn found(world: &World, options: &[&str]) -> Value {
    let options = [&["--format", "lines", "--output", "json"], options].concat();
    let finished = world.bisect(&options, BENCHMARK).ends_with(0);
    let document = finished.document();
    assert_eq!(
        document["culprits"].as_array().map(Vec::len),
        Some(1),
        "{document:#}"
    );
    document
}

#[test]
fn a_branch_that_merged_main_before_it_was_merged() {
    let world = with(
        &[
            ("main", &[], &[("value", "1")]),
            ("branch", &[1], &[("branch", "1")]),
            ("main", &[1], &[("main", "1")]),
            ("branch", &[2, 3], &[("main", "1")]),
            ("branch", &[4], &[("value", "2")]),
            ("branch", &[5], &[]),
            ("main", &[3], &[("main", "2")]),
            ("main", &[7, 6], &[("branch", "1"), ("value", "2")]),
            ("main", &[8], &[("main", "3")]),
        ],
        1,
        9,
    );
    let document = found(&world, &[]);
    let culprit = &document["culprits"][0];
    assert_eq!(culprit["blamed"]["subject"], "commit 5", "{document:#}");
}

#[test]
fn a_history_that_was_brought_in_as_a_second_parent() {
    let world = with(
        &[
            ("old", &[], &[("value", "1")]),
            ("old", &[1], &[("other", "1")]),
            ("old", &[2], &[("value", "2")]),
            ("old", &[3], &[("other", "2")]),
            ("new", &[], &[("new", "1")]),
            ("new", &[5, 4], &[("value", "2"), ("other", "2")]),
            ("new", &[6], &[("new", "2")]),
        ],
        1,
        7,
    );
    let document = found(&world, &[]);
    let culprit = &document["culprits"][0];
    assert_eq!(culprit["blamed"]["subject"], "commit 3", "{document:#}");
}

/// A release branch with three commits, and a main branch with three; commit `slow` of them
/// changes the value.
fn release(slow: usize) -> World {
    let value = |place: usize, value: &'static str, file: &'static str| match place == slow {
        true => [("value", value)],
        false => [(file, if place.is_multiple_of(2) { "a" } else { "b" })],
    };
    let first = [("value", if slow <= 4 { "2" } else { "1" })];
    with(
        &[
            ("main", &[], &first),
            ("release", &[1], &value(2, "1", "notes")),
            ("release", &[2], &value(3, "1", "notes")),
            ("release", &[3], &value(4, "1", "notes")),
            ("main", &[1], &value(5, "2", "main")),
            ("main", &[5], &value(6, "2", "main")),
            ("main", &[6], &value(7, "2", "main")),
        ],
        4,
        7,
    )
}

#[test]
fn a_good_end_on_a_release_branch() {
    let world = release(6);
    let base = git(&world.repository, &["merge-base", "good", "bad"]);
    let document = found(&world, &[]);
    let culprit = &document["culprits"][0];
    assert_eq!(culprit["blamed"]["subject"], "commit 6", "{document:#}");
    assert_eq!(culprit["undone"], false);
    assert_eq!(document["merge_base"]["main"]["git_hash"], *base);
    let job = document["job_id"].as_str().unwrap();
    let shown = world.pinpoint(&["jobs", "show", job]).ends_with(0);
    shown.says("is not part of the history of");
    shown.says(&format!("merge base {}", &base[..10]));
}

#[test]
fn a_change_that_only_the_release_branch_has() {
    let world = release(3);
    let document = found(&world, &[]);
    let culprit = &document["culprits"][0];
    assert_eq!(culprit["blamed"]["subject"], "commit 3", "{document:#}");
    assert_eq!(culprit["undone"], true);
    let job = document["job_id"].as_str().unwrap();
    let shown = world.pinpoint(&["jobs", "show", job]).ends_with(0);
    shown.says("only the good end has it");
}
