//! What commits and files are called.

use std::collections::BTreeMap;
use std::fs;

use pinpoint_midpoint::{History, HistoryError};

use crate::world::{World, git};

#[tokio::test]
async fn commits_have_the_names_that_git_knows() {
    let world = World::new();
    let first = world.commit("file", "1");
    git(&world.repository, &["tag", "-a", "-m", "one", "v1"]);
    let second = world.commit("file", "2");
    let history = world.history();
    for (name, expected) in [
        ("HEAD", &second),
        ("main", &second),
        ("refs/heads/main", &second),
        ("v1", &first),
        ("HEAD~1", &first),
        ("main^", &first),
        (&first, &first),
        (&first[..8], &first),
        (&first.to_uppercase(), &first),
    ] {
        assert_eq!(history.resolve(name).await.unwrap(), *expected, "{name}");
    }
    let missing = "0123456789012345678901234567890123456789";
    for name in [
        "v9",
        "",
        "--all",
        "HEAD:file",
        missing,
        "main@{#1}",
        "@{#1}",
        "main@{#x}",
    ] {
        let error = history.resolve(name).await.unwrap_err();
        assert!(
            matches!(error, HistoryError::UnknownRevision { .. }),
            "{name}: {error}"
        );
        let repository = world.repository.to_str().unwrap();
        assert!(error.to_string().contains(name), "{error}");
        assert!(error.to_string().contains(repository), "{error}");
        assert!(error.to_string().contains("git fetch"), "{error}");
    }
}

#[tokio::test]
async fn hashes_of_nothing_and_of_no_commit_are_unknown() {
    let world = World::new();
    let commit = world.commit("file", "1");
    let tree = git(&world.repository, &["rev-parse", "HEAD^{tree}"]);
    let history = world.history();
    for name in [
        &tree[..],
        &commit[..7],
        "",
        "main",
        &"0".repeat(40),
        &"0".repeat(64),
    ] {
        let error = history.count(name, &commit).await.unwrap_err();
        assert!(
            matches!(error, HistoryError::UnknownRevision { .. }),
            "{name}: {error}"
        );
        let error = history.is_ancestor(&commit, name).await.unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
        assert!(history.nth(&commit, name, 0).await.is_err());
        assert!(history.parents(name).await.is_err());
        assert!(history.file(name, &[], "file").await.is_err());
        assert!(history.merged_tree(&commit, &[name.into()]).await.is_err());
    }
}

#[tokio::test]
async fn the_beginning_of_several_hashes_is_refused() {
    let world = World::new();
    // Enough that two of them begin with the same four digits.
    let parents: Vec<Vec<usize>> = (0..1_200_usize)
        .map(|commit| commit.checked_sub(1).into_iter().collect())
        .collect();
    let mut commits = world.make(&parents);
    commits.sort();
    let twins = commits
        .windows(2)
        .find(|pair| pair[0][..4] == pair[1][..4])
        .unwrap();
    let history = world.history();
    let error = history.resolve(&twins[0][..4]).await.unwrap_err();
    assert!(
        matches!(error, HistoryError::UnknownRevision { .. }),
        "{error}"
    );
    assert!(
        error.to_string().contains("write more of the hash"),
        "{error}"
    );
    let error = history
        .resolve(&format!("{}~1", &twins[0][..4]))
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("write more of the hash"),
        "{error}"
    );
    assert_eq!(history.resolve(&twins[0][..12]).await.unwrap(), twins[0]);
}

fn footed(world: &World, content: &str, footer: Option<&str>) -> String {
    let mut message = format!("Change {content}");
    if let Some(footer) = footer {
        message += &format!("\n\nBug: 7\nCr-Commit-Position: {footer}\n");
    }
    fs::write(world.repository.join("file"), content).unwrap();
    git(&world.repository, &["add", "-A"]);
    git(&world.repository, &["commit", "-q", "-m", &message]);
    git(&world.repository, &["rev-parse", "HEAD"])
}

