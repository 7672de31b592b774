//! The names of commits and files.

use std::collections::BTreeMap;
use std::fmt::Write as _;
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
        assert!(history.file(name, &[], "file", 1_000).await.is_err());
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

    // A release branch adds its own numbers.
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
        async move { history.file(&commit, &[], &path, 1_000).await.unwrap() }
    };
    assert_eq!(
        file(&first, "in/DEPS").await.as_deref(),
        Some(&b"vars = {}\r\n\0"[..])
    );
    assert_eq!(file(&second, "in/DEPS").await.as_deref(), Some(&b""[..]));
    // An object that is too large is not loaded.
    match history.file(&first, &[], "in/DEPS", 11).await {
        Err(HistoryError::TooLarge {
            size: 12,
            most: 11,
            object,
            ..
        }) => {
            let known = git(
                &world.repository,
                &["rev-parse", &format!("{first}:in/DEPS")],
            );
            assert_eq!(object, known);
        }
        other => panic!("{other:?}"),
    }
    assert!(history.file(&first, &[], "in/DEPS", 12).await.is_ok());
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

/// Names from manifests, which no process could take as an argument.
#[tokio::test]
async fn names_that_no_process_takes_are_unknown() {
    let world = World::new();
    world.commit("file", "1");
    let history = world.history();
    for name in [
        "a".repeat(200_000),
        "0".repeat(3_000_000),
        "a\0b".to_owned(),
    ] {
        let error = history.resolve(&name).await.unwrap_err();
        assert!(
            matches!(error, HistoryError::UnknownRevision { .. }),
            "{error}"
        );
    }
    // Names that git understands but that are not one commit.
    for name in ["^main", "main..main", "main^!"] {
        let error = history.resolve(name).await.unwrap_err();
        assert!(
            matches!(error, HistoryError::UnknownRevision { .. }),
            "{name}: {error}"
        );
    }
}

#[tokio::test]
async fn people_keep_their_names_whatever_encoding_logs_are_shown_in() {
    let world = World::new();
    world.commit("file", "1");
    let author = "--author=Æsa Ødegård <æsa@example.org>";
    git(
        &world.repository,
        &["commit", "-q", "--allow-empty", "-m", "Größe €", author],
    );
    for encoding in ["ISO-8859-1", "UTF-16", "nonsense"] {
        git(
            &world.repository,
            &["config", "i18n.logOutputEncoding", encoding],
        );
        let commit = world.combined("main").main;
        assert_eq!(
            commit.author.as_deref(),
            Some("Æsa Ødegård <æsa@example.org>")
        );
        assert_eq!(commit.subject.as_deref(), Some("Größe €"), "{encoding}");
    }
}

#[tokio::test]
async fn a_partial_clone_says_which_object_it_lacks() {
    let world = World::new();
    let commit = world.commit("DEPS", "deps = {}");
    world.commit("DEPS", "");
    let object = git(&world.repository, &["rev-parse", &format!("{commit}:DEPS")]);
    git(
        &world.repository,
        &["config", "uploadpack.allowFilter", "true"],
    );
    let clone = world.path("clone");
    let url = format!("file://{}", world.repository.display());
    let arguments = ["clone", "-q", "--filter=blob:none", "--no-checkout", &url];
    git(
        &world.path("."),
        &[&arguments[..], &[clone.to_str().unwrap()]].concat(),
    );
    let history = world.history_of(&clone);
    let error = history.file(&commit, &[], "DEPS", 1_000).await.unwrap_err();
    let error = error.to_string();
    for part in [&object, &commit, "DEPS", "partial"] {
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn as_many_submodules_as_a_directory_holds() {
    let world = World::new();
    let other = "0123456789012345678901234567890123456789";
    let mut stream = String::from("commit refs/heads/main\ncommitter A <a@b> 1 +0000\ndata 0\n");
    let paths: Vec<String> = (0..20_000).map(|at| format!("deep/d/{at}")).collect();
    for path in &paths {
        writeln!(stream, "M 160000 {other} {path}").unwrap();
    }
    world.import(&stream);
    let commit = git(&world.repository, &["rev-parse", "main"]);
    // They must not cost a scan of the directory each.
    let links = world.history().gitlinks(&commit, &[], &paths).await;
    assert_eq!(links.unwrap().len(), paths.len());
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
