//! The ends of a range, and the commits between them.

use std::fs;

use pinpoint_backends::local::{Repository, RepositoryError};
use pinpoint_core::{InProcess, ListRequest, Located};

use crate::world::{World, git, key};

#[test]
fn a_place_outside_of_any_repository_is_named() {
    let world = World::new();
    for place in [world.path("elsewhere"), world.path("missing")] {
        if place.ends_with("elsewhere") {
            fs::create_dir(&place).unwrap();
        }
        let error = Repository::discover(&place).unwrap_err();
        assert!(
            matches!(error, RepositoryError::NotARepository { .. }),
            "{error}"
        );
        assert!(
            error.to_string().contains(place.to_str().unwrap()),
            "{error}"
        );
    }
}

#[test]
fn a_repository_has_one_name_from_everywhere_in_it() {
    let world = World::new();
    world.commit("file", "1");
    let linked = world.path("linked");
    git(
        &world.repository,
        &["worktree", "add", "-q", linked.to_str().unwrap()],
    );
    fs::create_dir(world.repository.join("inner")).unwrap();
    let bare = world.path("bare.git");
    git(
        &world.repository,
        &["clone", "-q", "--bare", ".", bare.to_str().unwrap()],
    );
    for place in [&world.repository, &world.repository.join("inner"), &linked] {
        assert_eq!(
            Repository::discover(place).unwrap().path(),
            world.repository
        );
    }
    assert_eq!(Repository::discover(&bare).unwrap().path(), bare);
}

#[test]
fn a_revision_is_resolved_where_the_user_stands() {
    let world = World::new();
    let first = world.commit("file", "1");
    let linked = world.path("linked");
    git(
        &world.repository,
        &["worktree", "add", "-q", linked.to_str().unwrap()],
    );
    let second = world.commit("file", "2");
    let head = |place| {
        let repository = Repository::discover(place).unwrap();
        repository.resolve_revision("HEAD").unwrap()
    };
    assert_eq!(head(&linked).git_hash, first);
    let commit = head(&world.repository);
    assert_eq!(commit.git_hash, second);
    assert_eq!(commit.repository, world.repository.to_str().unwrap());
    assert_eq!(commit.author.as_deref(), Some("Ada <ada@example.org>"));
    assert_eq!(commit.created.as_deref(), Some("2024-02-03T04:05:06+01:00"));
    assert_eq!(commit.subject.as_deref(), Some("Change file"));
}

#[test]
fn an_unknown_revision_is_named_with_the_repository() {
    let world = World::new();
    world.commit("file", "1");
    let repository = Repository::discover(&world.repository).unwrap();
    for name in [
        "v9",
        "--all",
        "HEAD:file",
        "",
        "0123456789012345678901234567890123456789",
    ] {
        let error = repository.resolve_revision(name).unwrap_err();
        assert!(
            matches!(
                error,
                RepositoryError::UnknownRevision { shallow: false, .. }
            ),
            "{name}: {error}"
        );
        let repository = world.repository.to_str().unwrap();
        assert!(error.to_string().contains(name), "{error}");
        assert!(error.to_string().contains(repository), "{error}");
    }
}

#[test]
fn a_shallow_clone_is_told_to_fetch() {
    let world = World::new();
    let first = world.commit("file", "1");
    world.commit("file", "2");
    let shallow = world.path("shallow");
    let origin = format!("file://{}", world.repository.display());
    git(
        &world.repository,
        &[
            "clone",
            "-q",
            "--depth",
            "1",
            &origin,
            shallow.to_str().unwrap(),
        ],
    );
    let repository = Repository::discover(&shallow).unwrap();
    let error = repository.resolve_revision(&first).unwrap_err();
    assert!(error.to_string().contains("--unshallow"), "{error}");
}

