//! The main branch, and the commits that a history numbers.

use pinpoint_backends::local::{Repository, RepositoryError};

use crate::world::{World, git};

fn main_branch(world: &World) -> Option<String> {
    let repository = Repository::discover(&world.repository).unwrap();
    repository.main_branch().unwrap()
}

#[test]
fn a_branch_that_is_checked_out_is_not_taken_for_the_main_one() {
    let world = World::new();
    world.commit("file", "1");
    git(&world.repository, &["branch", "-M", "work"]);
    assert_eq!(main_branch(&world), None);
    git(&world.repository, &["branch", "master"]);
    assert_eq!(main_branch(&world).as_deref(), Some("refs/heads/master"));
    git(&world.repository, &["branch", "main"]);
    assert_eq!(main_branch(&world).as_deref(), Some("refs/heads/main"));
}

#[test]
fn the_main_branch_of_a_clone_is_that_of_its_origin() {
    let origin = World::new();
    let first = origin.commit("file", "1");
    let second = origin.commit("file", "2");
    git(&origin.repository, &["branch", "-M", "trunk"]);
    git(&origin.repository, &["branch", "main", &first]);
    let world = World::new();
    let clone = |words: &[&str]| git(&world.repository, words);
    let url = origin.repository.to_str().unwrap();
    clone(&["remote", "add", "origin", url]);
    clone(&["fetch", "-q", "origin"]);
    clone(&["remote", "set-head", "origin", "trunk"]);
    let there = Some("refs/remotes/origin/trunk".to_owned());
    assert_eq!(main_branch(&world), there);
    // A branch here that was not updated since says less than origin's.
    clone(&["branch", "trunk", &first]);
    assert_eq!(main_branch(&world), there);
    // It is what its user measures, if it is checked out.
    clone(&["checkout", "-q", "trunk"]);
    let here = Some("refs/heads/trunk".to_owned());
    assert_eq!(main_branch(&world), here);
    clone(&["merge", "-q", "--ff-only", &second]);
    clone(&["checkout", "-q", "--detach"]);
    assert_eq!(main_branch(&world), here);
}

#[test]
fn a_line_goes_on_behind_a_known_commit_and_leaves_out_merged_ones() {
    let world = World::new();
    let first = world.commit("file", "1");
    git(&world.repository, &["checkout", "-q", "-b", "side"]);
    let side = world.commit("other", "1");
    git(&world.repository, &["checkout", "-q", "-"]);
    let second = world.commit("file", "2");
    git(
        &world.repository,
        &["merge", "-q", "--no-ff", "-m", "merge", "side"],
    );
    let merge = git(&world.repository, &["rev-parse", "HEAD"]);
    let repository = Repository::discover(&world.repository).unwrap();
    let line = |known: Option<&str>| repository.first_parent_line("HEAD", known).unwrap();
    let whole = line(None);
    assert!(!whole.continues);
    assert_eq!(whole.hashes, [&*first, &*second, &*merge]);
    let rest = line(Some(&first));
    assert!(rest.continues);
    assert_eq!(rest.hashes, [&*second, &*merge]);
    assert!(line(Some(&merge)).hashes.is_empty());
    // One that is not on the line, and one that is not here.
    for known in [&*side, &"0".repeat(40)] {
        assert_eq!(line(Some(known)), whole, "{known}");
    }
    let commits = repository.line_commits(&whole.hashes).unwrap();
    let hashes: Vec<&str> = commits.iter().map(|it| &*it.git_hash).collect();
    assert_eq!(hashes, [&*first, &*second, &*merge]);
    let unknown = repository.line_commits(&["0".repeat(40)]);
    assert!(
        matches!(unknown, Err(RepositoryError::Git { .. })),
        "{unknown:?}"
    );
}
