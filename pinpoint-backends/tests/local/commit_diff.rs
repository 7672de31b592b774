//! The changes of a commit, and the URL of its repository.

use std::fs;

use pinpoint_backends::local::{FileChange, Repository};

use crate::world::{World, git};

fn change(path: &str, lines: Option<(u64, u64)>) -> FileChange {
    FileChange {
        path: path.into(),
        lines,
    }
}

#[test]
fn a_commit_changes_lines_of_files() {
    let world = World::new();
    world.commit("kept", "1\n2\n");
    let place = world.path("repository");
    fs::write(place.join("kept"), "1\n3\n4\n").unwrap();
    fs::write(place.join("tab\there \"ü\""), "new\n").unwrap();
    fs::write(place.join("picture"), [0, 1, 2, 0]).unwrap();
    git(&place, &["add", "--all"]);
    git(&place, &["commit", "-q", "-m", "several"]);
    let repository = Repository::discover(&place).unwrap();
    let commit = repository.resolve_revision("HEAD").unwrap().git_hash;
    assert_eq!(
        repository.changed_files(&commit).unwrap(),
        [
            change("kept", Some((2, 1))),
            change("picture", None),
            change("tab\there \"ü\"", Some((1, 0))),
        ]
    );

    // A merge has the changes to the line that it is merged into.
    git(&place, &["checkout", "-q", "-b", "side", "HEAD~1"]);
    let side = world.commit("beside", "1\n");
    git(&place, &["checkout", "-q", "-"]);
    git(&place, &["reset", "-q", "--hard", &commit]);
    git(&place, &["merge", "-q", "--no-ff", "-m", "merge", &side]);
    let merge = repository.resolve_revision("HEAD").unwrap().git_hash;
    // Independent of the user's settings for merges.
    git(&place, &["config", "log.diffMerges", "off"]);
    assert_eq!(
        repository.changed_files(&merge).unwrap(),
        [change("beside", Some((1, 0)))]
    );
    assert!(repository.changed_files("--output=x").is_err());
}

#[test]
fn origin_is_the_remote_that_counts() {
    let world = World::new();
    world.commit("file", "1");
    let place = world.path("repository");
    let repository = Repository::discover(&place).unwrap();
    assert_eq!(repository.remote_url().unwrap(), None);
    git(
        &place,
        &["remote", "add", "fork", "https://example.org/fork"],
    );
    let url = |text: &str| Some(text.to_owned());
    assert_eq!(
        repository.remote_url().unwrap(),
        url("https://example.org/fork")
    );
    git(&place, &["remote", "add", "origin", "git@example.org:main"]);
    assert_eq!(
        repository.remote_url().unwrap(),
        url("git@example.org:main")
    );
}
