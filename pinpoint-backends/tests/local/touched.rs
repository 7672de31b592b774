//! The kinds of files that the commits of a range touch.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use pinpoint_backends::local::{Repository, RepositoryError};
use pinpoint_core::suspicion::FileKind;

use crate::world::{World, git};

#[test]
fn each_commit_of_a_line_counts_with_what_it_changes() {
    let world = World::new();
    let good = world.commit("list.c", "1");
    let place = &world.repository;
    world.commit("README.md", "1");
    let empty = world.commit("README.md", "1");
    git(place, &["checkout", "-q", "-b", "side", &good]);
    world.commit("other \"ü\"\n.c", "1");
    let side = world.commit("list.c", "2");
    git(place, &["checkout", "-q", "main"]);
    git(place, &["merge", "-q", "--no-ff", "-m", "merge", &side]);
    fs::create_dir(world.path("repository/tests")).unwrap();
    git(place, &["mv", "README.md", "tests/list"]);
    git(place, &["commit", "-q", "-m", "a document becomes a test"]);
    let gitlink = format!("160000,{side},third_party/list");
    git(place, &["update-index", "--add", "--cacheinfo", &gitlink]);
    git(place, &["commit", "-q", "-m", "a submodule"]);
    let bad = git(place, &["rev-parse", "HEAD"]);

    // Settings of the user's that would hide some of it.
    git(place, &["config", "diff.ignoreSubmodules", "all"]);
    git(place, &["config", "log.diffMerges", "off"]);
    git(place, &["config", "log.showSignature", "true"]);
    git(place, &["config", "diff.relative", "true"]);
    git(place, &["config", "diff.orderFile", "/nowhere"]);
    let repository = Repository::discover(place).unwrap();
    let below = Repository::discover(&place.join("tests")).unwrap();
    let touched_in = |repository: &Repository, good: &str, bad: &str, paths: &[&str]| {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        let found = repository
            .touched_between(good, bad, &paths)
            .unwrap()
            .unwrap();
        found
            .into_iter()
            .map(|it| (it.kind(), it.weight()))
            .collect::<Vec<_>>()
    };
    let touched = |good: &str, bad: &str, paths: &[&str]| touched_in(&repository, good, bad, paths);
    for place in [&repository, &below] {
        assert_eq!(
            touched_in(place, &good, &bad, &[]),
            [
                (Some(FileKind::Document), 0.1),
                (None, 0.1),
                (Some(FileKind::Code), 1.4),
                (Some(FileKind::Test), 0.2),
                (Some(FileKind::Build), 2.0),
            ]
        );
    }
    // The bad end counts in any case, as it does for the search.
    assert_eq!(
        touched(&good, &bad, &["list.c"]),
        [(Some(FileKind::Code), 1.4), (Some(FileKind::Build), 2.0)]
    );
    assert_eq!(touched(&good, &empty, &[]).len(), 2);
    let unknown = repository.touched_between(&good, &good.replace(['0', '1'], "2"), &[]);
    assert!(
        matches!(unknown, Err(RepositoryError::Git { .. })),
        "{unknown:?}"
    );
}

#[test]
fn commits_that_touch_too_many_files_are_not_looked_at() {
    let world = World::new();
    let good = world.commit("file", "1");
    let directory = "d".repeat(200);
    let mut stream = String::from("blob\nmark :1\ndata 2\n1\n\ncommit refs/heads/main\n");
    stream.push_str("committer Ada <ada@example.org> 1700000000 +0100\ndata 5\nmany\n\n");
    let _ = writeln!(stream, "from {good}");
    for number in 0..150_000 {
        let _ = writeln!(stream, "M 100644 :1 {directory}/{}/{number}", number / 500);
    }
    let mut import = Command::new("git")
        .args(["fast-import", "--quiet"])
        .current_dir(&world.repository)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = import.stdin.take().unwrap();
    stdin.write_all(stream.as_bytes()).unwrap();
    drop(stdin);
    assert!(import.wait().unwrap().success());
    let repository = Repository::discover(&world.repository).unwrap();
    let bad = git(&world.repository, &["rev-parse", "main"]);
    assert_eq!(repository.touched_between(&good, &bad, &[]).unwrap(), None);
}

#[test]
fn a_root_commit_in_the_line_counts_with_all_that_it_holds() {
    let world = World::new();
    let good = world.commit("README.md", "1");
    let place = &world.repository;
    git(place, &["checkout", "-q", "--orphan", "other"]);
    world.commit("list.c", "1");
    git(place, &["config", "log.showRoot", "false"]);
    let unrelated = [
        "merge",
        "-q",
        "--no-ff",
        "--allow-unrelated-histories",
        "-m",
        "merge",
    ];
    git(place, &[&unrelated[..], &[good.as_str()]].concat());
    let bad = git(place, &["rev-parse", "HEAD"]);
    let repository = Repository::discover(place).unwrap();
    let found = repository
        .touched_between(&good, &bad, &[])
        .unwrap()
        .unwrap();
    assert_eq!(found[0].kind(), Some(FileKind::Code));
}