#[tokio::test]
async fn commit_positions_are_found_on_the_line() {
    let world = World::new();
    let mut numbered = BTreeMap::new();
    footed(&world, "before numbers began", None);
    for number in 100..140_u64 {
        if number % 7 == 0 {
            footed(&world, &format!("not numbered {number}"), None);
        }
        if number == 120 {
            continue;
        }
        let branch = if number < 110 { "master" } else { "main" };
        let footer = format!("refs/heads/{branch}@{{#{number}}}");
        numbered.insert(number, footed(&world, &number.to_string(), Some(&footer)));
    }
    let history = world.history();
    for (number, commit) in &numbered {
        let name = format!("refs/heads/main@{{#{number}}}");
        assert_eq!(history.resolve(&name).await.unwrap(), *commit, "{name}");
    }
    assert_eq!(
        history.resolve("main@{#105}").await.unwrap(),
        numbered[&105]
    );
    for number in [0, 99, 120, 140, u64::MAX] {
        let error = history
            .resolve(&format!("main@{{#{number}}}"))
            .await
            .unwrap_err();
        assert!(
            matches!(error, HistoryError::UnknownRevision { .. }),
            "{error}"
        );
    }

    // A release branch has numbers of its own on top.
    git(&world.repository, &["switch", "-q", "-c", "release"]);
    let released = footed(&world, "fix", Some("refs/heads/release@{#1}"));
    git(&world.repository, &["branch", "-q", "-D", "main"]);
    assert_eq!(history.resolve("release@{#1}").await.unwrap(), released);
    assert_eq!(
        history.resolve("main@{#111}").await.unwrap(),
        numbered[&111]
    );
}

#[tokio::test]
async fn a_position_is_looked_for_in_what_was_fetched_last() {
    let world = World::new();
    footed(&world, "1", Some("refs/heads/main@{#1}"));
    let clone = world.path("clone");
    let place = world.repository.to_str().unwrap();
    git(
        &world.path("."),
        &["clone", "-q", place, clone.to_str().unwrap()],
    );
    let second = footed(&world, "2", Some("refs/heads/main@{#2}"));
    git(&clone, &["fetch", "-q"]);
    assert_eq!(
        world.history_of(&clone).resolve("main@{#2}").await.unwrap(),
        second
    );
}

#[tokio::test]
async fn files_are_read_as_they_were() {
    let world = World::new();
    fs::create_dir(world.repository.join("in")).unwrap();
    std::os::unix::fs::symlink("DEPS", world.repository.join("link")).unwrap();
    let first = world.commit("in/DEPS", "vars = {}\r\n\0");
    let second = world.commit("in/DEPS", "");
    let history = world.history();
    let file = |commit: &str, path: &str| {
        let (history, commit, path) = (history.clone(), commit.to_owned(), path.to_owned());
        async move { history.file(&commit, &[], &path).await.unwrap() }
    };
    assert_eq!(
        file(&first, "in/DEPS").await.as_deref(),
        Some(&b"vars = {}\r\n\0"[..])
    );
    assert_eq!(file(&second, "in/DEPS").await.as_deref(), Some(&b""[..]));
    for missing in [
        "in",
        "in/",
        "DEPS",
        "link",
        "in/DEPS/x",
        "",
        "/in/DEPS",
        "../in/DEPS",
        "in/../in/DEPS",
    ] {
        assert_eq!(file(&first, missing).await, None, "{missing}");
    }
}

#[tokio::test]
async fn gitlinks_are_commits_of_other_repositories() {
    let world = World::new();
    world.commit("file", "1");
    let other = "0123456789012345678901234567890123456789";
    let link = format!("160000,{other},third_party/other");
    git(
        &world.repository,
        &["update-index", "--add", "--cacheinfo", &link],
    );
    git(&world.repository, &["commit", "-q", "-m", "Roll"]);
    let commit = git(&world.repository, &["rev-parse", "HEAD"]);
    let paths = ["third_party/other", "third_party", "file", "missing"].map(str::to_owned);
    let links = world
        .history()
        .gitlinks(&commit, &[], &paths)
        .await
        .unwrap();
    assert_eq!(
        links,
        BTreeMap::from([("third_party/other".to_owned(), other.to_owned())])
    );
}