#[test]
fn ends_that_have_no_range_between_them_are_told_apart() {
    let world = World::new();
    let first = world.commit("file", "1");
    let second = world.commit("file", "2");
    git(&world.repository, &["checkout", "-q", "-b", "side", &first]);
    let side = world.commit("side", "1");
    git(&world.repository, &["checkout", "-q", "--orphan", "other"]);
    let other = world.commit("file", "unrelated");
    let repository = Repository::discover(&world.repository).unwrap();
    let check = |good: &str, bad: &str| repository.range_check(good, bad);

    assert_eq!(check(&first, &second).unwrap(), [""; 0]);
    let error = check(&first, &first).unwrap_err();
    assert!(
        matches!(error, RepositoryError::SameCommit { .. }),
        "{error}"
    );
    let error = check(&second, &first).unwrap_err();
    assert!(matches!(error, RepositoryError::Reversed { .. }), "{error}");
    assert_eq!(check(&side, &second).unwrap(), [first]);
    let error = check(&other, &second).unwrap_err();
    assert!(
        matches!(
            error,
            RepositoryError::NoCommonHistory { shallow: false, .. }
        ),
        "{error}"
    );
}

async fn between(world: &World, lower: &str, higher: &str, paths: &[&str]) -> Vec<String> {
    let mut config = world.config(lower, "true");
    config.paths = paths.iter().map(ToString::to_string).collect();
    let executor = world.open(config, "job");
    let request = ListRequest {
        range: 0,
        key: key(1),
        lower: world.combined(lower),
        higher: world.combined(higher),
    };
    let listing = executor.list(&request).await.unwrap();
    let mut hashes = Vec::new();
    for offset in 0..listing.count {
        let listing = Box::new(listing.clone());
        let located = Located::Offset { listing, offset };
        hashes.push(executor.resolve(&located).await.unwrap().main.git_hash);
    }
    let beyond = Located::Offset {
        offset: listing.count,
        listing: Box::new(listing),
    };
    executor.resolve(&beyond).await.unwrap_err();
    hashes
}

#[tokio::test]
async fn a_range_is_the_line_of_first_parents_without_its_ends() {
    let world = World::new();
    let commits: Vec<String> = (0..5)
        .map(|n| world.commit("file", &n.to_string()))
        .collect();
    assert_eq!(
        between(&world, &commits[0], &commits[4], &[]).await,
        commits[1..4]
    );
    assert_eq!(
        between(&world, &commits[3], &commits[4], &[]).await,
        [""; 0]
    );
}

#[tokio::test]
async fn the_line_leads_through_the_parent_that_has_the_good_end() {
    let world = World::new();
    let root = world.commit("file", "0");
    git(&world.repository, &["checkout", "-q", "-b", "side"]);
    let side = world.commit("side", "1");
    git(&world.repository, &["checkout", "-q", "main"]);
    let second = world.commit("file", "1");
    git(
        &world.repository,
        &["merge", "-q", "--no-ff", "-m", "Merge", "side"],
    );
    let merge = git(&world.repository, &["rev-parse", "HEAD"]);
    let last = world.commit("file", "2");
    assert_eq!(
        between(&world, &side, &last, &[]).await,
        std::slice::from_ref(&merge)
    );
    let repository = Repository::discover(&world.repository).unwrap();
    let steps = |good: &str, paths: &[&str]| {
        let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
        repository.steps_between(good, &last, &paths).unwrap()
    };
    assert_eq!(steps(&side, &[]), [merge.clone(), last.clone()]);
    assert_eq!(steps(&side, &["nothing"]), [merge.clone(), last.clone()]);
    assert_eq!(
        steps(&root, &[]),
        [second.clone(), merge.clone(), last.clone()]
    );
    // The merge brings to the good end the commit that is not on the line.
    assert_eq!(between(&world, &side, &merge, &[]).await, [""; 0]);
    assert_eq!(between(&world, &root, &last, &[]).await, [second, merge]);
}

/// A separate history is brought in as the second parent of a merge: the line of first parents ends
/// in another root.
#[tokio::test]
async fn the_line_leads_into_a_history_that_was_brought_in() {
    let world = World::new();
    let old: Vec<String> = (0..3)
        .map(|n| world.commit("old", &n.to_string()))
        .collect();
    git(&world.repository, &["checkout", "-q", "--orphan", "new"]);
    git(&world.repository, &["rm", "-qrf", "."]);
    let new: Vec<String> = (0..2)
        .map(|n| world.commit("new", &n.to_string()))
        .collect();
    let arguments = ["merge", "-q", "--no-ff", "--allow-unrelated-histories"];
    git(
        &world.repository,
        &[&arguments[..], &["-m", "Merge", "main"]].concat(),
    );
    let merge = git(&world.repository, &["rev-parse", "HEAD"]);
    let after = world.commit("new", "2");
    let last = world.commit("old", "3");
    let line = [&old[1], &old[2], &merge, &after].map(String::clone);
    assert_eq!(between(&world, &old[0], &last, &[]).await, line);
    let repository = Repository::discover(&world.repository).unwrap();
    let steps = repository.steps_between(&old[0], &last, &[]).unwrap();
    assert_eq!(steps[..4], line);
    assert_eq!(steps[4], last);
    // With paths, the merge stays: it changes the line by the merged commits.
    assert_eq!(between(&world, &old[0], &last, &["old"]).await, line[..3]);
    let touched = repository.touched_between(&old[0], &last, &[]).unwrap();
    assert_eq!(touched.map(|touched| touched.len()), Some(5));
    assert!(!new.is_empty());
}

/// A release branch with its own commits, and a main branch that continued.
#[tokio::test]
async fn a_range_goes_back_to_the_merge_base_where_histories_parted() {
    let world = World::new();
    let base = world.commit("file", "0");
    git(&world.repository, &["checkout", "-q", "-b", "release"]);
    let release: Vec<String> = (0..3)
        .map(|n| world.commit("notes", &n.to_string()))
        .collect();
    git(&world.repository, &["checkout", "-q", "main"]);
    let main: Vec<String> = (1..4)
        .map(|n| world.commit("file", &n.to_string()))
        .collect();
    let expected = [&release[1], &release[0], &base, &main[0], &main[1]].map(String::clone);
    assert_eq!(between(&world, &release[2], &main[2], &[]).await, expected);
    let repository = Repository::discover(&world.repository).unwrap();
    // Each named by the commit that the step takes back, or adds.
    let steps = repository
        .steps_between(&release[2], &main[2], &[])
        .unwrap();
    let expected = [
        &release[2],
        &release[1],
        &release[0],
        &main[0],
        &main[1],
        &main[2],
    ];
    assert_eq!(steps, expected.map(String::clone));
    let touched = repository.touched_between(&release[2], &main[2], &[]);
    assert_eq!(touched.unwrap().map(|touched| touched.len()), Some(6));
    let paths = ["file".to_owned()];
    let refused = repository.paths_between(&release[2], &main[2], &paths);
    let error = refused.unwrap_err().to_string();
    assert!(
        error.contains(&base) && error.contains("leave them out"),
        "{error}"
    );
}

#[tokio::test]
async fn only_commits_that_touch_the_paths_are_in_a_range() {
    let world = World::new();
    let first = world.commit("core", "0");
    world.commit("docs", "1");
    let touching = world.commit("core", "1");
    world.commit("docs", "2");
    let last = world.commit("docs", "3");
    assert_eq!(between(&world, &first, &last, &["core"]).await, [touching]);
}

#[test]
fn paths_are_read_from_where_one_stands() {
    let world = World::new();
    let directory = world.repository.join("src");
    fs::create_dir(&directory).unwrap();
    let first = world.commit("src/measured", "1");
    let second = world.commit("src/measured", "2");
    let inside = Repository::discover(&directory).unwrap();
    let paths = ["measured".to_owned()];
    assert_eq!(
        inside.paths_between(&first, &second, &paths).unwrap(),
        ["src/measured"]
    );
    let top = Repository::discover(&world.repository).unwrap();
    let error = top.paths_between(&first, &second, &paths).unwrap_err();
    assert!(
        matches!(error, RepositoryError::NothingTouches { .. }),
        "{error}"
    );
}
